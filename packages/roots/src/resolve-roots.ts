/**
 * Turns the client's roots into directories: one entry at a time, with a deadline each, so that
 * neither a dead mount nor ten thousand entries stop the rest.
 *
 * @see MCP 2025-11-25, client/roots; protocol notes 32 and 33
 */
import { systemClock } from '../../../src/actors/clock.ts';
import { quoted } from '../../../src/protocol/printable.ts';
import type { Root, RootsResolver } from '../../../src/protocol/roots.ts';
import type { RootProblemCode } from '../../../src/protocol/roots.ts';
import { checkDirectory } from './directory-check.ts';
import type { DirectoryCheckOptions } from './directory-check.ts';
import { readFileUri } from './file-uri.ts';
import type { PathStyle } from './file-uri.ts';

/** How roots become directories. */
export interface ResolveRootsOptions extends DirectoryCheckOptions, PathStyle {
  /** How many entries are checked at once; 32 by default. */
  readonly concurrency?: number;
  /**
   * How long a whole list may take, milliseconds; 10 s by default. What has not been checked by
   * then is `TIMED_OUT`: a long list on a dead mount must not hold up the others for its length
   * times the deadline of one.
   */
  readonly totalTimeoutMs?: number;
}

/**
 * Makes a resolver that sets `path` (the real path of a directory) or `problem` on each entry, in
 * the client's order. An entry that came with a problem keeps it; of several entries for one
 * directory the first is used and the others are `DUPLICATE`.
 *
 * The resolver rejects only with the reason of its aborted signal.
 */
export function rootsResolver(options: ResolveRootsOptions = {}): RootsResolver {
  const { concurrency = 32, totalTimeoutMs = 10_000 } = options;
  return async (roots, signal) => {
    signal.throwIfAborted();
    const resolved: Root[] = roots.map(unchecked);
    const pending = resolved.keys();
    const expiry = systemClock.now() + totalTimeoutMs;
    const checkNext = async (): Promise<void> => {
      for (const index of pending) {
        if (signal.aborted) return;
        const root = resolved[index];
        if (root === undefined || root.problem !== undefined) continue;
        resolved[index] =
          systemClock.now() > expiry
            ? unusable(root, 'TIMED_OUT', `The list took more than ${totalTimeoutMs} ms to check`)
            : await resolveRoot(root, options);
      }
    };
    await untilAborted(Promise.all(Array.from({ length: concurrency }, checkNext)), signal);
    return withoutDuplicates(resolved);
  };
}

function unchecked({ uri, name, problem }: Root): Root {
  return {
    uri,
    ...(name === undefined ? {} : { name }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** Why an entry of the list cannot be worked in; beyond what the list itself shows. */
type DirectoryProblemCode =
  | RootProblemCode
  | 'UNPARSABLE'
  | 'NOT_FOUND'
  | 'NOT_A_DIRECTORY'
  | 'INACCESSIBLE'
  | 'TIMED_OUT';

function unusable(root: Root, code: DirectoryProblemCode, message: string): Root {
  return { ...unchecked(root), problem: { code, message } };
}

async function resolveRoot(root: Root, options: ResolveRootsOptions): Promise<Root> {
  const reading = readFileUri(root.uri, options);
  if (!reading.ok) return unusable(root, reading.code, reading.message);
  const check = await checkDirectory(reading.path, options);
  return check.ok
    ? { ...root, path: check.path, identity: check.identity }
    : unusable(root, check.code, check.message);
}

function withoutDuplicates(roots: readonly Root[]): Root[] {
  const firstOf = new Map<string, Root>();
  return roots.map((root) => {
    if (root.path === undefined) return root;
    const first = firstOf.get(root.path);
    if (first === undefined) {
      firstOf.set(root.path, root);
      return root;
    }
    return unusable(root, 'DUPLICATE', `The same directory as ${quoted(first.uri)}: ${root.path}`);
  });
}

/**
 * Waits for `work`, at most until the signal fires: what hangs in the file system cannot be
 * stopped, only left behind.
 */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  signal.throwIfAborted();
}
