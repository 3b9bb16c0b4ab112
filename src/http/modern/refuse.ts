/** An answer that is an error, before a message has reached a session. */
import { errorResponse } from '../../protocol/errors.ts';
import type { InboundRequestId, WireError } from '../../protocol/frames.ts';
import type { HttpExchange } from '../http-exchange.ts';

const headers = { 'content-type': 'application/json' };

/** @param id undefined if it answers no request */
export function refuse(
  exchange: HttpExchange,
  id: InboundRequestId | undefined,
  error: WireError,
  status = 400,
): void {
  exchange.answer({ status, headers, body: JSON.stringify(errorResponse(id, error)) });
}
