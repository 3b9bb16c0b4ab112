/** The feature that a `DefinedUpstream` carries: what serves clients whose server is found out for each of them. */
import type { RequestContext } from '../actors/request-context.ts';
import type { PreparationOutcome } from '../machines/session-context.ts';
import type { InitializeReceived } from '../machines/session-ports.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { ChangeNotification } from '../protocol/subscriptions.ts';
import { carried } from './define/carried.ts';
import type { DefinedUpstream, Upstream } from './define/upstream.ts';
import type { SessionScope } from './session/session-scope.ts';
import type { Feature } from './features/feature.ts';
import type { ServerCatalog } from './features/registry.ts';
import type { ListenedUpstream } from './features/subscriptions.ts';

/** The upstream of one client. */
export interface OpenUpstream {
  /** Undefined until it is open. */
  readonly upstream: Upstream | undefined;
  /** Applies backpressure: the client does not read, or reads again. */
  pause(isPaused: boolean): void;
}

/** The upstreams of a server's clients. */
export interface UpstreamsFeature {
  /** Opens the upstream of a session's client. Never rejects. */
  prepare(
    session: SessionScope,
    received: InitializeReceived,
    signal: AbortSignal | undefined,
  ): Promise<PreparationOutcome>;
  /** Describes the definition and its upstreams to the client of a call. */
  readonly describe: (call: RequestContext) => Promise<ServerDescription>;
  /** Gives the upstream that the subscription of a call belongs to. */
  listening(call: RequestContext): Promise<ListenedUpstream>;
  /** The upstreams that a session has open. */
  in(session: SessionScope): readonly OpenUpstream[];
  /** Forwards a notification of the client to its upstream. @returns false if nothing takes it */
  forwards(session: SessionScope, method: string, params: JsonObject | undefined): boolean;
  /** Ends all upstreams of a session that is over. */
  close(session: SessionScope): Promise<void>;
  /** The server's features with its upstreams: what is the server's own is answered by it. */
  feature(own: readonly Feature[], catalog: ServerCatalog): Feature;
}

/**
 * Makes the feature for one server.
 *
 * @param own what the server says of itself beside its upstream
 * @param tell tells the subscriptions of an upstream's client
 */
export type UpstreamsMaker = (
  own: () => ServerDescription,
  tell: (upstream: OpenUpstream, notice: ChangeNotification) => void,
) => UpstreamsFeature;

/** @throws {TypeError} the upstream carries no feature */
export function upstreamsMakerOf(upstream: DefinedUpstream): UpstreamsMaker {
  const maker: unknown = upstream[carried];
  if (typeof maker === 'function') return maker as UpstreamsMaker;
  throw new TypeError(
    '"upstream" of a server must be made by defineUpstream, got a plain function: import it from mcp-actors/bridge',
  );
}
