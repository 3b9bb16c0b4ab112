/** Promises with a time limit and an abort signal, which remove their timers and listeners on settling. */
import { keepAlive, refTimer } from './clock.ts';
import type { Clock } from './clock.ts';

/** Settles a wait. Calls after the first have no effect. */
export interface WaitHandle<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

export interface WaitOptions<T> {
  readonly clock: Clock;
  /** Milliseconds. Infinity: no limit. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called after `timeoutMs`; settles the wait. */
  onTimeout?(handle: WaitHandle<T>): void;
  /** The error to reject with when the signal fires. */
  abortError(reason: unknown): Error;
}

/**
 * Waits until `start` settles the handle, the time limit is reached or the signal fires. Keeps the
 * process alive meanwhile.
 *
 * @param start subscribes to whatever settles the wait, and returns the function that unsubscribes
 */
export function waitFor<T>(
  { clock, timeoutMs, signal, onTimeout, abortError }: WaitOptions<T>,
  start: (handle: WaitHandle<T>) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cleanups: (() => void)[] = [];
    const finish = (settle: () => void): void => {
      for (const cleanUp of cleanups.splice(0)) cleanUp();
      settle();
    };
    const handle: WaitHandle<T> = {
      resolve: (value) => finish(() => resolve(value)),
      reject: (error) => finish(() => reject(error)),
    };
    const cancel = (): void => handle.reject(abortError(signal?.reason));
    if (timeoutMs === Infinity) cleanups.push(keepAlive());
    else {
      const timer = clock.setTimeout(() => onTimeout?.(handle), timeoutMs);
      refTimer(timer);
      cleanups.push(() => clock.clearTimeout(timer));
    }
    signal?.addEventListener('abort', cancel, { once: true });
    cleanups.push(() => signal?.removeEventListener('abort', cancel));
    const stop = start(handle);
    // `start` may have settled the wait synchronously.
    if (cleanups.length === 0) return stop();
    cleanups.push(stop);
    if (signal?.aborted) cancel();
  });
}

/** Follows `promise`, but rejects with the signal's reason if the signal fires first. */
export function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(signal.reason as Error);
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
  });
}
