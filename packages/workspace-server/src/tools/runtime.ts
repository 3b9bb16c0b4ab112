/**
 * Runtime of the tools, loaded as one module by the first call, so that listing tools does not wait
 * for it.
 */
export { findGlobPath } from '../search/path-spelling.ts';
export { everythingBelow, selectFiles } from '../globs/file-selection.ts';
export { listTree, sortKeyOf } from '../search/directory-tree.ts';
export { globsOfTypes } from '../search/file-types.ts';
export { WalkCache, queryKey, readCursor, writeCursor } from '../search/paging.ts';
export { byBreadth, byPath, indexAfter } from '../search/path-order.ts';
export { SearchProblems } from '../search/search-problems.ts';
export { findCounts, findLines } from '../search/text-search.ts';
export { walkTree } from '../search/tree-walk.ts';
export { resolveStart } from '../search/walk-starts.ts';
export { addSuggestions } from './path-suggestions.ts';
export { readFiles } from './read-files.ts';
