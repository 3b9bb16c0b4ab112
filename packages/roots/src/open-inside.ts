/** Opens files inside the roots boundary and checks their location again after opening. */
import { quoted } from '../../../src/protocol/printable.ts';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../../src/protocol/errors.ts';
import { assertInside, resolveInside } from './boundary.ts';
import type { Boundary } from './boundary.ts';
import { open, realpath, stat } from './disk/disk.ts';
import type { OpenFile } from './disk/disk.ts';
import { describeFsError, systemCode } from './disk/fs-error.ts';
import { openRoot, pathOfDescriptor } from './root-directory.ts';

/** An open regular file. The caller closes `handle`. */
export interface InsideFile {
  /** Open file; the caller must close it. */
  readonly handle: OpenFile;
  /** Real path. */
  readonly path: string;
  /** File status, read after opening. */
  readonly stats: Stats;
}

/** Options for opening a file. */
export interface OpenOptions {
  /**
   * How to find the location of an open file: `descriptor` reads the descriptor's path from the
   * system (Linux), `identity` compares inode and device with the current entry at the path.
   * Default: `descriptor` where the system supports it.
   */
  readonly locatedBy?: 'descriptor' | 'identity';
}

/**
 * Opens a regular file for reading. Because a directory on the path may become a link between check
 * and opening, the location of the opened file is checked too.
 *
 * @throws {ToolError} OUTSIDE_ROOTS, NOT_FOUND, NOT_A_FILE, and errors of `resolveInside`
 */
export async function openInside(
  boundary: Boundary,
  given: string,
  options: OpenOptions = {},
): Promise<InsideFile> {
  const { path } = await resolveInside(boundary, given);
  return await openChecked(boundary, path, { ...options, given });
}

/**
 * Second half of {@link openInside}: opens a path that has been resolved, and checks the opened
 * file.
 */
export async function openChecked(
  boundary: Boundary,
  path: string,
  options: OpenOptions & { readonly given?: string } = {},
): Promise<InsideFile> {
  const given = options.given ?? path;
  const handle = await openRegular(path, given);
  try {
    const stats = await handle.stat();
    const location = await locate(handle, stats, path, options.locatedBy ?? defaultLocatedBy);
    await assertInside(boundary, location, given);
    if (stats.isDirectory()) throw notAFile(given, 'is a directory: give the path of a file in it');
    if (!stats.isFile())
      throw notAFile(given, 'is not a regular file: it is a device, a pipe or a socket');
    return { handle, path, stats };
  } catch (error) {
    await handle.close();
    throw translateError(error, given);
  }
}

/** Opens many files in the boundary's base while checking the root only once. */
export interface FileOpener {
  /**
   * Opens a file.
   *
   * @param path relative to the base
   * @throws errors of {@link openInside}
   */
  open(path: string): Promise<InsideFile>;
  /** Closes the opener. Files already open stay open. */
  close(): Promise<void>;
}

/**
 * Creates an opener. On Linux it opens files relative to the root's descriptor, so they come from
 * the directory that was checked, and then asks the system whether the file is still at its path in
 * the root. If not, and on other systems, it falls back to {@link openInside}.
 *
 * @throws {ToolError} ROOT_UNAVAILABLE
 */
export async function fileOpener(boundary: Boundary): Promise<FileOpener> {
  const root = await openRoot(boundary.base);
  return {
    open: async (path) =>
      (root.openedBy === 'descriptor'
        ? await openBelow(root.cwd, boundary.base.path, path)
        : undefined) ?? (await openInside(boundary, path)),
    close: root.close,
  };
}

/** Undefined if the path led outside the root. */
async function openBelow(
  descriptor: string,
  root: string,
  given: string,
): Promise<InsideFile | undefined> {
  const path = join(root, given);
  let handle: OpenFile;
  try {
    handle = await openRegular(path, given, `${descriptor}/${given}`);
  } catch (error) {
    // The path itself is a symbolic link.
    if (error instanceof ToolError && systemCode(error.cause) === 'ELOOP') return undefined;
    throw error;
  }
  let isKept = false;
  try {
    const stats = await handle.stat();
    const location = await pathOfDescriptor(handle);
    isKept = location === path && stats.isFile();
    return isKept ? { handle, path, stats } : undefined;
  } finally {
    if (!isKept) await handle.close();
  }
}

const defaultLocatedBy = process.platform === 'linux' ? 'descriptor' : 'identity';

async function openRegular(path: string, given: string, via = path): Promise<OpenFile> {
  // O_NONBLOCK, because opening a pipe without a writer would occupy a file thread forever. Windows
  // lacks the last two constants; undefined counts as 0.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, via);
  } catch (error) {
    throw translateError(error, given);
  }
}

async function locate(
  handle: OpenFile,
  stats: Stats,
  path: string,
  locatedBy: 'descriptor' | 'identity',
): Promise<string | undefined> {
  const location = locatedBy === 'descriptor' ? await pathOfDescriptor(handle) : undefined;
  if (location !== undefined) return location;
  const real = await realpath(path);
  const now = await stat(real);
  return now.ino === stats.ino && now.dev === stats.dev ? real : undefined;
}

function notAFile(given: string, phrase: string): ToolError {
  return new ToolError(`${quoted(given)} ${phrase}`, { code: 'NOT_A_FILE' });
}

function translateError(error: unknown, given: string): unknown {
  if (systemCode(error) === undefined || error instanceof ToolError) return error;
  // Errors of opening a device without a driver, or a socket.
  if (['ENXIO', 'ENODEV', 'EOPNOTSUPP'].includes(systemCode(error) ?? '')) {
    return notAFile(given, 'is not a regular file: it is a device, a pipe or a socket');
  }
  const { code, phrase } = describeFsError(error);
  return new ToolError(`${quoted(given)} ${phrase}`, {
    code: code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY' ? 'NOT_FOUND' : 'INACCESSIBLE',
    cause: error,
  });
}

/** Options for reading a file. */
export interface ReadInsideOptions {
  /** Maximum size, bytes. Default: 1 MiB. */
  readonly maxBytes?: number;
}

const defaultMaxBytes = 1024 * 1024;

const pieceBytes = 64 * 1024;

/**
 * Reads a whole regular file.
 *
 * @param given path relative to the boundary's base, absolute path, or `file:` URI
 * @throws {ToolError} TOO_LARGE if the file exceeds `maxBytes`; errors of {@link openInside}
 */
export async function readInside(
  boundary: Boundary,
  given: string,
  { maxBytes = defaultMaxBytes }: ReadInsideOptions = {},
): Promise<Buffer> {
  const { handle } = await openInside(boundary, given);
  try {
    const bytes = await readBytes(handle, maxBytes);
    if (bytes !== undefined) return bytes;
    throw new ToolError(`${quoted(given)} must be at most ${maxBytes} bytes`, {
      code: 'TOO_LARGE',
    });
  } finally {
    await handle.close();
  }
}

/**
 * Reads a whole small file.
 *
 * @returns undefined if the file exceeds `maxBytes`, even if it grew after its size was read
 * @throws the system's error
 */
export async function readBytes(handle: OpenFile, maxBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for (let size = 0; ;) {
    // Reading one extra byte detects a file that is too large.
    const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, maxBytes + 1 - size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, size);
    pieces.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > maxBytes) return undefined;
    if (bytesRead === 0) return Buffer.concat(pieces);
  }
}
