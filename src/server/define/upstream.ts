/**
 * Upstreams: sources outside the definition that serve lists and requests of a client. One is opened
 * per client, after `initialize` (or, since 2026-07-28, with the first request).
 */
import type { JsonObject } from '../../protocol/frames.ts';
import type { Implementation, ServerState } from '../../protocol/implementation.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { ExchangedToken, Principal, WantedToken } from '../../protocol/request-origin.ts';
import type { HandlerContext, RequestOptions } from '../context/handler-context.ts';
import type { featureKey } from './feature-key.ts';

/** The client of an upstream, and what the upstream may do with it. */
export interface UpstreamClient {
  /** Self-description from `initialize`, or since 2026-07-28 from the request. */
  readonly peer: PeerDescription;
  /** Principal of the access token; undefined without authentication. */
  readonly principal: Principal | undefined;
  /**
   * Exchanges the access token of the client's latest request for a token of another server.
   *
   * @throws {RuntimeError} like {@link HandlerContext.exchangeToken}
   */
  exchangeToken(wanted: WantedToken): Promise<ExchangedToken>;
  /** Aborted when the client no longer needs the upstream, even while it is being opened. */
  readonly signal: AbortSignal;
  /**
   * Closes an idle upstream of a client without a session, to make room for another. Resolves when it
   * is closed; returns undefined if the upstream is in use.
   *
   * @param part closes only a part of the upstream instead
   */
  release(part?: () => Promise<void>): Promise<void> | undefined;
  /** Ends the client's session at once, without waiting for its calls. */
  disconnect(reason: string): void;
  /**
   * Sends a notification outside of any request, once the client is initialized. Since 2026-07-28 a
   * client only receives list and resource changes that it subscribed to.
   */
  notify(method: string, params?: JsonObject): void;
  /**
   * Sends the client a request outside of any call.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare the capability, or speaks
   *   2026-07-28, which only allows requests inside results; otherwise like {@link HandlerContext.request}
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
}

/** A subscription of a client to resources of its upstream. */
export interface UpstreamWatch {
  /** The subset of the requested URIs that the upstream watches. */
  readonly uris: readonly string[];
  /** Ends the subscription. */
  end(): void;
}

/**
 * Capabilities and handlers for one client, in addition to the definition. Params, results and
 * capabilities are forwarded unchecked and unchanged.
 */
export interface Upstream {
  /** Overrides `serverInfo` of the definition. */
  readonly serverInfo?: Implementation;
  /** Capabilities declared to the client, unchanged. */
  readonly capabilities: JsonObject;
  /** Appended to the `instructions` of the definition. */
  readonly instructions?: string | undefined;
  /** Additional members of the `initialize` result, including `_meta`. */
  readonly extraMembers?: JsonObject | undefined;
  /**
   * True if results may be `input_required`; the upstream then also handles the retries. A function
   * decides per request. Default: false.
   */
  readonly mayRequireInput?:
    | boolean
    | ((method: string, params: JsonObject | undefined) => boolean | Promise<boolean>);
  /**
   * Returns the current list entry of a tool, under its client-facing name; undefined if unknown. Called when the
   * headers of an HTTP call contradict the `x-mcp-header` schemas of earlier lists, or no list contained the tool.
   *
   * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
   */
  tool?(name: string): Promise<JsonObject | undefined>;
  /** Idle time before the upstream of a sessionless client is closed, milliseconds. Default: `upstreamIdleMs`. */
  readonly idleMs?: number | undefined;
  /**
   * Handles requests of methods that the definition does not handle.
   *
   * @param params params of the client, including `_meta`
   * @throws {ProtocolError} the error to send to the client
   */
  request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
  ): JsonObject | Promise<JsonObject>;
  /** Receives client notifications outside of requests, such as `notifications/roots/list_changed`. */
  onClientNotification?(method: string, params: JsonObject | undefined): void;
  /** Subscribes the client to changes of these resources (2026-07-28). */
  watch?(uris: readonly string[]): Promise<UpstreamWatch>;
  /**
   * Called when the client stops reading and `maxOutboundBytes` are queued. Send nothing more until
   * {@link resume}.
   */
  pause?(): void;
  /** Called when the client has read all queued output. */
  resume?(): void;
  /** States of the servers behind the upstream, for session dumps. */
  readonly serverStates?: readonly ServerState[];
  /** Called once, when the client no longer needs the upstream. The session awaits the returned promise. */
  close?(): unknown;
}

/** Opens the upstream of one client. `initialize` awaits it and fails with the error that it throws. */
export interface UpstreamFactory {
  /** Called once per client. */
  (client: UpstreamClient): Upstream | Promise<Upstream>;
  /** Releases what clients share. Called by the server's `close`. */
  close?(): unknown;
}

/** An upstream together with its feature, as returned by `defineUpstream`. */
export interface DefinedUpstream extends UpstreamFactory {
  /** The feature: an `UpstreamsMaker`, see `server/upstreams-feature.ts`. */
  readonly [featureKey]: object;
}
