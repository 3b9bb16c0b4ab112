import type { Revision } from '../contract/everywhere.ts';

/** What is demanded. Its tests are run once, unless a member says what they are crossed with. */
export interface Demand {
  readonly text: string;
  /** The first revision that demands it. */
  readonly since?: Revision;
  /** The first revision that does not demand it any more. */
  readonly before?: Revision;
  /**
   * What could change it, so that its tests are run for each: the transport if it is about how messages come, go and end;
   * the revision if clients of each are told something else, or in another way.
   */
  readonly by?: 'transport' | 'revision' | 'both';
  /** Our own transports alone: it is about bytes that are no message, about batches, or about the end of the input. */
  readonly over?: 'bytes';
  /** Why neither could change it, although one would expect it: its tests are run once. */
  readonly apart?: string;
}

/** Demands by their source, by their id. */
export interface Demands {
  readonly [source: string]: { readonly [id: string]: string | Demand };
}

/** The same demands, with these members unless they say it themselves. */
export function of(members: Omit<Demand, 'text'>, demands: Demands): Demands {
  return Object.fromEntries(
    Object.entries(demands).map(([source, rows]) => [
      source,
      Object.fromEntries(
        Object.entries(rows).map(([id, row]) => [
          id,
          { ...members, ...(typeof row === 'string' ? { text: row } : row) },
        ]),
      ),
    ]),
  );
}
