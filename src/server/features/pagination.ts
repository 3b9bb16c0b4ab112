/**
 * Lists are given whole, so no cursor has ever been handed out.
 *
 * @see MCP 2025-11-25, server/utilities/pagination, "Error Handling"
 */
import { describe } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';

/** @throws {ProtocolError} -32602 for any cursor */
export function refuseCursor(params: JsonObject | undefined): void {
  const cursor = params?.['cursor'];
  if (cursor === undefined) return;
  throw new ProtocolError(
    ErrorCode.invalidParams,
    `Invalid params: the cursor ${describe(cursor)} is none that this server gave`,
  );
}
