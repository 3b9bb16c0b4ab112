/**
 * Compiles the globs and file types of a call into path matchers, and the directories where its
 * search starts.
 */
import { matchByName, compileGlobs, parseGlobs, startsOf } from './glob.ts';
import type { GlobInput } from './glob.ts';
import { isSliceOver, nextSlice } from './time-slices.ts';

export interface FileSelection {
  /**
   * Paths relative to the root that contain all selected ones; '' for the root. A start named
   * explicitly is searched even if it is hidden or ignored.
   */
  readonly starts: readonly string[];
  /** True if the file at a path is selected. */
  readonly acceptsFile: (path: string) => boolean;
  /** True if the directory at a path (without a trailing slash) is selected. */
  readonly acceptsDirectory: (path: string) => boolean;
  /** True if a path and everything below it is excluded. */
  readonly excludes: (path: string) => boolean;
  /** True if anything below a directory could be selected. */
  readonly reaches: (directory: string) => boolean;
  /** True if a file's name alone decides whether it is selected. */
  readonly matchesByName: boolean;
  /** Ripgrep options for excluded directories, which it then never enters. */
  readonly pruneArgs: readonly string[];
}

export interface SelectionQuery {
  /** Globs; a leading `!` excludes. */
  readonly globs: readonly string[];
  /** Globs of which a file must match at least one as well; empty for all files. */
  readonly types?: readonly string[];
  /** `find`: `packages/*\/` selects the directories. `search`: it selects the files below them. */
  readonly purpose: 'find' | 'search';
  /** Path of the root. Absolute globs below it count as relative to it. */
  readonly root: string;
  /**
   * Resolves a glob that is also the literal path of an existing file, such as `app/[id]/page.tsx`.
   */
  readonly pathOf: (glob: string) => Promise<string | undefined>;
}

/**
 * Compiles a call's globs.
 *
 * Including is not delegated to ripgrep: its `--glob` overrides `.gitignore`, and with its file
 * types it would report every other file as ignored.
 *
 * @throws {ToolError} INVALID_GLOB; the signal's reason
 */
export async function selectFiles(
  { globs, types = [], purpose, root, pathOf }: SelectionQuery,
  signal: AbortSignal,
): Promise<FileSelection> {
  const isExcluding = (glob: string) => glob.startsWith('!');
  const included = globs.filter((glob) => !isExcluding(glob)).map((glob) => below(root, glob));
  const excluded = globs.filter(isExcluding).map((glob) => below(root, glob.slice(1)));
  const written: GlobInput[] = [];
  for (const text of [...included, ...excluded]) {
    written.push({ text, path: mayNamePath(text) ? await pathOf(text) : undefined });
  }
  // Globs at their limits take milliseconds to compile, and many calls may arrive at once.
  if (isSliceOver()) await nextSlice(signal);
  const read = parseGlobs(written);
  const includedGlobs = read.slice(0, included.length);
  const all = included.length === 0;
  const use = purpose === 'find' ? 'files' : 'below';
  const includesFile = compileGlobs(includedGlobs, use);
  const includesDirectory = compileGlobs(includedGlobs, 'directories');
  const excludes = compileGlobs(read.slice(included.length));
  const isOfType = compileGlobs(parseGlobs(types.map((text) => ({ text }))));
  return {
    starts: all ? [''] : startsOf(includedGlobs),
    acceptsFile: (path) =>
      (all || includesFile(path)) && !excludes(path) && (types.length === 0 || isOfType(path)),
    acceptsDirectory: (path) =>
      types.length === 0 && (all || includesDirectory(path)) && !excludes(path),
    excludes,
    reaches: (directory) =>
      !excludes(directory) &&
      (all || includesFile.reaches(directory) || includesDirectory.reaches(directory)),
    matchesByName: all || matchByName(includedGlobs, use),
    pruneArgs: excluded.filter(canPrune).map((glob) => `--glob=!${glob}`),
  };
}

/** Selects everything below a path of the root, or the file at that path. */
export function everythingBelow(path: string): FileSelection {
  const always = () => true;
  return {
    starts: [path],
    acceptsFile: always,
    acceptsDirectory: always,
    excludes: () => false,
    reaches: always,
    matchesByName: true,
    pruneArgs: [],
  };
}

/** Globs without special characters already are literal paths. */
function mayNamePath(glob: string): boolean {
  return /[*?[\]{}\\]/.test(glob);
}

function below(root: string, glob: string): string {
  if (glob === root) return '**';
  return glob.startsWith(`${root}/`) && root !== '/' ? glob.slice(root.length) : glob;
}

/**
 * Passes only plain directory globs to ripgrep: our glob language is a little wider than ripgrep's,
 * and ripgrep reports each excluded file.
 */
function canPrune(glob: string): boolean {
  return (
    /^[\w./*?-]+$/.test(glob) && !glob.includes('***') && /(?:^|\/)(?:[\w.-]+|\*\*)\/?$/.test(glob)
  );
}
