/** How a request ended, in the terms of the conventions. */
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

export interface CallOutcome {
  /** `error.type`; absent if the request succeeded. */
  readonly errorType?: string;
  /** `rpc.response.status_code`: the code of the error that the client gets. */
  readonly statusCode?: string;
  /** The message of the error that the client gets. */
  readonly message?: string;
  /** The bug behind an internal error. The client never sees it. */
  readonly exception?: Exception;
}

const toolFailed: CallOutcome = { errorType: 'tool_error' };

/** On the wire, a tool's failure is a result like any other. */
export function outcomeOfResult(method: string, result: JsonObject): CallOutcome {
  return method === 'tools/call' && result['isError'] === true ? toolFailed : {};
}

export function outcomeOfError(method: string, error: unknown): CallOutcome {
  const isForTheModel = error instanceof ToolError || error instanceof RuntimeError;
  if (isForTheModel && method === 'tools/call') return toolFailed;
  const meant = toWireError(error);
  if (meant) return outcomeOfWireError(meant);
  const exception = error instanceof Error ? error : textOfError(error);
  return { ...outcomeOfWireError(internalError), exception };
}

/** The client cancelled and gets no answer, or the session ended. */
export function outcomeOfAbort(reason: unknown): CallOutcome {
  const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  return isCancelled ? { errorType: 'cancelled' } : outcomeOfWireError(shuttingDown);
}

function outcomeOfWireError({ code, message }: WireError): CallOutcome {
  return { errorType: String(code), statusCode: String(code), message };
}
