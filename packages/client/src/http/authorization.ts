/**
 * Interface between an HTTP channel and its authorization, which obtains, stores and refreshes
 * logins.
 *
 * @see MCP 2025-11-25, basic/authorization
 */

import type { Clock } from '../../../../src/actors/clock.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { printable, quoted } from '../../../../src/protocol/printable.ts';
import type { AskPerson } from '../channel/channel-kind.ts';

/** A response that requires a login, or one with more rights. */
export interface Challenge {
  /** 401: the login is missing or expired. 403: it lacks permission. */
  readonly status: 401 | 403;
  /** Complete `WWW-Authenticate` header of the response; undefined if absent. */
  readonly wwwAuthenticate: string | undefined;
  /** URL of the request. */
  readonly url: string;
  /** Headers of the rejected request: a newer token may exist by now. */
  readonly sent: Readonly<Record<string, string>>;
  /** Number of resends because of `retry`; 0 for the first rejection. */
  readonly retries: number;
  /** Ends this request's wait. The login continues for the others. */
  readonly signal?: AbortSignal;
}

/** Reaction to a rejected request. */
export type ChallengeOutcome =
  /** Resend with new `headers`; ask again if rejected again. */
  | { readonly kind: 'retry' }
  /** Fails with `UNAUTHORIZED`, as does a connection that depends on it. */
  | { readonly kind: 'refused'; readonly error: Error }
  /**
   * No login could be obtained or refreshed because a server was unreachable. A retry may succeed.
   */
  | { readonly kind: 'unreachable'; readonly error: Error };

/** Authorization of one connection. */
export interface HttpAuthorization {
  /** The login chart, for watchers of the connection. */
  readonly machine?: MachineActor;
  /**
   * Opaque identity of the logged-in party, which changes if a different one may be logged in.
   * Undefined without a login. Matches the headers returned last.
   */
  readonly holder?: string | undefined;
  /**
   * Headers of a request to this URL, overriding those of the server's entry. Empty without a
   * login, and for another origin. If this throws, the request fails.
   */
  headers(url: string): Promise<Record<string, string>> | Record<string, string>;
  /**
   * Called for a request rejected for lack of a login. The request waits for the outcome. Requests
   * rejected at the same time share one login.
   *
   * @throws the signal's reason
   */
  challenged(challenge: Challenge): Promise<ChallengeOutcome>;
  /** A channel opened: a previously refused login may be retried. */
  begin(): void;
  /**
   * The channel closed. Aborts a running login, and starts no other until `begin`; an existing
   * token is still sent.
   */
  close(): void;
}

/**
 * Tracks the identity behind a connection's requests, across its channels.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Scope Field"
 */
export class LoginWatch {
  #last: { readonly holder: string | undefined; readonly uses: 'one' | 'many' } | undefined;

  /**
   * Records the identity behind a request. Returns true if it may differ from that of earlier
   * requests. An identity that served only one request is ignored: some hosts create a token per
   * request.
   */
  changesTo(holder: string | undefined): boolean {
    const last = this.#last;
    const isSame = last !== undefined && last.holder === holder;
    this.#last = { holder, uses: isSame ? 'many' : 'one' };
    return !isSame && last?.uses === 'many';
  }
}

/** The connection that an authorization serves. */
export interface AuthorizedScope {
  readonly asked: AskPerson;
  /** Scope whose watchers see the login too. */
  readonly observed: ObservedScope;
  readonly clock: Clock;
}

/** Creates the authorization of one connection. */
export type MakeAuthorization = (scope: AuthorizedScope) => HttpAuthorization;

type Parameters = { readonly [name: string]: string | undefined };

const token = String.raw`[\w!#$%&'*+.^\x60|~-]+`;
const parameter = new RegExp(
  String.raw`(${token})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(${token}))`,
  'y',
);
/** A scheme, and the credentials that some schemes have instead of parameters. */
const scheme = new RegExp(String.raw`(${token})(?:[ \t]+[\w.~+/-]+=*(?=[ \t]*(?:,|$)))?`, 'y');

/**
 * Parameters of the bearer challenge; undefined if there is none.
 *
 * @see RFC 9110, section 11.6.1
 */
export function bearerChallenge(wwwAuthenticate = ''): Parameters | undefined {
  const text = wwwAuthenticate.slice(0, readOfChallenge);
  const bearers: { [name: string]: string }[] = [];
  let current: { [name: string]: string } = {};
  for (let at = 0; at < text.length; at++) {
    if (/[\s,]/.test(text.charAt(at))) continue;
    parameter.lastIndex = scheme.lastIndex = at;
    const [whole, name = '', quotedText, plain = ''] = parameter.exec(text) ?? [];
    if (whole !== undefined) {
      current[name.toLowerCase()] ??= quotedText?.replaceAll(/\\(.)/g, '$1') ?? plain;
      at += whole.length - 1;
      continue;
    }
    const [begun, called = ''] = scheme.exec(text) ?? [];
    if (begun === undefined) continue;
    current = {};
    if (/^(?:bearer|dpop)$/i.test(called)) bearers.push(current);
    at += begun.length - 1;
  }
  return bearers.find((each) => 'resource_metadata' in each) ?? bearers[0];
}

/** Maximum parsed length of a challenge, characters. */
const readOfChallenge = 4096;

/**
 * Extracts the required scope of a challenge, and its error with description, in parentheses after
 * a space, or an empty text.
 *
 * @see RFC 6750, section 3
 */
export function challengeWords(wwwAuthenticate = ''): {
  readonly said: string;
  readonly scope: string | undefined;
} {
  const challenge = bearerChallenge(wwwAuthenticate);
  const shown = (name: string) => printable(redactText((challenge?.[name] ?? '').trim(), 300));
  const [error, description, scope] = [shown('error'), shown('error_description'), shown('scope')];
  const parts = [error, description].filter((part) => part !== '').join(': ');
  return { said: parts === '' ? '' : ` (${parts})`, scope: scope === '' ? undefined : scope };
}

/** Reason for a request rejected without any login. */
export function whyRefused(
  status: 401 | 403,
  wwwAuthenticate: string | undefined,
  sent: 'nothing' | 'a token',
): string {
  const { said, scope } = challengeWords(wwwAuthenticate);
  const allow = 'set "auth" (--login of the command)';
  if (status === 403) {
    const lacking = scope === undefined ? 'a scope' : `the scope ${quoted(scope)}`;
    return `the token lacks ${lacking}${said}. Send a token with it, or ${allow}`;
  }
  if (sent === 'a token') {
    return `it rejected the configured "Authorization" header${said}. Change it, or remove it and ${allow}`;
  }
  const which = scope === undefined ? '' : ` with the scope ${quoted(scope)}`;
  return `it requires a login${which}${said}: ${allow}`;
}
