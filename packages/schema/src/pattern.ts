/**
 * Regular expressions with a bounded number of steps. JavaScript's engine backtracks: `^(a+)+$`
 * takes ten seconds for thirty characters and cannot be interrupted. This engine follows all
 * alternatives at once, so each character costs at most one step per state.
 *
 * The syntax is ECMAScript's with the `u` flag, as JSON Schema requires. JavaScript's engine still
 * parses the syntax and evaluates character classes. A test reports only whether a text matches,
 * not where.
 *
 * @see JSON Schema 2020-12 Core, section 6.4, "Regular Expressions"
 * @see ECMA-262, section 22.2, "RegExp (Regular Expression) Objects"
 */
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';

/** Source of steps for a computation. */
export interface Budget {
  /**
   * Consumes steps.
   *
   * @throws {OutOfSteps} if fewer than `count` are left
   */
  spend(count: number): void;
}

/** A counter of remaining steps. */
export class Steps implements Budget {
  #left: number;

  constructor(count: number) {
    this.#left = count;
  }

  get left(): number {
    return this.#left;
  }

  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }
}

/** Thrown when a computation exceeds its step budget. */
export class OutOfSteps extends Error {
  constructor() {
    super('Step limit exceeded');
    this.name = 'OutOfSteps';
  }
}

/** Maximum length of an expression, characters. */
const maxSourceLength = 4096;
/** Maximum number of states after expanding repetitions. */
const maxStates = 20_000;
/** Cost in steps of parsing one character and of creating one state. */
const stepsOfSource = 200;
const stepsOfState = 50;

type Takes = (codePoint: number) => boolean;
/** Condition between two adjacent characters; undefined beyond the ends of the text. */
type HoldsBetween = (before: number | undefined, after: number | undefined) => boolean;

type Part =
  | { readonly kind: 'character'; readonly takes: Takes }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Part[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly min: number; readonly max: number }
  | { readonly kind: 'between'; readonly holds: HoldsBetween }
  | { readonly kind: 'around'; readonly look: number; readonly isNegated: boolean };

interface CharacterState {
  readonly kind: 'character';
  readonly takes: Takes;
  readonly next: number;
}

type State =
  | CharacterState
  | { readonly kind: 'fork'; readonly to: number[] }
  | { readonly kind: 'between'; readonly holds: HoldsBetween; readonly next: number }
  | {
      readonly kind: 'around';
      readonly look: number;
      readonly isNegated: boolean;
      readonly next: number;
    }
  | { readonly kind: 'accept' };

interface Program {
  readonly states: readonly State[];
  readonly start: number;
  /**
   * A lookahead runs backward from the end of the text, so that one run finds all positions where
   * it holds.
   */
  readonly direction: 'forward' | 'backward';
}

/** A compiled regular expression. */
export class Pattern {
  /** JavaScript's engine, used if its backtracking is bounded. */
  readonly #native: RegExp | undefined;
  /** Maximum steps of the native engine per character. */
  readonly #nativeCost: number;
  readonly #program: Program;
  /** Programs of the lookarounds, inner ones first. */
  readonly #looks: readonly Program[];

  /**
   * Compiles an expression.
   *
   * @param steps budget for compiling
   * @throws {SyntaxError} if it is not a regular expression
   * @throws {TypeError} if it cannot be matched in bounded time; the message is phrased to follow
   *   the expression's name
   * @throws {OutOfSteps}
   */
  constructor(source: string, steps: Budget = new Steps(Infinity)) {
    if (source.length > maxSourceLength) {
      throw new TypeError(`must have at most ${maxSourceLength} characters, got ${source.length}`);
    }
    // The native engine builds a table per class, some microseconds per source character.
    steps.spend(source.length * stepsOfSource);
    const native = new RegExp(source, 'u');
    const reader = new PatternReader(source);
    const part = reader.read();
    const budget = { states: 0, steps };
    const measured = isAnchored(part) ? backtrackingOf(part) : undefined;
    this.#native = measured && native;
    this.#nativeCost = measured?.cost ?? 0;
    this.#program = programOf(part, 'forward', budget);
    this.#looks = reader.looks.map(({ part, direction }) => programOf(part, direction, budget));
  }

  /**
   * True if the expression matches anywhere in a text.
   *
   * @throws {OutOfSteps}
   */
  test(text: string, steps: Budget): boolean {
    if (this.#native) {
      // A native step is about 16 times faster than ours.
      steps.spend((text.length * (1 + this.#nativeCost)) / 16);
      return this.#native.test(text);
    }
    steps.spend(text.length);
    const characters = codePointsOf(text);
    const held: Uint8Array[] = [];
    for (const look of this.#looks) {
      const places = new Uint8Array(characters.length + 1);
      run(look, characters, held, steps, (at) => {
        places[at] = 1;
        return false;
      });
      held.push(places);
    }
    let isFound = false;
    run(this.#program, characters, held, steps, () => (isFound = true));
    return isFound;
  }
}

const patterns = new BoundedMap<string, Pattern>(256);

/**
 * Compiles a source, with a cache of recent ones.
 *
 * @param steps budget for compiling
 * @throws errors of {@link Pattern}'s constructor
 */
export function patternOf(source: string, steps?: Budget): Pattern {
  const known = patterns.get(source);
  if (known) return known;
  const pattern = new Pattern(source, steps);
  patterns.set(source, pattern);
  return pattern;
}

/**
 * Compiles a pattern in a schema.
 *
 * @param at location in the schema, for messages
 * @throws {TypeError} if it is not an expression or cannot be matched in bounded time
 */
export function patternAt(source: unknown, at: string): Pattern {
  if (typeof source !== 'string') {
    throw new TypeError(`${at} must be a string, got ${inspectValue(source)}`);
  }
  try {
    return patternOf(source);
  } catch (cause) {
    const why = cause instanceof TypeError ? cause.message : 'must be a regular expression';
    throw new TypeError(`${at} ${why}: ${inspectValue(source)}`, { cause });
  }
}

function codePointsOf(text: string): Uint32Array {
  const codePoints = new Uint32Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const codePoint = text.codePointAt(at) ?? 0;
    codePoints[count] = codePoint;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return codePoints.subarray(0, count);
}

/** Calls `isEnough` with each position where a match ends, until it returns true. */
function run(
  { states, start, direction }: Program,
  characters: Uint32Array,
  held: readonly Uint8Array[],
  steps: Budget,
  isEnough: (at: number) => boolean,
): void {
  const { length } = characters;
  const step = direction === 'forward' ? 1 : -1;
  const first = states[start];
  const beginsAtStart = step === 1 && first?.kind === 'between' && first.holds === atStart;
  /** Per state: the 1-based position at which it was last entered. */
  const entered = new Uint32Array(states.length);
  /** States to enter before the next character. */
  const open: number[] = [];
  let taking: CharacterState[] = [];
  for (let count = 1, at = step === 1 ? 0 : length; count <= length + 1; count++, at += step) {
    if (count === 1 || !beginsAtStart) open.push(start);
    else if (open.length === 0) return;
    taking = [];
    let isAccepted = false;
    let visited = 0;
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      visited++;
      if (entered[next] === count) continue;
      entered[next] = count;
      const state = states[next];
      if (state === undefined) continue;
      if (state.kind === 'character') taking.push(state);
      else if (state.kind === 'fork') for (const to of state.to) open.push(to);
      else if (state.kind === 'accept') isAccepted = true;
      else if (
        state.kind === 'between'
          ? state.holds(characters[at - 1], characters[at])
          : (held[state.look]?.[at] === 1) !== state.isNegated
      ) {
        open.push(state.next);
      }
    }
    steps.spend(visited + taking.length);
    if (isAccepted && isEnough(at)) return;
    const character = characters[step === 1 ? at : at - 1];
    if (character === undefined) return;
    for (const { takes, next } of taking) if (takes(character)) open.push(next);
  }
}

/**
 * Compiles a part to states.
 *
 * @throws {TypeError} if there are too many states
 */
function programOf(
  part: Part,
  direction: Program['direction'],
  budget: { states: number; readonly steps: Budget },
): Program {
  const states: State[] = [{ kind: 'accept' }];
  const add = (state: State): number => states.push(state) - 1;
  /** Adds states that match a part and continue at `next`. Returns the first state. */
  const compile = (given: Part, next: number): number => {
    if (++budget.states > maxStates) {
      throw new TypeError(`must need at most ${maxStates} states after expanding repetitions`);
    }
    budget.steps.spend(stepsOfState);
    switch (given.kind) {
      case 'character':
      case 'between':
      case 'around':
        return add({ ...given, next });
      case 'choice':
        return add({ kind: 'fork', to: given.parts.map((each) => compile(each, next)) });
      case 'sequence': {
        const parts = direction === 'forward' ? given.parts.toReversed() : given.parts;
        return parts.reduce((after, each) => compile(each, after), next);
      }
      case 'repeat': {
        const { min, max } = given;
        let begin = next;
        if (max === Infinity) {
          const to = [next];
          begin = add({ kind: 'fork', to });
          to.push(compile(given.part, begin));
        } else {
          for (let n = min; n < max; n++) {
            begin = add({ kind: 'fork', to: [next, compile(given.part, begin)] });
          }
        }
        for (let n = 0; n < min; n++) begin = compile(given.part, begin);
        return begin;
      }
    }
  };
  const start = compile(part, 0);
  return { states, start, direction };
}

/** True if the part can match only at the start of the text. */
function isAnchored(part: Part): boolean {
  if (part.kind === 'choice') return part.parts.every(isAnchored);
  const first = part.kind === 'sequence' ? part.parts[0] : part;
  return first?.kind === 'between' && first.holds === atStart;
}

/** Backtracking cost of a part. */
interface Backtracking {
  /** Number of ways to match at one position, excluding a long repetition. */
  readonly ways: number;
  /** Steps needed to try all ways. */
  readonly cost: number;
  /**
   * True if it contains a repetition of many possible lengths. One such repetition is linear in the
   * text; two are not.
   */
  readonly isLong: boolean;
}

const maxWays = 1000;
/** Number of choices above which a repetition counts as long. */
const maxChoices = 64;

/** Computes the cost; undefined if the time may exceed linear. */
function backtrackingOf(part: Part): Backtracking | undefined {
  switch (part.kind) {
    case 'character':
    case 'between':
      return { ways: 1, cost: 1, isLong: false };
    case 'around':
      return undefined;
    case 'choice': {
      let [ways, cost, isLong] = [0, 0, false];
      for (const each of part.parts) {
        const one = backtrackingOf(each);
        if (!one) return undefined;
        [ways, cost, isLong] = [ways + one.ways, cost + one.cost, isLong || one.isLong];
      }
      return ways > maxWays ? undefined : { ways, cost, isLong };
    }
    case 'sequence':
      return inSequence(part.parts.map((each) => () => backtrackingOf(each)));
    case 'repeat':
      return repeated(part);
  }
}

function inSequence(parts: readonly (() => Backtracking | undefined)[]): Backtracking | undefined {
  let [ways, cost, isLong] = [1, 0, false];
  for (const measure of parts) {
    const one = measure();
    if (!one || (isLong && one.isLong)) return undefined;
    cost += ways * one.cost;
    ways *= one.ways;
    isLong ||= one.isLong;
    if (ways > maxWays) return undefined;
  }
  return { ways, cost, isLong };
}

function repeated({ part, min, max }: Part & { readonly kind: 'repeat' }) {
  const one = backtrackingOf(part);
  if (!one || one.isLong) return undefined;
  // Every match of such a part has the same length.
  if (one.ways === 1) {
    const isLong = max - min > maxChoices;
    const ways = isLong ? 1 : max - min + 1;
    return { ways, cost: isLong ? one.cost : one.cost * max, isLong };
  }
  if (max > maxChoices) return undefined;
  const optional = () => ({ ...one, ways: one.ways + 1 });
  return inSequence(Array.from({ length: max }, (_, at) => (at < min ? () => one : optional)));
}

const atStart: HoldsBetween = (before) => before === undefined;

const isWordCharacter = (codePoint: number | undefined): boolean =>
  codePoint !== undefined && /^\w$/.test(String.fromCodePoint(codePoint));

/** Parses an expression that JavaScript has accepted. */
class PatternReader {
  readonly looks: { readonly part: Part; readonly direction: Program['direction'] }[] = [];
  readonly #source: string;
  readonly #classes = new Map<string, Takes>();
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): Part {
    const parts = [this.#alternative()];
    while (this.#eat(/\|/y)) parts.push(this.#alternative());
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  #alternative(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source.charAt(this.#at))) {
      parts.push(this.#quantified(this.#term()));
    }
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'sequence', parts };
  }

  #quantified(part: Part): Part {
    const [, sign, low, comma, high] = this.#eat(/(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y) ?? [];
    if (sign !== undefined) {
      return { kind: 'repeat', part, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    }
    if (low === undefined) return part;
    const max = comma === '' ? low : high === '' ? Infinity : high;
    return { kind: 'repeat', part, min: Number(low), max: Number(max) };
  }

  #term(): Part {
    if (this.#eat(/\^/y)) return { kind: 'between', holds: atStart };
    if (this.#eat(/\$/y)) return { kind: 'between', holds: (_, after) => after === undefined };
    const boundary = this.#eat(/\\[bB]/y)?.[0];
    if (boundary !== undefined) {
      const holds: HoldsBetween = (before, after) =>
        (isWordCharacter(before) !== isWordCharacter(after)) === (boundary === String.raw`\b`);
      return { kind: 'between', holds };
    }
    if (this.#eat(/\\[1-9k]/y)) {
      throw new TypeError('must not use backreferences, which take unbounded time');
    }
    const group = this.#eat(/\((?:\?(?:<?[=!]|:|<[^>=!][^>]*>|[a-z-]+:))?/y)?.[0];
    if (group !== undefined) return this.#group(group);
    const [atom = ''] = this.#eat(atomSyntax) ?? [];
    return { kind: 'character', takes: this.#takes(atom) };
  }

  #group(opening: string): Part {
    const look = /^\(\?(<?)([=!])$/.exec(opening);
    if (/^\(\?[a-z-]+:/.test(opening)) throw new TypeError('must not change its flags');
    const part = this.read();
    this.#eat(/\)/y);
    if (!look) return part;
    const direction = look[1] === '<' ? 'forward' : 'backward';
    this.looks.push({ part, direction });
    return { kind: 'around', look: this.looks.length - 1, isNegated: look[2] === '!' };
  }

  #takes(atom: string): Takes {
    if (!/^[.[\\]/.test(atom)) {
      const character = atom.codePointAt(0);
      return (codePoint) => codePoint === character;
    }
    const known = this.#classes.get(atom);
    if (known) return known;
    const takes = classOf(atom);
    this.#classes.set(atom, takes);
    return takes;
  }

  #eat(syntax: RegExp): RegExpExecArray | null {
    syntax.lastIndex = this.#at;
    const found = syntax.exec(this.#source);
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

/**
 * Tests membership of a character class with the native engine, which cannot backtrack on a single
 * character.
 */
function classOf(atom: string): Takes {
  const native = new RegExp(`^${atom}$`, 'u');
  const test: Takes = (codePoint) => native.test(String.fromCodePoint(codePoint));
  /** Cache for ASCII: 0 unknown, 1 member, 2 not a member. */
  const ascii = new Uint8Array(128);
  return (codePoint) => {
    if (codePoint >= ascii.length) return test(codePoint);
    if (ascii[codePoint] === 0) ascii[codePoint] = test(codePoint) ? 1 : 2;
    return ascii[codePoint] === 1;
  };
}

/** Syntax of a class, an escape or a character. */
const atomSyntax =
  /\[(?:\\[^]|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[^])|[^]/uy;
