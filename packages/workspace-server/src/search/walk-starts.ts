/** Starting points of a walk: the root, paths named in a call, and link targets. */
import { isAbsolute, relative, sep } from 'node:path';
import { disk } from 'mcp-actors/internal';
import { resolveInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { findSpelling } from './path-spelling.ts';

/** An existing place inside the boundary. */
export interface Start {
  /** Displayed path relative to the root; '' for the root. */
  readonly shown: string;
  /** Real path relative to the root; undefined if it lies in another root. */
  readonly inRoot: string | undefined;
  /** Real path. */
  readonly real: string;
  readonly kind: 'directory' | 'file' | 'special';
  readonly sizeBytes: number;
}

/**
 * Resolves a path of the root.
 *
 * @param shown relative to the root; replaced by the names on disk if spelled differently
 * @param given argument of `resolveInside`, if not relative to the root
 * @returns undefined if nothing exists there
 * @throws {ToolError} errors of `resolveInside`: OUTSIDE_ROOTS, ROOT_UNAVAILABLE, INACCESSIBLE,
 * INVALID_PATH
 */
export async function resolveStart(
  boundary: Boundary,
  shown: string,
  given = `./${shown}`,
): Promise<Start | undefined> {
  const found = await resolveInside(boundary, given);
  if (found.exists) return await startOf(boundary, shown, found.path);
  const spelled = await findSpelling(boundary, given);
  if (spelled === undefined) return undefined;
  const { path } = await resolveInside(boundary, isAbsolute(spelled) ? spelled : `./${spelled}`);
  return await startOf(boundary, spelled, path);
}

async function startOf(
  boundary: Boundary,
  shown: string,
  real: string,
): Promise<Start | undefined> {
  try {
    const stats = await disk.stat(real);
    const kind = stats.isDirectory() ? 'directory' : stats.isFile() ? 'file' : 'special';
    return { shown, inRoot: below(boundary.base.path, real), real, kind, sizeBytes: stats.size };
  } catch (error) {
    if (disk.systemCode(error) === undefined || error instanceof ToolError) throw error;
    // Removed in the meantime.
    return undefined;
  }
}

/** True if the path contains no links. */
export function isDirect({ shown, inRoot }: Start): boolean {
  return inRoot === shown;
}

/** Ripgrep argument for a start, with the root as working directory. */
export function argumentOf({ inRoot, real }: Start): string {
  if (inRoot === undefined) return real;
  return inRoot === '' ? '.' : `./${inRoot}`;
}

/** Strips the leading `./` that ripgrep prints. */
export function stripDot(path: string): string {
  return path.replace(/^\.\//, '');
}

/** True if a path equals a directory or lies below it; '' is the root. */
export function isBelow(directory: string, path: string): boolean {
  return directory === '' || path === directory || path.startsWith(`${directory}/`);
}

function below(directory: string, path: string): string | undefined {
  const rest = relative(directory, path);
  const isOutside = rest === '..' || rest.startsWith(`..${sep}`) || isAbsolute(rest);
  return isOutside ? undefined : rest.split(sep).join('/');
}
