/**
 * Source files of the loaded code, and whether they have changed. Watchers report changes
 * immediately; requests also check the files, because watchers may be late or miss changes on
 * mounted file systems.
 */
import { statSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

/** Debounce time, milliseconds: editors write, rename and format a file. */
const quietMs = 20;

/** Time that a file may be missing while an editor renames it, milliseconds. */
const awayMs = 500;

/** Maximum number of watched directories. Files elsewhere are checked on request. */
const maxFolders = 200;

/** Files that a failed import may refer to. */
const modules = /\.(?:[cm]?[jt]sx?|json)$/;

interface Seen {
  /** Identifies file and content: modification time, size and inode. */
  readonly mark: string;
  /** Time since which the file is missing, ms since 1970. */
  awaySince: number | undefined;
}

export class Sources {
  readonly #changed: () => void;
  readonly #files = new Map<string, Seen>();
  readonly #folders = new Map<string, FSWatcher>();
  /** True while any new file may fix a failed load. */
  #isAnyChange = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param changed called when the loaded code is outdated */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Starts a load: records these files in their current state. */
  loading(files: readonly string[]): void {
    this.#files.clear();
    this.#isAnyChange = false;
    this.#follow(files);
  }

  /**
   * Adds the files found by a load.
   *
   * @param since start of the load, as in `Date.now()`
   * @param isFaulty true if the load failed, so that a new file may fix it
   * @returns false if a file changed during the load
   */
  loaded(files: readonly string[], since: number, isFaulty: boolean): boolean {
    this.#isAnyChange = isFaulty;
    const added = files.filter((file) => !this.#files.has(file));
    this.#follow(added);
    return !this.isOutdated && !added.some((file) => modifiedAt(file) > since);
  }

  /** True if a file has changed since the load. */
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
      // Watch the directory, because replacing a file changes its inode.
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
        // The files are checked on request.
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
