/**
 * The roots boundary: which paths a tool may touch. Roots are guidance that a client gives, not
 * access control; what the boundary promises is that a tool does not leave them by mistake, by a
 * symbolic link, or by a hostile argument.
 *
 * @see MCP 2025-11-25, client/roots, "Security Considerations"; protocol notes 33
 */
import { basename, dirname, join, resolve } from 'node:path';
import { ToolError } from '../../../src/protocol/errors.ts';
import { printable, quoted } from '../../../src/protocol/printable.ts';
import { lstat, readlink, realpath } from './disk/disk.ts';
import { readFileUri } from './file-uri.ts';
import type { PathStyle } from './file-uri.ts';
import { fsFault, systemCode } from './disk/fs-fault.ts';
import type { FsFault } from './disk/fs-fault.ts';
import { assertRootAvailable } from './root-directory.ts';
import type { RootDirectory } from './root-directory.ts';

/** The directories that a tool keeps to. */
export interface Boundary {
  /** A path inside any of them is inside. */
  readonly directories: readonly RootDirectory[];
  /** The directory that relative paths are relative to; one of `directories`. */
  readonly base: RootDirectory;
}

/** A path that is inside a boundary. */
export interface InsidePath {
  /** Absolute; every part of it that exists is real. */
  readonly path: string;
  /** False for a path that could be created: its nearest existing ancestor is inside. */
  readonly exists: boolean;
}

/** As many links as Linux follows before it gives up. */
const maxLinks = 40;
const maxPathBytes = process.platform === 'win32' ? 32_767 : 4096;

/**
 * Resolves what a tool was given (a relative path, an absolute one, or a `file:` URI) to a real
 * path inside the boundary.
 *
 * @throws {ToolError} OUTSIDE_ROOTS, naming the path and the roots; INVALID_PATH; ROOT_UNAVAILABLE
 *   if another directory is at the base or at the path's root; INACCESSIBLE for a loop of links or a
 *   directory that may not be read. Nothing else, for any input.
 */
export async function resolveInside(boundary: Boundary, given: string): Promise<InsidePath> {
  await assertRootAvailable(boundary.base);
  const found = await follow(resolve(boundary.base.path, readGiven(given)), maxLinks);
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
 * Checks that a real path lies in one of the boundary's directories, and that no other
 * directory has taken the place of that one.
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
  if (root === undefined) throw outside(boundary, given);
  await assertRootAvailable(root);
}

/** The error for a path outside; it does not tell whether the path exists. */
function outside(boundary: Boundary, given: string): ToolError {
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

function readGiven(given: string): string {
  if (given === '') throw invalid('The path is empty; "." is the root itself');
  if (given.includes('\0')) throw invalid('A path cannot contain a NUL character');
  if (Buffer.byteLength(given) > maxPathBytes) {
    throw invalid(
      `A path has at most ${maxPathBytes} bytes; this one has ${Buffer.byteLength(given)}`,
    );
  }
  // `file:12` is the twelfth line of a file that is called `file`.
  if (!/^file:[/\\]/i.test(given)) return given;
  const reading = readFileUri(given);
  if (!reading.ok) throw invalid(reading.message);
  return reading.path;
}

function invalid(message: string): ToolError {
  return new ToolError(message, { code: 'INVALID_PATH' });
}

interface Followed extends InsidePath {
  /** Why the path cannot be followed further, if something is there. */
  readonly fault?: FsFault;
}

const loop: FsFault = { code: 'LOOP', phrase: 'leads through a loop of symbolic links' };

/**
 * The real path; for what does not exist, its nearest existing ancestor and the rest. A dangling
 * link counts as the place that it points to: a file that is created through it is created there.
 */
async function follow(path: string, linksLeft: number): Promise<Followed> {
  const { real, rest, fault } = await nearestExisting(path);
  const [next] = rest;
  if (next === undefined) return { path: real, exists: true };
  const target = await linkTarget(join(real, next));
  if (target === undefined) return ended(join(real, ...rest), fault);
  if (linksLeft === 0) return ended(join(real, ...rest), loop);
  return await follow(resolve(real, target, ...rest.slice(1)), linksLeft - 1);
}

interface Nearest {
  /** The real path of the nearest ancestor that exists; the path itself if none does. */
  readonly real: string;
  /** The names below it. */
  readonly rest: readonly string[];
  readonly fault?: FsFault;
}

async function nearestExisting(path: string): Promise<Nearest> {
  const names: string[] = [];
  let ancestor = path;
  let fault: FsFault | undefined;
  for (;;) {
    try {
      const found = { real: await realpath(ancestor), rest: names.toReversed() };
      return fault === undefined ? found : { ...found, fault };
    } catch (error) {
      const met = fsFault(error);
      if (met.code !== 'NOT_FOUND' && met.code !== 'NOT_A_DIRECTORY') fault ??= met;
      const parent = dirname(ancestor);
      if (parent === ancestor) return { real: ancestor, rest: names.toReversed(), fault: met };
      names.push(basename(ancestor));
      ancestor = parent;
    }
  }
}

function ended(path: string, fault: FsFault | undefined): Followed {
  return fault === undefined ? { path, exists: false } : { path, exists: false, fault };
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    // Absent or unreadable: it cannot lead anywhere.
    if (systemCode(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * True if `path` is `directory` or lies below it. `/a/b` does not contain `/a/bc`.
 * Both are absolute real paths; on Windows case does not count.
 */
export function contains(directory: string, path: string, style: PathStyle = {}): boolean {
  const windows = style.windows ?? process.platform === 'win32';
  const outer = segments(directory, windows);
  const inner = segments(path, windows);
  if (outer.length === 0) return false;
  // A real path has no segment that climbs: a path that has one is refused.
  if (inner.includes('..') || outer.includes('..')) return false;
  return outer.length <= inner.length && outer.every((segment, index) => segment === inner[index]);
}

function segments(path: string, windows: boolean): string[] {
  const parts = windows ? path.toLowerCase().split(/[\\/]+/) : path.split(/\/+/);
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts;
}
