/** Orders of paths, and the first paths of an order within a bound of memory. */

import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/** Negative if `left` comes before `right`; 0 for the same path alone. */
export type PathOrder = (left: string, right: string) => number;

const slash = 0x2f;

/** Segment by segment: what is in a directory comes right behind it. */
export const byPath: PathOrder = (left, right) => {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [leftUnit, rightUnit] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (leftUnit === rightUnit) continue;
    // A segment that ends comes before one that goes on.
    if (leftUnit === slash) return -1;
    return rightUnit === slash ? 1 : leftUnit - rightUnit;
  }
  return left.length - right.length;
};

/** Breadth before depth: the root's own entries first, then those one level below. */
export const byBreadth: PathOrder = (left, right) =>
  depthOf(left) - depthOf(right) || byPath(left, right);

function depthOf(path: string): number {
  let depth = 0;
  // A directory's path may end with a slash.
  for (
    let at = path.indexOf('/');
    at !== -1 && at < path.length - 1;
    at = path.indexOf('/', at + 1)
  ) {
    depth += 1;
  }
  return depth;
}

/** Where the paths behind one begin, in paths that are in order; by halves. */
export function indexBehind(paths: readonly string[], order: PathOrder, after: string): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(paths[middle] ?? '', after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Keeps the first paths from one on, of any number in any order. */
export class FirstPaths {
  readonly #order: PathOrder;
  readonly #from: string | undefined;
  readonly #maxCharacters: number;
  #paths: string[] = [];
  #characters = 0;
  #last: string | undefined;

  /** @param maxCharacters how long the kept paths are together */
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
    // Sorting is worth while once as much again has come.
    if (this.#characters > 2 * this.#maxCharacters) this.#cut();
  }

  /**
   * Takes kept paths out again. Gives their number.
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

  /** The kept paths in order, each once; `isCut` if others come behind them. */
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

  /** Level by level: paths come in order of path, and what is sorted costs little to sort. */
  #sorted(): string[] {
    if (this.#order !== byBreadth) return this.#paths.toSorted(this.#order);
    const levels: string[][] = [];
    for (const path of this.#paths) (levels[depthOf(path)] ??= []).push(path);
    return levels.flatMap((level) => level.toSorted(byPath));
  }
}
