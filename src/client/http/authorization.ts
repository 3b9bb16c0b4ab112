/**
 * What the HTTP of a host needs of its authorization. How a login is got, kept and renewed is
 * nothing that this folder knows.
 *
 * @see MCP 2025-11-25, basic/authorization
 */

import type { MachineActor, ObservedScope } from '../../actors/transitions.ts';

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
