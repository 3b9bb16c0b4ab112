/** How a request ended, in the terms of the conventions. */
import type { Exception } from '@opentelemetry/api';
import { causeOfFailure } from '../features/tool-failure.ts';
import {
  RuntimeError,
  ToolError,
  internalError,
  shuttingDown,
  textOfError,
} from '../protocol/errors.ts';
import type { JsonObject, WireError } from '../protocol/frames.ts';
import type { IncomingCall } from '../features/middleware.ts';

export interface CallOutcome {
  /** `error.type`; absent if the request succeeded. */
  readonly errorType?: string;
  /** `rpc.response.status_code`: the code of the error that the client gets. */
  readonly statusCode?: string;
  /** The message of the error that the client gets. */
  readonly message?: string;
  /** The error behind an internal error, or behind the failure of a tool that its author did not mean. */
  readonly exception?: Exception;
}

const toolFailed: CallOutcome = { errorType: 'tool_error' };

/** On the wire, a tool's failure is a result like any other. */
export function outcomeOfResult(method: string, result: JsonObject): CallOutcome {
  if (method !== 'tools/call' || result['isError'] !== true) return {};
  const cause = causeOfFailure(result);
  return cause ? { ...toolFailed, exception: exceptionOf(cause.error) } : toolFailed;
}

export function outcomeOfError(call: IncomingCall, error: unknown): CallOutcome {
  const meant = call.context.client.dialect.wireError(error);
  if (meant) return outcomeOfWireError(meant);
  const isForTheModel = error instanceof ToolError || error instanceof RuntimeError;
  if (isForTheModel && call.method === 'tools/call') return toolFailed;
  return { ...outcomeOfWireError(internalError), exception: exceptionOf(error) };
}

function exceptionOf(error: unknown): Exception {
  return error instanceof Error ? error : textOfError(error);
}

/** The client cancelled and gets no answer, or the session ended. */
export function outcomeOfAbort({ context }: IncomingCall, reason: unknown): CallOutcome {
  const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  return isCancelled
    ? { errorType: 'cancelled' }
    : outcomeOfWireError(context.client.dialect.refusal(shuttingDown));
}

function outcomeOfWireError({ code, message }: WireError): CallOutcome {
  return { errorType: String(code), statusCode: String(code), message };
}
