/** Resources held by a server, and detection of growth. */
import { readFileSync, readdirSync } from 'node:fs';

export interface Vitals {
  /** Live heap. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  /** Live timers, handles, system requests and children, by Node's type names. */
  readonly resources: { readonly [type: string]: number };
}

/** Allowed growth of the live heap, for caches and optimized code. */
const growthBytes = 4 * 1024 ** 2;
/** Allowed growth per resource type: the session's own timers come and go. */
const growthCount = 3;

/**
 * Compares early with late samples, using the minimum of each: a leak raises the minimum.
 *
 * @returns descriptions of leaks
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

/** The first quarter is warm-up: modules load and caches fill. */
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

/** Processes whose environment contains a mark; undefined if unavailable. */
export function processesWith(mark: string): readonly number[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark))
      .map(Number);
  } catch {
    return undefined;
  }
}

/** Empty for a process that has just ended, or belongs to another user. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
