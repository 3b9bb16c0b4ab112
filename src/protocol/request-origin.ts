/**
 * Origins of requests that their transport answers separately, as HTTP does. Requests without an
 * origin share their session's output.
 */

/** The sender of a request, according to its access token. */
export interface Principal {
  /**
   * Unique id: the same for every token of one subject of one issuer, and different for any other.
   * Sessions and states are bound to it. Opaque: compare it, but do not parse it.
   */
  readonly id: string;
  /** The user, or the client itself if it acts on its own behalf. Unique per issuer only. */
  readonly subject: string;
  /** OAuth client id. */
  readonly clientId?: string;
  /** Granted scopes, including the scopes they imply. */
  readonly scopes: readonly string[];
  /** The token's claims. Does not contain the token itself. */
  readonly claims: { readonly [name: string]: unknown };
  /** Expiry of the token, milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** A request for a token for another server. */
export interface WantedToken {
  /** Audience(s): the other server's name at the authorization server. */
  readonly audience?: string | readonly string[] | undefined;
  /** URL(s) of the other server (RFC 8707). */
  readonly resource?: string | readonly string[] | undefined;
  /** Scopes, separated by spaces. Default: the authorization server's choice. */
  readonly scope?: string | undefined;
  /** A token that the other server rejected, so it is not returned again. */
  readonly refused?: string | undefined;
}

/** A token for another server, on behalf of a caller. */
export interface ExchangedToken {
  /** Send it as `Authorization: Bearer …` to the server it was requested for, and to no other. */
  readonly accessToken: string;
  /** Granted scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** Expiry, milliseconds since 1970; undefined if unknown. */
  readonly expiresAt?: number | undefined;
}

/** Exchanges the access token of a request. The token itself is never exposed. */
export interface TokenExchange {
  /**
   * @throws {RuntimeError} UNAUTHORIZED: the authorization server refuses. NOT_READY: it is
   *   unreachable. INVALID_RESPONSE: its answer is unusable
   */
  exchange(wanted: WantedToken): Promise<ExchangedToken>;
}

/** The HTTP request that delivered a message. */
export interface ServedHttpRequest {
  /** HTTP method, such as `POST`. */
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** A header's value by its case-insensitive name. Credentials are hidden. */
  header(name: string): string | undefined;
  /** Names of the visible headers, in lower case. */
  headerNames(): readonly string[];
  /** The peer's address; behind a proxy, that of the proxy. Undefined if unknown. */
  readonly remoteAddress: string | undefined;
}

/** The HTTP request of a call. */
export interface ServedHttpCall extends ServedHttpRequest {
  /**
   * Closes the request's connection while the call continues, so that no connection has to stay
   * open for minutes. The client reconnects after the `retry` time and gets what it missed. No
   * effect if the client would not reconnect, because of its revision or because the answer is not
   * a stream.
   *
   * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
   */
  closeConnection(): void;
}

/** An ordinary call under an id that outlives its process. */
export interface NamedCall {
  readonly id: string;
  /** True if an earlier process may have recorded it. */
  readonly isResent: boolean;
  /** Lets the client see the stream of the call: its journal has begun, or the call has failed. */
  begun?(): void;
}

export interface RequestOrigin {
  /** Scope in which the request's id is unique. `request`: others in flight may have the same. */
  readonly idScope: 'session' | 'request';
  /** Undefined without authentication. */
  readonly principal?: Principal | undefined;
  /** Undefined without authentication or token exchange. */
  readonly tokens?: TokenExchange | undefined;
  readonly http?: ServedHttpCall | undefined;
  /** Reason why no requests can be sent on behalf of this one; undefined if they can. */
  readonly noRequestsReason?: string | undefined;
  /** Revision of a sessionless legacy client; undefined for all others. */
  readonly revision?: string | undefined;
  /**
   * Quota key of the client, if many clients share one session: principal id or network address.
   * Undefined in a session of a single client.
   */
  readonly clientKey?: string | undefined;
  /** Origin of the batch, if the answer is part of the batch's answer. */
  readonly batch?: RequestOrigin | undefined;
  /** The serving node, in a cluster: calls that cannot resume elsewhere are routed to it. */
  readonly node?: string | undefined;
  /**
   * Names the call in the same way in every process, and begins a stream that its client can resume at the next one.
   * Absent, or undefined, if the client cannot come back for the answer.
   */
  readonly nameCall?: (() => Promise<NamedCall> | undefined) | undefined;
  /** The `ResumedRun` that this internal request resumes. Its answer is discarded. */
  readonly resumes?: object | undefined;
}
