/** Opening a file inside the roots boundary, checked again once it is open. */
import { quoted } from '../../../src/protocol/printable.ts';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../../src/protocol/errors.ts';
import { assertInside, resolveInside } from './boundary.ts';
import type { Boundary } from './boundary.ts';
import { open, realpath, stat } from './disk/disk.ts';
import type { OpenFile } from './disk/disk.ts';
import { fsFault, systemCode } from './disk/fs-fault.ts';
import { openRoot, placeOfDescriptor } from './root-directory.ts';

/** An open regular file. The caller closes `handle`. */
export interface InsideFile {
  /** The open file. Close it. */
  readonly handle: OpenFile;
  /** The real path. */
  readonly path: string;
  /** What the system said of it once it was open. */
  readonly stats: Stats;
}

/** How the place of an open file is found. */
export interface OpenOptions {
  /**
   * How an open file's place is found: `descriptor` asks the system where the descriptor leads
   * (Linux), `identity` compares inode and device with those of the path as it is now. `descriptor`
   * by default, if the system has it.
   */
  readonly placedBy?: 'descriptor' | 'identity';
}

/**
 * Opens a regular file for reading. Between the check of the path and the opening, a directory on
 * the way may have become a link out; so the place of the opened file is checked too.
 *
 * @throws {ToolError} OUTSIDE_ROOTS, NOT_FOUND, NOT_A_FILE, and what `resolveInside` throws
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
 * The second half of {@link openInside}: opens a path that was inside a moment ago, and believes
 * only what it has opened.
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
    const place = await placeOf(handle, stats, path, options.placedBy ?? defaultPlacing);
    await assertInside(boundary, place, given);
    if (stats.isDirectory()) throw notAFile(given, 'is a directory: name a file in it');
    if (!stats.isFile())
      throw notAFile(given, 'is not a regular file: it is a device, a pipe or a socket');
    return { handle, path, stats };
  } catch (error) {
    await handle.close();
    throw translated(error, given);
  }
}

/** Opens many files of the boundary's base, at the cost of one look at the root. */
export interface FileOpener {
  /**
   * @param path relative to the base
   * @throws what {@link openInside} throws
   */
  open(path: string): Promise<InsideFile>;
  /** Opens nothing more. Files that are open stay open. */
  close(): Promise<void>;
}

/**
 * Makes an opener. On Linux it opens files below the root's descriptor, so that it is the
 * directory that was checked; the system then says whether a file lies at its path in the root. If it
 * does not, or on another system, a file is opened as {@link openInside} does it.
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

/** Undefined if the path has led elsewhere. */
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
    // It is a link itself.
    if (error instanceof ToolError && systemCode(error.cause) === 'ELOOP') return undefined;
    throw error;
  }
  let isKept = false;
  try {
    const stats = await handle.stat();
    const place = await placeOfDescriptor(handle);
    isKept = place === path && stats.isFile();
    return isKept ? { handle, path, stats } : undefined;
  } finally {
    if (!isKept) await handle.close();
  }
}

const defaultPlacing = process.platform === 'linux' ? 'descriptor' : 'identity';

async function openRegular(path: string, given: string, via = path): Promise<OpenFile> {
  // Not blocking: opening a pipe that nobody writes to would occupy one of Node's few file threads
  // for ever. Windows lacks the last two; what is undefined counts as 0 here.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, via);
  } catch (error) {
    throw translated(error, given);
  }
}

async function placeOf(
  handle: OpenFile,
  stats: Stats,
  path: string,
  placedBy: 'descriptor' | 'identity',
): Promise<string | undefined> {
  const place = placedBy === 'descriptor' ? await placeOfDescriptor(handle) : undefined;
  if (place !== undefined) return place;
  const real = await realpath(path);
  const now = await stat(real);
  return now.ino === stats.ino && now.dev === stats.dev ? real : undefined;
}

function notAFile(given: string, phrase: string): ToolError {
  return new ToolError(`${quoted(given)} ${phrase}`, { code: 'NOT_A_FILE' });
}

function translated(error: unknown, given: string): unknown {
  if (systemCode(error) === undefined || error instanceof ToolError) return error;
  // A device without a driver and a socket answer with these when they are opened.
  if (['ENXIO', 'ENODEV', 'EOPNOTSUPP'].includes(systemCode(error) ?? '')) {
    return notAFile(given, 'is not a regular file: it is a device, a pipe or a socket');
  }
  const { code, phrase } = fsFault(error);
  return new ToolError(`${quoted(given)} ${phrase}`, {
    code: code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY' ? 'NOT_FOUND' : 'INACCESSIBLE',
    cause: error,
  });
}

/** How much may be read. */
export interface ReadInsideOptions {
  /** The most that is read, bytes; 1 MiB by default. */
  readonly maxBytes?: number;
}

const defaultMaxBytes = 1024 * 1024;

const pieceBytes = 64 * 1024;

/**
 * Reads a regular file to its end.
 *
 * @param given a path relative to the boundary's base, an absolute one, or a `file:` URI
 * @throws {ToolError} TOO_LARGE if it has more than `maxBytes`, and what {@link openInside} throws
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
    throw new ToolError(`${quoted(given)} has more than ${maxBytes} bytes`, { code: 'TOO_LARGE' });
  } finally {
    await handle.close();
  }
}

/**
 * Reads a small file to its end.
 *
 * @returns undefined if it has more than `maxBytes`, even if it has grown since its size was
 *   read
 * @throws the system's error
 */
export async function readBytes(handle: OpenFile, maxBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for (let size = 0; ;) {
    // One byte more than may be there tells a file that is too large from one that is not.
    const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, maxBytes + 1 - size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, size);
    pieces.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > maxBytes) return undefined;
    if (bytesRead === 0) return Buffer.concat(pieces);
  }
}
