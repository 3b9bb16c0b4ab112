/** What a message of a client needs, as far as a tool's author says so. */
import { isJsonObject } from '../../protocol/classify.ts';

/** The tools of a server, as far as authorization looks at them. */
export interface ScopedTools {
  get(name: string): { readonly scopes?: readonly string[] | undefined } | undefined;
}

/**
 * The scopes that the call of a tool needs, for {@link Authorizer.demand}, before it is given to the
 * session. A retry of a call that has asked its client is looked at as well: its token may be another
 * one. A name that no tool has is the session's to refuse.
 *
 * @param message one JSON-RPC message
 */
export function scopesNeeded(message: unknown, tools: ScopedTools): readonly string[] {
  if (!isJsonObject(message) || message['method'] !== 'tools/call') return [];
  const { params } = message;
  const name = isJsonObject(params) ? params['name'] : undefined;
  return (typeof name === 'string' && tools.get(name)?.scopes) || [];
}
