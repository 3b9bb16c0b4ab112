/** One check of a value: what it has cost, what is wrong, and where it stands. */
import { OutOfSteps } from './pattern.ts';
import type { Budget } from './pattern.ts';

/** How many faults are told. */
const maxFaults = 10;
/** A value and its schema together may be nested so deep. A message's values are so by a tenth of it. */
const maxDepth = 1500;

/** Whether a value conforms; the run is told why it does not. */
export type Check = (value: unknown, run: SchemaRun) => boolean;

/** A schema's check, which is there before it is made: schemas refer to each other. */
export interface SchemaNode {
  check: Check;
}

/** What does not conform, and how: `must be string`. */
interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A value was given up, because it is nested too deeply or its schema refers to itself. */
export class TooDeep extends Error {}

export class SchemaRun implements Budget {
  /** Where the value stands that is checked now. */
  readonly path: (string | number)[] = [];
  /** The names and places that have been checked, if an `unevaluated…` asks for them. */
  seen: Set<string | number> | undefined = undefined;
  /** The resources that the check has entered, as `$dynamicRef` asks for. */
  readonly scope: object[] = [];
  /** Whether defaults are filled in. */
  fillsIn: boolean;
  /** Undefined: nobody asks why. */
  #faults: Fault[] | undefined = [];
  #depth = 0;
  #left: number;

  constructor(maxSteps: number, fillsIn: boolean) {
    this.#left = maxSteps;
    this.fillsIn = fillsIn;
  }

  /** Whether nothing that is found from now on changes the outcome, once something is wrong. */
  get isDecided(): boolean {
    return this.#faults === undefined || this.#faults.length >= maxFaults;
  }

  get faults(): readonly Fault[] {
    return this.#faults ?? [];
  }

  /** Notes what is wrong. @returns false, the outcome */
  fault(message: () => string, name?: string | number): false {
    if (!this.isDecided) {
      const path = name === undefined ? [...this.path] : [...this.path, name];
      this.#faults?.push({ path, message: message() });
    }
    return false;
  }

  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }

  /** Enters a schema. @throws {OutOfSteps} @throws {TooDeep} */
  enter(weight: number): void {
    this.spend(weight);
    if (++this.#depth > maxDepth) throw new TooDeep();
  }

  leave(): void {
    this.#depth--;
  }

  /** Checks a member of a value. */
  within(name: string | number, { check }: SchemaNode, value: unknown): boolean {
    if (this.#faults === undefined && this.seen === undefined) return check(value, this);
    const outer = this.seen;
    this.seen = undefined;
    this.path.push(name);
    const conforms = check(value, this);
    this.path.pop();
    this.seen = outer;
    outer?.add(name);
    return conforms;
  }

  /** Checks a value that may well not conform: nothing is told, nothing is filled in. */
  quietly(node: SchemaNode, value: unknown): boolean {
    const faults = this.#faults;
    this.#faults = undefined;
    const conforms = this.supposing(node, value);
    this.#faults = faults;
    return conforms;
  }

  /** Checks a value against one of several: it has been checked by this one only if it conforms. */
  supposing({ check }: SchemaNode, value: unknown): boolean {
    const { seen, fillsIn } = this;
    this.fillsIn = false;
    if (seen) this.seen = new Set();
    const conforms = check(value, this);
    if (seen && conforms) for (const name of this.seen ?? []) seen.add(name);
    this.seen = seen;
    this.fillsIn = fillsIn;
    return conforms;
  }

  /** Tries several: their faults count if all of them fail. */
  anyOf(tries: () => boolean): boolean {
    const outer = this.#faults;
    if (outer === undefined) return tries();
    this.#faults = [];
    const conforms = tries();
    const inner = this.#faults ?? [];
    this.#faults = outer;
    if (!conforms) outer.push(...inner.slice(0, maxFaults - outer.length));
    return conforms;
  }

  /** What is wrong, for a person. @param root names the value itself */
  explain(root: string): string {
    const faults = this.faults.map(
      ({ path, message }) => `${path.length === 0 ? root : path.join('.')} ${message}`,
    );
    const more =
      faults.length === maxFaults ? [`and perhaps more: these are the first ${maxFaults}`] : [];
    return [...faults, ...more].join('; ');
  }
}
