/**
 * The files that code was made of: tells when they are no longer what was loaded. Changes are heard
 * of at once, and looked for when somebody asks: a watcher may be late, or hear nothing at all on a
 * mounted file system.
 */
import { statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

/** How long a change may go on, milliseconds: editors write a file, rename it, and format it. */
const quietMs = 20;

/** How long a file may be away while an editor renames it, milliseconds. */
const awayMs = 500;

/** How many folders are watched; what lies in others is looked at when somebody asks. */
const maxFolders = 200;

/** What a missing import may be. */
const modules = /\.(?:[cm]?[jt]sx?|json)$/;

interface Seen {
  /** Says whether it is the same file with the same text: size, time, and which file it is. */
  readonly mark: string;
  /** Since when it has been away, the clock's milliseconds. */
  awaySince: number | undefined;
}

export class Sources {
  readonly #changed: () => void;
  readonly #files = new Map<string, Seen>();
  readonly #folders = new Map<string, FSWatcher>();
  /** True while anything new in the folders may mend what could not be loaded. */
  #isAnyChange = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param changed is called when what was loaded is out of date */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** The code that is loaded from now on is made of these files, as they are. */
  loading(files: readonly string[]): void {
    this.#files.clear();
    this.#isAnyChange = false;
    this.#follow(files);
  }

  /**
   * These belong to it, too, if they have not changed since it began to be loaded.
   *
   * @param since when that was, as `Date.now()`
   * @param isFaulty true if it could not be loaded: then a file that was missing may mend it
   * @returns false if one has changed meanwhile
   */
  loaded(files: readonly string[], since: number, isFaulty: boolean): boolean {
    this.#isAnyChange = isFaulty;
    const added = files.filter((file) => !this.#files.has(file));
    this.#follow(added);
    return !this.isOutdated && !added.some((file) => modifiedAt(file) > since);
  }

  /** Whether a file has changed since the code was loaded. */
  get isOutdated(): boolean {
    const now = Date.now();
    for (const [file, seen] of this.#files) {
      const mark = markOf(file);
      if (mark === seen.mark) {
        seen.awaySince = undefined;
        continue;
      }
      if (mark !== '') return true;
      seen.awaySince ??= now;
      if (now - seen.awaySince >= awayMs) return true;
      this.#soon(awayMs);
    }
    return false;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    this.#files.clear();
  }

  #follow(files: readonly string[]): void {
    for (const file of files) {
      this.#files.set(file, { mark: markOf(file), awaySince: undefined });
      // A file that is renamed over has another inode, so its folder is watched.
      const folder = dirname(file);
      if (this.#folders.has(folder) || this.#folders.size >= maxFolders) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          const mends = this.#isAnyChange && name !== null && modules.test(name);
          this.#soon(quietMs, mends);
        });
        watcher.on('error', () => watcher.close());
        this.#folders.set(folder, watcher);
      } catch {
        // It is looked at when somebody asks.
      }
    }
  }

  #soon(afterMs: number, mends = false): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if ((mends && this.#isAnyChange) || this.isOutdated) this.#changed();
    }, afterMs).unref();
  }
}

function markOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.mtimeNs} ${stat.size} ${stat.ino}` : '';
}

function modifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
