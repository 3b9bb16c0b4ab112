/**
 * Long work in slices of time, so that the event loop turns in between: messages are read, answers
 * written, cancellations heard. All such work of the process shares one slice per turn of the loop:
 * however many calls filter files, a turn takes no longer.
 */
import { systemClock } from 'mcp-actors/internal';

/** A fraction of the delay that is noticed in the answer to a ping. */
const sliceMs = 5;

let sliceEnd = 0;
const waiting: (() => void)[] = [];

/** True if the work at hand should wait for its {@link nextSlice} before it goes on. */
export function isSliceOver(): boolean {
  return systemClock.now() >= sliceEnd;
}

/**
 * Waits for its turn after others that wait, at least until the event loop has turned.
 *
 * @throws the signal's reason if it has fired by then
 */
export async function nextSlice(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(beginSlice);
  });
  signal.throwIfAborted();
}

function beginSlice(): void {
  sliceEnd = systemClock.now() + sliceMs;
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginSlice);
}
