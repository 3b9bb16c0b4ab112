/**
 * The client's roots: read from a `roots/list` result, entry by entry, and as they are published. A
 * bad entry never voids the good ones.
 *
 * @see MCP 2025-11-25, client/roots
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { RuntimeError } from './errors.ts';
import type { RuntimeErrorCode } from './errors.ts';
import type { JsonObject, WireError } from './frames.ts';

/**
 * Why an entry cannot be used. The code that resolves entries to directories adds its own codes.
 */
export type RootProblemCode = 'MALFORMED' | 'NOT_A_FILE_URI' | 'DUPLICATE';

/** Why a root cannot be used. */
export interface RootProblem {
  /** A {@link RootProblemCode}, or a code of the resolver, such as `NOT_FOUND`. */
  readonly code: string;
  /** For people: what is wrong, with which value. */
  readonly message: string;
}

/** One entry of the client's list, in the client's order. Usable if `problem` is undefined. */
export interface ListedRoot {
  /** As the client sent it; empty if it sent none. */
  readonly uri: string;
  /** For display only. */
  readonly name?: string;
  /** Why it cannot be used; undefined if it can. */
  readonly problem?: RootProblem;
}

export type RootsReading =
  | { readonly ok: true; readonly roots: readonly ListedRoot[] }
  | { readonly ok: false; readonly fault: string };

/** Reads the result of `roots/list`. Unknown members (`nextCursor`, `_meta`) are tolerated. */
export function readRootsResult(result: JsonObject): RootsReading {
  const { roots } = result;
  if (!Array.isArray(roots)) {
    return { ok: false, fault: `result.roots must be an array, this is ${inspectValue(roots)}` };
  }
  const seen = new Map<string, string>();
  return { ok: true, roots: roots.map((entry) => readRoot(entry, seen)) };
}

/**
 * What is wrong with the result of a client that can be told so: in the era in which it brings its
 * answers in a request it hears of entries that are not roots, and brings better ones. Undefined if
 * nothing is.
 */
export function validateRootsResult(result: JsonObject): string | undefined {
  const reading = readRootsResult(result);
  if (!reading.ok) return reading.fault;
  const at = reading.roots.findIndex((root) => root.problem?.code === 'MALFORMED');
  return at < 0 ? undefined : `result.roots[${at}]: ${reading.roots[at]?.problem?.message}`;
}

function readRoot(entry: unknown, seen: Map<string, string>): ListedRoot {
  if (!isJsonObject(entry) || typeof entry['uri'] !== 'string') {
    const got = isJsonObject(entry)
      ? `a "uri" that is ${inspectValue(entry['uri'])}`
      : inspectValue(entry);
    return problem('', 'MALFORMED', `A root is an object with a string "uri", this is ${got}`);
  }
  const { uri, name } = entry;
  const root = typeof name === 'string' ? { uri, name } : { uri };
  if (!/^file:/i.test(uri)) {
    return {
      ...root,
      ...problem(uri, 'NOT_A_FILE_URI', `${inspectValue(uri)} is not a file: URI`),
    };
  }
  const key = identityOf(uri);
  const first = seen.get(key);
  if (first !== undefined) {
    const spelling = first === uri ? '' : ` as ${inspectValue(first)}`;
    const message = `${inspectValue(uri)} is in the list already${spelling}`;
    return { ...root, ...problem(uri, 'DUPLICATE', message) };
  }
  seen.set(key, uri);
  return root;
}

/**
 * What two spellings of one `file:` URI have in common, whether it can be parsed or not. Different
 * files never do: what the URL parser would drop or take for a separator is kept apart.
 */
function identityOf(uri: string): string {
  const kept = uri.replace(/[\\\t\n\r]/g, encodeURIComponent);
  try {
    const { host, pathname, search, hash } = new URL(kept);
    // Segment by segment: an encoded separator does not separate.
    const names = pathname.split('/').map((name) => encodeURIComponent(decodeURIComponent(name)));
    return `file://${host}${withoutTrailingSlashes(names.join('/'))}${search}${hash}`;
  } catch {
    return withoutTrailingSlashes(kept);
  }
}

function withoutTrailingSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

function problem(uri: string, code: RootProblemCode, message: string) {
  return { uri, problem: { code, message } };
}

/** Whether a client with these capabilities may be asked for its roots: `roots: {}` is enough. */
export function declaresRoots(capabilities: JsonObject | undefined): boolean {
  return isJsonObject(capabilities?.['roots']);
}

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
export function unavailableRoots(why: string, known?: RootsReport): RootsReport {
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
