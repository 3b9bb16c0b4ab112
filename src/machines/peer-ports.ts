/**
 * The events between the actors of a server's session, or of a host's connection: everything from
 * its input to its output is one of them. The peer is the other end: the client of a server, or the
 * server of a host.
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

/** The peer's role, as messages name it. */
export type PeerRole = 'client' | 'server';

/**
 * Whether the peer reads what we write: `blocked` past the outbound queue's limit, `flowing` once
 * it is empty.
 */
export type OutputFlow = { readonly type: 'output.blocked' } | { readonly type: 'output.flowing' };

/**
 * Whether the peer has a stream of its own: it can be sent messages that belong to none of its
 * requests. The stream counts as open until the transport says otherwise: one that begins without
 * it sends `ownStream.closed` when its writer starts.
 */
type OwnStreamFact = { readonly type: 'ownStream.opened' } | { readonly type: 'ownStream.closed' };

/** What the reader and the writer tell their owner, a session or a connection. */
export type TransportFact =
  | { readonly type: 'input.ended' }
  | OwnStreamFact
  | OutputFlow
  | { readonly type: 'output.flushed' }
  | { readonly type: 'output.stalled' }
  | { readonly type: 'output.broken'; readonly error: unknown };

/** What the reader takes. */
export type ReaderEvent = OutputFlow;

/** What the router takes. */
export type RouterEvent =
  /** From the reader: everything in one chunk of input, in order. */
  | {
      readonly type: 'frames.received';
      readonly frames: readonly InboundFrame[];
      /** The index to begin at: everything before it is done. */
      readonly from?: number;
    }
  /** Who serves this peer is being found out: until the gate opens or closes, what it sends waits. */
  | { readonly type: 'gate.held' }
  /** Requests of this peer are served from now on. */
  | { readonly type: 'gate.opened'; readonly peer: PeerDescription }
  /**
   * The peer's era has no sessions. A client identifies itself in each request: any other request
   * is refused. A server sends no requests.
   */
  | { readonly type: 'envelopes.require' }
  /**
   * The peer's new requests are refused. It is answered at once with `calls.drained` if nothing runs,
   * with `calls.running` otherwise; then those in flight may end, and `calls.drained` comes later.
   */
  | { readonly type: 'gate.closed' }
  /** What the router's owner answers to a lifecycle request. */
  | {
      readonly type: 'lifecycle.answered';
      readonly response: OutboundResponse;
      readonly request: RelatedRequest;
    }
  /** The peer is gone and cannot be answered: the request is cancelled. */
  | { readonly type: 'request.gone'; readonly request: RelatedRequest; readonly reason: string }
  /** End every call now. */
  | { readonly type: 'calls.abandon' }
  | OutputFlow;

export interface FramesToSend {
  readonly type: 'frames.send';
  /** They belong to the writer from then on: it drops each one after encoding it. */
  readonly frames: OutboundFrame[];
  /**
   * The peer's request that they answer or belong to. If each request has its own stream, they are
   * sent there. For responses it is set only if their request has an origin.
   */
  readonly relatedTo?: AnsweredInput | undefined;
  /** Gets the {@link DeliveryEvent}s of the frames; undefined if their sender needs none. */
  readonly reportTo?: Recipient<DeliveryEvent> | undefined;
  /**
   * The sender's number for these frames. `frames.delivered` is reported only if it is set; the
   * writers of servers need not report it.
   */
  readonly receipt?: number | undefined;
}

/** The fate of frames on their way to the peer. Answers to the peer are never reported. */
export type DeliveryEvent = FrameRejected | FrameReturned | FramePaused | FramesDelivered;

/** A request or notification was not sent: JSON cannot represent it, or the transport refused it. */
interface FrameRejected {
  readonly type: 'frame.rejected';
  readonly frame: OutboundFrame;
  readonly error: unknown;
  /** See {@link FramesToSend.receipt}. */
  readonly receipt?: number | undefined;
}

/**
 * The peer did not serve a valid request, and never will: it was not reached, or no longer knows the
 * session. The request may be sent once more; if it may not, the error says what happened.
 */
interface FrameReturned {
  readonly type: 'frame.returned';
  readonly frame: OutboundFrame;
  readonly error: unknown;
}

/** The peer has closed the connection of a request and will answer it over a later one. Only over HTTP. */
interface FramePaused {
  readonly type: 'frame.paused';
  readonly frame: OutboundFrame;
}

/** The transport has accepted all frames of one `frames.send`. */
interface FramesDelivered {
  readonly type: 'frames.delivered';
  readonly receipt: number;
}

/** What the writer takes. */
export type WriterEvent =
  | FramesToSend
  /** A request with an origin was cancelled: nothing more is sent for it, not even an answer. */
  | { readonly type: 'request.dropped'; readonly request: AnsweredInput }
  /**
   * Answer `output.flushed` once the operating system has everything. `after: 'stallTimeout'`: the
   * stall time has passed since the last flush event; answer `output.stalled` if nothing was taken
   * meanwhile.
   */
  | { readonly type: 'output.flush'; readonly after?: 'stallTimeout' };

/** What the correlation actor takes. */
export type CorrelationEvent =
  /** All requests of one turn, in order. */
  | { readonly type: 'requests.send'; readonly requests: readonly PeerRequest[] }
  /** Settles it with `CANCELLED` and tells the peer, if it was sent. */
  | { readonly type: 'request.cancel'; readonly request: PeerRequest; readonly reason: unknown }
  /** Consecutive answers. */
  | { readonly type: 'responses.received'; readonly responses: readonly InboundResponse[] }
  | { readonly type: 'progress.received'; readonly params: JsonObject | undefined }
  /** The peer cancelled an id that belongs to none of its own requests. */
  | { readonly type: 'remote.cancelled'; readonly id: RequestId; readonly reason: unknown }
  | DeliveryEvent
  | ChannelGate;

/**
 * When requests may be sent, and through which writer. A server's correlation begins with its
 * session's writer, and hears only that the gate opens and closes. A host's correlation begins
 * without a writer and hears of each channel: it outlives them all, so that no id is used twice.
 */
export type ChannelGate =
  /** Requests of the handshake pass through this writer from now on. All others wait. */
  | { readonly type: 'channel.opened'; readonly writer: Ref<WriterEvent> }
  /** All requests may be sent through the channel's writer; waiting ones are sent now. */
  | { readonly type: 'gate.opened' }
  /**
   * The server is greeted anew over the same channel: new requests wait, sent ones stay pending.
   */
  | { readonly type: 'gate.held' }
  /**
   * The channel is lost. Requests that were sent are settled with this error; waiting ones keep
   * waiting, within their own time. Even after `gate.closed`, new requests wait from then on.
   */
  | ({ readonly type: 'channel.lost' } & Ending)
  /** There will be no channel: all pending and all new requests fail with this error. */
  | ({ readonly type: 'gate.closed' } & Ending);

interface Ending {
  readonly error: RequestFailure;
  /**
   * `told`: the peer gets a cancellation for each request that was sent, if it is still there. By
   * default nothing is sent.
   */
  readonly peer?: 'told' | undefined;
}

/** A request to the peer. The asker makes it; the correlation actor gives it its id. */
export interface PeerRequest {
  readonly method: string;
  /**
   * When it is settled: at its answer (the default), or once the transport has taken it. The latter
   * is a notification, settled with an empty result.
   */
  readonly awaits?: 'answer' | 'delivery' | undefined;
  /** It is part of the handshake: it may be sent before the gate opens, and is never cancelled. */
  readonly isHandshake?: boolean | undefined;
  /** If it cannot be sent now, it waits (the default) or fails with `NOT_READY`. */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  /**
   * The asker may drop them once the request is sent. It gets them back if the request was not
   * served.
   */
  params?: JsonObject | undefined;
  /** The peer's request on whose behalf it is sent. */
  readonly relatedTo?: RelatedRequest | undefined;
  /** Further members for the `_meta` of its params and of its cancellation. */
  readonly meta?: JsonObject | undefined;
  /**
   * It fails with `REQUEST_TIMEOUT` after this time without an answer, milliseconds; progress
   * restarts the time.
   */
  readonly timeoutMs: number;
  /** The hard maximum, milliseconds, even if progress comes. */
  readonly maxTotalMs: number;
  /** No user code waits for the answer: it need not keep the process alive. */
  readonly inBackground?: boolean | undefined;
  /** If given, progress is requested and passed to it. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Called at each `frame.paused`. */
  readonly onPaused?: (() => void) | undefined;
  /** Called exactly once. */
  settle(outcome: RequestOutcome): void;
  /** Set by the correlation. Its time began at `sentAt`, the clock's milliseconds. */
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

/**
 * Actor logic is made once for all sessions or connections; this carries what belongs to one of
 * them. Each actor passes it on unread.
 */
export interface InputScope {
  /** Absent if the provided actors do not need one. */
  readonly scope?: object | undefined;
}

/** The two actors that carry a transport's messages. The session or the connection starts them. */
export interface TransportActors {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

/** What leads a shared machine's reader and writer to their transport. */
interface TransportInput extends InputScope {
  /** The ends of a connection's channel. A session's are in its scope. */
  readonly ends?: TransportActors;
}

/** What a transport's writer begins with. */
export interface WriterInput extends TransportInput {
  /** The session or connection: hears when the output is blocked, flows again, or has broken. */
  readonly owner: Recipient<TransportFact>;
}

export interface CorrelationInput extends InputScope {
  /** The session's writer. A connection's correlation gets a writer with each channel. */
  readonly writer?: Ref<WriterEvent>;
}

/** What a transport's reader begins with. */
export interface ReaderInput extends TransportInput {
  /** The session or connection: hears when the input has ended or broken. */
  readonly owner: Recipient<TransportFact>;
  /** Gets the frames, chunk by chunk. */
  readonly router: Recipient<RouterEvent>;
}

/** What every router tells its owner. Each side's router has further events. */
export type CallsFact = { readonly type: 'calls.drained' } | { readonly type: 'calls.running' };

export interface RouterInput extends InputScope {
  readonly owner: Recipient<CallsFact>;
  readonly writer: Recipient<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
}
