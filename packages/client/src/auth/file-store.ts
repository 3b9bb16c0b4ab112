/** Credential store in files readable only by their owner. */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { CredentialStore } from './credential-store.ts';
import { withFileLock } from './file-lock.ts';
import { KeyedMutex } from './credential-store.ts';

/** File name of a document, its lock or its draft. */
const ownName = /^[\da-f]{32}\.json(?:\.|$)/;

const documentName = /^[\da-f]{32}\.json$/;

interface StoredDocument {
  readonly key: string;
  readonly value: JsonObject;
}

/** Larger than any token, and small enough to read at once. */
const maxFileBytes = 1024 * 1024;

/** Options of a file credential store. */
export interface FileStoreOptions {
  /** A dedicated folder. Default: `mcp-actors/credentials` in the user's state folder. */
  readonly folder?: string;
}

/**
 * A credential store in files, shared by all processes with the same folder: one file of mode 0600
 * per key, in a folder of mode 0700, replaced by rename. Files that belong to another user or are
 * accessible to others are rejected, because others could have read or forged them. The files are
 * not encrypted: anyone with access to the user's files can read them.
 */
export function fileCredentialStore(options: FileStoreOptions = {}): CredentialStore {
  return new FileStore(options.folder ?? defaultCredentialFolder());
}

/**
 * Credential store of one principal of a server, separate from the store of the person who runs it.
 */
export function principalCredentialStore(id: string): CredentialStore {
  return new FileStore(join(dirname(defaultCredentialFolder()), 'principals', digestOf(id)));
}

/** Maps any text to a valid file name. */
const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 32);

type Environment = { readonly [name: string]: string | undefined };

/** Default folder, in the system's location for persistent state. */
export function defaultCredentialFolder(
  environment: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const byPlatform = {
    darwin: join(homedir(), 'Library', 'Application Support'),
    win32: environment['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local'),
  }[platform as 'darwin' | 'win32'] as string | undefined;
  const folder =
    environment['XDG_STATE_HOME'] || (byPlatform ?? join(homedir(), '.local', 'state'));
  return join(folder, 'mcp-actors', 'credentials');
}

class FileStore implements CredentialStore {
  readonly #folder: string;
  readonly #turns = new KeyedMutex();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(key: string): Promise<JsonObject | undefined> {
    const path = this.#pathOf(key);
    const document = await this.#documentAt(path);
    if (document && document.key !== key) throw this.#unreadable(path);
    return document?.value;
  }

  async keys(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(unlessAbsent<string[]>);
    const documents = (names ?? [])
      .filter((name) => documentName.test(name))
      .map((name) => this.#documentAt(join(this.#folder, name)));
    return (await Promise.all(documents)).flatMap((document) => (document ? [document.key] : []));
  }

  /** The document at this path, or undefined. */
  async #documentAt(path: string): Promise<StoredDocument | undefined> {
    const text = await this.#textOf(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ELOOP') return unlessAbsent<string>(error);
      throw new Error(`${path} is a symbolic link, ${notUsed}. Remove the link`);
    });
    if (text === undefined) return undefined;
    const { key, value } = parsed(text) ?? {};
    if (typeof key !== 'string' || !isJsonObject(value)) throw this.#unreadable(path);
    return { key, value };
  }

  /** Reads a file that only this user could have written or read. */
  async #textOf(path: string): Promise<string> {
    const folder = await lstat(this.#folder);
    if (!folder.isDirectory()) throw noFolder(this.#folder);
    refuseOthers(this.#folder, folder, '700');
    const file = await open(path, readAsItIs);
    try {
      const found = await file.stat();
      if (!found.isFile() || found.size > maxFileBytes) throw this.#unreadable(path);
      refuseOthers(path, found, '600');
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  async write(key: string, value: JsonObject): Promise<void> {
    await this.#ready();
    const path = this.#pathOf(key);
    const draft = `${path}.${randomUUID()}.tmp`;
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify({ key, value }));
        // After a power failure the file is either the old or the new version.
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#ready();
    const lock = `${this.#pathOf(key)}.lock`;
    return await this.#turns.take(key, () => withFileLock(lock, work, signal), signal);
  }

  /** Keys contain URLs, which are not valid file names. */
  #pathOf(key: string): string {
    return join(this.#folder, `${digestOf(key)}.json`);
  }

  async #ready(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const found = await lstat(this.#folder);
    if (!found.isDirectory()) throw noFolder(this.#folder);
    refuseOtherUser(this.#folder, found);
    const mode = found.mode % 0o1000;
    if (process.platform === 'win32' || mode % 0o100 === 0) return;
    // A folder without foreign files was created for this store.
    const names = await readdir(this.#folder);
    if (names.every((name) => ownName.test(name))) return await chmod(this.#folder, 0o700);
    throw new Error(
      `The credential folder ${this.#folder} is accessible to other users (mode ${mode.toString(8)}): use a dedicated folder, or chmod 700`,
    );
  }

  #unreadable(path: string): Error {
    return new Error(`${path} is not a credential file of this version: remove it`);
  }
}

/** Follows no symbolic links and does not block on a pipe. Windows has neither flag. */
const readAsItIs = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const notUsed = 'so its credentials are rejected: others could have read or forged them';

/**
 * Windows has no such owners and modes; the user's own folders are trusted there.
 *
 * @param mode the required mode
 */
function refuseOthers(path: string, found: Stats, mode: '600' | '700'): void {
  refuseOtherUser(path, found);
  if (process.platform === 'win32' || (found.mode & 0o077) === 0) return;
  throw new Error(
    `${path} is open to other users (mode ${(found.mode & 0o777).toString(8)}), ${notUsed}. Remove it or, if only you have written to it, run chmod ${mode} ${path}`,
  );
}

function refuseOtherUser(path: string, { uid }: Stats): void {
  if (process.getuid === undefined || uid === process.getuid()) return;
  throw new Error(
    `${path} belongs to another user (id ${uid}), ${notUsed}. Remove it, or use another folder`,
  );
}

function noFolder(folder: string): Error {
  return new Error(`The credential folder ${folder} is not a directory`);
}

/** @throws the error, unless it is ENOENT */
function unlessAbsent<T>(error: unknown): T | undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}

function parsed(text: string): Partial<StoredDocument> | null | undefined {
  try {
    return JSON.parse(text) as Partial<StoredDocument> | null;
  } catch {
    return undefined;
  }
}
