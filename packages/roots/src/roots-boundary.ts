/** Creates a boundary from the client's roots, for tools of your own server. */
import type { RootsReport, Root } from '../../../src/protocol/roots.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { quoted } from '../../../src/protocol/printable.ts';
import { resolveInside } from './boundary.ts';
import type { Boundary } from './boundary.ts';
import type { RootDirectory } from './root-directory.ts';

/**
 * Selects the base for relative paths among several roots: the `first` usable one, the one with the
 * client's `name`, or the first that contains a `marker` such as `package.json` or `.git` (or one
 * of several markers).
 */
export type PrimaryRoot =
  | 'first'
  | { readonly name: string }
  | { readonly marker: string | readonly string[] };

/** Options of {@link rootsBoundary}. */
export interface RootsBoundaryOptions {
  /** Base for relative paths. Default: `first`. */
  readonly primary?: PrimaryRoot;
}

/** A usable root with its name from the client. */
interface NamedDirectory extends RootDirectory {
  readonly name: string | undefined;
}

/** Maximum number of roots listed in an error. */
const maxNamed = 20;

/**
 * Creates a boundary of all usable roots. The server must be defined with `resolveRoots:
 * rootsResolver()`.
 *
 * ```ts
 * const boundary = await rootsBoundary(await context.roots(), { primary: { marker: '.git' } });
 * ```
 *
 * @throws {ToolError} NO_ROOTS if no root is usable, with the reasons; NO_PRIMARY_ROOT if no root
 *   matches `primary`
 * @throws {TypeError} if the roots were not resolved to directories
 */
export async function rootsBoundary(
  report: RootsReport,
  { primary = 'first' }: RootsBoundaryOptions = {},
): Promise<Boundary> {
  const directories = usableDirectories(report);
  const [first] = directories;
  if (first === undefined) {
    const message = `No usable root: ${explainNoRoots(report.roots, report)}${describeProblems(report)}`;
    throw new ToolError(message, { code: 'NO_ROOTS' });
  }
  const base = primary === 'first' ? first : await findPrimary(directories, primary);
  return { directories, base };
}

/** Problems of the unusable roots, as the end of a sentence. */
function describeProblems({ roots }: RootsReport): string {
  if (roots.length === 0) return '';
  const faults = roots.slice(0, maxNamed).map(({ problem }) => problem?.message);
  return `: ${faults.join('; ')}${andMore(roots.length)}`;
}

function andMore(count: number): string {
  return count > maxNamed ? `, and ${count - maxNamed} more` : '';
}

function usableDirectories({ roots }: RootsReport): readonly NamedDirectory[] {
  return roots.flatMap(({ uri, name, path, identity, problem }) => {
    if (problem !== undefined) return [];
    if (path !== undefined && identity !== undefined) return [{ path, identity, name }];
    throw new TypeError(
      `The root ${quoted(uri)} was not resolved to a directory: define the server with resolveRoots: rootsResolver()`,
    );
  });
}

async function findPrimary(
  directories: readonly NamedDirectory[],
  primary: Exclude<PrimaryRoot, 'first'>,
): Promise<RootDirectory> {
  const [found, criterion] =
    'name' in primary
      ? [directories.find(({ name }) => name === primary.name), `is named ${quoted(primary.name)}`]
      : await findMarked(directories, [primary.marker].flat());
  if (found !== undefined) return found;
  const named = directories
    .slice(0, maxNamed)
    .map(({ name, path }) => (name === undefined ? quoted(path) : `${quoted(name)} (${path})`));
  const message = `No root ${criterion}. The roots are: ${named.join(', ')}${andMore(directories.length)}.`;
  throw new ToolError(message, { code: 'NO_PRIMARY_ROOT' });
}

async function findMarked(directories: readonly NamedDirectory[], markers: readonly string[]) {
  for (const directory of directories) {
    for (const marker of markers) {
      if (await containsMarker(directory, marker)) return [directory, ''] as const;
    }
  }
  return [undefined, `contains ${markers.map((marker) => quoted(marker)).join(' or ')}`] as const;
}

/**
 * False also if the marker leads outside the root or the root is gone, so that another root is
 * tried.
 */
async function containsMarker(base: RootDirectory, marker: string): Promise<boolean> {
  try {
    return (await resolveInside({ directories: [base], base }, marker)).exists;
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

/** Reason why no root is usable, as a clause for people. */
export function explainNoRoots(roots: readonly Root[], report: RootsReport): string {
  const unusable =
    roots.length === 1
      ? "the client's only root is unusable"
      : `all ${roots.length} of the client's roots are unusable`;
  switch (report.status) {
    case 'undeclared':
      return 'the client does not support roots';
    case 'unsupported':
      return `the client declares roots but rejects roots/list: ${report.problem ?? 'error -32601'}`;
    case 'failed':
      return `roots/list failed: ${report.problem ?? 'the client did not answer'}${roots.length === 0 ? '' : `; of the previous list, ${unusable}`}`;
    case 'known':
      if (!report.settled && roots.length === 0) {
        return 'the client has not answered roots/list yet';
      }
      return roots.length === 0 ? 'the client returned an empty list of roots' : unusable;
  }
}
