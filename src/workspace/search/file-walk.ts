/**
 * Walks through the files of a root, and the pages that they give.
 *
 * ripgrep begins at the beginning every time. If each page were a walk to its cursor and a little
 * further, all pages of a listing would cost the square of its length. So a walk that has filled
 * its page goes on for as many files as it has seen until then, and the pages behind are taken from
 * these. Each walk goes twice as far as the one before: all of them together see few times as many
 * files as the last one.
 */
import { isUtf8 } from 'node:buffer';
import type { PathMatcher } from '../globs/path-automaton.ts';
import type { RipgrepRecord } from './ripgrep-output.ts';

/** A path relative to the root; bytes if it is not UTF-8, because no text stands for it. */
type FilePath = string | Uint8Array;

/** What a walk has found. */
export interface FileWalk {
  /** Behind which path it looked; undefined for all. */
  readonly after: Uint8Array | undefined;
  /** Accepted files behind `after`, in order. */
  readonly paths: readonly FilePath[];
  /** How far it has come, if there may be more. */
  readonly leftAt: Uint8Array | undefined;
}

export interface FileWalkRun {
  /** Paths below `./`, in order. */
  readonly records: AsyncIterable<RipgrepRecord>;
  /** If it has fired, the records have ended early. */
  readonly deadline: AbortSignal;
  readonly accepts: PathMatcher;
  readonly after: Uint8Array | undefined;
  /** How many files a page has at most. */
  readonly limit: number;
  /** Told of each file: how many were seen so far, and how many of these accepted. */
  readonly onFile: (seen: number, found: number) => void;
}

export interface FilePage {
  readonly files: readonly string[];
  /** Files of this page whose names are not UTF-8; they count for its limit. */
  readonly unnamed: readonly Uint8Array[];
  /** Behind which path the next page begins; undefined on the last one. */
  readonly next: Uint8Array | undefined;
}

/** How much a walk keeps, bytes of paths: the files of a page, and some hundred thousand ahead. */
const maxKeptBytes = 8 * 1024 * 1024;
/**
 * How long the paths of a page are together, UTF-16 code units; bytes of names that are not UTF-8.
 */
const maxPageCharacters = 200_000;
/** How old a page may be that was seen ahead. */
const keptMs = 60_000;
const slash = 0x2f;

/** Walks until a page is full, and ahead of it. */
export async function walkFiles(run: FileWalkRun): Promise<FileWalk> {
  const { records, deadline, accepts, after, limit, onFile } = run;
  const paths: FilePath[] = [];
  let reached = after;
  let [seen, keptBytes, farEnough] = [0, 0, Number.POSITIVE_INFINITY];
  for await (const { bytes } of records) {
    // The time is over: the rest is left to the next page.
    if (deadline.aborted) continue;
    const path = bytes.subarray('./'.length);
    seen += 1;
    onFile(seen, paths.length);
    if (after !== undefined && comparePathBytes(path, after) <= 0) continue;
    reached = path;
    const text = path.toString();
    if (accepts(text)) {
      paths.push(isUtf8(path) ? text : Uint8Array.from(path));
      keptBytes += path.length;
      // One more than a page has tells that there is another.
      if (paths.length === limit + 1) farEnough = 2 * seen;
    }
    const isFull = paths.length > limit && keptBytes >= maxKeptBytes;
    if (isFull || seen >= farEnough) return { after, paths, leftAt: path };
  }
  return { after, paths, leftAt: deadline.aborted ? reached : undefined };
}

/**
 * Pages of a session's listings: from a walk, or from what the last walk has seen ahead, if that is
 * not too old.
 */
export class FilePages {
  #kept: { readonly query: string; readonly walk: FileWalk } | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  /**
   * The page behind a path; the first one without it.
   *
   * @param query what tells this listing from others
   * @param walk called if the page was not seen ahead
   */
  async page(
    query: string,
    after: Uint8Array | undefined,
    limit: number,
    walk: () => Promise<FileWalk>,
  ): Promise<FilePage> {
    const ahead = after === undefined ? undefined : this.#pageAhead(query, after, limit);
    if (ahead !== undefined) return ahead;
    const walked = await walk();
    const page = pageOf(walked, after, limit);
    this.#keep(page.next === undefined ? undefined : { query, walk: walked });
    return page;
  }

  #pageAhead(query: string, after: Uint8Array, limit: number): FilePage | undefined {
    if (this.#kept?.query !== query) return undefined;
    const { walk } = this.#kept;
    if (walk.after !== undefined && comparePathBytes(after, walk.after) < 0) return undefined;
    const page = pageOf(walk, after, limit);
    // A page that ends where the walk has ended might have been longer.
    return page.next !== undefined && page.next === walk.leftAt ? undefined : page;
  }

  #keep(kept: { readonly query: string; readonly walk: FileWalk } | undefined): void {
    clearTimeout(this.#expiry);
    this.#kept = kept;
    if (kept === undefined) return;
    this.#expiry = setTimeout(() => (this.#kept = undefined), keptMs);
    this.#expiry.unref();
  }
}

function pageOf(walk: FileWalk, after: Uint8Array | undefined, limit: number): FilePage {
  const start = after === undefined ? 0 : indexBehind(walk.paths, after);
  const most = walk.paths.slice(start, start + limit);
  let characters = 0;
  // The first path is on the page, however long it is.
  const end = most.findIndex(
    (path, index) => (characters += path.length) > maxPageCharacters && index > 0,
  );
  const page = end === -1 ? most : most.slice(0, end);
  const last = page.at(-1);
  const isLast = start + page.length >= walk.paths.length;
  return {
    files: page.filter((path) => typeof path === 'string'),
    unnamed: page.filter((path) => typeof path !== 'string'),
    next: isLast || last === undefined ? walk.leftAt : bytesOf(last),
  };
}

/** Where the paths behind one begin, by halves. */
function indexBehind(paths: readonly FilePath[], after: Uint8Array): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const isBehind = comparePathBytes(bytesOf(paths[middle] ?? ''), after) > 0;
    if (isBehind) high = middle;
    else low = middle + 1;
  }
  return low;
}

function bytesOf(path: FilePath): Uint8Array {
  return typeof path === 'string' ? Buffer.from(path) : path;
}

/**
 * The order of a walk (`--sort=path`), so that a listing can go on behind a path: negative if
 * `left` comes before `right`, segment by segment, by bytes.
 */
export function comparePaths(left: string, right: string): number {
  return comparePathBytes(Buffer.from(left), Buffer.from(right));
}

/** The same for paths as the file system has them: a name need not be UTF-8. */
export function comparePathBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [leftByte, rightByte] = [left[index] ?? 0, right[index] ?? 0];
    if (leftByte === rightByte) continue;
    // A segment that ends comes before one that goes on.
    if (leftByte === slash) return -1;
    return rightByte === slash ? 1 : leftByte - rightByte;
  }
  return left.length - right.length;
}
