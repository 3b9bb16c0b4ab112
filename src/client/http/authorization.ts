/**
 * What the HTTP of a host needs of its authorization. How a login is got, kept and renewed is
 * nothing that this folder knows.
 *
 * @see MCP 2025-11-25, basic/authorization
 */

/** An answer that wants a login, or one that may do more. */
export interface Challenge {
  /** 401: there is no login, or it is not good any more. 403: it may not do this. */
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` of the answer, whole; undefined if it has none. */
  readonly wwwAuthenticate: string | undefined;
  /** The URL that was asked. */
  readonly url: string;
}

/** The authorization of one connection. */
export interface HttpAuthorization {
  /**
   * The headers of a request to this URL: empty while there is no login. They win over those of the
   * server's entry. What it throws fails the request.
   */
  headers(url: string): Promise<Record<string, string>> | Record<string, string>;
  /**
   * A request was refused for want of a login. It waits for what this gives: after `retry` it is sent
   * once more, after `refused` it fails with `UNAUTHORIZED`. Several requests may be refused at
   * once, and each of them asks.
   *
   * @throws what says better than `refused` why there is no login: it is the error's cause
   */
  challenged(challenge: Challenge): Promise<'retry' | 'refused'>;
}
