/** How a request ended, as the conventions tell it. */
import type { Exception } from '@opentelemetry/api';
import {
  RuntimeError,
  ToolError,
  internalError,
  shuttingDown,
  textOfError,
  toWireError,
} from '../protocol/errors.ts';
import type { JsonObject, WireError } from '../protocol/frames.ts';

export interface Outcome {
  /** `error.type`; absent where the request succeeded. */
  readonly errorType?: string;
  /** `rpc.response.status_code`: the code of the error that the client gets. */
  readonly statusCode?: string;
  /** The message of the error that the client gets. */
  readonly message?: string;
  /** What the client is not told: the bug behind an internal error. */
  readonly exception?: Exception;
}

const toolFailed: Outcome = { errorType: 'tool_error' };

/** A tool's failure is a result like any other on the wire. */
export function outcomeOfResult(method: string, result: JsonObject): Outcome {
  return method === 'tools/call' && result['isError'] === true ? toolFailed : {};
}

export function outcomeOfError(method: string, error: unknown): Outcome {
  const isForTheModel = error instanceof ToolError || error instanceof RuntimeError;
  if (isForTheModel && method === 'tools/call') return toolFailed;
  const meant = toWireError(error);
  if (meant) return outcomeOfWireError(meant);
  const exception = error instanceof Error ? error : textOfError(error);
  return { ...outcomeOfWireError(internalError), exception };
}

/** The client has cancelled and gets no answer, or the session has ended. */
export function outcomeOfAbort(reason: unknown): Outcome {
  const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  return isCancelled ? { errorType: 'cancelled' } : outcomeOfWireError(shuttingDown);
}

function outcomeOfWireError({ code, message }: WireError): Outcome {
  return { errorType: String(code), statusCode: String(code), message };
}
