/**
 * What passes between a session and its client, for those who listen: an embedder's observables,
 * the live page, a recorder. While nobody looks it keeps the last frame, and reads a clock per turn
 * in which something is said.
 */
import { portByInput } from '../machines/port.ts';
import type { Port } from '../machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  TransportActors,
  WriterEvent,
  WriterInput,
} from '../machines/peer-ports.ts';
import type { ActorFactName, Report } from './facts.ts';
import type { InboundFrame, OutboundFrame } from '../protocol/frames.ts';
import type { Clock } from './clock.ts';
import { Listeners } from './listeners.ts';

/**
 * Hears of frames as they pass. Keep nothing of them and change nothing: they are the session's
 * own.
 */
export interface TrafficListener {
  /** Everything that one chunk of input held, in order, before anything is done about it. */
  received?(frames: readonly InboundFrame[]): void;
  /**
   * What is said together, in order, before it is encoded. A result that JSON cannot hold is
   * replaced after this.
   */
  sent?(frames: readonly OutboundFrame[]): void;
}

/** A frame that has passed, and when, milliseconds of the session's clock. */
export type TrafficFrame = { readonly at: number } & (
  | { readonly direction: 'in'; readonly frame: InboundFrame }
  | { readonly direction: 'out'; readonly frame: OutboundFrame }
);

export interface TrafficOptions {
  readonly hostClock: Pick<Clock, 'now'>;
  readonly report: Report<ActorFactName>;
}

export class Traffic {
  /** Made for the first listener: most sessions have none. */
  #listeners: Listeners<TrafficListener> | undefined = undefined;
  readonly #options: TrafficOptions;
  /** The frame itself, whichever way it passed: it stays in memory until the next one has. */
  #last: InboundFrame | OutboundFrame | undefined = undefined;
  #lastAt = 0;
  #keeps: 'last' | 'nothing' = 'last';

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /**
   * From now on no frame is kept. For sessions that share their memory with others: the last frame of
   * each may be as long as a message, and would be kept for as long as the session.
   */
  discardFrames(): void {
    this.#keeps = 'nothing';
    this.#last = undefined;
  }

  /**
   * What has passed last, if anything has, whether anybody listened or not; undefined after
   * {@link discardFrames}.
   */
  get last(): TrafficFrame | undefined {
    const frame = this.#last;
    if (!frame) return undefined;
    const at = this.#lastAt;
    return 'kind' in frame ? { direction: 'in', frame, at } : { direction: 'out', frame, at };
  }

  /** Returns what ends the listening. If a listener throws, that is reported and ends nothing. */
  listen(listener: TrafficListener): () => void {
    this.#listeners ??= new Listeners("A listener to the session's traffic", this.#options.report);
    return this.#listeners.add(listener);
  }

  // A listener that is added while these frames are told is told of them, too: they have not passed
  // yet.

  /** Frames have come in at this time; nothing has been done about them yet. */
  received(frames: readonly InboundFrame[], at: number): void {
    this.#listeners?.notify((listener) => listener.received?.(frames));
    if (this.#keeps === 'nothing') return;
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastAt = at;
  }

  /** Frames are about to be written. */
  sent(frames: readonly OutboundFrame[]): void {
    this.#listeners?.notify((listener) => listener.sent?.(frames));
    if (this.#keeps === 'nothing') return;
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastAt = this.#options.hostClock.now();
  }
}

/** A transport, and what listens to its traffic. */
export interface ObservedTransport {
  readonly traffic: Traffic;
  readonly actors: TransportActors;
}

/** The reader of the transport that its input leads to. */
export function readerPort(
  transportOf: (input: ReaderInput) => Pick<ObservedTransport, 'actors'>,
): Port<ReaderEvent, ReaderInput> {
  return portByInput((input) => transportOf(input).actors.reader);
}

/**
 * The writer of the transport that its input leads to. The frames that it gets are observed.
 *
 * @param outgoing changes what is written
 */
export function observedWriter(
  transportOf: (input: WriterInput) => ObservedTransport,
  outgoing?: (input: WriterInput, event: FramesToSend) => FramesToSend,
): Port<WriterEvent, WriterInput> {
  return {
    ...portByInput((input: WriterInput) => transportOf(input).actors.writer),
    transition: (snapshot, event, actorScope) => {
      const { input } = snapshot;
      const { traffic, actors: ends } = transportOf(input);
      if (event.type !== 'frames.send') return ends.writer.transition(snapshot, event, actorScope);
      const written = outgoing ? outgoing(input, event) : event;
      if (written.frames.length === 0) return snapshot;
      traffic.sent(written.frames);
      return ends.writer.transition(snapshot, written, actorScope);
    },
  };
}
