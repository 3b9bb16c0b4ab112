/**
 * Resolves the client's roots to directories. Each entry has its own deadline, so that neither a
 * dead mount nor ten thousand entries block the rest.
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

/** Options of {@link rootsResolver}. */
export interface ResolveRootsOptions extends DirectoryCheckOptions, PathStyle {
  /** Number of entries checked concurrently. Default: 32. */
  readonly concurrency?: number;
  /**
   * Deadline for the whole list, milliseconds. Default: 10 s. Entries not checked by then are
   * `TIMED_OUT`, so that a long list on a dead mount does not multiply the deadline of one entry.
   */
  readonly totalTimeoutMs?: number;
}

/**
 * Creates a resolver that sets `path` (the real path of a directory) or `problem` on each entry, in
 * the client's order. An entry that already has a problem keeps it. If several entries name one
 * directory, the first is used and the others get `DUPLICATE`.
 *
 * The resolver rejects only with the abort reason of its signal.
 */
export function rootsResolver(options: ResolveRootsOptions = {}): RootsResolver {
  const { concurrency = 32, totalTimeoutMs = 10_000 } = options;
  return async (roots, signal) => {
    signal.throwIfAborted();
    const resolved: Root[] = roots.map(withoutResolution);
    const pending = resolved.keys();
    const expiry = systemClock.now() + totalTimeoutMs;
    const checkNext = async (): Promise<void> => {
      for (const index of pending) {
        if (signal.aborted) return;
        const root = resolved[index];
        if (root === undefined || root.problem !== undefined) continue;
        resolved[index] =
          systemClock.now() > expiry
            ? unusable(root, 'TIMED_OUT', `The list was not checked within ${totalTimeoutMs} ms`)
            : await resolveRoot(root, options);
      }
    };
    await untilAborted(Promise.all(Array.from({ length: concurrency }, checkNext)), signal);
    return markDuplicates(resolved);
  };
}

function withoutResolution({ uri, name, problem }: Root): Root {
  return {
    uri,
    ...(name === undefined ? {} : { name }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** Problems of an entry, including those found on disk. */
type DirectoryProblemCode =
  | RootProblemCode
  | 'UNPARSABLE'
  | 'NOT_FOUND'
  | 'NOT_A_DIRECTORY'
  | 'INACCESSIBLE'
  | 'TIMED_OUT';

function unusable(root: Root, code: DirectoryProblemCode, message: string): Root {
  return { ...withoutResolution(root), problem: { code, message } };
}

async function resolveRoot(root: Root, options: ResolveRootsOptions): Promise<Root> {
  const reading = readFileUri(root.uri, options);
  if (!reading.ok) return unusable(root, reading.code, reading.message);
  const check = await checkDirectory(reading.path, options);
  return check.ok
    ? { ...root, path: check.path, identity: check.identity }
    : unusable(root, check.code, check.message);
}

function markDuplicates(roots: readonly Root[]): Root[] {
  const firstByPath = new Map<string, Root>();
  return roots.map((root) => {
    if (root.path === undefined) return root;
    const first = firstByPath.get(root.path);
    if (first === undefined) {
      firstByPath.set(root.path, root);
      return root;
    }
    return unusable(root, 'DUPLICATE', `Same directory as ${quoted(first.uri)}: ${root.path}`);
  });
}

/**
 * Waits for `work` until the signal aborts. A hanging file operation cannot be cancelled, only
 * abandoned.
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
