/**
 * Events between the actors of a session (server side) or connection (host side). The peer is the other
 * end: the client of a session, the server of a connection.
 */
import type { ProgressReport } from '../protocol/dialects/dialect.ts';
import type { RequestFailure, RuntimeError } from '../protocol/errors.ts';
import type {
  AnsweredInput,
  InboundFrame,
  InboundResponse,
  JsonObject,
  OutboundFrame,
  OutboundRequestId,
  OutboundResponse,
  RelatedRequest,
  RequestId,
} from '../protocol/frames.ts';
import type { PeerDescription } from '../protocol/initialize.ts';
import type { Port, Recipient, Ref } from './port.ts';

/** Role of the peer, for messages. */
export type PeerRole = 'client' | 'server';

/** Backpressure: `blocked` when the outbound queue exceeds its limit, `flowing` when it is empty again. */
export type OutputFlow = { readonly type: 'output.blocked' } | { readonly type: 'output.flowing' };

/**
 * State of the standalone stream, which carries messages unrelated to the peer's requests (over HTTP,
 * the GET stream). Initially open: a transport without it sends `standaloneStream.closed` when its
 * writer starts.
 */
type StandaloneStreamFact =
  | { readonly type: 'standaloneStream.opened' }
  | { readonly type: 'standaloneStream.closed' };

/** Events from the reader and the writer to their owner, a session or a connection. */
export type TransportFact =
  | { readonly type: 'input.ended' }
  | StandaloneStreamFact
  | OutputFlow
  | { readonly type: 'output.flushed' }
  | { readonly type: 'output.stalled' }
  | { readonly type: 'output.broken'; readonly error: unknown };

/** Events of the reader. */
export type ReaderEvent = OutputFlow;

/** Events of the router. */
export type RouterEvent =
  /** Frames of one input chunk, in order. */
  | {
      readonly type: 'frames.received';
      readonly frames: readonly InboundFrame[];
      /** Index of the first unprocessed frame. Default: 0. */
      readonly from?: number;
    }
  /** The upstream of the peer is being opened: queue its messages until the gate opens or closes. */
  | { readonly type: 'gate.held' }
  /** Serve requests of this peer. */
  | { readonly type: 'gate.opened'; readonly peer: PeerDescription }
  /**
   * The peer speaks a revision without sessions. Requests of a client must carry its identity, others
   * are rejected. A server sends no requests.
   */
  | { readonly type: 'envelopes.require' }
  /**
   * Reject new requests. The router replies synchronously: `calls.drained` if no call is running, else
   * `calls.running`, followed by `calls.drained` once the running calls have ended.
   */
  | { readonly type: 'gate.closed' }
  /** Response of the owner to a lifecycle request. */
  | {
      readonly type: 'lifecycle.answered';
      readonly response: OutboundResponse;
      readonly request: RelatedRequest;
    }
  /** The peer disconnected and cannot be answered: cancel the request. */
  | { readonly type: 'request.gone'; readonly request: RelatedRequest; readonly reason: string }
  /** Cancel all calls. */
  | { readonly type: 'calls.abandon' }
  | OutputFlow;

export interface FramesToSend {
  readonly type: 'frames.send';
  /** Frames, owned by the writer from now on: it drops each one after encoding it. */
  readonly frames: OutboundFrame[];
  /**
   * Request of the peer that the frames answer or belong to, which selects the stream if each request
   * has its own. For responses, set only if the request has an origin.
   */
  readonly relatedTo?: AnsweredInput | undefined;
  /** Receives the {@link DeliveryEvent}s of the frames, if the sender needs them. */
  readonly reportTo?: Recipient<DeliveryEvent> | undefined;
  /**
   * Sender's number of these frames. `frames.delivered` is reported only if it is set. Server-side
   * writers need not report it.
   */
  readonly receipt?: number | undefined;
}

/** Delivery result of frames. Responses are never reported. */
export type DeliveryEvent = FrameRejected | FrameReturned | FramePaused | FramesDelivered;

/** A request or notification was not sent: it is not serializable, or the transport rejected it. */
interface FrameRejected {
  readonly type: 'frame.rejected';
  readonly frame: OutboundFrame;
  readonly error: unknown;
  /** See {@link FramesToSend.receipt}. */
  readonly receipt?: number | undefined;
}

/**
 * The peer has not processed the request and never will: it was unreachable, or has lost the session.
 * The request can safely be sent again; otherwise it fails with this error.
 */
interface FrameReturned {
  readonly type: 'frame.returned';
  readonly frame: OutboundFrame;
  readonly error: unknown;
}

/** HTTP only: the peer closed the connection of a request and will answer over a later one. */
interface FramePaused {
  readonly type: 'frame.paused';
  readonly frame: OutboundFrame;
}

/** The transport has accepted all frames of one `frames.send`. */
interface FramesDelivered {
  readonly type: 'frames.delivered';
  readonly receipt: number;
}

/** Events of the writer. */
export type WriterEvent =
  | FramesToSend
  /** A request with an origin was cancelled: send nothing more for it, not even a response. */
  | { readonly type: 'request.dropped'; readonly request: AnsweredInput }
  /**
   * Reply `output.flushed` once the operating system has accepted all output. With
   * `after: 'stallTimeout'`, reply `output.stalled` if nothing was accepted since the last flush event.
   */
  | { readonly type: 'output.flush'; readonly after?: 'stallTimeout' };

/** Events of the correlation actor. */
export type CorrelationEvent =
  /** All requests of one event loop turn, in order. */
  | { readonly type: 'requests.send'; readonly requests: readonly PeerRequest[] }
  /** Settle the request with `CANCELLED`, and notify the peer if it was sent. */
  | { readonly type: 'request.cancel'; readonly request: PeerRequest; readonly reason: unknown }
  /** Consecutive responses. */
  | { readonly type: 'responses.received'; readonly responses: readonly InboundResponse[] }
  | { readonly type: 'progress.received'; readonly params: JsonObject | undefined }
  /** The peer cancelled an id that is not one of its own requests. */
  | { readonly type: 'remote.cancelled'; readonly id: RequestId; readonly reason: unknown }
  | DeliveryEvent
  | ChannelGate;

/**
 * Controls when and through which writer requests are sent. A session's correlation starts with the
 * writer and only receives gate events. A connection's correlation outlives its channels, so that ids
 * stay unique, and receives the writer of each.
 */
export type ChannelGate =
  /** Send handshake requests through this writer; queue all others. */
  | { readonly type: 'channel.opened'; readonly writer: Ref<WriterEvent> }
  /** Send all requests, including queued ones. */
  | { readonly type: 'gate.opened' }
  /** The handshake is repeated over the same channel: queue new requests, keep sent ones pending. */
  | { readonly type: 'gate.held' }
  /**
   * The channel is lost. Fail sent requests with this error, keep queued ones until their timeouts, and
   * queue new ones, even after `gate.closed`.
   */
  | ({ readonly type: 'channel.lost' } & Ending)
  /** No further channel: fail all pending and new requests with this error. */
  | ({ readonly type: 'gate.closed' } & Ending);

interface Ending {
  readonly error: RequestFailure;
  /** `told`: send the peer a cancellation for each sent request, if possible. Default: send nothing. */
  readonly peer?: 'told' | undefined;
}

/** Request to the peer, created by the caller. The correlation actor assigns its id. */
export interface PeerRequest {
  readonly method: string;
  /**
   * Settles with the response (default), or once the transport has accepted it. The latter is a
   * notification, settled with an empty result.
   */
  readonly awaits?: 'answer' | 'delivery' | undefined;
  /** True for handshake requests, which are sent before the gate opens and never cancelled. */
  readonly isHandshake?: boolean | undefined;
  /** Without a ready channel: wait (default) or fail with `NOT_READY`. */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  /**
   * Params of the request. The caller may drop them after sending; they are restored if the request
   * was not processed.
   */
  params?: JsonObject | undefined;
  /** Request of the peer on whose behalf this one is sent. */
  readonly relatedTo?: RelatedRequest | undefined;
  /** Additional `_meta` members of the params and of the cancellation. */
  readonly meta?: JsonObject | undefined;
  /**
   * Time without a response or progress after which the request fails with `REQUEST_TIMEOUT`,
   * milliseconds.
   */
  readonly timeoutMs: number;
  /** Maximum total time regardless of progress, milliseconds. */
  readonly maxTotalMs: number;
  /** True if no user code awaits the response, so it need not keep the process alive. */
  readonly inBackground?: boolean | undefined;
  /** Requests progress and receives its reports. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Called for each `frame.paused`. */
  readonly onPaused?: (() => void) | undefined;
  /** Called exactly once with the outcome. */
  settle(outcome: RequestOutcome): void;
  /** State set by the correlation actor. `sentAt`: start of the timeout, clock ms. */
  ticket?:
    | {
        readonly id: OutboundRequestId;
        readonly sentAt: number;
        readonly state: 'held' | 'sent';
      }
    | undefined;
}

export type RequestOutcome =
  | { readonly ok: true; readonly result: JsonObject }
  | { readonly ok: false; readonly error: RuntimeError };

/** Per-session or per-connection data for actor logic that is shared by all of them. */
export interface InputScope {
  /** Opaque scope that each actor passes on; absent if the provided actors need none. */
  readonly scope?: object | undefined;
}

/** Actor logic of a transport, started by the session or connection. */
export interface TransportActors {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

/** Input that connects the reader and writer of a shared machine to their transport. */
interface TransportInput extends InputScope {
  /** Actors of a connection's channel. Those of a session are in its scope. */
  readonly ends?: TransportActors;
}

/** Input of a transport's writer. */
export interface WriterInput extends TransportInput {
  /** Session or connection, notified of backpressure and output errors. */
  readonly owner: Recipient<TransportFact>;
}

export interface CorrelationInput extends InputScope {
  /** Writer of the session. A connection passes a writer with each channel. */
  readonly writer?: Ref<WriterEvent>;
}

/** Input of a transport's reader. */
export interface ReaderInput extends TransportInput {
  /** Session or connection, notified of the end of the input. */
  readonly owner: Recipient<TransportFact>;
  /** Receives the frames of each chunk. */
  readonly router: Recipient<RouterEvent>;
}

/** Events from every router to its owner. Each side adds its own. */
export type CallsFact = { readonly type: 'calls.drained' } | { readonly type: 'calls.running' };

export interface RouterInput extends InputScope {
  readonly owner: Recipient<CallsFact>;
  readonly writer: Recipient<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
}
