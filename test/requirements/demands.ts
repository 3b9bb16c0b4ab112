import type { Revision } from '../contract/everywhere.ts';

/** What is demanded. Its tests are run for every revision over every transport, unless a member says otherwise. */
export interface Demand {
  readonly text: string;
  /** The first revision that demands it. */
  readonly since?: Revision;
  /** The first revision that does not demand it any more. */
  readonly before?: Revision;
  /** Our own transports alone: it is about bytes that are no message, about batches, or about the end of the input. */
  readonly over?: 'bytes';
  /** Why a revision or a transport could change nothing about it: its tests are run once. */
  readonly apart?: string;
}

/** Demands by their source, by their id. */
export interface Demands {
  readonly [source: string]: { readonly [id: string]: string | Demand };
}

/** The same demands, of these revisions where they do not say it themselves. */
export function of(revisions: Pick<Demand, 'since' | 'before'>, demands: Demands): Demands {
  return Object.fromEntries(
    Object.entries(demands).map(([source, rows]) => [
      source,
      Object.fromEntries(
        Object.entries(rows).map(([id, row]) => [
          id,
          { ...revisions, ...(typeof row === 'string' ? { text: row } : row) },
        ]),
      ),
    ]),
  );
}
