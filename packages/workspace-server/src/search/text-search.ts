/** Collects the results of a text search, lines or files, in path order. */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { printable } from 'mcp-actors/internal';
import { countInStream, countMatches } from './match-counts.ts';
import type { MatchCount, MatchCountRun } from './match-counts.ts';
import type { Position } from './paging.ts';
import { delimitedRecords } from './ripgrep-output.ts';
import type { RipgrepRecord } from './ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from './ripgrep.ts';
import { SearchInput } from './search-input.ts';
import { readSearchRecord } from './search-record.ts';

export interface FoundLine {
  readonly line: number;
  readonly text: string;
  readonly match: boolean;
}

export interface FoundFile {
  readonly path: string;
  readonly lines: readonly FoundLine[];
}

interface TextSearchEnd {
  /** Why the search ended early, so that more results may exist. */
  readonly endedBy?: 'limit' | 'size' | 'time';
  /** Where to continue; undefined if no progress was made. */
  readonly next?: Position | undefined;
}

export interface FoundLines extends TextSearchEnd {
  readonly files: readonly FoundFile[];
  readonly matchingLines: number;
  /** Binary files with matches. */
  readonly binary: readonly string[];
}

export interface FoundCounts extends TextSearchEnd {
  readonly files: readonly { readonly path: string; readonly matchingLines: number }[];
  /** Totals over everything counted. */
  readonly total: { readonly files: number; readonly matchingLines: number };
}

export interface TextSearchRun extends Omit<MatchCountRun, 'onReached'> {
  /** Files to search, in order. */
  readonly paths: readonly string[];
  /** Files over 4 MiB among `paths`. */
  readonly large: ReadonlySet<string>;
  /** The first path is only searched after this line. */
  readonly afterLine: number;
  readonly contextLines: number;
  /** Maximum number of matching lines, or of files. */
  readonly limit: number;
  readonly onMatch: (count: number, path: string) => void;
}

/** Characters of text in a result. */
const maxCharacters = 32_000;

/**
 * Finds lines in two steps, so that memory is bounded for any file. A multi-threaded ripgrep counts
 * matches per file; a second one extracts the lines from a stream of these files with bounded
 * lines. The second starts with the first matching file, and both end once there are enough lines.
 *
 * @throws errors of `ripgrep`
 */
export async function findLines(run: TextSearchRun): Promise<FoundLines> {
  const { deadline, limit } = run;
  const found: { readonly path: string; readonly lines: FoundLine[] }[] = [];
  const binary: string[] = [];
  let [matchingLines, characters] = [0, 0];
  let last: Position | undefined;
  let endedBy: TextSearchEnd['endedBy'];
  const candidates = new Candidates(run);
  try {
    // Counted matches may yield no lines, as in binary files: then continue with further files.
    while (endedBy === undefined && candidates.hasMore) {
      const paths = candidates.takeMatching(limit - matchingLines);
      for await (const { path, line, text, match } of linesOf(run, paths, binary)) {
        const size = printable(text).length + `${line}: `.length;
        if (match && matchingLines === limit) endedBy = 'limit';
        if (characters + size > maxCharacters && last !== undefined) endedBy = 'size';
        if (endedBy !== undefined) break;
        if (found.at(-1)?.path !== path) {
          found.push({ path, lines: [] });
          characters += printable(path).length;
        }
        found.at(-1)?.lines.push({ line, text, match });
        characters += size;
        if (!match) continue;
        matchingLines += 1;
        last = { path, line };
        run.onMatch(matchingLines, path);
      }
      if (deadline.aborted) endedBy ??= 'time';
    }
  } finally {
    await candidates.end();
  }
  const result = {
    // The limit may separate a match from the context before it.
    files: found.flatMap(({ path, lines }) => {
      const end = lines.findLast(({ match }) => match)?.line;
      if (end === undefined) return [];
      return [{ path, lines: lines.filter(({ line }) => line <= end + run.contextLines) }];
    }),
    matchingLines,
    binary,
  };
  if (endedBy === undefined) return result;
  return { ...result, endedBy, next: last ?? candidates.reached };
}

interface LocatedLine extends FoundLine {
  readonly path: string;
}

/** Yields the matching lines of files with their context. */
async function* linesOf(
  run: TextSearchRun,
  found: AsyncIterable<string>,
  binary: string[],
): AsyncGenerator<LocatedLine, void, void> {
  const { boundary, contextLines, limit, onProblem } = run;
  // Buffered, so that the next files are counted while lines are extracted.
  const paths = Readable.from(found, { highWaterMark: limit + 1 });
  const input = new SearchInput(boundary, contextLines, onProblem, (path) => binary.push(path));
  const stream = input.read(paths);
  /**
   * Context lines at the start of a page, which belong to the previous match or to the first one.
   */
  let held: LocatedLine[] = [];
  let isContinued = run.afterLine > 0;
  try {
    for await (const record of searchStream(run, stream)) {
      const line = readSearchRecord(record);
      const place = line === undefined ? undefined : input.originOf(line.line);
      if (line === undefined || place === undefined) continue;
      isContinued &&= place.path === run.paths[0];
      if (isContinued && place.line <= run.afterLine) continue;
      const placed = { ...place, text: line.text, match: line.column !== undefined };
      if (isContinued && !placed.match) held.push(placed);
      else {
        if (isContinued) yield* held.filter((other) => other.line >= place.line - contextLines);
        [held, isContinued] = [[], false];
        yield placed;
      }
    }
  } finally {
    paths.destroy();
    // Do not wait for a read that hangs in the file system.
    stream.return().catch(() => {});
    if (!paths.closed) await once(paths, 'close');
  }
}

/**
 * Counts matching lines per file and lists the first `limit` files.
 *
 * @param isWhole true to count everything beyond the listed files
 * @throws errors of `ripgrep`
 */
export async function findCounts(run: TextSearchRun, isWhole: boolean): Promise<FoundCounts> {
  const files: { path: string; matchingLines: number }[] = [];
  const total = { files: 0, matchingLines: 0 };
  let [characters, isFull] = [0, false];
  const candidates = new Candidates(run);
  for (let next = await candidates.next(); next !== undefined; next = await candidates.next()) {
    const { path, matchingLines } = next;
    const lines = matchingLines ?? (await countInStream(candidates.run, path));
    if (lines === 0) continue;
    isFull ||= files.length === run.limit || characters > maxCharacters;
    if (isFull && !isWhole) {
      await candidates.end();
      return { files, total, endedBy: 'limit', next: lastOf(files) };
    }
    total.files += 1;
    total.matchingLines += lines;
    if (!isFull) {
      files.push({ path, matchingLines: lines });
      characters += printable(path).length + `: ${lines}\n`.length;
    }
    run.onMatch(total.files, path);
  }
  const isOver = run.deadline.aborted;
  if (total.files > files.length) {
    return { files, total, endedBy: isOver ? 'time' : 'limit', next: lastOf(files) };
  }
  if (!isOver) return { files, total };
  return { files, total, endedBy: 'time', next: lastOf(files) ?? candidates.reached };
}

function lastOf(files: readonly { readonly path: string }[]): Position | undefined {
  const last = files.at(-1);
  return last && { path: last.path };
}

/** Iterates over the files that may match. */
class Candidates {
  readonly run: MatchCountRun;
  readonly #search: TextSearchRun;
  readonly #stop = new AbortController();
  readonly #counts: AsyncGenerator<MatchCount, void, void>;
  #first: string | undefined;
  #done: string | undefined;
  #hasMore = true;

  constructor(search: TextSearchRun) {
    this.#search = search;
    const signal = AbortSignal.any([search.signal, this.#stop.signal]);
    this.run = { ...search, signal, onReached: (path) => (this.#done = path) };
    this.#counts = countMatches(this.run, search.paths, search.large);
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  async next(): Promise<MatchCount | undefined> {
    const { value } = await this.#counts.next();
    if (value === undefined) this.#hasMore = false;
    else this.#first ??= value.path;
    return value ?? undefined;
  }

  /** Yields files until they have more matching lines than wanted. */
  async *takeMatching(wanted: number): AsyncGenerator<string, void, void> {
    const { paths, afterLine } = this.#search;
    let lines = 0;
    for (let next = await this.next(); next !== undefined; next = await this.next()) {
      yield next.path;
      // How many of the first file's matches follow the line is unknown.
      if (afterLine === 0 || next.path !== paths[0]) lines += next.matchingLines ?? 0;
      if (lines > wanted) return;
    }
  }

  /** Resolves when the counting process has exited. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#counts.return();
  }

  /** How far a search without results has progressed; undefined if not at all. */
  get reached(): Position | undefined {
    if (this.#first === undefined)
      return this.#done === undefined ? undefined : { path: this.#done };
    return this.#first === this.#search.paths[0] ? undefined : { path: this.#first, line: 0 };
  }
}

/** Searches a stream and yields ripgrep's records. An empty stream starts no process. */
async function* searchStream(
  { boundary, contextLines, patternArgs, signal, deadline, onProblem }: TextSearchRun,
  stream: AsyncGenerator<Buffer, void, void>,
): AsyncGenerator<RipgrepRecord, void, void> {
  const first = await stream.next();
  if (first.done === true) return;
  const input = async function* () {
    yield first.value;
    yield* stream;
  };
  yield* ripgrep({
    args: [
      ...ripgrepArguments,
      '--json',
      '--line-buffered',
      '--text',
      '--encoding=none',
      `--context=${contextLines}`,
      ...patternArgs,
      '--',
      '-',
    ],
    root: boundary.base,
    signal,
    deadline,
    records: delimitedRecords('\n'),
    input: input(),
    onEnd: (end) => (deadline.aborted ? [] : end.problems).forEach(onProblem),
  });
}
