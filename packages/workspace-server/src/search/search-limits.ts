/** Concurrency and time limits of searches, which each use memory and threads of their own. */
import { ToolError } from 'mcp-actors';

/** Default time limit of a search, ms. */
export const defaultSearchTimeoutMs = 20_000;

export interface Semaphore {
  /**
   * Waits in FIFO order for a free slot and returns its release function.
   *
   * @throws the signal's reason if it is aborted while waiting
   */
  acquire(signal: AbortSignal): Promise<() => void>;
}

/** Creates a semaphore with a number of slots. */
export function semaphore(most: number): Semaphore {
  const waiting = new Set<() => void>();
  let taken = 0;
  const end = (): void => {
    taken -= 1;
    const [next] = waiting;
    next?.();
  };
  const begin = (): (() => void) => {
    taken += 1;
    return end;
  };
  return {
    async acquire(signal) {
      signal.throwIfAborted();
      if (taken < most) return begin();
      return await new Promise<() => void>((resolve, reject) => {
        const leave = (): void => {
          waiting.delete(enter);
          signal.removeEventListener('abort', give);
        };
        const enter = (): void => {
          leave();
          resolve(begin());
        };
        const give = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        waiting.add(enter);
        signal.addEventListener('abort', give);
      });
    },
  };
}

/**
 * Creates a signal that aborts after `ms` with an error for the tool's caller; `clear` cancels the
 * timer.
 */
export function deadlineIn(ms: number): { readonly deadline: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const message = `Search timed out after ${ms} ms, so results are incomplete. Narrow the globs, or try again`;
  const fire = () => controller.abort(new ToolError(message, { code: 'SEARCH_TIMED_OUT' }));
  const timer = setTimeout(fire, ms);
  return { deadline: controller.signal, clear: () => clearTimeout(timer) };
}
