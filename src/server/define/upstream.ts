/**
 * Lists, schemas and handlers that come from elsewhere while a server runs. They are found out for
 * each client, after it has said who it is.
 */
import type { JsonObject } from '../../protocol/frames.ts';
import type { Implementation, ServerState } from '../../protocol/implementation.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { ExchangedToken, Principal, WantedToken } from '../../protocol/request-origin.ts';
import type { HandlerContext, RequestOptions } from '../context/handler-context.ts';
import type { carried } from './carried.ts';

/** The client that an upstream is for. */
export interface UpstreamClient {
  /** As it describes itself in `initialize`, or since 2026-07-28 in each request. */
  readonly peer: PeerDescription;
  /** Who it is, as its access token says; undefined without authentication. */
  readonly principal: Principal | undefined;
  /**
   * Exchanges the client's access token for one of another server, as `exchangeToken` of the context
   * does: the token of the request that came last.
   *
   * @throws {RuntimeError} as there
   */
  exchangeToken(wanted: WantedToken): Promise<ExchangedToken>;
  /** Aborted when the client no longer needs the upstream, even if it is not ready yet. */
  readonly signal: AbortSignal;
  /**
   * Ends the upstream to make room for another, if its client has no session and asks nothing at the
   * moment. Resolves once it has ended; undefined if it is in use.
   *
   * @param part ends a part of it in its place: the rest is kept
   */
  letGo(part?: () => Promise<void>): Promise<void> | undefined;
  /** Ends the client's session at once, without waiting for its calls. */
  disconnect(reason: string): void;
  /**
   * Sends a notification that belongs to no request. It waits until the client is ready. Since
   * 2026-07-28 a client gets only what it listens for: changes of lists and of resources.
   */
  notify(method: string, params?: JsonObject): void;
  /**
   * Asks the client something on behalf of no request.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the client has not declared it, or speaks 2026-07-28,
   *   in which a server asks in its results only; as {@link HandlerContext.request}
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
}

/** The resources whose changes a client is told of, and what ends that. */
export interface UpstreamWatch {
  /** Those of the wanted URIs that are watched. */
  readonly uris: readonly string[];
  /** The client no longer listens. */
  end(): void;
}

/**
 * What a server has for one client, beside what its definition says. Nothing of it is checked or
 * changed on its way: params, results and capabilities are what the two ends make of them.
 */
export interface Upstream {
  /** In place of the definition's own. */
  readonly serverInfo?: Implementation;
  /** Declared to the client as they are. */
  readonly capabilities: JsonObject;
  /** For a model; they follow those of the definition. */
  readonly instructions?: string | undefined;
  /** Further members of the `initialize` result, `_meta` among them. */
  readonly others?: JsonObject | undefined;
  /**
   * True if its results may be `input_required`. The upstream then answers the retries too. A function
   * decides for each request.
   */
  readonly asksInResults?:
    | boolean
    | ((method: string, params: JsonObject | undefined) => boolean | Promise<boolean>);
  /**
   * A tool as it is listed now, with the name that its client knows; undefined if none is. It is asked for if
   * the headers of a call over HTTP do not fit what the lists have said that have passed (`x-mcp-header`), or
   * if none has named the tool.
   *
   * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
   */
  tool?(name: string): Promise<JsonObject | undefined>;
  /** How long it is kept without a request if its client has no session; by default `upstreamIdleMs`. */
  readonly idleMs?: number | undefined;
  /**
   * Answers a request of any method that the definition does not answer.
   *
   * @param params as the client sent them, `_meta` included
   * @throws {ProtocolError} the error that the client gets
   */
  request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
  ): JsonObject | Promise<JsonObject>;
  /** Takes a notification from the client that belongs to no request, such as of its roots. */
  notified?(method: string, params: JsonObject | undefined): void;
  /** The client listens for the changes of these resources (2026-07-28). */
  watch?(uris: readonly string[]): Promise<UpstreamWatch>;
  /**
   * The client has stopped reading, and `maxOutboundBytes` wait for it: nothing more should be sent to it until
   * {@link resume}.
   */
  pause?(): void;
  /** The client has read everything that waited for it. */
  resume?(): void;
  /** Where the servers that it is made of stand, for a dump of the session. */
  readonly standings?: readonly ServerState[];
  /** Called once, when the client no longer needs it. The end of the session waits for it. */
  close?(): unknown;
}

/** Makes the upstream of one client. `initialize` waits for it, and fails with the error that it throws. */
export interface UpstreamOf {
  /** Called once for each client. */
  (client: UpstreamClient): Upstream | Promise<Upstream>;
  /** Ends what outlives the clients. Called by the server's `close`. */
  close?(): unknown;
}

/** An upstream with the feature that serves it; `defineUpstream` makes one. */
export interface DefinedUpstream extends UpstreamOf {
  /** The feature: an `UpstreamsMaker` of `server/features`. */
  readonly [carried]: object;
}
