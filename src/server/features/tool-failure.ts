/**
 * Results of failed tool calls.
 *
 * @see MCP 2025-11-25, schema, "CallToolResult"
 */
import type { ActorFactName, Report } from '../../actors/facts.ts';
import type { RequestContext } from '../../actors/request-context.ts';
import type { ErrorExposure } from '../define/tool.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import { ProtocolError, RuntimeError, ToolError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { scopeOfCall } from '../session/session-scope.ts';

const maxCharacters = 2000;

/** Unexpected errors by the result sent to the client. */
const unexpectedErrors = new WeakMap<JsonObject, unknown>();

/**
 * Converts an error of a tool call to a result, so that the model can see and correct it. Unexpected
 * errors are also reported.
 *
 * @throws the error itself if it is a `ProtocolError` or the call has ended
 */
export function failedCall(
  error: unknown,
  call: RequestContext,
  { name, errors }: { readonly name: string; readonly errors: ErrorExposure },
): JsonObject {
  if (error instanceof ProtocolError || call.hasEnded) throw error;
  if (isMeantForModel(error)) return call.request.peer.dialect.toolFailure(error);
  const session = scopeOfCall(call);
  const errorId = errors === 'mask' ? session.randomId('error') : undefined;
  const report: Report<ActorFactName> = session.report;
  report({
    level: 'error',
    name: 'handler.failed',
    message: `The tool "${name}" failed: ${textOfError(error)}`,
    details: {
      id: call.request.id,
      tool: name,
      ...(errorId === undefined ? {} : { errorId }),
      error,
    },
  });
  const message =
    errorId === undefined
      ? messageOf(error)
      : `The tool failed. See error ${errorId} in the server's log.`;
  const result = call.request.peer.dialect.toolFailure({ message });
  unexpectedErrors.set(result, error);
  return result;
}

/** True for errors whose message is meant for the model. */
export function isMeantForModel(error: unknown): error is ToolError | RuntimeError {
  return error instanceof ToolError || error instanceof RuntimeError;
}

/** Unexpected error behind a result, for observers of the server. */
export function causeOfFailure(result: JsonObject): { readonly error: unknown } | undefined {
  return unexpectedErrors.has(result) ? { error: unexpectedErrors.get(result) } : undefined;
}

/** Never throws, although getters of a thrown value may. */
function messageOf(error: unknown): string {
  try {
    const message = isJsonObject(error) ? error['message'] : error;
    if (typeof message === 'string' && message.trim() !== '') return bounded(message);
  } catch {
    // A throwing getter counts as no message.
  }
  return "The tool failed without an error message. See the server's log.";
}

function bounded(message: string): string {
  if (message.length <= maxCharacters) return message;
  // Some clients reject lone surrogates.
  const kept = message.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept}… (${message.length - kept.length} more characters)`;
}
