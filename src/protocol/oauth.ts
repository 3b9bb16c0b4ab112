/** What a host and a server both know of OAuth: scopes, how a client shows who it is, where secrets may go. */
import { inspectValue } from './classify.ts';

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Whether a request to this URL stays on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return loopback.test(hostname);
}

/**
 * The `Authorization` of a client with a secret.
 *
 * @see RFC 6749, 2.3.1: both parts are encoded as in a form first
 */
export function basicCredentials(clientId: string, clientSecret: string): string {
  const [user, password] = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ '': part }).toString().slice(1),
  );
  return `Basic ${btoa(`${user}:${password}`)}`;
}

/**
 * The characters of a scope: visible ASCII without `"` and `\`. A space separates two.
 *
 * @see RFC 6749, 3.3
 */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(value);
}

/** What is wrong with a list of scopes, to follow its name; undefined if nothing is. */
export function validateScopes(scopes: unknown): string | undefined {
  if (!Array.isArray(scopes)) return `must be an array of scopes, this is ${inspectValue(scopes)}`;
  const wrong = scopes.findIndex((scope) => !isScope(scope));
  if (wrong === -1) return undefined;
  return `must have scopes of visible characters without spaces, " and \\; at ${wrong} it has ${inspectValue(scopes[wrong])}`;
}
