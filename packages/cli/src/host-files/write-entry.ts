/** Changes a host's file, after a person has seen what changes. */
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

/** A longer file is not a configuration. */
const maxFileBytes = 32 * 1024 ** 2;

const byteOrderMark = '\uFEFF';

/** A host's file as it was found. */
export interface HostFileText {
  /** As the host names it; it may be a link. */
  readonly path: string;
  /** Where the file itself is. */
  readonly realPath: string;
  /** Undefined if there is no file yet. */
  readonly bytes: Buffer | undefined;
  /** Without a byte order mark. */
  readonly text: string;
}

/**
 * Reads a host's file.
 *
 * @throws {UsageError} it cannot be read, or is not text
 */
export async function readHostFile(path: string): Promise<HostFileText> {
  return await namingFile(path, async () => {
    const realPath = await realpath(path).catch(ifMissing(undefined));
    if (realPath === undefined) {
      const link = await lstat(path).catch(ifMissing(undefined));
      if (link) throw new FileFault('it is a link to a file that does not exist');
      return { path, realPath: path, bytes: undefined, text: '' };
    }
    const { size } = await fileStats(realPath);
    if (size > maxFileBytes) throw new FileFault(`it is longer than ${maxFileBytes} bytes`);
    const bytes = await readFile(realPath);
    return { path, realPath, bytes, text: textOf(bytes) };
  });
}

async function fileStats(path: string) {
  const found = await stat(path);
  if (found.isDirectory()) throw new FileFault('it is a directory, not a file');
  if (!found.isFile()) throw new FileFault('it is not a file');
  return found;
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new FileFault('it is not UTF-8', { cause: error });
  }
}

/** Says which file is meant. @throws {UsageError} */
export async function namingFile<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!(error instanceof FileFault) && code === undefined) throw error;
    const why = code === 'ENOTDIR' ? 'a file is where its directory should be' : message;
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
 * Shows the difference, asks, and replaces the file.
 *
 * @param isAgreed true if the person has agreed already
 * @returns whether the file is now as wanted
 * @throws {UsageError} it cannot be written, or there is no terminal to ask at; the file stays as it was
 */
export async function offerChange(
  file: HostFileText,
  text: string,
  isAgreed: boolean,
): Promise<boolean> {
  const { path, bytes } = file;
  await namingFile(path, () => refuseReadOnly(file));
  const old = file.text;
  const heading = bytes ? path : `${path} (new)`;
  await print(process.stdout, `${heading}\n${printableLines(difference(old, text))}\n`);
  if (!isAgreed && !(await agrees(path))) {
    await print(process.stdout, 'Nothing is changed.\n');
    return false;
  }
  const copy = await namingFile(path, () => replace(file, text));
  const left = copy === undefined ? '' : ` The file as it was is ${copy}.`;
  await print(process.stdout, `Wrote ${path}.${left}\n`);
  return true;
}

/** The owner of a read-only file does not want it replaced, though the system would allow it. */
async function refuseReadOnly({ realPath, bytes }: HostFileText): Promise<void> {
  if (bytes === undefined) return;
  const { mode } = await stat(realPath);
  if ((mode & 0o222) === 0) throw new FileFault('it is read-only');
  await access(realPath, constants.W_OK);
}

async function agrees(path: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(
      `${path}: nothing is changed, because there is no terminal to ask at. Give --yes to change it without a question`,
    );
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.once('SIGINT', () => lines.close());
  });
  try {
    return /^y(?:es)?$/i.test(
      (await Promise.race([lines.question('Write this? [y/N] '), ended])).trim(),
    );
  } finally {
    lines.close();
  }
}

/**
 * Replaces the file in one step, with its rights.
 *
 * @returns the copy of the file as it was; undefined if there was none
 */
async function replace(file: HostFileText, text: string): Promise<string | undefined> {
  const { realPath, bytes } = file;
  await mkdir(dirname(realPath), { recursive: true });
  const draft = `${realPath}.${randomUUID()}.tmp`;
  const copy = bytes && `${realPath}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}.bak`;
  try {
    // Others may not read it before it has the rights of the old file, which may hold secrets.
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
    await refuseChanged(file);
    await rename(draft, realPath);
    return copy;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** A host that runs may have written its file while a person read the question. */
async function refuseChanged({ realPath, bytes }: HostFileText): Promise<void> {
  const now = await readFile(realPath).catch(ifMissing(undefined));
  if (bytes === undefined ? now === undefined : now?.equals(bytes)) return;
  throw new FileFault('it has changed meanwhile, so it is left as it is. Try again');
}

/** How many unchanged lines are shown around those that change. */
const context = 2;

/** The lines that differ, with some around them. What may be secret in them is not shown. */
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
