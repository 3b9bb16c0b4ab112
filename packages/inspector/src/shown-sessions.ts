/**
 * Which of many sessions and connections a page shows: a server over HTTP may have thousands, and a page that got
 * all of them would be slow and cost the server its time. The newest are shown, and those that
 * something holds up; the one that is quiet for longest makes room.
 */
import { causesOf, headlineOf } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';

/** Whether something keeps it from going on. */
export function isHeldUp(dump: SessionDump | ConnectionDump): boolean {
  return dump.side === 'host' ? headlineOf(dump).mood !== 'idle' : causesOf(dump).length > 0;
}

interface Watched {
  readonly session: { readonly id: string; dump(): SessionDump | ConnectionDump };
  readonly sampler: { start(): void; stop(): void };
}

/** How many open sessions are shown. */
export const maxShown = 100;
/** How many of the others are looked at each time. */
const looks = 20;

export class ShownSessions<T extends Watched> {
  readonly #shown = new Set<T>();
  /** Where the next look begins. */
  #next = 0;

  has(watched: T): boolean {
    return this.#shown.has(watched);
  }

  get size(): number {
    return this.#shown.size;
  }

  /** Shows it, if there is room or another one can make room. */
  admit(watched: T): void {
    if (this.#shown.has(watched)) return;
    if (this.#shown.size >= maxShown) {
      const quietest = this.#quietest();
      if (!quietest) return;
      this.remove(quietest);
    }
    this.#shown.add(watched);
    watched.sampler.start();
  }

  /** Looks for those among the others that something holds up: a few each time, in turns. */
  look(all: readonly T[]): void {
    const hidden = all.filter((watched) => !this.#shown.has(watched));
    const from = this.#next < hidden.length ? this.#next : 0;
    const seen = hidden.slice(from, from + looks);
    this.#next = from + seen.length;
    for (const watched of seen) {
      const isWanted = this.#shown.size < maxShown || isHeldUp(watched.session.dump());
      if (isWanted) this.admit(watched);
    }
  }

  remove(watched: T): void {
    if (this.#shown.delete(watched)) watched.sampler.stop();
  }

  clear(): void {
    for (const watched of [...this.#shown]) this.remove(watched);
  }

  /** Of those that nothing holds up, the one whose peer was not heard of for longest. */
  #quietest(): T | undefined {
    const dumps = [...this.#shown].map((watched) => ({ watched, dump: watched.session.dump() }));
    const resting = dumps.filter(({ dump }) => !isHeldUp(dump));
    return resting.reduce<(typeof resting)[number] | undefined>(
      (quietest, each) =>
        quietest && quietest.dump.quietMs >= each.dump.quietMs ? quietest : each,
      undefined,
    )?.watched;
  }
}
