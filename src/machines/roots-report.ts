/** The client's roots as they are published: the list and what became of each entry. */
import type { ListedRoot } from '../protocol/roots.ts';

/** One entry of the client's list, in the client's order. Usable if `problem` is undefined. */
export interface Root extends ListedRoot {
  /** The directory's real path, if the list has been resolved and the entry is usable. */
  readonly path?: string;
  /** Set with `path`: which directory that was, since another one may take its place. */
  readonly identity?: string;
}

/** What came of asking. `failed` keeps the roots known before, if any. */
export type RootsStatus = 'known' | 'undeclared' | 'unsupported' | 'failed';

/** The roots as they stand: the list and its resolution, set together. */
export interface RootsReport {
  readonly status: RootsStatus;
  /** Counts publications: a later report has a higher one. */
  readonly generation: number;
  /** False if a newer list is known to exist and is being asked for. */
  readonly settled: boolean;
  /** Every entry of the client's list, in its order, unusable ones with their reason. */
  readonly roots: readonly Root[];
  /** Why the status is `unsupported` or `failed`; for a person. */
  readonly problem?: string;
}

/** Turns the client's entries into directories, in order: sets `path` or `problem` on each. */
export type RootsResolver = (
  roots: readonly Root[],
  signal: AbortSignal,
) => Promise<readonly Root[]>;
