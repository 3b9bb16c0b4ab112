/** Formats the results of a text search. */
import { printableName } from 'mcp-actors/internal';
import type { FoundCounts, FoundFile, FoundLines } from '../search/text-search.ts';
import type { WalkedTree } from '../search/tree-walk.ts';
import { formatCount, nextPageHint } from './file-parameters.ts';

/** Kinds of results. */
export const searchModes = ['lines', 'files', 'count'] as const;

export interface SearchRequest {
  readonly mode: (typeof searchModes)[number];
  /** True for the first page. */
  readonly isFirst: boolean;
  /** Path of the root. */
  readonly base: string;
}

/** Heading: the number of matches and files. */
export function searchHeading(
  found: FoundLines | FoundCounts,
  walk: WalkedTree,
  { mode, isFirst, base }: SearchRequest,
): string {
  const isPart = found.endedBy !== undefined || walk.isCut;
  const amountOf = (number: number, noun: string): string => {
    if (!isFirst) return `More: ${formatCount(number, noun)}`;
    if (!isPart) return formatCount(number, noun);
    return number === 1 ? `The first ${noun}` : `The first ${formatCount(number, noun)}`;
  };
  const all = formatCount(walk.total, 'file');
  const binary = 'binary' in found ? binarySentence(found.binary) : '';
  if (found.files.length === 0) {
    const place = isPart ? ' so far' : isFirst ? ` in ${all} of ${base}` : '';
    return `No ${isFirst ? '' : 'more '}matches${place}.${binary}`;
  }
  const inFiles = (files: number): string =>
    isFirst ? `${files} of ${all} in ${base}` : formatCount(files, 'file');
  if (!('total' in found)) {
    return `${amountOf(found.matchingLines, 'matching line')}${isPart ? ',' : ''} in ${inFiles(found.files.length)}.${binary}`;
  }
  if (mode === 'files')
    return `${amountOf(found.files.length, 'file')} with matches${isFirst ? `, of ${all} in ${base}` : ''}.`;
  if (!isFirst) return `${amountOf(found.files.length, 'file')}.`;
  const { total, endedBy } = found;
  const least = endedBy === 'time' || walk.isCut ? 'At least ' : '';
  return `${least}${formatCount(total.matchingLines, 'matching line')} in ${inFiles(total.files)}.`;
}

function binarySentence(binary: readonly string[]): string {
  if (binary.length === 0) return '';
  const shown = binary.slice(0, 4).map((path) => printableName(path));
  const more = binary.length > shown.length ? ', …' : '';
  const matches = binary.length === 1 ? 'matches' : 'match';
  return ` ${formatCount(binary.length, 'binary file')} ${matches}, which cannot be shown: ${shown.join(', ')}${more}.`;
}

/** How to get the next page, if there is one. */
export function nextPageHints(
  { endedBy }: FoundLines | FoundCounts,
  cursor: string | undefined,
): readonly string[] {
  const isLate = endedBy === 'time';
  if (cursor !== undefined) {
    return [nextPageHint(isLate ? 'Timed out before the end' : 'There are more', cursor)];
  }
  return isLate ? ['Timed out before anything was searched: use narrower globs or a type.'] : [];
}

/** Lines of the result. */
export function formatResults(
  found: FoundLines | FoundCounts,
  mode: SearchRequest['mode'],
): readonly string[] {
  if (!('total' in found)) return found.files.flatMap(fileText);
  return found.files.map(({ path, matchingLines }) =>
    mode === 'count' ? `${path}: ${matchingLines}` : path,
  );
}

function fileText({ path, lines }: FoundFile, index: number): string[] {
  const hasContext = lines.some(({ match }) => !match);
  const shown = lines.flatMap(({ line, text, match }, at) => {
    const before = lines[at - 1];
    const isNewGroup = before !== undefined && line > before.line + 1;
    return [...(isNewGroup && hasContext ? ['--'] : []), `${line}${match ? ':' : '-'} ${text}`];
  });
  return [...(index === 0 ? [] : ['']), path, ...shown];
}
