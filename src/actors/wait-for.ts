/** A promise with a deadline and a signal, of which nothing is left once it has settled. */
import { keepAlive, refTimer } from './clock.ts';
import type { Clock } from './clock.ts';

/** How a wait ends. Only the first end counts. */
export interface WaitHandle<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

export interface WaitOptions<T> {
  readonly clock: Clock;
  /** The longest wait, milliseconds. Infinity: as long as it takes. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Ends it after `timeoutMs`. */
  onTimeout?(end: WaitHandle<T>): void;
  /** The error once the signal fires. */
  abortError(reason: unknown): Error;
}

/**
 * Waits until `begin` says that it is over, at most until the deadline or the signal. The process is
 * kept alive meanwhile.
 *
 * @param begin starts to listen, and returns what ends that; it is called in either case
 */
export function waitFor<T>(
  { clock, timeoutMs, signal, onTimeout: overdue, abortError: cancelled }: WaitOptions<T>,
  begin: (end: WaitHandle<T>) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const ends: (() => void)[] = [];
    const over = (settle: () => void): void => {
      for (const end of ends.splice(0)) end();
      settle();
    };
    const end: WaitHandle<T> = {
      resolve: (value) => over(() => resolve(value)),
      reject: (error) => over(() => reject(error)),
    };
    const cancel = (): void => end.reject(cancelled(signal?.reason));
    if (timeoutMs === Infinity) ends.push(keepAlive());
    else {
      const timer = clock.setTimeout(() => overdue?.(end), timeoutMs);
      refTimer(timer);
      ends.push(() => clock.clearTimeout(timer));
    }
    signal?.addEventListener('abort', cancel, { once: true });
    ends.push(() => signal?.removeEventListener('abort', cancel));
    const stop = begin(end);
    // It may be over already.
    if (ends.length === 0) return stop();
    ends.push(stop);
    if (signal?.aborted) cancel();
  });
}

/** The same promise, which rejects with the signal's reason if the signal fires first. */
export function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(signal.reason as Error);
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
  });
}
