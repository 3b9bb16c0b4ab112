/**
 * What a transport knows of a request that it answers by itself, as HTTP does. A request without an
 * origin is answered with everything else that its session has to say.
 */

/** Who sends a request, as its access token says. */
export interface Principal {
  /**
   * Tells principals apart: the same for every token of one subject of one issuer, and for nobody
   * else's. Sessions and states are bound to it. Compare it, and do not read it.
   */
  readonly id: string;
  /** The user, or the client itself if it acts for nobody. Unique at its issuer only. */
  readonly subject: string;
  /** The OAuth client. */
  readonly clientId?: string;
  /** What it may do, with the narrower scopes that these imply. */
  readonly scopes: readonly string[];
  /** All that the token says, its own text excepted. */
  readonly claims: { readonly [name: string]: unknown };
  /** When the token expires, milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** What a token for another server is wanted for. */
export interface WantedToken {
  /** The name of the other server at the authorization server, or several. */
  readonly audience?: string | readonly string[] | undefined;
  /** The URL of the other server, or several (RFC 8707). */
  readonly resource?: string | readonly string[] | undefined;
  /** The scopes, separated by spaces; by default what the authorization server gives. */
  readonly scope?: string | undefined;
  /** The token that the other server has refused: it is not given once more. */
  readonly refused?: string | undefined;
}

/** A token for another server, on behalf of a caller. */
export interface ExchangedToken {
  /** Send it as `Authorization: Bearer …` to the server that it is for, and to no other. */
  readonly accessToken: string;
  /** The scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** Milliseconds since 1970; undefined if the authorization server does not say. */
  readonly expiresAt?: number | undefined;
}

/** Exchanges the token that a request came with, which is shown by nothing of it. */
export interface TokenExchange {
  /**
   * @throws {RuntimeError} UNAUTHORIZED: the authorization server says no. NOT_READY: it cannot be
   *   asked now. INVALID_RESPONSE: what it gives cannot be used
   */
  exchange(wanted: WantedToken): Promise<ExchangedToken>;
}

/** The HTTP request that brought a message. */
export interface ServedHttpRequest {
  /** Of HTTP, such as `POST`. */
  readonly method: string;
  /** The path and the query, as they were sent. */
  readonly target: string;
  /** A header's value, by its name in any case. What authenticates the client is not shown. */
  header(name: string): string | undefined;
  /** The names of the headers that are shown, in lower case. */
  headerNames(): readonly string[];
  /** The peer's address; behind a proxy, the proxy's. Undefined if the server did not say. */
  readonly remoteAddress: string | undefined;
}

/** The HTTP request that a call serves. */
export interface ServedHttpCall extends ServedHttpRequest {
  /**
   * Closes the connection of the request while the call goes on: nothing on the way need hold it
   * open for minutes. The client comes back after the `retry` time and gets what it has missed. Does
   * nothing if it would not: its revision does not know that, or its request is not answered with a
   * stream.
   *
   * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
   */
  closeConnection(): void;
}

export interface RequestOrigin {
  /**
   * Within what the request's id is unique. `request`: any number of requests in flight may have
   * the same.
   */
  readonly idScope: 'session' | 'request';
  /** Undefined without authentication. */
  readonly principal?: Principal | undefined;
  /** Undefined without authentication, and if the server exchanges no tokens. */
  readonly tokens?: TokenExchange | undefined;
  readonly http?: ServedHttpCall | undefined;
  /** Why its client cannot be asked anything on its behalf; undefined if it can. */
  readonly noRequestsReason?: string | undefined;
  /**
   * The revision of a client that has no session, whose request says nothing of itself; undefined
   * in a session, and if the request says it.
   */
  readonly revision?: string | undefined;
  /**
   * Whose share of the bounds it counts towards, if many clients share one session: the principal,
   * or the address. Undefined in a session of one client.
   */
  readonly clientKey?: string | undefined;
  /** That of the batch which it came in, if its answer is sent with the others of that. */
  readonly batch?: RequestOrigin | undefined;
  /**
   * The node that serves it, if several share what they serve: a call that cannot go on in another process is
   * found there.
   */
  readonly node?: string | undefined;
  /** The `ResumedRun` that the request goes on with: no client has sent it, and nobody hears of its answer. */
  readonly resumes?: object | undefined;
}
