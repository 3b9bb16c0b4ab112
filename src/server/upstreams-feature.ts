/** Feature of a `DefinedUpstream`: opens an upstream per client and serves requests from it. */
import type { RequestContext } from '../actors/request-context.ts';
import type { UpstreamOutcome } from '../machines/session-context.ts';
import type { InitializeReceived } from '../machines/session-ports.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { ChangeNotification } from '../protocol/subscriptions.ts';
import { featureKey } from './define/feature-key.ts';
import type { DefinedUpstream, Upstream } from './define/upstream.ts';
import type { SessionScope } from './session/session-scope.ts';
import type { Feature } from './features/feature.ts';
import type { ServerCatalog } from './features/registry.ts';
import type { UpstreamListenTarget } from './features/subscriptions.ts';

/** Upstream of one client. */
export interface OpenUpstream {
  /** The upstream; undefined until it is open. */
  readonly upstream: Upstream | undefined;
  /** Applies or releases backpressure. */
  pause(isPaused: boolean): void;
}

/** Upstreams of a server's clients. */
export interface UpstreamsFeature {
  /** Opens the upstream of a session's client. Never rejects. */
  resolve(
    session: SessionScope,
    received: InitializeReceived,
    signal: AbortSignal | undefined,
  ): Promise<UpstreamOutcome>;
  /** Describes the definition and the upstream to the client of a call. */
  readonly describe: (call: RequestContext) => Promise<ServerDescription>;
  /** Resolves the upstream of a subscription request. */
  listenTarget(call: RequestContext): Promise<UpstreamListenTarget>;
  /** Open upstreams of a session. */
  openIn(session: SessionScope): readonly OpenUpstream[];
  /** Forwards a client notification to its upstream. @returns false if no upstream accepts it */
  forward(session: SessionScope, method: string, params: JsonObject | undefined): boolean;
  /** Closes all upstreams of an ended session. */
  close(session: SessionScope): Promise<void>;
  /** Combines the server's own features with the upstreams. The server's own items take precedence. */
  feature(own: readonly Feature[], catalog: ServerCatalog): Feature;
}

/**
 * Creates the feature of one server.
 *
 * @param own server description without the upstream
 * @param tell notifies the subscriptions of an upstream's client
 */
export type UpstreamsMaker = (
  own: () => ServerDescription,
  tell: (upstream: OpenUpstream, notice: ChangeNotification) => void,
) => UpstreamsFeature;

/** @throws {TypeError} if the upstream was not created by `defineUpstream` */
export function upstreamsMakerOf(upstream: DefinedUpstream): UpstreamsMaker {
  const maker: unknown = upstream[featureKey];
  if (typeof maker === 'function') return maker as UpstreamsMaker;
  throw new TypeError(
    '"upstream" of a server must be created with defineUpstream, got a plain function: import it from mcp-actors/bridge',
  );
}
