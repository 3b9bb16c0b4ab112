/**
 * Listeners registered by the embedding program. An error thrown by one is reported; the session,
 * the process and the other listeners are unaffected.
 */
import { textOfError } from '../protocol/errors.ts';
import type { ActorFactName, Report } from './facts.ts';

export class Listeners<T> {
  readonly #listeners = new Set<T>();
  readonly #label: string;
  readonly #report: Report<ActorFactName>;

  /** @param label names the listener in reports, such as "A listener to the session's traffic" */
  constructor(label: string, report: Report<ActorFactName>) {
    this.#label = label;
    this.#report = report;
  }

  /** Adds a listener. Returns the function that removes it. */
  add(listener: T): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls each listener in the order of addition, including listeners added meanwhile. */
  notify(call: (listener: T) => void): void {
    for (const listener of this.#listeners) {
      callListener(this.#label, this.#report, () => call(listener));
    }
  }
}

/** Calls one listener, and reports its error if it throws. */
function callListener(label: string, report: Report<ActorFactName>, listener: () => void): void {
  try {
    listener();
  } catch (error) {
    report({
      level: 'error',
      name: 'listener.failed',
      message: `${label} failed: ${textOfError(error)}`,
      details: { error },
    });
  }
}
