/**
 * Counts matching lines per file: multi-threaded ripgrep over a few thousand files at a time,
 * reported in path order.
 */
import type { Boundary } from 'mcp-actors/roots';
import { countedFiles, delimitedRecords } from './ripgrep-output.ts';
import type { CountedFile } from './ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from './ripgrep.ts';
import { SearchInput } from './search-input.ts';
import { stripDot } from './walk-starts.ts';

export interface MatchCountRun {
  /** Base of relative paths, and the limit of accessible files. */
  readonly boundary: Boundary;
  /** Ripgrep options for the pattern, and the pattern itself. */
  readonly patternArgs: readonly string[];
  readonly signal: AbortSignal;
  /** Ends the count; unfinished files are not reported. */
  readonly deadline: AbortSignal;
  readonly onProblem: (problem: string) => void;
  /** Called with each finished path, in order. */
  readonly onReached: (path: string) => void;
}

export interface MatchCount {
  readonly path: string;
  /** Undefined for a file over 4 MiB, which was not searched. */
  readonly matchingLines: number | undefined;
}

/**
 * Paths of a batch are arguments of one process: Windows allows 32,767 characters, Linux and macOS
 * far more.
 */
const maxPartCharacters = process.platform === 'win32' ? 24_000 : 120_000;
/** A small first batch, so that searches with many matches end early. */
const firstPartCharacters = 12_000;

/** Yields the files with matches, and those too large to count, in the given order. */
export async function* countMatches(
  run: MatchCountRun,
  paths: Iterable<string>,
  large: ReadonlySet<string>,
): AsyncGenerator<MatchCount, void, void> {
  for (const part of partsOf(paths)) {
    const waiting = part.values();
    let { value: next } = waiting.next();
    const counts = new Map<string, number>();
    // Ripgrep searches several files at once: report each file once all before it are known.
    const known = function* (isOver: boolean): Generator<MatchCount, void, void> {
      while (next !== undefined) {
        const matchingLines = large.has(next) ? undefined : counts.get(next);
        if (matchingLines === undefined && !large.has(next) && !isOver) return;
        if (matchingLines !== 0 && (matchingLines !== undefined || large.has(next))) {
          yield { path: next, matchingLines };
        }
        counts.delete(next);
        run.onReached(next);
        ({ value: next } = waiting.next());
      }
    };
    for await (const files of countPart(run, part, large)) {
      for (const { path, matchingLines } of files) counts.set(stripDot(path), matchingLines);
      yield* known(false);
    }
    if (run.deadline.aborted) return;
    yield* known(true);
  }
}

function* partsOf(paths: Iterable<string>): Generator<readonly string[], void, void> {
  let part: string[] = [];
  let characters = 0;
  let most = firstPartCharacters;
  for (const path of paths) {
    // The limit is in bytes, and a UTF-16 unit has at most three.
    const size = path.length + './ '.length;
    if (characters + size > most && part.length > 0) {
      yield part;
      [part, characters, most] = [[], 0, Math.min(4 * most, maxPartCharacters)];
    }
    part.push(path);
    characters += size;
  }
  if (part.length > 0) yield part;
}

async function* countPart(
  { boundary, patternArgs, signal, deadline, onProblem }: MatchCountRun,
  part: readonly string[],
  large: ReadonlySet<string>,
): AsyncGenerator<readonly CountedFile[], void, void> {
  const paths = part.filter((path) => !large.has(path)).map((path) => `./${path}`);
  if (paths.length === 0) return;
  yield* ripgrep({
    args: [
      ...ripgrepArguments,
      '--count',
      // Reports every finished file. If this process is killed, ripgrep then stops at the next file
      // instead of the last.
      '--include-zero',
      '--with-filename',
      '--null',
      // The walk has already applied ignore rules.
      '--no-ignore',
      '--hidden',
      ...patternArgs,
      '--',
      ...paths,
    ],
    root: boundary.base,
    signal,
    deadline,
    records: countedFiles(),
    onEnd: (end) => (deadline.aborted ? [] : end.problems).forEach(onProblem),
  });
}

/** Counts the matching lines of a file of any size in bounded memory. */
export async function countInStream(run: MatchCountRun, path: string): Promise<number> {
  const { boundary, patternArgs, signal, deadline, onProblem } = run;
  const input = new SearchInput(boundary, 0, onProblem, () => {});
  const paths = async function* () {
    yield path;
  };
  const records = ripgrep({
    args: [...ripgrepArguments, '--count', '--text', '--encoding=none', ...patternArgs, '--', '-'],
    root: boundary.base,
    signal,
    deadline,
    records: delimitedRecords('\n'),
    input: input.read(paths()),
    onEnd: (end) => end.problems.forEach(onProblem),
  });
  let lines = 0;
  for await (const { bytes } of records) lines += Number(bytes.toString('latin1'));
  return lines;
}
