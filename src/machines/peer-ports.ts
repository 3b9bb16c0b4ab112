/**
 * What the actors of both sides say to each other: everything that happens between the input and
 * the output of a server's session, or of a host's connection, is one of these events. The peer is
 * whoever is at the other end: a server's client, a host's server.
 */
import type { ProgressReport } from '../protocol/dialects/dialect.ts';
import type { RuntimeError } from '../protocol/errors.ts';
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
import type { Ref } from './port.ts';

/** Who the peer is, as messages name it. */
export type PeerRole = 'client' | 'server';

/**
 * Whether the peer reads what we write: `blocked` past the outbound queue's limit, `flowing` once
 * it is empty.
 */
export type OutputFlow = { readonly type: 'output.blocked' } | { readonly type: 'output.flowing' };

/**
 * Whether the peer can be told and asked what belongs to none of its requests. `none`: it only
 * hears what goes on the stream of a request of its own.
 */
export type OwnStream = 'open' | 'none';

/**
 * What a transport says of the peer's {@link OwnStream}. It counts as open until something else is
 * heard: a transport that begins without one says `ownStream.closed` when its writer starts.
 */
export type OwnStreamFact =
  | { readonly type: 'ownStream.opened' }
  | { readonly type: 'ownStream.closed' };

/** What reader and writer tell their owner: the session, or the connection. */
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
  /** From the reader: everything one chunk of input held, in order. */
  | {
      readonly type: 'frames.received';
      readonly frames: readonly InboundFrame[];
      /** The index to begin at: what comes before it has been dealt with. */
      readonly from?: number;
    }
  /** Requests of this peer are served from now on. */
  | { readonly type: 'gate.opened'; readonly peer: PeerDescription }
  /**
   * The era of the peer has no sessions. A client says with each request who it is: any other request
   * is refused. A server asks nothing.
   */
  | { readonly type: 'envelopes.require' }
  /** The peer's new requests are refused; those in flight may end, then `calls.drained`. */
  | { readonly type: 'gate.closed' }
  /** What the router's owner answers to a lifecycle request. */
  | {
      readonly type: 'lifecycle.answered';
      readonly response: OutboundResponse;
      readonly request: RelatedRequest;
    }
  /** Nobody is there any more who could be answered: the request is cancelled. */
  | { readonly type: 'request.gone'; readonly request: RelatedRequest; readonly reason: string }
  /** End every call now. */
  | { readonly type: 'calls.abandon' }
  | OutputFlow;

export interface FramesToSend {
  readonly type: 'frames.send';
  /** The writer's from then on: it lets go of what it has encoded. */
  readonly frames: OutboundFrame[];
  /**
   * The peer's request that they answer, or that they belong to: if each request has its own
   * stream, they go there. Responses have it only if their request has an origin.
   */
  readonly relatedTo?: AnsweredInput | undefined;
  /**
   * Hears of each request or notification that is not sent: JSON cannot hold it, or the transport
   * did not take it.
   */
  readonly rejected?: (error: unknown, frame: OutboundFrame) => void;
  /**
   * Hears of each request that the peer has not served and never will, though nothing is wrong with
   * it: it was not reached, or does not know the session any more. It may be sent once more; the
   * error says what has happened, if it may not. If this is absent, it is rejected.
   */
  readonly returned?: (error: unknown, frame: OutboundFrame) => void;
  /**
   * Called once the transport has taken the frames; never if one of them is not sent. Only a host's
   * notifications ask for it, so the writers of servers alone need not call it.
   */
  readonly taken?: (() => void) | undefined;
}

/** What the writer takes. */
export type WriterEvent =
  | FramesToSend
  /** The request has an origin and was cancelled: nothing more is sent for it, no answer either. */
  | { readonly type: 'request.dropped'; readonly request: AnsweredInput }
  /**
   * Answer `output.flushed` once everything is with the operating system. If the stall time has
   * passed since it was asked last, answer `output.stalled` if nothing was taken meanwhile.
   */
  | { readonly type: 'output.flush'; readonly after?: 'stallTimeout' };

/** What the correlation actor takes. */
export type CorrelationEvent =
  /** Everything that was asked in one turn, in order. */
  | { readonly type: 'requests.send'; readonly requests: readonly PeerRequest[] }
  /** Settles it with `CANCELLED` and tells the peer, if it was sent. */
  | { readonly type: 'request.cancel'; readonly request: PeerRequest; readonly reason: unknown }
  /** Answers that came one behind the other. */
  | { readonly type: 'responses.received'; readonly responses: readonly InboundResponse[] }
  | { readonly type: 'progress.received'; readonly params: JsonObject | undefined }
  /** The peer cancelled an id that is none of its own requests. */
  | { readonly type: 'remote.cancelled'; readonly id: RequestId; readonly reason: unknown }
  | ChannelGate;

/**
 * When requests may be sent, and over what. A server's correlation begins with its session's writer,
 * and only ever hears that the gate is opened and closed. A host's begins without a writer, lives
 * over any number of channels, so that no id is used twice, and hears of each.
 */
export type ChannelGate =
  /** Requests of the handshake pass through this writer from now on. All others wait. */
  | { readonly type: 'channel.opened'; readonly writer: Ref<WriterEvent> }
  /** All requests may be sent through the channel's writer; those that waited go out now. */
  | { readonly type: 'gate.opened' }
  /** The server is greeted anew over the same channel: requests wait, what was sent stays sent. */
  | { readonly type: 'gate.held' }
  /**
   * There is no channel any more. What was sent is settled with this error; what waits goes on
   * waiting, within its own time. After `gate.closed` too, requests wait from then on.
   */
  | ({ readonly type: 'channel.lost' } & Ending)
  /** There will be no channel: all that is pending and all that comes fails with this error. */
  | ({ readonly type: 'gate.closed' } & Ending);

interface Ending {
  readonly error: RequestFailure;
  /**
   * For each request that was sent, a peer that is still there hears that nobody waits any more. By
   * default nothing is sent.
   */
  readonly peer?: 'told' | undefined;
}

/**
 * What requests fail with. Each gets an error of its own: to make one costs its stack, and most
 * sessions end with nothing pending.
 */
export type RequestFailure = Pick<RuntimeError, 'code' | 'message' | 'cause'> &
  Partial<Pick<RuntimeError, 'exit' | 'status'>>;

/** A request of ours to the peer. The asker makes it; the correlation actor gives it its id. */
export interface PeerRequest {
  readonly method: string;
  /**
   * What it is settled by: its answer, or that the transport has taken it. The latter is a
   * notification, and settled with an empty result. `answer` by default.
   */
  readonly awaits?: 'answer' | 'delivery' | undefined;
  /** It settles how the two sides speak: it passes before the gate is open, and is never cancelled. */
  readonly isHandshake?: boolean | undefined;
  /** If it cannot be sent now, it waits, or fails with `NOT_READY`. `wait` by default. */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  readonly params?: JsonObject | undefined;
  /** The peer's request on whose behalf it is sent. */
  readonly relatedTo?: RelatedRequest | undefined;
  /** More for the `_meta` of its params, and of its cancellation. */
  readonly meta?: JsonObject | undefined;
  /**
   * Without an answer for so long, milliseconds, it fails with `REQUEST_TIMEOUT`; progress starts
   * the time anew.
   */
  readonly timeoutMs: number;
  /** The hard maximum, milliseconds, whatever progress comes. */
  readonly maxTotalMs: number;
  /** Nobody's code waits for the answer: it need not keep the process alive. */
  readonly inBackground?: boolean | undefined;
  /** Asks for progress, and hears of it. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Its message has been made. It need not keep the params: if it was not served, it gets them back. */
  written?(): void;
  /** It was not served, and will be sent once more. @param params of the message that was made */
  unserved?(params: JsonObject | undefined): void;
  /** Called exactly once. */
  settle(outcome: RequestOutcome): void;
  /** Set once it is taken. Its time began at `sentAt`, the clock's milliseconds. */
  ticket?: { readonly id: OutboundRequestId; readonly sentAt: number } | undefined;
}

export type RequestOutcome =
  | { readonly ok: true; readonly result: JsonObject }
  | { readonly ok: false; readonly error: RuntimeError };

/**
 * How what belongs to one session, or to one connection, reaches its actors, which are made once
 * for all of them. Each hands it on as it is; none here looks into it.
 */
export interface InputScope {
  /** Missing if the provided actors need nothing of the kind. */
  readonly scope?: object | undefined;
}

/** What a transport's writer begins with. */
export interface WriterInput extends InputScope {
  /** The session: hears when the output is blocked, flows again, or has broken. */
  readonly owner: Ref<TransportFact>;
}

export interface CorrelationInput extends InputScope {
  /** A session's. A connection's correlation hears of one with each channel. */
  readonly writer?: Ref<WriterEvent>;
}

/** What a transport's reader begins with. */
export interface ReaderInput extends InputScope {
  /** The session: hears when the input has ended or broken. */
  readonly owner: Ref<TransportFact>;
  /** Gets the frames, chunk by chunk. */
  readonly router: Pick<Ref<RouterEvent>, 'send'>;
}

/** What the router itself tells its owner; what else it tells is its side's to know. */
export interface CallsDrained {
  readonly type: 'calls.drained';
}

export interface RouterInput extends InputScope {
  readonly owner: Ref<CallsDrained>;
  readonly writer: Ref<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
}
