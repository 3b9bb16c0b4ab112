/**
 * The client's roots: parsed from a `roots/list` result entry by entry, and published as a report.
 * An invalid entry does not affect the valid ones.
 *
 * @see MCP 2025-11-25, client/roots
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { RuntimeError } from './errors.ts';
import type { RuntimeErrorCode } from './errors.ts';
import type { JsonObject, WireError } from './frames.ts';

/** Codes of unusable entries. The resolver adds codes of its own. */
export type RootProblemCode = 'MALFORMED' | 'NOT_A_FILE_URI' | 'DUPLICATE';

/** The reason why a root is unusable. */
export interface RootProblem {
  /** A {@link RootProblemCode}, or a code of the resolver, such as `NOT_FOUND`. */
  readonly code: string;
  /** Description for people, including the value. */
  readonly message: string;
}

/** One entry of the client's list. Usable if `problem` is undefined. */
export interface ListedRoot {
  /** URI as sent by the client; empty if it sent none. */
  readonly uri: string;
  /** For display only. */
  readonly name?: string;
  /** The reason why the entry is unusable; undefined if usable. */
  readonly problem?: RootProblem;
}

export type RootsReading =
  | { readonly ok: true; readonly roots: readonly ListedRoot[] }
  | { readonly ok: false; readonly fault: string };

/** Parses the result of `roots/list`. Ignores unknown members (`nextCursor`, `_meta`). */
export function readRootsResult(result: JsonObject): RootsReading {
  const { roots } = result;
  if (!Array.isArray(roots)) {
    return { ok: false, fault: `result.roots must be an array, got ${inspectValue(roots)}` };
  }
  const seen = new Map<string, string>();
  return { ok: true, roots: roots.map((entry) => readRoot(entry, seen)) };
}

/**
 * Validates a `roots/list` result that can be rejected: a modern client is notified of malformed
 * entries and may send better ones. Returns the problem, or undefined if valid.
 */
export function validateRootsResult(result: JsonObject): string | undefined {
  const reading = readRootsResult(result);
  if (!reading.ok) return reading.fault;
  const at = reading.roots.findIndex((root) => root.problem?.code === 'MALFORMED');
  return at < 0 ? undefined : `result.roots[${at}]: ${reading.roots[at]?.problem?.message}`;
}

function readRoot(entry: unknown, seen: Map<string, string>): ListedRoot {
  if (!isJsonObject(entry) || typeof entry['uri'] !== 'string') {
    const got = isJsonObject(entry) ? `"uri" ${inspectValue(entry['uri'])}` : inspectValue(entry);
    return problem('', 'MALFORMED', `A root must be an object with a string "uri", got ${got}`);
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
    const message = `${inspectValue(uri)} is already in the list${spelling}`;
    return { ...root, ...problem(uri, 'DUPLICATE', message) };
  }
  seen.set(key, uri);
  return root;
}

/**
 * A canonical form, equal for all spellings of one `file:` URI and different for different files:
 * characters that the URL parser would drop or treat as separators are kept distinct.
 */
function identityOf(uri: string): string {
  const kept = uri.replace(/[\\\t\n\r]/g, encodeURIComponent);
  try {
    const { host, pathname, search, hash } = new URL(kept);
    // Per segment, because an encoded separator does not separate.
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

/** True if a client with these capabilities supports `roots/list`: `roots: {}` suffices. */
export function declaresRoots(capabilities: JsonObject | undefined): boolean {
  return isJsonObject(capabilities?.['roots']);
}

/** A root of the client. Usable if `problem` is undefined. */
export interface Root extends ListedRoot {
  /** Real path of the directory, if the list has been resolved and the entry is usable. */
  readonly path?: string;
  /** Identifies the directory even if another one takes its path. Set together with `path`. */
  readonly identity?: string;
}

/** Outcome of the query. `failed` keeps the previously known roots. */
export type RootsStatus = 'known' | 'undeclared' | 'unsupported' | 'failed';

/** The failure of a roots query. */
export interface RootsFailure {
  /**
   * `REQUEST_TIMEOUT`: no answer in time. `REQUEST_FAILED`: the client answered with the error in
   * `remote`. `INVALID_RESPONSE`: unreadable answer. `TRANSPORT_CLOSED`, `REMOTE_CANCELLED`,
   * `LIMIT_EXCEEDED`: as for any request to the client. `CAPABILITY_MISSING`: the client cannot be
   * asked at all. `RESOLVER_FAILED`: the server's own `resolveRoots` threw; see the log.
   */
  readonly code: RuntimeErrorCode | 'RESOLVER_FAILED';
  /** The client's error, including `data`. */
  readonly remote?: WireError;
}

/** Converts the error of a query into a failure. */
export function rootsFailureOf(error: unknown): RootsFailure {
  if (!(error instanceof RuntimeError)) return { code: 'RESOLVER_FAILED' };
  const { code, remote } = error;
  return remote ? { code, remote } : { code };
}

/** The current roots: the list and its resolution, published together. */
export interface RootsReport {
  /** `known`, or the reason why there is no list. */
  readonly status: RootsStatus;
  /** Publication counter: higher in later reports. */
  readonly generation: number;
  /** False while a newer list is being requested. */
  readonly settled: boolean;
  /** All entries of the client's list in its order, including unusable ones. */
  readonly roots: readonly Root[];
  /** The reason for `unsupported` or `failed`, for people. */
  readonly problem?: string;
  /** Machine-readable form of `problem`. */
  readonly failure?: RootsFailure;
}

/**
 * The report for a call whose client cannot be asked, neither on the call's stream nor on one of
 * its own.
 *
 * @param why reason, for people
 * @param known the previous report, whose roots stay valid
 */
export function unavailableRoots(why: string, known?: RootsReport): RootsReport {
  const { generation = 0, roots = [] } = known ?? {};
  const problem = `The client has no stream for requests, and this request cannot carry roots/list: ${why}`;
  const failure = { code: 'CAPABILITY_MISSING' } as const;
  return { status: 'failed', generation, settled: false, roots, problem, failure };
}

/** Resolves entries to directories, in order: sets `path` or `problem` on each. */
export type RootsResolver = (
  roots: readonly Root[],
  signal: AbortSignal,
) => Promise<readonly Root[]>;
