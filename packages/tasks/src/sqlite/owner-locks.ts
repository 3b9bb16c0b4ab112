/**
 * Locks of living processes in a directory. As long as it lives, a process holds a lock that the kernel lets go of, so
 * the lease of a process that was killed is over at once.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database, OpenDatabase } from './sqlite.ts';
import { busyTimeoutMs } from './synced-database.ts';

export class OwnerLocks {
  readonly #folder: string;
  readonly #open: OpenDatabase;
  /** The locks that say that our owners live. */
  readonly #held = new Map<string, Database>();

  constructor(folder: string, open: OpenDatabase) {
    this.#folder = folder;
    this.#open = open;
  }

  /** Owners whose locks this process holds. */
  get held(): Iterable<string> {
    return [...this.#held.keys()];
  }

  hold(owner: string): void {
    if (this.#held.has(owner)) return;
    const lock = this.#open(this.#pathOf(owner), busyTimeoutMs);
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    this.#held.set(owner, lock);
  }

  /** Whether the process of an owner holds its lock. */
  isHeld(owner: string): boolean {
    if (this.#held.has(owner)) return true;
    const lock = this.#open(this.#pathOf(owner), 0);
    try {
      lock.exec('BEGIN EXCLUSIVE; ROLLBACK');
    } catch {
      return true;
    } finally {
      lock.close();
    }
    return false;
  }

  release(owner: string): Promise<void> {
    this.#held.get(owner)?.close();
    this.#held.delete(owner);
    return this.remove(owner);
  }

  /** Removes the file of an owner that no longer lives. */
  remove(owner: string): Promise<void> {
    return rm(this.#pathOf(owner), { force: true });
  }

  #pathOf(owner: string): string {
    return join(this.#folder, `${owner}.db`);
  }
}
