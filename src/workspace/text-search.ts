/** Gathering the lines that a search finds, within its limits. */
import { comparePaths } from './path-order.ts';
import type { PathMatcher } from './path-automaton.ts';
import { ripgrep } from './ripgrep.ts';
import type { RootDirectory } from './root-directory.ts';
import { readSearchRecord } from './search-record.ts';
import type { SearchLine } from './search-record.ts';

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
  readonly truncated?: 'limit' | 'size';
  readonly problems: readonly string[];
}

export interface TextSearchRun {
  readonly args: readonly string[];
  readonly root: RootDirectory;
  readonly accepts: PathMatcher;
  /** Matching lines. */
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly onMatch: (count: number, path: string) => void;
}

/** What a result may hold, characters of text. */
const maxCharacters = 200_000;
const maxProblems = 20;

/**
 * Runs the search and stops it as soon as a limit is passed. Files come in any order (ripgrep uses all cores), and are sorted in the
 * end.
 *
 * @throws what `ripgrep` throws
 */
export async function collectMatches(run: TextSearchRun): Promise<TextSearch> {
  const byPath = new Map<string, FoundLine[]>();
  const problems: string[] = [];
  let matchingLines = 0;
  let characters = 0;
  let truncated: TextSearch['truncated'];
  const onEnd = (end: { readonly problems: readonly string[] }) => problems.push(...end.problems);
  for await (const record of ripgrep({ ...run, separator: '\n', onEnd })) {
    const reading = readSearchRecord(record);
    if (reading.kind === 'overlong' && run.accepts(reading.path)) {
      problems.push(`${reading.path} has a match in a line longer than a MiB, which is not shown`);
    }
    if (reading.kind !== 'line' || !run.accepts(reading.line.path)) continue;
    const { path, text, column } = reading.line;
    const isMatch = column !== undefined;
    if (isMatch && matchingLines === run.limit) truncated = 'limit';
    if (characters + text.length > maxCharacters) truncated = 'size';
    if (truncated !== undefined) break;
    matchingLines += isMatch ? 1 : 0;
    characters += text.length;
    const lines = byPath.get(path) ?? [];
    byPath.set(path, lines);
    lines.push(toFoundLine(reading.line));
    if (isMatch) run.onMatch(matchingLines, path);
  }
  const files = [...byPath]
    .map(([path, lines]) => ({ path, lines }))
    // A limit may fall between a match and the context before it.
    .filter(({ lines }) => lines.some(({ match }) => match))
    .toSorted((left, right) => comparePaths(left.path, right.path));
  const found = { files, matchingLines, problems: problems.slice(0, maxProblems) };
  return truncated === undefined ? found : { ...found, truncated };
}

function toFoundLine({ line, text, column, omitted }: SearchLine): FoundLine {
  return {
    line,
    text,
    match: column !== undefined,
    ...(column === undefined ? {} : { column }),
    ...(omitted === 0 ? {} : { omitted }),
  };
}
