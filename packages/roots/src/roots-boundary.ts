/** The boundary that a client's roots make, for the tools of one's own server. */
import type { RootsReport, Root } from '../../../src/protocol/roots.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { quoted } from '../../../src/protocol/printable.ts';
import { resolveInside } from './boundary.ts';
import type { Boundary } from './boundary.ts';
import type { RootDirectory } from './root-directory.ts';

/**
 * Which of several roots relative paths belong to: the `first` that can be used, the one that the
 * client calls `name`, or the first that holds `marker`, or one of the markers, such as
 * `package.json` or `.git`.
 */
export type PrimaryRoot =
  | 'first'
  | { readonly name: string }
  | { readonly marker: string | readonly string[] };

/** Which root relative paths are relative to. */
export interface RootsBoundaryOptions {
  /** By default `first`. */
  readonly primary?: PrimaryRoot;
}

/** A root that can be worked in, with the name that the client gave it. */
interface NamedDirectory extends RootDirectory {
  readonly name: string | undefined;
}

/** How many roots an error names. */
const maxNamed = 20;

/**
 * Makes the boundary of the roots that can be used. The server must be defined with
 * `resolveRoots: rootsResolver()`.
 *
 * ```ts
 * const boundary = await rootsBoundary(await context.roots(), { primary: { marker: '.git' } });
 * ```
 *
 * @throws {ToolError} NO_ROOTS if none can be used, with the reasons; NO_PRIMARY_ROOT if none is
 *   what `primary` asks for
 * @throws {TypeError} the roots have not been resolved to directories
 */
export async function rootsBoundary(
  report: RootsReport,
  { primary = 'first' }: RootsBoundaryOptions = {},
): Promise<Boundary> {
  const directories = usableDirectories(report);
  const [first] = directories;
  if (first === undefined) {
    const message = `There is no root to work in: ${whyNoRoots(report.roots, report)}${faultsOf(report)}`;
    throw new ToolError(message, { code: 'NO_ROOTS' });
  }
  const base = primary === 'first' ? first : await primaryOf(directories, primary);
  return { directories, base };
}

/** Each unusable root and its fault, as the end of a sentence. */
function faultsOf({ roots }: RootsReport): string {
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
      `The root ${quoted(uri)} has not been resolved to a directory: define the server with resolveRoots: rootsResolver()`,
    );
  });
}

async function primaryOf(
  directories: readonly NamedDirectory[],
  primary: Exclude<PrimaryRoot, 'first'>,
): Promise<RootDirectory> {
  const [found, wanted] =
    'name' in primary
      ? [directories.find(({ name }) => name === primary.name), `is named ${quoted(primary.name)}`]
      : await markedOf(directories, [primary.marker].flat());
  if (found !== undefined) return found;
  const named = directories
    .slice(0, maxNamed)
    .map(({ name, path }) => (name === undefined ? quoted(path) : `${quoted(name)} (${path})`));
  const message = `None of the roots ${wanted}. The roots are: ${named.join(', ')}${andMore(directories.length)}.`;
  throw new ToolError(message, { code: 'NO_PRIMARY_ROOT' });
}

async function markedOf(directories: readonly NamedDirectory[], markers: readonly string[]) {
  for (const directory of directories) {
    for (const marker of markers) {
      if (await holds(directory, marker)) return [directory, ''] as const;
    }
  }
  return [undefined, `holds ${markers.map((marker) => quoted(marker)).join(' or ')}`] as const;
}

/** False also if the marker leads out of the root, or the root is gone: then another one is meant. */
async function holds(base: RootDirectory, marker: string): Promise<boolean> {
  try {
    return (await resolveInside({ directories: [base], base }, marker)).exists;
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

/** Why no root can be used, as a part of a sentence for a person. */
export function whyNoRoots(roots: readonly Root[], report: RootsReport): string {
  const unusable =
    roots.length === 1
      ? "the client's only root cannot be used"
      : `none of the client's ${roots.length} roots can be used`;
  switch (report.status) {
    case 'undeclared':
      return 'the client does not use roots';
    case 'unsupported':
      return `the client declares roots but does not support them: ${report.problem ?? 'it answered -32601'}`;
    case 'failed':
      return `roots were asked for without success: ${report.problem ?? 'the client gave no answer'}${roots.length === 0 ? '' : `; and from before, ${unusable}`}`;
    case 'known':
      if (!report.settled && roots.length === 0) {
        return 'roots were asked for, but the client has not answered yet';
      }
      return roots.length === 0 ? 'the client declared an empty list of roots' : unusable;
  }
}
