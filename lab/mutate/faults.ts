/** Mutation state of instrumented modules: the active fault, and the faults reached. */
import { brokenScript } from './lua.ts';
import type { LuaFault } from './lua.ts';

/** Interface called by instrumented modules. */
export interface Faults {
  /** Number of the active fault. */
  awake: number;
  /** Faults reached since the set was last cleared. */
  readonly reached: Set<number>;
}

const reached = new Set<number>();
const isAwake = (number: number): boolean => {
  reached.add(number);
  return faults.awake === number;
};

const luaFaults = new Map<number, LuaFault>();

type Value = string | number | boolean | undefined;
type Late = () => unknown;

const faults = {
  // Faults only reached while modules load must be active from the start.
  awake: Number(process.env['MUTATE_AWAKE'] ?? -1),
  reached,
  equal: (at: number, a: unknown, b: unknown) => (isAwake(at) ? a !== b : a === b),
  unequal: (at: number, a: unknown, b: unknown) => (isAwake(at) ? a === b : a !== b),
  less: (at: number, a: number, b: number) => (isAwake(at) ? a <= b : a < b),
  atMost: (at: number, a: number, b: number) => (isAwake(at) ? a < b : a <= b),
  more: (at: number, a: number, b: number) => (isAwake(at) ? a >= b : a > b),
  atLeast: (at: number, a: number, b: number) => (isAwake(at) ? a > b : a >= b),
  sum: (at: number, a: number, b: number) => (isAwake(at) ? a - b : a + b),
  difference: (at: number, a: number, b: number) => (isAwake(at) ? a + b : a - b),
  and: (at: number, a: unknown, b: Late) => (isAwake(at) ? a || b() : a && b()),
  or: (at: number, a: unknown, b: Late) => (isAwake(at) ? a && b() : a || b()),
  given: (at: number, a: unknown, b: Late) => (isAwake(at) ? a && b() : (a ?? b())),
  condition: (at: number, value: unknown) => {
    const isTrue = isAwake(at);
    return isTrue || (!isAwake(at + 1) && value);
  },
  loop: (at: number, value: unknown) => !isAwake(at) && value,
  not: (at: number, value: boolean) => isAwake(at) !== value,
  negation: (at: number, value: unknown) => (isAwake(at) ? Boolean(value) : !value),
  next: (at: number, value: number) => (isAwake(at) ? value + 1 : value),
  either: (at: number, one: unknown, other: unknown) => (isAwake(at) ? other : one),
  absent: (at: number, value: Value) => (isAwake(at) ? undefined : value),
  lua: (first: number, text: string, found: readonly LuaFault[]) => {
    for (const [at, fault] of found.entries()) luaFaults.set(first + at, fault);
    return text;
  },
  script: (script: { readonly text: string; readonly digest: string }) =>
    brokenScript(script, luaFaults, isAwake),
  runs: (at: number) => !isAwake(at),
};

/** Faults of this worker, shared by its test files. */
export const faultsOfWorker = (): Faults =>
  ((globalThis as { faults$?: Faults }).faults$ ??= faults);
faultsOfWorker();
