/** What a server holds, and whether it holds more and more. */
import { readFileSync, readdirSync } from 'node:fs';

export interface Vitals {
  /** Of the live heap. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  /** What lives of timers, handles, requests of the system and children, by Node's names of their types. */
  readonly resources: { readonly [type: string]: number };
}

/** What the live heap may grow by: caches fill, and code is optimized. */
const growthBytes = 4 * 1024 ** 2;
/** Of one type of resource: the session's own timers come and go. */
const growthCount = 3;

/**
 * Compares what the server held in its youth with what it holds in the end. Of each the least counts: a leak has no low tide.
 *
 * @returns what has leaked, in words
 */
export function leaksIn(samples: readonly Vitals[]): readonly string[] {
  const [early, late] = halvesOf(samples);
  const heap = leastHeap(late) - leastHeap(early);
  const types = new Set(samples.flatMap(({ resources }) => Object.keys(resources)));
  const grown = [...types].flatMap((type) => {
    const [before, after] = [least(early, type), least(late, type)];
    const isChild = type === 'PROCESSWRAP';
    const isLeak = after > before + growthCount || (isChild && after > 0);
    return isLeak ? [`LEAK: ${type}: ${before} lived early, ${after} late`] : [];
  });
  const text = `LEAK: the live heap has grown from ${mebibytes(leastHeap(early))} to ${mebibytes(leastHeap(late))}`;
  return heap > growthBytes ? [text, ...grown] : grown;
}

/** The first quarter warms up: modules are loaded, caches are filled. */
export function halvesOf(samples: readonly Vitals[]): readonly [Vitals[], Vitals[]] {
  const [from, middle] = [Math.floor(samples.length / 4), Math.floor((samples.length * 5) / 8)];
  return [samples.slice(from, middle), samples.slice(middle)];
}

export function leastHeap(samples: readonly Vitals[]): number {
  return Math.min(...samples.map(({ heapBytes }) => heapBytes));
}

function least(samples: readonly Vitals[], type: string): number {
  return Math.min(...samples.map(({ resources }) => resources[type] ?? 0));
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** The processes whose environment holds this; undefined if the system does not tell. */
export function processesWith(mark: string): readonly number[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark))
      .map(Number);
  } catch {
    return undefined;
  }
}

/** Empty for a process that has just ended, or is another user's. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
