/**
 * What the HTTP of a host needs of its authorization. How a login is got, kept and renewed is
 * nothing that this folder knows.
 *
 * @see MCP 2025-11-25, basic/authorization
 */

import type { MachineActor, ObservedScope } from '../../actors/transitions.ts';
import { redactText } from '../../diagnosis/redaction.ts';
import { printable, quoted } from '../../protocol/printable.ts';

/** An answer that wants a login, or one that may do more. */
export interface Challenge {
  /** 401: there is no login, or it is not good any more. 403: it may not do this. */
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` of the answer, whole; undefined if it has none. */
  readonly wwwAuthenticate: string | undefined;
  /** The URL that was asked. */
  readonly url: string;
  /** What `headers` gave for the request that was refused: another token may be there by now. */
  readonly sent: Readonly<Record<string, string>>;
  /** How often this request was sent again because of `retry`. 0: it is its first refusal. */
  readonly retries: number;
  /** Ends the waiting of this request. The login goes on for the others. */
  readonly signal?: AbortSignal;
}

/** What becomes of a request that was refused. */
export type ChallengeOutcome =
  /** Send it again, with what `headers` gives now. If that is refused too, ask again. */
  | { readonly kind: 'retry' }
  /** It fails with `UNAUTHORIZED`, and so does a connection that needs it. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** No login could be got or renewed for want of a server. It may be there a moment later. */
  | { readonly kind: 'unreachable'; readonly error: Error };

/** The authorization of one connection. */
export interface HttpAuthorization {
  /** Its chart as it stands, for who looks at the connection. */
  readonly machine?: MachineActor;
  /**
   * Who is logged in, as an opaque text: another one if it may be somebody else. Undefined while
   * nobody is. It is that of the headers that were given last.
   */
  readonly holder?: string | undefined;
  /**
   * The headers of a request to this URL: empty while there is no login, and for a URL that is not
   * of the server's origin. They win over those of the server's entry. What it throws fails the
   * request.
   */
  headers(url: string): Promise<Record<string, string>> | Record<string, string>;
  /**
   * A request was refused for want of a login. It waits for what this gives. Several requests may be
   * refused at once, and each of them asks: they share one login.
   *
   * @throws what the signal was aborted with
   */
  challenged(challenge: Challenge): Promise<ChallengeOutcome>;
  /** A channel is opened. What was refused before may be asked for once more. */
  begin(): void;
  /**
   * The channel is closed. A login that is under way ends, and no other begins until `begin`; a token
   * that there is still goes with what is sent.
   */
  close(): void;
}

/**
 * Who sends the requests of one connection, over all its channels.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Scope Field"
 */
export class LoginWatch {
  #last: { readonly holder: string | undefined; readonly uses: 'one' | 'many' } | undefined;

  /**
   * Notes who sends a request. Returns whether that may be somebody else than the one who has sent
   * those before. A login that served for one request says nothing: some hosts make a token for each.
   */
  changesTo(holder: string | undefined): boolean {
    const last = this.#last;
    const isSame = last !== undefined && last.holder === holder;
    this.#last = { holder, uses: isSame ? 'many' : 'one' };
    return !isSame && last?.uses === 'many';
  }
}

/**
 * Makes the authorization of one connection.
 *
 * @param asked gets the URL that a person has to visit
 * @param observed the connection: whoever watches it sees the login too
 */
export type MakeAuthorization = (
  asked: (url: string) => void,
  observed: ObservedScope,
) => HttpAuthorization;

/** How much of a challenge is read, characters. */
const readOfChallenge = 4096;

/**
 * What a challenge says, for a person: the error and its description in parentheses, behind a space;
 * empty if it says none. And the scope that it asks for.
 *
 * @see RFC 6750, section 3
 */
export function wordsOf(wwwAuthenticate = ''): {
  readonly said: string;
  readonly scope: string | undefined;
} {
  const found: { [name: string]: string } = {};
  const parameters =
    /\b(error_description|error|scope)\s{0,8}=\s{0,8}(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi;
  for (const [, name = '', text, token = ''] of wwwAuthenticate
    .slice(0, readOfChallenge)
    .matchAll(parameters)) {
    found[name.toLowerCase()] ??= printable(redactText((text ?? token).trim(), 300));
  }
  const { error = '', error_description: description = '', scope = '' } = found;
  const parts = [error, description].filter((part) => part !== '').join(': ');
  return { said: parts === '' ? '' : ` (${parts})`, scope: scope === '' ? undefined : scope };
}

/** Why a request was refused that has no login to fall back on. */
export function whyRefused(
  status: 401 | 403,
  wwwAuthenticate: string | undefined,
  sent: 'nothing' | 'a token',
): string {
  const { said, scope } = wordsOf(wwwAuthenticate);
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
