/**
 * Scopes: what an access token allows.
 *
 * @see RFC 6749, 3.3
 */
import { describe } from './classify.ts';

/** The characters of a scope: visible ASCII without `"` and `\`. A space separates two. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value);
}

/** What is wrong with a list of scopes, to follow its name; undefined if nothing is. */
export function faultOfScopes(scopes: unknown): string | undefined {
  if (!Array.isArray(scopes)) return `must be an array of scopes, this is ${describe(scopes)}`;
  const wrong = scopes.findIndex((scope) => !isScope(scope));
  if (wrong === -1) return undefined;
  return `must have scopes of visible characters without spaces, " and \\; at ${wrong} it has ${describe(scopes[wrong])}`;
}
