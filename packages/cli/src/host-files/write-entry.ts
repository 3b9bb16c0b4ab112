/** Changes a host's file after showing the difference. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { printableLines, redactText } from 'mcp-actors/internal';
import { UsageError, print } from '../command.ts';
import { FileFault } from './entry-format.ts';

/** Size above which a file cannot be a configuration. */
const maxFileBytes = 32 * 1024 ** 2;

const byteOrderMark = '\uFEFF';

/** A host's file as read. */
export interface HostFileText {
  /** Path as the host uses it; may be a symbolic link. */
  readonly path: string;
  /** Path with links resolved. */
  readonly realPath: string;
  /** Undefined if the file does not exist. */
  readonly bytes: Buffer | undefined;
  /** Text without the byte order mark. */
  readonly text: string;
}

/**
 * Reads a host's file.
 *
 * @throws {UsageError} if it cannot be read or is not text
 */
export async function readHostFile(path: string): Promise<HostFileText> {
  return await namingFile(path, async () => {
    const realPath = await realpath(path).catch(ifMissing(undefined));
    if (realPath === undefined) {
      const link = await lstat(path).catch(ifMissing(undefined));
      if (link) throw new FileFault('it is a link to a missing file');
      return { path, realPath: path, bytes: undefined, text: '' };
    }
    const { size } = await fileStats(realPath);
    if (size > maxFileBytes) throw new FileFault(`it must be at most ${maxFileBytes} bytes`);
    const bytes = await readFile(realPath);
    return { path, realPath, bytes, text: textOf(bytes) };
  });
}

async function fileStats(path: string) {
  const found = await stat(path);
  if (found.isDirectory()) throw new FileFault('it is a directory, not a file');
  if (!found.isFile()) throw new FileFault('it is not a regular file');
  return found;
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new FileFault('it must be UTF-8', { cause: error });
  }
}

/**
 * Prefixes errors with the file's path.
 *
 * @throws {UsageError}
 */
export async function namingFile<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!(error instanceof FileFault) && code === undefined) throw error;
    const why = code === 'ENOTDIR' ? 'its directory is a file' : message;
    throw new UsageError(`${path}: ${why}`, { cause: error });
  }
}

const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };

/**
 * Shows the difference, asks for consent, and replaces the file.
 *
 * @param isAgreed true if the user has already agreed
 * @returns true if the file now has the text
 * @throws {UsageError} if the file cannot be written or there is no terminal to ask at; the file is
 *   unchanged
 */
export async function offerChange(
  file: HostFileText,
  text: string,
  isAgreed: boolean,
): Promise<boolean> {
  const { path, bytes } = file;
  await namingFile(path, () => assertWritable(file));
  const old = file.text;
  const heading = bytes ? path : `${path} (new)`;
  await print(process.stdout, `${heading}\n${printableLines(difference(old, text))}\n`);
  if (!isAgreed && !(await agrees(path))) {
    await print(process.stdout, 'Nothing was changed.\n');
    return false;
  }
  const copy = await namingFile(path, () => replace(file, text));
  const left = copy === undefined ? '' : ` Backup: ${copy}.`;
  await print(process.stdout, `Wrote ${path}.${left}\n`);
  return true;
}

/**
 * Rejects a read-only file. The system would allow replacing it, but its owner does not want that.
 */
async function assertWritable({ realPath, bytes }: HostFileText): Promise<void> {
  if (bytes === undefined) return;
  const { mode } = await stat(realPath);
  if ((mode & 0o222) === 0) throw new FileFault('it is read-only');
  await access(realPath, constants.W_OK);
}

async function agrees(path: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(
      `${path}: not changed, because there is no terminal to confirm at. Add --yes to change it without confirmation`,
    );
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.once('SIGINT', () => lines.close());
  });
  try {
    return /^y(?:es)?$/i.test(
      (await Promise.race([lines.question('Write this file? [y/N] '), ended])).trim(),
    );
  } finally {
    lines.close();
  }
}

/**
 * Replaces the file atomically, keeping its permissions.
 *
 * @returns path of the backup; undefined if there was no file
 */
async function replace(file: HostFileText, text: string): Promise<string | undefined> {
  const { realPath, bytes } = file;
  await mkdir(dirname(realPath), { recursive: true });
  const draft = `${realPath}.${randomUUID()}.tmp`;
  const copy = bytes && `${realPath}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}.bak`;
  try {
    // Private until it gets the permissions of the old file, which may contain secrets.
    const opened = await open(draft, 'wx', 0o600);
    try {
      const mark = bytes?.subarray(0, 3).equals(Buffer.from(byteOrderMark)) ? byteOrderMark : '';
      await opened.writeFile(mark + text);
      await opened.sync();
    } finally {
      await opened.close();
    }
    if (bytes) await chmod(draft, (await stat(realPath)).mode & 0o777);
    if (copy) await copyFile(realPath, copy, constants.COPYFILE_EXCL);
    await assertUnchanged(file);
    await rename(draft, realPath);
    return copy;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Rejects a file that a running host has changed in the meantime. */
async function assertUnchanged({ realPath, bytes }: HostFileText): Promise<void> {
  const now = await readFile(realPath).catch(ifMissing(undefined));
  if (bytes === undefined ? now === undefined : now?.equals(bytes)) return;
  throw new FileFault('it was changed by another program in the meantime. Try again');
}

/** Number of unchanged lines shown around a change. */
const context = 2;

/** Differing lines with context. Secrets are redacted. */
function difference(before: string, after: string): readonly string[] {
  const [old, now] = [before, after].map((text) => text.replace(/\r?\n$/, '').split(/\r?\n/));
  if (old === undefined || now === undefined) return [];
  const shorter = Math.min(old.length, now.length);
  let first = 0;
  while (first < shorter && old[first] === now[first]) first += 1;
  let same = 0;
  while (same < shorter - first && old.at(-1 - same) === now.at(-1 - same)) same += 1;
  const marked = (mark: string, lines: readonly string[]) =>
    lines.map((line) => `${mark} ${redactText(line)}`.trimEnd());
  const end = old.length - same;
  return [
    ...marked(' ', old.slice(Math.max(0, first - context), first)),
    ...marked('-', before === '' ? [] : old.slice(first, end)),
    ...marked('+', now.slice(first, now.length - same)),
    ...marked(' ', old.slice(end, end + context)),
  ];
}
