/** OAuth helpers shared by hosts and servers: scopes, client authentication, loopback URLs. */
import { inspectValue } from './classify.ts';

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** True if requests to this URL stay on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return loopback.test(hostname);
}

/**
 * The `Authorization` header of a confidential client.
 *
 * @see RFC 6749, 2.3.1: both parts are form-encoded first
 */
export function basicCredentials(clientId: string, clientSecret: string): string {
  const [user, password] = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ '': part }).toString().slice(1),
  );
  return `Basic ${btoa(`${user}:${password}`)}`;
}

/**
 * True for a valid scope: visible ASCII without `"` and `\`.
 *
 * @see RFC 6749, 3.3
 */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value);
}

/**
 * Validates a list of scopes. Returns the problem, phrased to follow the list's name, or undefined
 * if valid.
 */
export function validateScopes(scopes: unknown): string | undefined {
  if (!Array.isArray(scopes)) return `must be an array of scopes, got ${inspectValue(scopes)}`;
  const wrong = scopes.findIndex((scope) => !isScope(scope));
  if (wrong === -1) return undefined;
  return `must contain scopes of visible ASCII characters except " and \\, got ${inspectValue(scopes[wrong])} at index ${wrong}`;
}
