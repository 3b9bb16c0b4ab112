/** From what is known of a valid token to the principal. */
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { isScope } from '../../../../src/protocol/oauth.ts';
import { InvalidToken } from './token-check.ts';

/**
 * Reads the claims that a JWT and an introspection have in common.
 *
 * @throws {InvalidToken} they do not name a subject, or name a time that cannot be read
 */
export function principalOfClaims(issuer: string, claims: JsonObject): Principal {
  const { sub, client_id: client, azp } = claims;
  const exp = numericDate(claims, 'exp');
  const clientId = textOf(client) ?? textOf(azp);
  const subject = textOf(sub) ?? clientId;
  if (subject === undefined) throw new InvalidToken('The token names nobody: it has no "sub"');
  return {
    // A client may be called what a person is called.
    id: JSON.stringify(textOf(sub) === undefined ? [issuer, 'client', subject] : [issuer, subject]),
    subject,
    clientId,
    scopes: scopesOf(claims),
    claims,
    expiresAt: exp === undefined ? undefined : exp * 1000,
  };
}

/**
 * A time that a token names, seconds since 1970; undefined if it names none. Some issuers write it as
 * text.
 *
 * @throws {InvalidToken} it is not a time: a token whose end cannot be read must not last for ever
 */
export function numericDate(claims: JsonObject, name: 'exp' | 'nbf'): number | undefined {
  const claim = claims[name];
  if (claim === undefined || claim === null) return undefined;
  const seconds = typeof claim === 'string' && claim.trim() !== '' ? Number(claim) : claim;
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return seconds;
  throw new InvalidToken(`The token's "${name}" is not a number of seconds`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `scope` is a text (RFC 8693), `scp` a text or a list, as some issuers write it. */
function scopesOf({ scope, scp }: JsonObject): readonly string[] {
  const given = scope ?? scp;
  const list: readonly unknown[] = Array.isArray(given)
    ? given
    : typeof given === 'string'
      ? given.split(' ')
      : [];
  return list.filter((each) => isScope(each));
}

/** What a scope implies, it implies in turn. */
export function withImplied(
  scopes: readonly string[],
  implied: { readonly [broader: string]: readonly string[] },
): readonly string[] {
  const all = new Set(scopes);
  // A set that grows is walked to its end.
  for (const scope of all) {
    for (const narrower of Object.hasOwn(implied, scope) ? (implied[scope] ?? []) : []) {
      all.add(narrower);
    }
  }
  return [...all];
}

/**
 * Whether an `aud` names this server. `https://a.example` and `https://a.example/` are one URL:
 * clients write either.
 */
export function isFor(audiences: readonly string[], aud: unknown): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.some(
    (one) => typeof one === 'string' && audiences.some((ours) => isSame(ours, one)),
  );
}

function isSame(ours: string, theirs: string): boolean {
  return ours === theirs || (withRoot(ours) === withRoot(theirs) && /^https?:/.test(ours));
}

function withRoot(url: string): string {
  return /^https?:\/\/[^/?#]+$/.test(url) ? `${url}/` : url;
}

/** @throws {TypeError} verifyToken did not give a principal */
export function demandSubject(subject: unknown): string {
  const text = textOf(subject);
  if (text !== undefined) return text;
  throw new TypeError(
    `verifyToken must give a "subject", a string; this is ${inspectValue(subject)}`,
  );
}
