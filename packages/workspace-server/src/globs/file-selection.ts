/**
 * The paths that a call selects: its globs and file types as matchers, and the places where the
 * search begins.
 */
import { areOfNames, compileGlobs, readGlobs, startsOf } from './glob.ts';
import type { WrittenGlob } from './glob.ts';
import { isSliceOver, nextSlice } from './time-slices.ts';

export interface FileSelection {
  /**
   * Paths, relative to the root, below which all chosen ones are; '' for the root. What they name
   * is looked at even if it is hidden or ignored.
   */
  readonly starts: readonly string[];
  /** True for the path of a chosen file. */
  readonly acceptsFile: (path: string) => boolean;
  /** True for the path of a chosen directory, without a slash at its end. */
  readonly acceptsDirectory: (path: string) => boolean;
  /** True for what is excluded, with what is below it. */
  readonly excludes: (path: string) => boolean;
  /** True if something below a directory could be chosen. */
  readonly reaches: (directory: string) => boolean;
  /** True if a file's name alone tells whether it is chosen. */
  readonly isOfNames: boolean;
  /** Excluded directories, as options of ripgrep: it then does not even enter them. */
  readonly pruneArgs: readonly string[];
}

export interface SelectionQuery {
  /** Those that begin with `!` exclude. */
  readonly globs: readonly string[];
  /** Globs of which a file has to match one, too; none: all files. */
  readonly types?: readonly string[];
  /** `find`: `packages/*\/` means the directories; `search`: it means what is below them. */
  readonly purpose: 'find' | 'search';
  /** The root's path: an absolute glob below it is taken as relative to it. */
  readonly root: string;
  /** Finds the existing path that a glob with special characters names: `app/[id]/page.tsx`. */
  readonly pathOf: (glob: string) => Promise<string | undefined>;
}

/**
 * Compiles a call's globs.
 *
 * Including is not left to ripgrep: its `--glob` would override `.gitignore`, and its file types
 * make it say of each other file that it is left out.
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
  const written: WrittenGlob[] = [];
  for (const text of [...included, ...excluded]) {
    written.push({ text, path: mayNamePath(text) ? await pathOf(text) : undefined });
  }
  // Many calls may come at once, and compiling takes some milliseconds for globs at their budget.
  if (isSliceOver()) await nextSlice(signal);
  const read = readGlobs(written);
  const includedGlobs = read.slice(0, included.length);
  const all = included.length === 0;
  const use = purpose === 'find' ? 'files' : 'below';
  const includesFile = compileGlobs(includedGlobs, use);
  const includesDirectory = compileGlobs(includedGlobs, 'directories');
  const excludes = compileGlobs(read.slice(included.length));
  const isOfType = compileGlobs(readGlobs(types.map((text) => ({ text }))));
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
    isOfNames: all || areOfNames(includedGlobs, use),
    pruneArgs: excluded.filter(prunes).map((glob) => `--glob=!${glob}`),
  };
}

/** All that is below a path of the root, or the file at it. */
export function everythingBelow(path: string): FileSelection {
  const always = () => true;
  return {
    starts: [path],
    acceptsFile: always,
    acceptsDirectory: always,
    excludes: () => false,
    reaches: always,
    isOfNames: true,
    pruneArgs: [],
  };
}

/** A glob without special characters is a path as it is. */
function mayNamePath(glob: string): boolean {
  return /[*?[\]{}\\]/.test(glob);
}

function below(root: string, glob: string): string {
  if (glob === root) return '**';
  return glob.startsWith(`${root}/`) && root !== '/' ? glob.slice(root.length) : glob;
}

/**
 * Our own language allows a little more than ripgrep's, and ripgrep says of each excluded file that
 * it is left out: only what is meant for directories is worth telling it.
 */
function prunes(glob: string): boolean {
  return (
    /^[\w./*?-]+$/.test(glob) && !glob.includes('***') && /(?:^|\/)(?:[\w.-]+|\*\*)\/?$/.test(glob)
  );
}
