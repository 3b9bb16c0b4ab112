/**
 * What the tools run on. The first call loads it, in one piece: a server that has just been
 * launched describes its tools without it.
 */
export { selectFiles } from '../globs/file-selection.ts';
export { FilePages, walkFiles } from '../search/file-walk.ts';
export { markedRecords } from '../search/ripgrep-output.ts';
export { ripgrep, ripgrepArguments } from '../search/ripgrep.ts';
export { SearchProblems } from '../search/search-problems.ts';
export { collectMatches } from '../search/text-search.ts';
export { readFiles } from './read-files.ts';
