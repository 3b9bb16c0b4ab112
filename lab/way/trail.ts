/** The functions of `src` that run while one message is under way, in order. `marks.mjs` makes each of them say so. */

/** An entry into a function. */
export interface Entry {
  /** From `src/`. */
  readonly file: string;
  readonly name: string;
  readonly line: number;
}

/** How long a way is. */
export interface Length {
  /** Files that are entered. */
  readonly files: number;
  /** Consecutive entries in one file count as one stay: a reader opens a file so many times. */
  readonly stays: number;
}

declare global {
  var enterFunction: (file: string, name: string, line: number) => void;
}

let entries: Entry[] | undefined;
globalThis.enterFunction = (file, name, line) => void entries?.push({ file, name, line });

/** What is entered from here on, until {@link arrive}. */
export function depart(): void {
  entries = [];
}

/** @returns what was entered since {@link depart} */
export function arrive(): readonly Entry[] {
  const passed = entries ?? [];
  entries = undefined;
  return passed;
}

/** The entries, stay by stay. */
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
