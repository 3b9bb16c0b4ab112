/** Watches a configuration's file. */
import { watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '../../actors/clock.ts';

/** How long a file must not change until it is read: editors write it in several steps. */
const quietMs = 100;

export interface WatchOptions {
  readonly clock: Clock;
  /** The file may have changed. */
  changed(): void;
  /** It is not watched any more. */
  failed(error: Error): void;
}

/**
 * Watches the file's folder, since many editors replace a file by another one. Keeps no process
 * alive.
 *
 * @returns what ends it
 */
export function watchFile(file: string, { clock, changed, failed }: WatchOptions): () => void {
  const path = resolve(file);
  let timer: unknown;
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      // Some systems do not say which file it was.
      if (name !== null && name !== basename(path)) return;
      clock.clearTimeout(timer);
      timer = clock.setTimeout(changed, quietMs);
    });
    watcher.on('error', failed);
    return () => {
      clock.clearTimeout(timer);
      watcher.close();
    };
  } catch (error) {
    failed(error as Error);
    return () => {};
  }
}
