/**
 * The value of `WWW-Authenticate`: what a client needs in order to get the token that it lacks.
 *
 * @see RFC 6750, 3; RFC 9728, 5.1; MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */
import type { Principal } from '../../protocol/request-origin.ts';
import { isScope } from '../../protocol/scopes.ts';

/** What is wrong with a request; without a token there is nothing to say. */
export type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

export interface Challenge {
  readonly error?: BearerError | undefined;
  /** For a developer. */
  readonly description?: string | undefined;
  readonly scopes: readonly string[];
  /** Where the metadata of the resource is. */
  readonly metadataUrl: string | undefined;
}

export function challengeText({ error, description, scopes, metadataUrl }: Challenge): string {
  const parameters = {
    error,
    error_description: description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: metadataUrl,
  };
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quoted(value)}`],
  );
  return written.length === 0 ? 'Bearer' : `Bearer ${written.join(', ')}`;
}

/** A quoted string of RFC 9110, 5.6.4; what no header may contain becomes `?`. */
function quoted(value: string): string {
  return `"${value.replaceAll(/[^\x20-\x7E]/g, '?').replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** A token may name so many that the header would be too long for its reader. */
const maxGranted = 50;

/**
 * The scopes to ask for in place of those that a principal has: these, and what the operation needs.
 * Clients of 2025-11-25 ask for what they are told and would lose the others. `offline_access` is
 * no scope of a resource.
 */
export function stepUpScopes({ scopes }: Principal, needed: readonly string[]): readonly string[] {
  const kept = scopes.filter((scope) => isScope(scope) && scope !== 'offline_access');
  return [...new Set([...needed, ...kept.slice(0, maxGranted)])];
}
