/**
 * What passes between a session and its client, for whoever looks: the observables of an embedder, the live page, a recorder.
 * While nobody looks it keeps the last frame, and reads a clock per turn in which something is said.
 */
import { textOfError } from '../protocol/errors.ts';
import type { ActorFactName, Report } from './facts.ts';
import type { InboundFrame, OutboundFrame } from '../protocol/frames.ts';
import type { Clock } from './clock.ts';

/** Hears of frames as they pass. Keep nothing of them and change nothing: they are the session's own. */
export interface TrafficListener {
  /** Everything that one chunk of input held, in order, before anything is done about it. */
  received?(frames: readonly InboundFrame[]): void;
  /** What is said together, in order, before it is encoded. A result that JSON cannot hold is replaced after this. */
  sent?(frames: readonly OutboundFrame[]): void;
}

/** A frame that has passed, and when, milliseconds of the session's clock. */
export type Passed = { readonly at: number } & (
  | { readonly direction: 'in'; readonly frame: InboundFrame }
  | { readonly direction: 'out'; readonly frame: OutboundFrame }
);

export interface TrafficOptions {
  /** When the client was last heard: the router knows. */
  readonly lastHeardAt: number;
  readonly hostClock: Pick<Clock, 'now'>;
  readonly report: Report<ActorFactName>;
}

export class Traffic {
  #listeners: Set<TrafficListener> | undefined = undefined;
  readonly #options: TrafficOptions;
  /** The frame itself, whichever way it passed: it stays in memory until the next one has. */
  #last: InboundFrame | OutboundFrame | undefined = undefined;
  #lastSentAt = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** What has passed last, if anything has, whether anybody listened or not. */
  get last(): Passed | undefined {
    const frame = this.#last;
    if (!frame) return undefined;
    // For what comes in there is a reading of the clock already, one for each chunk.
    return 'kind' in frame
      ? { direction: 'in', frame, at: this.#options.lastHeardAt }
      : { direction: 'out', frame, at: this.#lastSentAt };
  }

  /** Gives what ends it. An error of the listener's is reported, and ends nothing. */
  listen(listener: TrafficListener): () => void {
    (this.#listeners ??= new Set()).add(listener);
    return () => {
      this.#listeners?.delete(listener);
    };
  }

  // Whoever comes to listen while the listeners are told is told of these frames as well: they are no past ones yet.

  /** Frames have come in; nothing has been done about them yet. */
  received(frames: readonly InboundFrame[]): void {
    if (this.#listeners) this.#tell(this.#listeners, (listener) => listener.received?.(frames));
    this.#last = frames[frames.length - 1] ?? this.#last;
  }

  /** Frames are about to be written. */
  sent(frames: readonly OutboundFrame[]): void {
    if (this.#listeners) this.#tell(this.#listeners, (listener) => listener.sent?.(frames));
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastSentAt = this.#options.hostClock.now();
  }

  #tell(listeners: ReadonlySet<TrafficListener>, tell: (listener: TrafficListener) => void): void {
    for (const listener of listeners) {
      try {
        tell(listener);
      } catch (error) {
        this.#options.report({
          level: 'error',
          name: 'listener.failed',
          message: `A listener to the session's traffic failed: ${textOfError(error)}`,
          details: { error },
        });
      }
    }
  }
}
