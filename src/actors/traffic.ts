/**
 * What passes between a session and its client, for whoever looks: the observables of an embedder, the live page, a recorder.
 * It stands around the two actors at a session's ends, whatever the transport; while nobody looks it costs a check per chunk and per turn,
 * and the reading of a clock per turn in which something is said.
 */
import type { Port } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type { InboundFrame, OutboundFrame } from '../protocol/frames.ts';
import type { Clock } from './clock.ts';
import type { Hearing } from './ping.actor.ts';

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
  /** When the client was last heard: the router notes it. */
  readonly hearing: Hearing;
  readonly clock: Pick<Clock, 'now'>;
}

export class Traffic {
  readonly #listeners = new Set<TrafficListener>();
  readonly #report: Report;
  readonly #options: TrafficOptions;
  /** The frame itself, whichever way it passed: it stays in memory until the next one has. */
  #last: InboundFrame | OutboundFrame | undefined;
  #lastSentAt = 0;

  constructor(report: Report, options: TrafficOptions) {
    this.#report = report;
    this.#options = options;
  }

  /** What has passed last, if anything has, whether anybody listened or not. */
  get last(): Passed | undefined {
    const frame = this.#last;
    if (!frame) return undefined;
    // For what comes in there is a reading of the clock already, one for each chunk.
    return 'kind' in frame
      ? { direction: 'in', frame, at: this.#options.hearing.lastHeardAt }
      : { direction: 'out', frame, at: this.#lastSentAt };
  }

  /** Gives what ends it. An error of the listener's is reported, and ends nothing. */
  listen(listener: TrafficListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** The same reader, heard. */
  reader(port: Port<ReaderEvent, ReaderInput>): Port<ReaderEvent, ReaderInput> {
    return {
      ...port,
      getInitialSnapshot: (scope, input) => {
        const { router } = input;
        const send = (event: RouterEvent) => {
          if (event.type === 'frames.received') this.#received(event.frames);
          router.send(event);
        };
        return port.getInitialSnapshot(scope, { ...input, router: { send } });
      },
    };
  }

  /** The same writer, heard. */
  writer(port: Port<WriterEvent, WriterInput>): Port<WriterEvent, WriterInput> {
    return {
      ...port,
      transition: (snapshot, event, scope) => {
        if (event.type === 'frames.send') this.#sent(event.frames);
        return port.transition(snapshot, event, scope);
      },
    };
  }

  // Whoever comes to listen while the listeners are told is told of these frames as well: they are no past ones yet.

  #received(frames: readonly InboundFrame[]): void {
    if (this.#listeners.size > 0) this.#tell((listener) => listener.received?.(frames));
    this.#last = frames[frames.length - 1] ?? this.#last;
  }

  #sent(frames: readonly OutboundFrame[]): void {
    if (this.#listeners.size > 0) this.#tell((listener) => listener.sent?.(frames));
    this.#last = frames[frames.length - 1] ?? this.#last;
    this.#lastSentAt = this.#options.clock.now();
  }

  #tell(tell: (listener: TrafficListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        tell(listener);
      } catch (error) {
        this.#report({
          level: 'error',
          name: 'listener.failed',
          message: `A listener to the session's traffic failed: ${textOfError(error)}`,
          details: { error },
        });
      }
    }
  }
}
