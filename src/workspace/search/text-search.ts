/** Gathering the lines that a search finds, within its limits. */
import { quoted } from '../../protocol/printable.ts';
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Boundary } from '../roots/boundary.ts';
import type { PathMatcher } from '../globs/path-automaton.ts';
import { comparePaths } from './file-walk.ts';
import { countedFiles, markedRecords } from './ripgrep-output.ts';
import type { RipgrepRecord } from './ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from './ripgrep.ts';
import { SearchInput } from './search-input.ts';
import { SearchProblems } from './search-problems.ts';
import { readSearchRecord, withoutDot } from './search-record.ts';
import type { SearchLine } from './search-record.ts';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

export interface FoundLine {
  readonly line: number;
  readonly text: string;
  readonly match: boolean;
  readonly column?: number;
  readonly omitted?: number;
}

export interface FoundFile {
  readonly path: string;
  readonly lines: readonly FoundLine[];
}

export interface TextSearch {
  /** Sorted by path. */
  readonly files: readonly FoundFile[];
  readonly matchingLines: number;
  readonly truncated?: 'limit' | 'size' | 'time';
  readonly problems: readonly string[];
}

export interface TextSearchRun {
  /** Whose base is searched. */
  readonly boundary: Boundary;
  /** Which lines match: ripgrep's options for the pattern, and the pattern. */
  readonly patternArgs: readonly string[];
  /** Which files are looked at: ripgrep's options, and a filter behind them. */
  readonly fileArgs: readonly string[];
  readonly accepts: PathMatcher;
  readonly contextLines: number;
  /** Matching lines. */
  readonly limit: number;
  /** Ends the search with its reason. */
  readonly signal: AbortSignal;
  /** Ends the search with what it has found. */
  readonly deadline: AbortSignal;
  readonly onMatch: (count: number, path: string) => void;
}

/** What a result may hold, characters of text. */
const maxCharacters = 200_000;
/**
 * Larger files are not for ripgrep's threads: each of them holds a whole file if it is one line.
 */
const maxFileBytes = 4 * 1024 * 1024;
const maxLargeFiles = 10_000;

/**
 * Searches in two steps, so that memory is bounded for any file. One ripgrep, on several
 * threads, finds the files that have a match, and names those that are too large for it. Once there
 * is one, another ripgrep finds the lines, in a stream of these files with bounded lines. Files
 * come in any order, and are sorted in the end.
 *
 * @throws what `ripgrep` throws
 */
export async function collectMatches(run: TextSearchRun): Promise<TextSearch> {
  const { boundary, contextLines, deadline, limit } = run;
  const byPath = new Map<string, FoundLine[]>();
  const problems = new SearchProblems();
  let matchingLines = 0;
  let characters = 0;
  let truncated: TextSearch['truncated'];
  let hasEnough = false;
  const addProblem = (problem: string) => problems.add(problem);
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const onEnough = () => (hasEnough = true);
  // Taken ahead: the sooner there are enough, the sooner the walk ends. More are not needed.
  const paths = Readable.from(findFiles({ ...run, signal }, addProblem, onEnough), {
    highWaterMark: limit + 1,
  });
  const input = new SearchInput(boundary, contextLines, addProblem);
  const stream = input.read(paths);
  try {
    for await (const record of searchStream(run, stream, addProblem)) {
      const found = readSearchRecord(record);
      const place = found === undefined ? undefined : input.place(found.line);
      if (found === undefined || place === undefined) continue;
      const isMatch = found.column !== undefined;
      if (isMatch && matchingLines === limit) truncated = 'limit';
      if (characters + found.text.length > maxCharacters) truncated = 'size';
      if (truncated !== undefined) break;
      matchingLines += isMatch ? 1 : 0;
      characters += found.text.length;
      const lines = byPath.get(place.path) ?? [];
      byPath.set(place.path, lines);
      lines.push(toFoundLine(found, place.line));
      if (isMatch) run.onMatch(matchingLines, place.path);
    }
    if (deadline.aborted) truncated ??= 'time';
    // A file may have lost its matches since they were counted, and others were not looked at.
    if (hasEnough) truncated ??= 'limit';
  } finally {
    paths.destroy();
    stop.abort();
    // A read that hangs in the file system is left behind.
    stream.return().catch(() => {});
    // The process that finds the files has gone when we go on.
    if (!paths.closed) await once(paths, 'close');
  }
  const files = [...byPath]
    .map(([path, lines]) => ({ path, lines }))
    // A limit may fall between a match and the context before it.
    .filter(({ lines }) => lines.some(({ match }) => match))
    .toSorted((left, right) => comparePaths(left.path, right.path));
  const found = { files, matchingLines, problems: problems.list() };
  return truncated === undefined ? found : { ...found, truncated };
}

/** The lines that match in a stream, as ripgrep's records. An empty stream starts no process. */
async function* searchStream(
  { boundary, contextLines, patternArgs, signal, deadline }: TextSearchRun,
  stream: AsyncGenerator<Buffer, void, void>,
  onProblem: (problem: string) => void,
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
    records: markedRecords('\n'),
    input: input(),
    onEnd: (end) => end.problems.forEach(onProblem),
  });
}

/**
 * The accepted files that have a match, then those that are too large to tell; no more than have to
 * be read for one matching line beyond the limit.
 */
async function* findFiles(
  run: TextSearchRun,
  onProblem: (problem: string) => void,
  onEnough: () => void,
): AsyncGenerator<string, void, void> {
  const large: string[] = [];
  let more = 0;
  const files = ripgrep({
    args: [
      ...ripgrepArguments,
      // Files without a match are printed too: if this process is killed, ripgrep ends at the next
      // file instead of the last.
      '--count',
      '--include-zero',
      '--null',
      `--max-count=${run.limit + 1}`,
      `--max-filesize=${maxFileBytes}`,
      ...run.fileArgs,
      ...run.patternArgs,
      '--',
      './',
    ],
    root: run.boundary.base,
    signal: run.signal,
    deadline: run.deadline,
    records: countedFiles(),
    onTooLarge: (path) => {
      if (large.length < maxLargeFiles) large.push(withoutDot(path));
      else more += 1;
    },
    onEnd: (end) => end.problems.forEach(onProblem),
  });
  let counted = 0;
  for await (const { path: bytes, matchingLines } of files) {
    const path = withoutDot(bytes.toString());
    if (!isUtf8(bytes)) onProblem(`${quoted(path)}: its name is not UTF-8`);
    if (!isUtf8(bytes) || !run.accepts(path)) continue;
    yield path;
    counted += matchingLines;
    if (counted > run.limit) return onEnough();
  }
  if (more > 0) onProblem(`${more} more files over ${maxFileBytes} bytes`);
  for (const path of large) {
    if (isSliceOver()) await nextSlice(run.signal);
    if (run.deadline.aborted) return;
    if (run.accepts(path)) yield path;
  }
}

function toFoundLine({ text, column, omitted }: SearchLine, line: number): FoundLine {
  return {
    line,
    text,
    match: column !== undefined,
    ...(column === undefined ? {} : { column }),
    ...(omitted === 0 ? {} : { omitted }),
  };
}
