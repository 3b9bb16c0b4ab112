/**
 * Records the functions of `src` that run while a message is processed, in order. `marks.mjs`
 * instruments them.
 */

/** Entry into a function. */
export interface Entry {
  /** Path relative to `src/`. */
  readonly file: string;
  readonly name: string;
  readonly line: number;
}

/** Length of a way. */
export interface Length {
  /** Number of files entered. */
  readonly files: number;
  /**
   * Number of stays; consecutive entries in one file are one stay, because a reader opens the file
   * once.
   */
  readonly stays: number;
}

declare global {
  var enterFunction: (file: string, name: string, line: number) => void;
}

let entries: Entry[] | undefined;
globalThis.enterFunction = (file, name, line) => void entries?.push({ file, name, line });

/** Records entries until {@link arrive}. */
export function depart(): void {
  entries = [];
}

/** @returns entries since {@link depart} */
export function arrive(): readonly Entry[] {
  const passed = entries ?? [];
  entries = undefined;
  return passed;
}

/** Entries grouped by stay. */
export function staysOf(trail: readonly Entry[]): readonly (readonly [Entry, ...Entry[]])[] {
  const stays: [Entry, ...Entry[]][] = [];
  for (const entry of trail) {
    const stay = stays.at(-1);
    if (stay?.[0].file === entry.file) stay.push(entry);
    else stays.push([entry]);
  }
  return stays;
}

export function lengthOf(trail: readonly Entry[]): Length {
  return { files: new Set(trail.map(({ file }) => file)).size, stays: staysOf(trail).length };
}
