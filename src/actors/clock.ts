/** Time for a session, injected so that tests drive it. XState's `SimulatedClock` fits. */
export interface Clock {
  /** Monotonic, milliseconds. */
  now(): number;
  /** Calls back once, after so many milliseconds; gives a handle to cancel it with. */
  setTimeout(callback: () => void, delayMs: number): unknown;
  /** Cancels a timer; a timer that has run or was cancelled is ignored. */
  clearTimeout(handle: unknown): void;
}

/**
 * Settles once the code that is running has ended, before any timer or input: `turnEnd.then(callback)` does what
 * `queueMicrotask` does, without the resource that Node makes for each of its callbacks, which costs more than
 * an ordinary microtask. What the callback throws is an unhandled rejection: a bug, as fatal to a process by
 * default as an uncaught error.
 */
export const turnEnd: Promise<void> = Promise.resolve();

/** Callbacks to run at the end of this turn. */
const atTurnEnd = new Set<() => void>();

/** Calls it at the end of the turn, once however often it is asked for in it. */
export function onceAtTurnEnd(act: () => void): void {
  if (atTurnEnd.has(act)) return;
  atTurnEnd.add(act);
  void turnEnd.then(() => {
    atTurnEnd.delete(act);
    act();
  });
}

/** The longest delay that a timer of the platform takes, milliseconds; a longer one would fire at once. */
export const maxDelayMs = 2 ** 31 - 1;

/**
 * Node's own monotonic clock is there at once; for its first `performance.now()` it loads modules,
 * 2 ms of a server's start.
 */
const { process } = globalThis as { readonly process?: { hrtime?(): readonly [number, number] } };

function monotonicMs(): number {
  const time = process?.hrtime?.();
  return time ? time[0] * 1e3 + time[1] / 1e6 : performance.now();
}

/** Other code of this process has held up a timer that is later than this, milliseconds. */
const heldUpMs = 10;

/** The timers that run in the place of those that were held up. */
const second = new WeakMap<object, unknown>();

/**
 * The real clock. Its timers keep no process alive, unless they are told to by {@link refTimer}.
 *
 * After other code has held the event loop, timers come before what has arrived in the meantime: an
 * answer that is there would be taken for a late one. So a timer that was held up lets it be read
 * first.
 */
export const systemClock: Clock = {
  now: monotonicMs,
  setTimeout: (callback, delayMs) => {
    const dueAt = monotonicMs() + delayMs;
    const timer: unknown = setTimeout(
      () => {
        if (monotonicMs() - dueAt <= heldUpMs || !isNodeTimer(timer)) return callback();
        const again: unknown = setTimeout(callback, 0);
        if (!timer.hasRef()) unrefTimer(again);
        second.set(timer, again);
      },
      Math.min(delayMs, maxDelayMs),
    );
    unrefTimer(timer);
    return timer;
  },
  clearTimeout: (handle) => clearTimeout(running(handle) as Parameters<typeof clearTimeout>[0]),
};

/** The timer itself, or the second one if it was held up. */
function running(timer: unknown): unknown {
  return isNodeTimer(timer) ? (second.get(timer) ?? timer) : timer;
}

/**
 * Lets a timer keep the process alive: someone waits for what it will do. Another clock than the
 * real one has no such timers.
 */
export function refTimer(timer: unknown): void {
  const current = running(timer);
  if (isNodeTimer(current)) current.ref();
}

/** Undoes {@link refTimer}. */
export function unrefTimer(timer: unknown): void {
  const current = running(timer);
  if (isNodeTimer(current)) current.unref();
}

/** Keeps the process alive until what it gives is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => {}, maxDelayMs);
  return () => clearInterval(timer);
}

/** Node's timers are objects that can be told so, a browser's are numbers. */
function isNodeTimer(timer: unknown): timer is { ref(): void; unref(): void; hasRef(): boolean } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer;
}

/**
 * Refuses a value that cannot bound a wait. 0 does not wait, Infinity waits as long as it takes.
 *
 * @throws {RangeError}
 */
export function assertWait(name: string, value: number): void {
  if (value >= 0) return;
  throw new RangeError(`${name} must be a number of milliseconds from 0 on, this is ${value}`);
}

/**
 * Refuses a value that cannot bound the time for an answer: such a deadline would never come, and would hold
 * up all others.
 *
 * @throws {RangeError}
 */
export function assertDuration(name: string, value: number): void {
  if (Number.isFinite(value) && value > 0) return;
  throw new RangeError(`${name} must be a positive number of milliseconds, this is ${value}`);
}

/**
 * A signal that fires with a `TimeoutError` after so many milliseconds, or when the other one does.
 *
 * Node 20 holds the sources of `AbortSignal.any` weakly, and collects a timeout without listeners
 * before it fires. The listener keeps it.
 */
export function timeoutSignal(ms: number, other?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  if (!other) return timeout;
  timeout.addEventListener('abort', () => {}, { once: true });
  return AbortSignal.any([other, timeout]);
}
