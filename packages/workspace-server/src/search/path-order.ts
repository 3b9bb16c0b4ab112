/** Orders of paths, and selection of the first paths of an order in bounded memory. */

import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/** Negative if `left` comes before `right`; 0 only for equal paths. */
export type PathOrder = (left: string, right: string) => number;

const slash = 0x2f;

/** Orders by segments, so that a directory's content follows it directly. */
export const byPath: PathOrder = (left, right) => {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [leftUnit, rightUnit] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (leftUnit === rightUnit) continue;
    // The shorter segment comes first.
    if (leftUnit === slash) return -1;
    return rightUnit === slash ? 1 : leftUnit - rightUnit;
  }
  return left.length - right.length;
};

/** Breadth first: the root's own entries, then those one level below, and so on. */
export const byBreadth: PathOrder = (left, right) =>
  depthOf(left) - depthOf(right) || byPath(left, right);

function depthOf(path: string): number {
  let depth = 0;
  // Directory paths may have a trailing slash.
  for (
    let at = path.indexOf('/');
    at !== -1 && at < path.length - 1;
    at = path.indexOf('/', at + 1)
  ) {
    depth += 1;
  }
  return depth;
}

/** Binary search for the first path after `after`. */
export function indexAfter(paths: readonly string[], order: PathOrder, after: string): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(paths[middle] ?? '', after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Collects the first paths, from a given one on, out of any number in any order. */
export class FirstPaths {
  readonly #order: PathOrder;
  readonly #from: string | undefined;
  readonly #maxCharacters: number;
  #paths: string[] = [];
  #characters = 0;
  #last: string | undefined;

  /** @param maxCharacters total length of the collected paths */
  constructor(order: PathOrder, from: string | undefined, maxCharacters: number) {
    this.#order = order;
    this.#from = from;
    this.#maxCharacters = maxCharacters;
  }

  add(path: string): void {
    if (this.#from !== undefined && this.#order(path, this.#from) < 0) return;
    if (this.#last !== undefined && this.#order(path, this.#last) > 0) return;
    this.#paths.push(path);
    this.#characters += path.length;
    // Sort only after the buffer has doubled.
    if (this.#characters > 2 * this.#maxCharacters) this.#cut();
  }

  /**
   * Removes collected paths and returns their number.
   *
   * @throws the signal's reason
   */
  async remove(isRemoved: (path: string) => boolean, signal: AbortSignal): Promise<number> {
    const kept: string[] = [];
    for (const path of this.#paths) {
      if (isSliceOver()) await nextSlice(signal);
      if (isRemoved(path)) this.#characters -= path.length;
      else kept.push(path);
    }
    const removed = this.#paths.length - kept.length;
    this.#paths = kept;
    return removed;
  }

  /** Returns the collected paths in order, without duplicates; `isCut` if more follow. */
  finish(): { readonly paths: readonly string[]; readonly isCut: boolean } {
    this.#cut();
    return { paths: this.#paths, isCut: this.#last !== undefined };
  }

  #cut(): void {
    const sorted = this.#sorted();
    this.#paths = sorted.filter((path, index) => path !== sorted[index - 1]);
    let characters = 0;
    const end = this.#paths.findIndex(
      (path, index) => (characters += path.length) > this.#maxCharacters && index > 0,
    );
    if (end !== -1) {
      this.#paths = this.#paths.slice(0, end);
      this.#last = this.#paths.at(-1);
    }
    this.#characters = characters;
  }

  /** Sorts per level: paths arrive nearly in path order, which is cheap to sort. */
  #sorted(): string[] {
    if (this.#order !== byBreadth) return this.#paths.toSorted(this.#order);
    const levels: string[][] = [];
    for (const path of this.#paths) (levels[depthOf(path)] ??= []).push(path);
    return levels.flatMap((level) => level.toSorted(byPath));
  }
}
