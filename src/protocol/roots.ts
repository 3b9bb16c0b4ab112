/**
 * The client's roots: reading a `roots/list` result entry by entry. One bad entry never voids the good ones.
 *
 * @see MCP 2025-11-25, client/roots
 */
import { describe, isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** Why an entry cannot be used. The first four are seen in the list itself, the others when it is resolved to a path. */
export type RootProblemCode =
  | 'MALFORMED'
  | 'NOT_A_FILE_URI'
  | 'DUPLICATE'
  | 'UNPARSABLE'
  | 'NOT_FOUND'
  | 'NOT_A_DIRECTORY'
  | 'INACCESSIBLE'
  | 'TIMED_OUT';

export interface RootProblem {
  readonly code: RootProblemCode;
  /** For a person: what was wrong, with what value. */
  readonly message: string;
}

/** One entry of the client's list, in the client's order. Usable where `problem` is undefined. */
export interface Root {
  /** As the client sent it; empty where it sent none. */
  readonly uri: string;
  /** For display only. */
  readonly name?: string;
  /** The directory's real path, where the list has been resolved and the entry is usable. */
  readonly path?: string;
  /** Set with `path`: which directory that was, since another one may take its place. */
  readonly identity?: string;
  readonly problem?: RootProblem;
}

/** What came of asking. `failed` keeps the roots known before, if any. */
export type RootsStatus = 'known' | 'undeclared' | 'unsupported' | 'failed';

/** The roots as they stand: the list and its resolution, set together. */
export interface RootsReport {
  readonly status: RootsStatus;
  /** Counts publications: a later report has a higher one. */
  readonly generation: number;
  /** False where a newer list is known to exist and is being asked for. */
  readonly settled: boolean;
  /** Every entry of the client's list, in its order, unusable ones with their reason. */
  readonly roots: readonly Root[];
  /** Why the status is `unsupported` or `failed`; for a person. */
  readonly problem?: string;
}

export type RootsReading =
  | { readonly ok: true; readonly roots: readonly Root[] }
  | { readonly ok: false; readonly fault: string };

/** Reads the result of `roots/list`. Unknown members (`nextCursor`, `_meta`) are tolerated. */
export function readRootsResult(result: JsonObject): RootsReading {
  const { roots } = result;
  if (!Array.isArray(roots)) {
    return { ok: false, fault: `result.roots must be an array, this is ${describe(roots)}` };
  }
  const seen = new Set<string>();
  return { ok: true, roots: roots.map((entry) => readRoot(entry, seen)) };
}

function readRoot(entry: unknown, seen: Set<string>): Root {
  if (!isJsonObject(entry) || typeof entry['uri'] !== 'string') {
    const got = isJsonObject(entry) ? `a "uri" that is ${describe(entry['uri'])}` : describe(entry);
    return problem('', 'MALFORMED', `A root is an object with a string "uri", this is ${got}`);
  }
  const { uri, name } = entry;
  const root = typeof name === 'string' ? { uri, name } : { uri };
  if (!/^file:/i.test(uri)) {
    return { ...root, ...problem(uri, 'NOT_A_FILE_URI', `${describe(uri)} is not a file: URI`) };
  }
  const key = uri.replace(/\/+$/, '');
  if (seen.has(key)) {
    return { ...root, ...problem(uri, 'DUPLICATE', `${describe(uri)} is in the list already`) };
  }
  seen.add(key);
  return root;
}

function problem(uri: string, code: RootProblemCode, message: string) {
  return { uri, problem: { code, message } };
}

/** Whether a client with these capabilities may be asked for its roots. `roots: {}` is enough: the specification asks for no more. */
export function declaresRoots(capabilities: JsonObject | undefined): boolean {
  return isJsonObject(capabilities?.['roots']);
}
