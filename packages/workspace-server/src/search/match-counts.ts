/**
 * Which files have a match, and how many lines of them: ripgrep on several threads, over some
 * thousand files at a time, in order of path.
 */
import type { Boundary } from 'mcp-actors/roots';
import { countedFiles, markedRecords } from './ripgrep-output.ts';
import type { CountedFile } from './ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from './ripgrep.ts';
import { SearchInput } from './search-input.ts';
import { withoutDot } from './walk-starts.ts';

export interface MatchCountRun {
  /** What paths are relative to, and where files may be. */
  readonly boundary: Boundary;
  /** Which lines match: ripgrep's options for the pattern, and the pattern. */
  readonly patternArgs: readonly string[];
  readonly signal: AbortSignal;
  /** Ends the count; what was being counted is not told. */
  readonly deadline: AbortSignal;
  readonly onProblem: (problem: string) => void;
  /** Told each path that is done, in order. */
  readonly onReached: (path: string) => void;
}

export interface MatchCount {
  readonly path: string;
  /** Undefined for a file over 4 MiB, which has not been looked at. */
  readonly matchingLines: number | undefined;
}

/**
 * The paths of a part are arguments of one process: Windows takes 32,767 characters of them, Linux
 * and macOS far more.
 */
const maxPartCharacters = process.platform === 'win32' ? 24_000 : 120_000;
/** Small, so that a search for what is everywhere ends soon. */
const firstPartCharacters = 12_000;

/** The files that have a match, and those too large to tell, in the given order. */
export async function* countMatches(
  run: MatchCountRun,
  paths: Iterable<string>,
  large: ReadonlySet<string>,
): AsyncGenerator<MatchCount, void, void> {
  for (const part of partsOf(paths)) {
    const waiting = part.values();
    let { value: next } = waiting.next();
    const counts = new Map<string, number>();
    // ripgrep has several files at hand: each is told once those before it are known.
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
      for (const { path, matchingLines } of files) counts.set(withoutDot(path), matchingLines);
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
    // Bytes are what counts, and a character has at most three.
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
      // Tells that a file is done. And if this process is killed, ripgrep ends at the next file
      // instead of the last.
      '--include-zero',
      '--with-filename',
      '--null',
      // The walk has chosen: no rule is read again.
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

/** Counts the matching lines of a file of any size, in bounded memory. */
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
    records: markedRecords('\n'),
    input: input.read(paths()),
    onEnd: (end) => end.problems.forEach(onProblem),
  });
  let lines = 0;
  for await (const { bytes } of records) lines += Number(bytes.toString('latin1'));
  return lines;
}
