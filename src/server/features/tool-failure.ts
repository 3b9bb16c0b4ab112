/**
 * What a tool's call gives if the tool fails.
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

/** By the result that the client gets. */
const unmeant = new WeakMap<JsonObject, unknown>();

/**
 * What was thrown in a tool's call becomes the result of the call, so that the model can see it and
 * correct itself. If the author did not mean it for the model, it is reported too.
 *
 * @throws a `ProtocolError` as it is, and anything from a call that has ended: nobody waits for it
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
      : `The tool failed. The server's log has the error under ${errorId}.`;
  const result = call.request.peer.dialect.toolFailure({ message });
  unmeant.set(result, error);
  return result;
}

/** True for the errors that authors and this library throw for the model to read. */
export function isMeantForModel(error: unknown): error is ToolError | RuntimeError {
  return error instanceof ToolError || error instanceof RuntimeError;
}

/**
 * The error behind the result of a tool that failed in a way that its author did not mean, for those
 * who watch the server.
 */
export function causeOfFailure(result: JsonObject): { readonly error: unknown } | undefined {
  return unmeant.has(result) ? { error: unmeant.get(result) } : undefined;
}

/** Total: a thrown value may itself throw when it is looked at. */
function messageOf(error: unknown): string {
  try {
    const message = isJsonObject(error) ? error['message'] : error;
    if (typeof message === 'string' && message.trim() !== '') return bounded(message);
  } catch {
    // Then it has no message.
  }
  return "The tool failed without a message. The server's log may say more.";
}

function bounded(message: string): string {
  if (message.length <= maxCharacters) return message;
  // Not every client can read half of a surrogate pair.
  const kept = message.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept}… (${message.length - kept.length} more characters)`;
}
