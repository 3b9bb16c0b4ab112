/** A session's time source, injected so that tests control it. XState's `SimulatedClock` fits. */
export interface Clock {
  /** Monotonic time, milliseconds. */
  now(): number;
  /** Calls back once after `delayMs`. Returns a handle for {@link clearTimeout}. */
  setTimeout(callback: () => void, delayMs: number): unknown;
  /** Cancels a timer. Ignores timers that have fired or been cancelled. */
  clearTimeout(handle: unknown): void;
}

/**
 * Resolved promise: `turnEnd.then(callback)` runs the callback after the current synchronous code,
 * before timers and input. Cheaper than `queueMicrotask`, for which Node creates an async resource
 * per call. An exception in the callback is an unhandled rejection, which by default ends the
 * process like an uncaught error.
 */
export const turnEnd: Promise<void> = Promise.resolve();

/** Callbacks scheduled for the end of this turn. */
const atTurnEnd = new Set<() => void>();

/** Calls `act` at the end of the turn, once however often it is scheduled. */
export function onceAtTurnEnd(act: () => void): void {
  if (atTurnEnd.has(act)) return;
  atTurnEnd.add(act);
  void turnEnd.then(() => {
    atTurnEnd.delete(act);
    act();
  });
}

/** Longest delay of a platform timer, milliseconds. Longer delays would fire immediately. */
export const maxDelayMs = 2 ** 31 - 1;

/**
 * `process.hrtime` is available immediately; the first `performance.now()` loads modules, which
 * adds 2 ms to a server's start.
 */
const { process } = globalThis as { readonly process?: { hrtime?(): readonly [number, number] } };

function monotonicMs(): number {
  const time = process?.hrtime?.();
  return time ? time[0] * 1e3 + time[1] / 1e6 : performance.now();
}

/** A timer later than this was delayed by code that blocked the event loop, milliseconds. */
const delayedByMs = 10;

/** Replacement timers of delayed ones. */
const replacements = new WeakMap<object, unknown>();

/**
 * The system clock. Its timers do not keep the process alive unless {@link refTimer} is called.
 *
 * After other code has blocked the event loop, due timers run before pending input, so an answer
 * that has already arrived would look late. A delayed timer therefore lets pending input be read
 * first.
 */
export const systemClock: Clock = {
  now: monotonicMs,
  setTimeout: (callback, delayMs) => {
    const dueAt = monotonicMs() + delayMs;
    const timer: unknown = setTimeout(
      () => {
        if (monotonicMs() - dueAt <= delayedByMs || !isNodeTimer(timer)) return callback();
        const again: unknown = setTimeout(callback, 0);
        if (!timer.hasRef()) unrefTimer(again);
        replacements.set(timer, again);
      },
      Math.min(delayMs, maxDelayMs),
    );
    unrefTimer(timer);
    return timer;
  },
  clearTimeout: (handle) =>
    clearTimeout(currentTimer(handle) as Parameters<typeof clearTimeout>[0]),
};

/** The timer, or its replacement if it was delayed. */
function currentTimer(timer: unknown): unknown {
  return isNodeTimer(timer) ? (replacements.get(timer) ?? timer) : timer;
}

/**
 * Makes a timer keep the process alive, because someone awaits its effect. No effect with other
 * clocks than the system's.
 */
export function refTimer(timer: unknown): void {
  const current = currentTimer(timer);
  if (isNodeTimer(current)) current.ref();
}

/** Undoes {@link refTimer}. */
export function unrefTimer(timer: unknown): void {
  const current = currentTimer(timer);
  if (isNodeTimer(current)) current.unref();
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => {}, maxDelayMs);
  return () => clearInterval(timer);
}

/** Node's timers are objects with `ref` and `unref`; a browser's are numbers. */
function isNodeTimer(timer: unknown): timer is { ref(): void; unref(): void; hasRef(): boolean } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer;
}

/**
 * Validates the time limit of a wait. 0: do not wait. Infinity: no limit.
 *
 * @throws {RangeError}
 */
export function assertWait(name: string, value: number): void {
  if (value >= 0) return;
  throw new RangeError(`${name} must be a number of milliseconds, 0 or more, got ${value}`);
}

/**
 * Validates the time limit of a request. An infinite deadline would never expire and would block
 * the deadline queue.
 *
 * @throws {RangeError}
 */
export function assertDuration(name: string, value: number): void {
  if (Number.isFinite(value) && value > 0) return;
  throw new RangeError(`${name} must be a positive number of milliseconds, got ${value}`);
}

/**
 * A signal that fires with a `TimeoutError` after `ms` milliseconds, or when `other` fires.
 *
 * Node 20 holds the sources of `AbortSignal.any` weakly and collects a timeout without listeners
 * before it fires; the empty listener keeps it alive.
 */
export function timeoutSignal(ms: number, other?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  if (!other) return timeout;
  timeout.addEventListener('abort', () => {}, { once: true });
  return AbortSignal.any([other, timeout]);
}
