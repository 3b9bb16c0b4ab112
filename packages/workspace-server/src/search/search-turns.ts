/** When a search may run, and how long: each costs the process memory and threads of its own. */
import { ToolError } from 'mcp-actors';

/** How long a search may take, milliseconds. */
export const defaultSearchTimeoutMs = 20_000;

export interface Turns {
  /**
   * Waits for a turn, first come, first served; gives the function that ends it.
   *
   * @throws the signal's reason, if it fires while waiting
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Makes turns of which at most `most` are taken at once. */
export function turns(most: number): Turns {
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
    async take(signal) {
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
 * A signal that fires after `ms` with a reason for the caller of the tool; `clear` ends the wait
 * for it.
 */
export function deadlineIn(ms: number): { readonly deadline: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const message = `The search took more than ${ms} ms: what it has not reached is missing. Narrow the globs, or try again`;
  const fire = () => controller.abort(new ToolError(message, { code: 'SEARCH_TIMED_OUT' }));
  const timer = setTimeout(fire, ms);
  return { deadline: controller.signal, clear: () => clearTimeout(timer) };
}
