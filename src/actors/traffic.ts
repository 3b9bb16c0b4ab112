/**
 * The frames between a session and its client, for observers: an embedding program's observables,
 * the inspector page, a recorder. Without observers it keeps the last frame and reads the clock
 * once per turn with output.
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

/** Observes frames. Do not keep or modify them: they belong to the session. */
export interface TrafficListener {
  /** All frames of one chunk of input, in order, before they are processed. */
  received?(frames: readonly InboundFrame[]): void;
  /** Frames sent together, in order, before they are encoded. */
  sent?(frames: readonly OutboundFrame[]): void;
}

/** A frame sent or received, and its time, clock ms. */
export type TrafficFrame = { readonly at: number } & (
  | { readonly direction: 'in'; readonly frame: InboundFrame }
  | { readonly direction: 'out'; readonly frame: OutboundFrame }
);

export interface TrafficOptions {
  readonly hostClock: Pick<Clock, 'now'>;
  readonly report: Report<ActorFactName>;
}

export class Traffic {
  /** Created for the first listener, since most sessions have none. */
  #listeners: Listeners<TrafficListener> | undefined = undefined;
  readonly #options: TrafficOptions;
  /** The last frame in either direction; it stays in memory until the next one. */
  #last: InboundFrame | OutboundFrame | undefined = undefined;
  #lastAt = 0;
  #keeps: 'last' | 'nothing' = 'last';

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /**
   * Stops keeping the last frame. For sessions that share memory with others: each kept frame may
   * be as large as a message and would live as long as its session.
   */
  discardFrames(): void {
    this.#keeps = 'nothing';
    this.#last = undefined;
  }

  /**
   * The last frame, whether observed or not; undefined before the first, and after {@link
   * discardFrames}.
   */
  get last(): TrafficFrame | undefined {
    const frame = this.#last;
    if (!frame) return undefined;
    const at = this.#lastAt;
    return 'kind' in frame ? { direction: 'in', frame, at } : { direction: 'out', frame, at };
  }

  /** Adds a listener. Returns the function that removes it. Errors of listeners are reported. */
  listen(listener: TrafficListener): () => void {
    this.#listeners ??= new Listeners("A listener to the session's traffic", this.#options.report);
    return this.#listeners.add(listener);
  }

  // A listener added during a notification also gets these frames.

  /** Notifies listeners of received frames, before they are processed. */
  received(frames: readonly InboundFrame[], at: number): void {
    this.#listeners?.notify((listener) => listener.received?.(frames));
    if (this.#keeps === 'nothing') return;
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastAt = at;
  }

  /** Notifies listeners of frames about to be written. */
  sent(frames: readonly OutboundFrame[]): void {
    this.#listeners?.notify((listener) => listener.sent?.(frames));
    if (this.#keeps === 'nothing') return;
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastAt = this.#options.hostClock.now();
  }
}

/** A transport's actors, and the observers of its traffic. */
export interface ObservedTransport {
  readonly traffic: Traffic;
  readonly actors: TransportActors;
}

/** The reader of the transport found by its input. */
export function readerPort(
  transportOf: (input: ReaderInput) => Pick<ObservedTransport, 'actors'>,
): Port<ReaderEvent, ReaderInput> {
  return portByInput((input) => transportOf(input).actors.reader);
}

/**
 * The writer of the transport found by its input. Its frames are observed.
 *
 * @param outgoing transforms the frames before they are written
 */
export function observedWriter(
  transportOf: (input: WriterInput) => ObservedTransport,
  outgoing?: (input: WriterInput, event: FramesToSend) => FramesToSend,
): Port<WriterEvent, WriterInput> {
  return {
    ...portByInput((input: WriterInput) => transportOf(input).actors.writer),
    transition: (snapshot, event, actorScope) => {
      const { input } = snapshot;
      const { traffic, actors } = transportOf(input);
      if (event.type !== 'frames.send')
        return actors.writer.transition(snapshot, event, actorScope);
      const written = outgoing ? outgoing(input, event) : event;
      if (written.frames.length === 0) return snapshot;
      traffic.sent(written.frames);
      return actors.writer.transition(snapshot, written, actorScope);
    },
  };
}
