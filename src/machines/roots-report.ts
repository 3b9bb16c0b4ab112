/** The client's roots as they are published: the list, with each entry's path or problem. */
import { RuntimeError } from '../protocol/errors.ts';
import type { RuntimeErrorCode } from '../protocol/errors.ts';
import type { WireError } from '../protocol/frames.ts';
import type { ListedRoot } from '../protocol/roots.ts';

/** One entry of the client's list, in the client's order. Usable if `problem` is undefined. */
export interface Root extends ListedRoot {
  /** The directory's real path, if the list has been resolved and the entry is usable. */
  readonly path?: string;
  /** Set with `path`: identifies the directory, since another one may take its place. */
  readonly identity?: string;
}

/** The outcome of asking. `failed` keeps the roots known before, if any. */
export type RootsStatus = 'known' | 'undeclared' | 'unsupported' | 'failed';

/** Why a query for the roots failed. */
export interface RootsFailure {
  /**
   * `REQUEST_TIMEOUT`: no answer in time. `REQUEST_FAILED`: the client answered with an error, see
   * `remote`. `INVALID_RESPONSE`: its answer cannot be read. `TRANSPORT_CLOSED`,
   * `REMOTE_CANCELLED`, `LIMIT_EXCEEDED`: as for any request to the client. `CAPABILITY_MISSING`:
   * the client could not be asked at all. `RESOLVER_FAILED`: the server's own `resolveRoots` threw,
   * which the log has with its stack.
   */
  readonly code: RuntimeErrorCode | 'RESOLVER_FAILED';
  /** The client's error, with its `data`. */
  readonly remote?: WireError;
}

/** Reads the failure from the error that `ask` rejected with. */
export function rootsFailureOf(error: unknown): RootsFailure {
  if (!(error instanceof RuntimeError)) return { code: 'RESOLVER_FAILED' };
  const { code, remote } = error;
  return remote ? { code, remote } : { code };
}

/** The roots as they stand: the list and its resolution, set together. */
export interface RootsReport {
  /** What is known: a list, or why there is none. */
  readonly status: RootsStatus;
  /** Counts publications: a later report has a higher one. */
  readonly generation: number;
  /** False if a newer list is known to exist and is being asked for. */
  readonly settled: boolean;
  /** Every entry of the client's list, in its order, unusable ones with their reason. */
  readonly roots: readonly Root[];
  /** Why the status is `unsupported` or `failed`; for a person. */
  readonly problem?: string;
  /** The same for a program. */
  readonly failure?: RootsFailure;
}

/**
 * What a call gets if its client cannot be asked, neither on the call's stream nor on one of its
 * own.
 *
 * @param why for a person
 * @param known the earlier report, whose roots stay valid
 */
export function unaskedRoots(why: string, known?: RootsReport): RootsReport {
  const { generation = 0, roots = [] } = known ?? {};
  const problem = `The client has no stream of its own, and cannot be asked for its roots on this request's: ${why}`;
  const failure = { code: 'CAPABILITY_MISSING' } as const;
  return { status: 'failed', generation, settled: false, roots, problem, failure };
}

/** Turns the client's entries into directories, in order: sets `path` or `problem` on each. */
export type RootsResolver = (
  roots: readonly Root[],
  signal: AbortSignal,
) => Promise<readonly Root[]>;
