/**
 * Cooperative time slices for long computations, so that the event loop can read messages, write
 * responses and process cancellations in between. All such work in the process shares one slice per
 * event loop turn, so a turn stays short however many calls filter files.
 */
import { systemClock } from 'mcp-actors/internal';

/** Short enough to go unnoticed in the response time of a ping. */
const sliceMs = 5;

let sliceEnd = 0;
const waiting: (() => void)[] = [];

/** True if the current computation should await {@link nextSlice} before continuing. */
export function isSliceOver(): boolean {
  return systemClock.now() >= sliceEnd;
}

/**
 * Waits in FIFO order for the next slice, for at least one event loop turn.
 *
 * @throws the signal's reason if it is aborted by then
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
