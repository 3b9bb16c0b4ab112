/**
 * Matches a path against many patterns at once. The patterns form one nondeterministic automaton
 * whose active states are a bit set (the Shift-And algorithm). Each character costs a few
 * operations per 32 states, for any path and patterns, without backtracking.
 */

/** Returns true if a path (relative, with `/`) matches. */
export interface PathMatcher {
  (path: string): boolean;
  /** Returns true if a path below this directory could match. */
  readonly reaches: (directory: string) => boolean;
}

/**
 * One element of a name pattern: any characters, any single character, a specific code point, or a
 * class. None matches a slash.
 */
export type NameToken =
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'literal'; readonly code: number }
  | CharacterClass;

export interface CharacterClass {
  readonly kind: 'class';
  /** Inclusive ranges of code points. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly negated: boolean;
}

/** Segments of a path; a globstar matches zero or more segments. */
export type PathPattern = readonly (readonly NameToken[] | 'globstar')[];

const slash = 0x2f;
const asciiCodes = 128;
/** Cached masks for non-ASCII characters. The cache is cleared when full. */
const maxKeptMasks = 512;

type Entry =
  /** Character that leads from the previous state to this one. */
  | Exclude<NameToken, { kind: 'star' }>
  /**
   * Position at which the state is entered: the start of the path (`path`), of any segment
   * (`segment`), or of a segment within the preceding globstar (`globstar`).
   */
  | { readonly kind: 'path' | 'segment' | 'globstar' };

interface State {
  readonly entry: Entry;
  /** Characters on which the state stays active. */
  stays: 'never' | 'within a name' | 'always';
  accepts: boolean;
}

/** Compiles a matcher that accepts paths matching any of the patterns. */
export function matchAny(patterns: readonly PathPattern[]): PathMatcher {
  const states = patterns.flatMap(statesOf);
  const entries = new EntryMasks(states);
  const afterGlobstar = maskOf(states, ({ entry }) => entry.kind === 'globstar');
  const staysWithin = maskOf(states, ({ stays }) => stays !== 'never');
  const staysAlways = maskOf(states, ({ stays }) => stays === 'always');
  const accepting = maskOf(states, ({ accepts }) => accepts);
  const initial = maskOf(states, ({ entry }) => entry.kind === 'path' || entry.kind === 'segment');
  const ofSegments = maskOf(states, ({ entry }) => entry.kind === 'segment');
  const active = new Int32Array(initial.length);

  const take = (code: number): void => {
    const entered = entries.maskFor(code);
    let carry = 0;
    for (let word = 0; word < active.length; word += 1) {
      const before = active[word] ?? 0;
      // Most words have no active states.
      if ((before | carry) === 0) continue;
      const led = ((before << 1) | carry) & (entered[word] ?? 0);
      active[word] = led | (before & (staysWithin[word] ?? 0));
      carry = before >>> 31;
    }
  };
  const takeSlash = (): void => {
    const entered = entries.maskFor(slash);
    let [carry, globstarCarry] = [0, 0];
    for (let word = 0; word < active.length; word += 1) {
      const before = active[word] ?? 0;
      const led = ((before << 1) | carry) & (entered[word] ?? 0);
      const after = led | (before & (staysAlways[word] ?? 0)) | (ofSegments[word] ?? 0);
      carry = before >>> 31;
      // If a globstar matches zero segments, the state after it is entered on the same slash.
      active[word] = after | (((after << 1) | globstarCarry) & (afterGlobstar[word] ?? 0));
      globstarCarry = after >>> 31;
    }
  };

  const takeAll = (given: string): void => {
    const path = composed(given);
    active.set(initial);
    for (let index = 0; index < path.length; index += 1) {
      const code = path.codePointAt(index) ?? 0;
      if (code > 0xffff) index += 1;
      if (code === slash) takeSlash();
      else take(code);
    }
  };
  const matches = (path: string): boolean => {
    takeAll(path);
    return active.some((bits, word) => (bits & (accepting[word] ?? 0)) !== 0);
  };
  const reaches = (directory: string): boolean => {
    takeAll(`${directory}/`);
    return active.some((bits) => bits !== 0);
  };
  return Object.assign(matches, { reaches });
}

/** Converts to NFC, like the patterns. Characters below U+0300 need no conversion. */
function composed(path: string): string {
  return /[\u0300-\uffff]/.test(path) ? path.normalize() : path;
}

/** Builds the states of a pattern, each leading to the next. */
function statesOf(given: PathPattern): State[] {
  const pattern = given.filter((part, at) => part !== 'globstar' || given[at - 1] !== 'globstar');
  const states: State[] = [];
  const add = (entry: Entry, stays: State['stays'] = 'never') => {
    const state: State = { entry, stays, accepts: false };
    states.push(state);
    return state;
  };
  for (const [at, part] of pattern.entries()) {
    const entry = entryOf(pattern, at);
    if (part === 'globstar') {
      // A leading globstar needs no state: the next segment may begin anywhere.
      if (at > 0 || pattern.length === 1) add(entry, 'always');
      continue;
    }
    let state = add(entry);
    for (const token of part) {
      if (token.kind === 'star') state.stays = 'within a name';
      else state = add(token);
    }
  }
  // A trailing globstar also matches zero segments.
  for (const state of states.slice(pattern.at(-1) === 'globstar' ? -2 : -1)) state.accepts = true;
  return states;
}

function entryOf(pattern: PathPattern, at: number): Entry {
  if (at === 0) return { kind: 'path' };
  if (pattern[at - 1] !== 'globstar') return { kind: 'literal', code: slash };
  return { kind: at === 1 ? 'segment' : 'globstar' };
}

function maskOf(states: readonly State[], holds: (state: State) => boolean): Int32Array {
  const mask = new Int32Array(Math.ceil(states.length / 32));
  for (const [index, state] of states.entries()) if (holds(state)) setBit(mask, index);
  return mask;
}

function setBit(mask: Int32Array, index: number): void {
  mask[index >> 5] = (mask[index >> 5] ?? 0) | (1 << (index & 31));
}

/** Masks of the states that each character leads to. */
class EntryMasks {
  readonly #any: Int32Array;
  readonly #none: Int32Array;
  readonly #literals = new Map<number, number[]>();
  readonly #classes: { readonly index: number; readonly members: CharacterClass }[] = [];
  readonly #ascii: (Int32Array | undefined)[] = Array.from({ length: asciiCodes });
  readonly #others = new Map<number, Int32Array>();

  constructor(states: readonly State[]) {
    this.#any = maskOf(states, ({ entry }) => entry.kind === 'any');
    this.#none = maskOf(states, () => false);
    for (const [index, { entry }] of states.entries()) {
      if (entry.kind === 'class') this.#classes.push({ index, members: entry });
      if (entry.kind !== 'literal') continue;
      const same = this.#literals.get(entry.code);
      if (same === undefined) this.#literals.set(entry.code, [index]);
      else same.push(index);
    }
  }

  maskFor(code: number): Int32Array {
    if (code < asciiCodes) return (this.#ascii[code] ??= this.#compute(code));
    const kept = this.#others.get(code);
    if (kept !== undefined) return kept;
    if (this.#others.size === maxKeptMasks) this.#others.clear();
    const mask = this.#compute(code);
    this.#others.set(code, mask);
    return mask;
  }

  #compute(code: number): Int32Array {
    const mask = (code === slash ? this.#none : this.#any).slice();
    for (const index of this.#literals.get(code) ?? []) setBit(mask, index);
    if (code === slash) return mask;
    for (const { index, members } of this.#classes) {
      if (isMember(members, code)) setBit(mask, index);
    }
    return mask;
  }
}

function isMember({ ranges, negated }: CharacterClass, code: number): boolean {
  return ranges.some(([first, last]) => first <= code && code <= last) !== negated;
}
