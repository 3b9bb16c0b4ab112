/**
 * Host code that listens to a session. If a listener throws, the error is reported; it
 * ends neither the session nor the process, and the other listeners are called all the same.
 */
import { textOfError } from '../protocol/errors.ts';
import type { ActorFactName, Report } from './facts.ts';

export class Listeners<T> {
  readonly #listeners = new Set<T>();
  readonly #label: string;
  readonly #report: Report<ActorFactName>;

  /** @param whose what reports call a listener, such as "A listener to the session's traffic" */
  constructor(whose: string, report: Report<ActorFactName>) {
    this.#label = whose;
    this.#report = report;
  }

  /** Returns what removes the listener. */
  add(listener: T): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Calls each listener, in the order in which they were added; one that is added meanwhile, too.
   */
  notify(call: (listener: T) => void): void {
    for (const listener of this.#listeners) {
      callListener(this.#label, this.#report, () => call(listener));
    }
  }
}

/** Calls one listener and reports what it throws. */
function callListener(whose: string, report: Report<ActorFactName>, listener: () => void): void {
  try {
    listener();
  } catch (error) {
    report({
      level: 'error',
      name: 'listener.failed',
      message: `${whose} failed: ${textOfError(error)}`,
      details: { error },
    });
  }
}
