/**
 * Which files a search looks at: globs and hidden files, in ripgrep's arguments and in a filter
 * behind it.
 */
import { compileGlobs, readGlobs } from './glob.ts';
import type { PathMatcher } from './path-automaton.ts';
import { isSliceOver, nextSlice } from './time-slices.ts';

export interface FileSelection {
  readonly args: readonly string[];
  /** The rest of the decision, on paths relative to the root. */
  readonly accepts: PathMatcher;
}

/**
 * Translates globs. Those that begin with `!` exclude.
 *
 * Excluding is left to ripgrep, which then does not even enter a directory. Including is not:
 * `--glob` would override `.gitignore`. If the last segment is simple, it goes to ripgrep as a file
 * type, which respects the ignore files and saves reading the rest.
 *
 * @throws {ToolError} INVALID_GLOB; the signal's reason
 */
export async function selectFiles(
  globs: readonly string[],
  hidden: boolean,
  signal: AbortSignal,
): Promise<FileSelection> {
  // Many calls may come at once, and compiling takes some milliseconds for globs at their budget.
  if (isSliceOver()) await nextSlice(signal);
  const included = globs.filter((glob) => !glob.startsWith('!'));
  const excluded = globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1));
  const read = readGlobs([...included, ...excluded]);
  const includes = compileGlobs(read.slice(0, included.length));
  const excludes = compileGlobs(read.slice(included.length));
  const types = includedTypes(included);
  const args = [
    ...(hidden ? ['--hidden', '--glob=!.git'] : []),
    ...excluded.filter(isSafeForRipgrep).map((glob) => `--glob=!${glob}`),
    ...types.map((name) => `--type-add=chosen:${name}`),
    ...(types.length > 0 ? ['--type=chosen'] : []),
  ];
  return {
    args,
    accepts: (path) =>
      (included.length === 0 || includes(path)) &&
      !excludes(path) &&
      // A chosen type shows hidden files too.
      (hidden || types.length === 0 || !(path.split('/').at(-1) ?? '').startsWith('.')),
  };
}

/**
 * Our own language allows a little more than ripgrep's; what only we understand is filtered behind
 * it.
 */
function isSafeForRipgrep(glob: string): boolean {
  return /^[\w./*?-]+$/.test(glob) && !glob.includes('***');
}

/** The file names that can match, as globs on names; none if any glob needs more than a name. */
function includedTypes(globs: readonly string[]): string[] {
  const names = globs.map((glob) => glob.split('/').at(-1) ?? '');
  return names.every((name) => /^[\w.*?-]*[*?][\w.*?-]*$/.test(name) && !name.includes('**'))
    ? names
    : [];
}
