/**
 * What differs between the router of a server's session and that of a host's connection: which
 * messages are of the lifecycle, who may ask, what becomes of notifications.
 */
import type { PeerRole, RouterInput } from '../../machines/peer-ports.ts';
import type { RootsRef } from '../../machines/session-context.ts';
import type {
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InvalidFrame,
  JsonObject,
  OutboundResponse,
  RequestId,
  WireError,
} from '../../protocol/frames.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { Clock } from '../clock.ts';
import type { RequestIds } from '../correlation/request-ids.ts';
import type { Caller, RequestHandler } from '../exchange.ts';
import type { Call, CallScope, Replies } from './call.ts';
import type { CallOptions } from './calls-in-flight.ts';

/** What the routers of both sides work with. */
export interface RouterOptions extends CallOptions {
  /** The handler of a method, or undefined if it is not offered. */
  handlerOf(method: string): RequestHandler | undefined;
  readonly clock: Clock;
  /** Knows the ids of our requests to the peer. */
  readonly requestIds: Pick<RequestIds, 'read'>;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
}

/**
 * What becomes of requests that run user code: refused before the handshake, served, refused at the
 * end, which comes when nothing runs any more: then it is `drained`, and its owner has heard so. `modern`: a client's are served only if they say
 * themselves whose they are, a server asks nothing.
 */
export type Gate =
  | { readonly state: 'unopened' | 'modern' | 'closed' | 'drained' | 'stopped' }
  | { readonly state: 'open'; readonly caller: Caller };

/** The router, as its side knows it. */
export interface RouterDesk<TInput, TOptions> {
  readonly input: TInput;
  readonly options: TOptions;
  readonly gate: Gate;
  /** What calls are made with. */
  readonly scope: CallScope;
  /** Takes answers that belong to nothing else. */
  readonly outbox: Replies;
  /** Whether a request with its id is in flight. */
  isInFlight(request: InboundRequest): boolean;
  /** Serves a request, or refuses it. */
  request(request: InboundRequest, replies: Replies): void;
}

/** One object for all routers of a side. */
export interface RouterSide<
  TInput extends RouterInput = RouterInput,
  TOptions extends RouterOptions = RouterOptions,
> {
  /**
   * Deals with a message of the lifecycle: what its owner makes of it comes before the rest of its
   * chunk.
   * @returns false, and does nothing, for any other
   */
  lifecycle(frame: InboundFrame, desk: RouterDesk<TInput, TOptions>): boolean;
  /**
   * A request that is not like others: the call to start, the answer, or `unanswered` if it gets
   * none. Undefined: it is like others.
   */
  admit(
    request: InboundRequest,
    desk: RouterDesk<TInput, TOptions>,
    replies: Replies,
  ): Call | OutboundResponse | 'unanswered' | undefined;
  /** Why a request may not be part of a batch; undefined if it may. */
  refusalInBatch(request: InboundRequest): WireError | undefined;
  /** The error for a request that comes before the gate is open. */
  tooEarly(method: string): WireError;
  /** The error for a request at the end. */
  readonly tooLate: WireError;
  /** The error for a method that nobody handles. */
  notOffered(method: string): WireError;
  /** A result, as this peer is to get it. */
  resultFor(peer: PeerDescription, result: JsonObject, options: TOptions): object;
  /** The machine of the peer's roots, if it has any. */
  rootsOf(options: TOptions): RootsRef | undefined;
  /** A notification that is neither progress nor a cancellation. */
  notification(notification: InboundNotification, desk: RouterDesk<TInput, TOptions>): void;
  /** A cancellation of what is no request of the peer's in flight. */
  cancelledUnknown(id: RequestId, reason: unknown, desk: RouterDesk<TInput, TOptions>): void;
  /** Whether an answer must be meant by invalid input that names this id of ours. */
  isMeantAsAnswer(frame: InvalidFrame): boolean;
  /** Whether the sender of invalid input is told. */
  answersInvalid(frame: InvalidFrame, gate: Gate): boolean;
}
