/** Derives the principal from the claims of a valid token. */
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { isScope } from '../../../../src/protocol/oauth.ts';
import { InvalidToken } from './token-check.ts';

/**
 * Reads the claims common to JWTs and introspection responses.
 *
 * @throws {InvalidToken} if there is no subject, or a time is invalid
 */
export function principalOfClaims(issuer: string, claims: JsonObject): Principal {
  const { sub, client_id: client, azp } = claims;
  const exp = numericDate(claims, 'exp');
  const clientId = textOf(client) ?? textOf(azp);
  const subject = textOf(sub) ?? clientId;
  if (subject === undefined) throw new InvalidToken('The token has no "sub"');
  return {
    // A client id may equal a user's subject.
    id: JSON.stringify(textOf(sub) === undefined ? [issuer, 'client', subject] : [issuer, subject]),
    subject,
    clientId,
    scopes: scopesOf(claims),
    claims,
    expiresAt: exp === undefined ? undefined : exp * 1000,
  };
}

/**
 * Reads a time claim, seconds since 1970; undefined if absent. Some issuers write it as a string.
 *
 * @throws {InvalidToken} if it is not a time: a token without a readable expiry must not last
 *   forever
 */
export function numericDate(claims: JsonObject, name: 'exp' | 'nbf'): number | undefined {
  const claim = claims[name];
  if (claim === undefined || claim === null) return undefined;
  const seconds = typeof claim === 'string' && claim.trim() !== '' ? Number(claim) : claim;
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return seconds;
  throw new InvalidToken(`The token's "${name}" must be a number of seconds`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `scope` is a string (RFC 8693); some issuers use `scp`, a string or a list. */
function scopesOf({ scope, scp }: JsonObject): readonly string[] {
  const given = scope ?? scp;
  const list: readonly unknown[] = Array.isArray(given)
    ? given
    : typeof given === 'string'
      ? given.split(' ')
      : [];
  return list.filter((each) => isScope(each));
}

/** Adds implied scopes, transitively. */
export function expandScopes(
  scopes: readonly string[],
  implied: { readonly [broader: string]: readonly string[] },
): readonly string[] {
  const all = new Set(scopes);
  // Iterating a set also visits values added meanwhile.
  for (const scope of all) {
    for (const narrower of Object.hasOwn(implied, scope) ? (implied[scope] ?? []) : []) {
      all.add(narrower);
    }
  }
  return [...all];
}

/**
 * True if an `aud` claim names this server. `https://a.example` and `https://a.example/` are the
 * same URL.
 */
export function matchesAudience(audiences: readonly string[], aud: unknown): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.some(
    (one) => typeof one === 'string' && audiences.some((ours) => isSameAudience(ours, one)),
  );
}

function isSameAudience(ours: string, theirs: string): boolean {
  return ours === theirs || (withRoot(ours) === withRoot(theirs) && /^https?:/.test(ours));
}

function withRoot(url: string): string {
  return /^https?:\/\/[^/?#]+$/.test(url) ? `${url}/` : url;
}

/** @throws {TypeError} if `verifyToken` returned no valid subject */
export function requireSubject(subject: unknown): string {
  const text = textOf(subject);
  if (text !== undefined) return text;
  throw new TypeError(`verifyToken must return a "subject" string, got ${inspectValue(subject)}`);
}
