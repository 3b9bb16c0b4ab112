/**
 * The errors that the router answers with by itself. Each says what was wrong, with what value, and
 * what to do.
 */
import { describe } from '../../protocol/classify.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { InboundRequestId, WireError } from '../../protocol/frames.ts';
import type { QueueBounds } from './call-queue.ts';

export function beforeInitialize(method: string): WireError {
  return invalidRequest(`${describe(method)} came before "initialize"; only "ping" may`);
}

export function duplicateId(id: InboundRequestId): WireError {
  return invalidRequest(`a request with the id ${describe(id)} is in flight; it goes on`);
}

export function methodNotOffered(method: string): WireError {
  const message = `Method not found: ${describe(method)} is not offered by this server`;
  return { code: ErrorCode.methodNotFound, message };
}

/** @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions" */
export const initializeInEnvelope: WireError = {
  code: ErrorCode.methodNotFound,
  message: `Method not found: "initialize" is not for requests that say in "_meta" which version they are of; send it without, or no "initialize" at all`,
};

/** @param now what waits as a request of so many bytes comes */
export function overloaded(
  { maxRunning, maxRunningBytes, maxWaiting, maxWaitingBytes }: QueueBounds,
  now: { readonly waiting: number; readonly waitingBytes: number; readonly size: number },
): WireError {
  const { waiting, waitingBytes, size } = now;
  let what = `the requests in flight, of the client or of all clients, leave no room for this one of ${size} bytes: those of a client may come to ${maxRunningBytes + maxWaitingBytes}`;
  if (waitingBytes + size > maxWaitingBytes) {
    what = `${waiting} requests of ${waitingBytes} bytes wait, and this one of ${size} would be more than ${maxWaitingBytes}`;
  } else if (waiting >= maxWaiting) {
    what = `${maxRunning} requests run and ${maxWaiting} wait`;
  }
  return {
    code: ErrorCode.serverUnavailable,
    message: `Overloaded: ${what}; try again when some have been answered`,
    data: { reason: 'overloaded', retryable: true },
  };
}

export function tooManyWait(maxWaiting: number): WireError {
  return {
    code: ErrorCode.serverUnavailable,
    message: `Overloaded: ${maxWaiting} requests wait for the result of a task; try again when some have been answered`,
    data: { reason: 'overloaded', retryable: true },
  };
}

export const initializeInBatch: WireError = invalidRequest(
  '"initialize" must not be part of a batch',
);

function invalidRequest(reason: string): WireError {
  return { code: ErrorCode.invalidRequest, message: `Invalid request: ${reason}` };
}
