/**
 * The roots boundary: the paths that a tool may use. Roots are advice from the client, not access
 * control. The boundary keeps a tool from leaving them by mistake, through a symbolic link, or
 * because of a hostile argument.
 *
 * @see MCP 2025-11-25, client/roots, "Security Considerations"; protocol notes 33
 */
import { basename, dirname, join, resolve } from 'node:path';
import { ToolError } from '../../../src/protocol/errors.ts';
import { printable, quoted } from '../../../src/protocol/printable.ts';
import { lstat, readlink, realpath } from './disk/disk.ts';
import { readFileUri } from './file-uri.ts';
import type { PathStyle } from './file-uri.ts';
import { describeFsError, systemCode } from './disk/fs-error.ts';
import type { FsFailure } from './disk/fs-error.ts';
import { assertRootAvailable } from './root-directory.ts';
import type { RootDirectory } from './root-directory.ts';

/** The directories that a tool may work in. */
export interface Boundary {
  /** Allowed directories. A path may lie in any of them. */
  readonly directories: readonly RootDirectory[];
  /** Directory that relative paths resolve against; one of `directories`. */
  readonly base: RootDirectory;
}

/** A path inside a boundary. */
export interface InsidePath {
  /** Absolute path, with symbolic links resolved in every part that exists. */
  readonly path: string;
  /** False for a path that could be created because its nearest existing ancestor is inside. */
  readonly exists: boolean;
}

/** Limit of symbolic links in one path, as in Linux. */
const maxLinks = 40;
const maxPathBytes = process.platform === 'win32' ? 32_767 : 4096;

/**
 * Resolves a tool's argument (a relative path, an absolute path or a `file:` URI) to a real path
 * inside the boundary.
 *
 * @throws {ToolError} OUTSIDE_ROOTS, naming the path and the roots; INVALID_PATH; ROOT_UNAVAILABLE
 *   if the base or the path's root was replaced by another directory; INACCESSIBLE for a loop of
 *   links or an unreadable directory. Throws no other error.
 */
export async function resolveInside(boundary: Boundary, given: string): Promise<InsidePath> {
  await assertRootAvailable(boundary.base);
  const found = await follow(resolve(boundary.base.path, parseGivenPath(given)), maxLinks);
  await assertInside(boundary, found.path, given);
  if (found.fault !== undefined) {
    const { code, phrase } = found.fault;
    throw new ToolError(`${quoted(given)} ${phrase}`, {
      code: code === 'NAME_TOO_LONG' ? 'INVALID_PATH' : 'INACCESSIBLE',
    });
  }
  return { path: found.path, exists: found.exists };
}

/**
 * Checks that a real path lies in one of the boundary's directories, and that this directory was
 * not replaced.
 *
 * @throws {ToolError} OUTSIDE_ROOTS, ROOT_UNAVAILABLE
 */
export async function assertInside(
  boundary: Boundary,
  path: string | undefined,
  given: string,
): Promise<void> {
  const { directories } = boundary;
  const root =
    path === undefined
      ? undefined
      : directories.find((directory) => contains(directory.path, path));
  if (root === undefined) throw outsideError(boundary, given);
  await assertRootAvailable(root);
}

/** Error for a path outside the boundary. It does not reveal whether the path exists. */
function outsideError(boundary: Boundary, given: string): ToolError {
  const roots = boundary.directories
    .slice(0, 20)
    .map(({ path }) => printable(path))
    .join(', ');
  const more =
    boundary.directories.length > 20 ? `, and ${boundary.directories.length - 20} more` : '';
  return new ToolError(
    `${quoted(given)} is outside the roots boundary. The roots are: ${roots}${more}. Use a path inside one of them.`,
    { code: 'OUTSIDE_ROOTS' },
  );
}

function parseGivenPath(given: string): string {
  if (given === '') throw invalidPath('The path is empty; "." is the root itself');
  if (given.includes('\0')) throw invalidPath('A path cannot contain a NUL character');
  if (Buffer.byteLength(given) > maxPathBytes) {
    throw invalidPath(
      `A path has at most ${maxPathBytes} bytes; this one has ${Buffer.byteLength(given)}`,
    );
  }
  // `file:12` means line 12 of a file called `file`.
  if (!/^file:[/\\]/i.test(given)) return given;
  const reading = readFileUri(given);
  if (!reading.ok) throw invalidPath(reading.message);
  return reading.path;
}

function invalidPath(message: string): ToolError {
  return new ToolError(message, { code: 'INVALID_PATH' });
}

interface FollowedPath extends InsidePath {
  /** Error that stopped the resolution although something exists there. */
  readonly fault?: FsFailure;
}

const loop: FsFailure = { code: 'LOOP', phrase: 'leads through a loop of symbolic links' };

/**
 * Resolves to the real path, or to the nearest existing ancestor plus the rest. A dangling link
 * resolves to its target, because creating a file through the link creates it there.
 */
async function follow(path: string, linksLeft: number): Promise<FollowedPath> {
  const { real, rest, fault } = await nearestExisting(path);
  const [next] = rest;
  if (next === undefined) return { path: real, exists: true };
  const target = await linkTarget(join(real, next));
  if (target === undefined) return unfinishedPath(join(real, ...rest), fault);
  if (linksLeft === 0) return unfinishedPath(join(real, ...rest), loop);
  return await follow(resolve(real, target, ...rest.slice(1)), linksLeft - 1);
}

interface NearestExisting {
  /** Real path of the nearest existing ancestor; the path itself if none exists. */
  readonly real: string;
  /** Names below `real`. */
  readonly rest: readonly string[];
  readonly fault?: FsFailure;
}

async function nearestExisting(path: string): Promise<NearestExisting> {
  const names: string[] = [];
  let ancestor = path;
  let fault: FsFailure | undefined;
  for (;;) {
    try {
      const found = { real: await realpath(ancestor), rest: names.toReversed() };
      return fault === undefined ? found : { ...found, fault };
    } catch (error) {
      const met = describeFsError(error);
      if (met.code !== 'NOT_FOUND' && met.code !== 'NOT_A_DIRECTORY') fault ??= met;
      const parent = dirname(ancestor);
      if (parent === ancestor) return { real: ancestor, rest: names.toReversed(), fault: met };
      names.push(basename(ancestor));
      ancestor = parent;
    }
  }
}

function unfinishedPath(path: string, fault: FsFailure | undefined): FollowedPath {
  return fault === undefined ? { path, exists: false } : { path, exists: false, fault };
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    // An absent or unreadable entry leads nowhere.
    if (systemCode(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * True if `path` is `directory` or lies below it. `/a/b` does not contain `/a/bc`. Both must be
 * absolute real paths. Windows paths compare case-insensitively.
 */
export function contains(directory: string, path: string, style: PathStyle = {}): boolean {
  const windows = style.windows ?? process.platform === 'win32';
  const outer = segments(directory, windows);
  const inner = segments(path, windows);
  if (outer.length === 0) return false;
  // Real paths contain no `..`.
  if (inner.includes('..') || outer.includes('..')) return false;
  return outer.length <= inner.length && outer.every((segment, index) => segment === inner[index]);
}

function segments(path: string, windows: boolean): string[] {
  const parts = windows ? path.toLowerCase().split(/[\\/]+/) : path.split(/\/+/);
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts;
}
