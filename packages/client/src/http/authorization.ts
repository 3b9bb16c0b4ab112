/**
 * What a host's HTTP channel needs from its authorization. How logins are obtained, stored and
 * renewed is not known in this folder.
 *
 * @see MCP 2025-11-25, basic/authorization
 */

import type { Clock } from '../../../../src/actors/clock.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { printable, quoted } from '../../../../src/protocol/printable.ts';
import type { AskPerson } from '../channel/channel-kind.ts';

/** An answer that demands a login, or one with more rights. */
export interface Challenge {
  /** 401: there is no login, or it is no longer valid. 403: it does not allow this. */
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` of the answer, whole; undefined if it has none. */
  readonly wwwAuthenticate: string | undefined;
  /** The URL of the request. */
  readonly url: string;
  /** The `headers` of the refused request: there may be another token by now. */
  readonly sent: Readonly<Record<string, string>>;
  /** How often this request was sent again because of `retry`. 0: its first refusal. */
  readonly retries: number;
  /** Ends the waiting of this request. The login goes on for the others. */
  readonly signal?: AbortSignal;
}

/** What to do with a refused request. */
export type ChallengeOutcome =
  /** Send it again, with new `headers`. If it is refused again, ask again. */
  | { readonly kind: 'retry' }
  /** It fails with `UNAUTHORIZED`, and so does a connection that needs it. */
  | { readonly kind: 'refused'; readonly error: Error }
  /**
   * No login could be obtained or renewed, because a server was unreachable. It may be reachable a
   * moment later.
   */
  | { readonly kind: 'unreachable'; readonly error: Error };

/** The authorization of one connection. */
export interface HttpAuthorization {
  /** Its chart, for watchers of the connection. */
  readonly machine?: MachineActor;
  /**
   * Who is logged in, as an opaque text that changes if it may be someone else. Undefined without a
   * login. It belongs to the headers that were returned last.
   */
  readonly holder?: string | undefined;
  /**
   * The headers of a request to this URL: empty without a login, and for a URL of another origin.
   * They override those of the server's entry. If this throws, the request fails.
   */
  headers(url: string): Promise<Record<string, string>> | Record<string, string>;
  /**
   * Called when a request was refused without a login. The request waits for the outcome. If
   * several are refused at once, each calls this, and they share one login.
   *
   * @throws the signal's reason
   */
  challenged(challenge: Challenge): Promise<ChallengeOutcome>;
  /** A channel is opened: a login that was refused before may be tried again. */
  begin(): void;
  /**
   * The channel is closed. A running login is ended, and no other begins until `begin`; an existing
   * token is still sent.
   */
  close(): void;
}

/**
 * Tracks who sends the requests of one connection, over all its channels.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Scope Field"
 */
export class LoginWatch {
  #last: { readonly holder: string | undefined; readonly uses: 'one' | 'many' } | undefined;

  /**
   * Notes who sends a request. Returns whether it may be someone other than the sender of earlier
   * requests. A login that served only one request says nothing: some hosts make a token for each.
   */
  changesTo(holder: string | undefined): boolean {
    const last = this.#last;
    const isSame = last !== undefined && last.holder === holder;
    this.#last = { holder, uses: isSame ? 'many' : 'one' };
    return !isSame && last?.uses === 'many';
  }
}

/** The connection that an authorization is for. */
export interface AuthorizedScope {
  readonly asked: AskPerson;
  /** Its watchers see the login too. */
  readonly observed: ObservedScope;
  readonly clock: Clock;
}

/** Makes the authorization of one connection. */
export type MakeAuthorization = (scope: AuthorizedScope) => HttpAuthorization;

type Parameters = { readonly [name: string]: string | undefined };

const token = String.raw`[\w!#$%&'*+.^\x60|~-]+`;
const parameter = new RegExp(
  String.raw`(${token})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(${token}))`,
  'y',
);
/** A scheme, and the credentials that some have instead of parameters. */
const scheme = new RegExp(String.raw`(${token})(?:[ \t]+[\w.~+/-]+=*(?=[ \t]*(?:,|$)))?`, 'y');

/**
 * The parameters of the challenge for a bearer token; undefined if there is none.
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

/** How many characters of a challenge are read. */
const readOfChallenge = 4096;

/**
 * Reads a challenge. For a person: the error and its description in parentheses after a space, or
 * an empty text. Also the scope that it demands.
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

/** The error of a request that was refused without any login. */
export function whyRefused(
  status: 401 | 403,
  wwwAuthenticate: string | undefined,
  sent: 'nothing' | 'a token',
): string {
  const { said, scope } = challengeWords(wwwAuthenticate);
  const allow = 'set "auth" (--login of the command)';
  if (status === 403) {
    const lacking = scope === undefined ? 'a scope' : `the scope ${quoted(scope)}`;
    return `the token that it was sent lacks ${lacking}${said}. Send one that has it, or ${allow}`;
  }
  if (sent === 'a token') {
    return `it does not take the "Authorization" that its entry has${said}. Give another one, or none and ${allow}`;
  }
  const which = scope === undefined ? '' : ` with the scope ${quoted(scope)}`;
  return `it wants a login${which}, and there is none for it${said}: ${allow}`;
}
