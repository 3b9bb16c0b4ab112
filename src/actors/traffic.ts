/**
 * What passes between a session and its client, for whoever looks: the observables of an embedder, the live page, a recorder.
 * It stands around the two actors at a session's ends, whatever the transport; while nobody looks it costs a check per chunk and per turn.
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

/** Hears of frames as they pass. Keep nothing of them and change nothing: they are the session's own. */
export interface TrafficListener {
  /** Everything that one chunk of input held, in order, before anything is done about it. */
  received?(frames: readonly InboundFrame[]): void;
  /** What is said together, in order, before it is encoded. A result that JSON cannot hold is replaced after this. */
  sent?(frames: readonly OutboundFrame[]): void;
}

export class Traffic {
  readonly #listeners = new Set<TrafficListener>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
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
          if (this.#listeners.size > 0 && event.type === 'frames.received') {
            this.#tell((listener) => listener.received?.(event.frames));
          }
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
        if (this.#listeners.size > 0 && event.type === 'frames.send') {
          this.#tell((listener) => listener.sent?.(event.frames));
        }
        return port.transition(snapshot, event, scope);
      },
    };
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
