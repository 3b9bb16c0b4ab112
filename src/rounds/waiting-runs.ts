/**
 * The calls that wait for their clients' retries, and their timers. Each client may have as many
 * as a session of its own could, and all together some times as many.
 */
import { fullParties } from '../actors/limits.ts';
import type { Run } from './run.ts';

interface WaitingRun {
  readonly timer: unknown;
  /** Its client may come back from another address. */
  readonly party: string | undefined;
  /** How long its request is. */
  readonly length: number;
  /** The others of its client's, the oldest first. */
  readonly among: Set<Run>;
}

export class WaitingRuns {
  /** The oldest first. */
  readonly #runs = new Map<Run, WaitingRun>();
  /** By whose they are; see `RequestOrigin.party`. */
  readonly #parties = new Map<string | undefined, Set<Run>>();

  /** @param timer ends its wait */
  add(run: Run, timer: unknown): void {
    const { origin, size: length } = run;
    const party = origin?.party;
    const among = this.#parties.get(party) ?? new Set();
    this.#parties.set(party, among.add(run));
    this.#runs.set(run, { timer, party, length, among });
  }

  /** How long the request of one that waits is, UTF-16 units. */
  lengthOf(run: Run): number {
    return this.#runs.get(run)?.length ?? 0;
  }

  /** @returns its timer; undefined if it does not wait */
  delete(run: Run): unknown {
    const waiting = this.#runs.get(run);
    if (!waiting) return undefined;
    this.#runs.delete(run);
    waiting.among.delete(run);
    if (waiting.among.size === 0) this.#parties.delete(waiting.party);
    return waiting.timer;
  }

  /**
   * The one that has to go if what is kept has no room for this one's: the oldest of its client's,
   * or, if that has no other, of the client whose calls are longest. It may be the same.
   */
  longest(run: Run): Run {
    const own = this.#runs.get(run)?.among ?? new Set<Run>();
    if (own.size > 1) return own.values().next().value ?? run;
    const lengthOf = (runs: Iterable<Run>) =>
      [...runs].reduce((sum, each) => sum + this.lengthOf(each), 0);
    let [longest, most] = [own, lengthOf(own)];
    for (const runs of this.#parties.values()) {
      const length = lengthOf(runs);
      if (length > most) [longest, most] = [runs, length];
    }
    return longest.values().next().value ?? run;
  }

  /**
   * The one that has to go, as another one has come.
   * @param max of one client's
   * @returns the oldest of its client's, or of the client that has the most; undefined if all may stay
   */
  excess(run: Run, max: number): Run | undefined {
    const own = this.#runs.get(run)?.among;
    if (own && own.size > max) return own.values().next().value;
    if (this.#runs.size <= max * fullParties) return undefined;
    let most = own;
    for (const runs of this.#parties.values()) if (runs.size > (most?.size ?? 0)) most = runs;
    return most?.values().next().value;
  }
}
