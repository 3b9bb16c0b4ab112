/**
 * Selects the sessions and connections a page shows. A server over HTTP may have thousands; sending
 * all would slow down the page and the server. Shown are the newest and the blocked ones; the
 * longest-quiet session is evicted first.
 */
import { causesOf, headlineOf } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';

/** True if something blocks the session or connection. */
export function isBlocked(dump: SessionDump | ConnectionDump): boolean {
  return dump.side === 'host' ? headlineOf(dump).mood !== 'idle' : causesOf(dump).length > 0;
}

interface Watched {
  readonly session: { readonly id: string; dump(): SessionDump | ConnectionDump };
  readonly sampler: { start(): void; stop(): void };
}

/** Maximum number of open sessions shown. */
export const maxShown = 100;
/** Hidden sessions examined per scan. */
const scanSize = 20;

export class ShownSessions<T extends Watched> {
  readonly #shown = new Set<T>();
  /** Index of the next hidden session to examine. */
  #next = 0;

  has(watched: T): boolean {
    return this.#shown.has(watched);
  }

  get size(): number {
    return this.#shown.size;
  }

  /** Shows a session if there is room or another can be evicted. */
  show(watched: T): void {
    if (this.#shown.has(watched)) return;
    if (this.#shown.size >= maxShown) {
      const quietest = this.#quietest();
      if (!quietest) return;
      this.remove(quietest);
    }
    this.#shown.add(watched);
    watched.sampler.start();
  }

  /** Examines the next few hidden sessions, round-robin, and shows the blocked ones. */
  scan(all: readonly T[]): void {
    const hidden = all.filter((watched) => !this.#shown.has(watched));
    const from = this.#next < hidden.length ? this.#next : 0;
    const seen = hidden.slice(from, from + scanSize);
    this.#next = from + seen.length;
    for (const watched of seen) {
      const isWanted = this.#shown.size < maxShown || isBlocked(watched.session.dump());
      if (isWanted) this.show(watched);
    }
  }

  remove(watched: T): void {
    if (this.#shown.delete(watched)) watched.sampler.stop();
  }

  clear(): void {
    for (const watched of [...this.#shown]) this.remove(watched);
  }

  /** The unblocked session with the longest silence of its peer. */
  #quietest(): T | undefined {
    const dumps = [...this.#shown].map((watched) => ({ watched, dump: watched.session.dump() }));
    const resting = dumps.filter(({ dump }) => !isBlocked(dump));
    return resting.reduce<(typeof resting)[number] | undefined>(
      (quietest, each) =>
        quietest && quietest.dump.quietMs >= each.dump.quietMs ? quietest : each,
      undefined,
    )?.watched;
  }
}
