/** Where a walk begins: in the root, at a path that a call names, and behind links. */
import { isAbsolute, relative, sep } from 'node:path';
import { disk } from 'mcp-actors/internal';
import { resolveInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { findSpelling } from './path-spelling.ts';

/** A place that exists inside the boundary. */
export interface Start {
  /** How paths in it are shown, relative to the root; '' for the root. */
  readonly shown: string;
  /** Its real path relative to the root; undefined if it is in another one. */
  readonly inRoot: string | undefined;
  /** Its real path. */
  readonly real: string;
  readonly kind: 'directory' | 'file' | 'special';
  readonly sizeBytes: number;
}

/**
 * Looks where a path of the root leads.
 *
 * @param shown relative to the root; the names on disk take its place if it spells them differently
 * @param given what `resolveInside` takes, if it is not relative to the root
 * @returns undefined if nothing is there
 * @throws {ToolError} what `resolveInside` throws: OUTSIDE_ROOTS, ROOT_UNAVAILABLE, INACCESSIBLE,
 *   INVALID_PATH
 */
export async function startAt(
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
    // It has gone since.
    return undefined;
  }
}

/** True if no link leads to it. */
export function isDirect({ shown, inRoot }: Start): boolean {
  return inRoot === shown;
}

/** What ripgrep is given for it, with the root as its working directory. */
export function argumentOf({ inRoot, real }: Start): string {
  if (inRoot === undefined) return real;
  return inRoot === '' ? '.' : `./${inRoot}`;
}

/** A path as ripgrep prints it, below the `./` that it was given. */
export function withoutDot(path: string): string {
  return path.replace(/^\.\//, '');
}

/** True if a path is another one or lies below it; '' is the root. */
export function isBelow(directory: string, path: string): boolean {
  return directory === '' || path === directory || path.startsWith(`${directory}/`);
}

function below(directory: string, path: string): string | undefined {
  const rest = relative(directory, path);
  const isOutside = rest === '..' || rest.startsWith(`..${sep}`) || isAbsolute(rest);
  return isOutside ? undefined : rest.split(sep).join('/');
}
