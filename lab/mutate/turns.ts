/**
 * Assigns faults to tests, so that slow or broad tests do not keep a fault from the test that
 * covers it.
 */
import type { Journal } from './journal.ts';

/** Number of neighbouring faults on each side that count as near, about those of one function. */
const reachOfNear = 15;

/** Faults assigned to each test in a round. */
export type Turns = Readonly<Record<string, readonly number[]>>;

/**
 * Selects tests that reach a fault and can judge it. Fast tests with a narrow reach come first,
 * because they are specific, then tests that noticed other faults of the same module, especially
 * near ones, or share a file with such tests.
 * @param most maximum number of tests
 */
export function judgesOf(
  journal: Journal,
  moduleOf: (fault: number) => string,
  most: number,
): (fault: number) => readonly string[] {
  const costs = new Map<string, number>();
  const judges = new Map<number, string[]>();
  const inFile = new Map<string, number>();
  for (const [test, { ms, faults }] of journal.reaches) {
    if (!journal.isSound(test)) continue;
    costs.set(test, (ms + 1) * faults.size);
    add(inFile, fileOf(test));
    for (const fault of faults) {
      const those = judges.get(fault);
      if (those) those.push(test);
      else judges.set(fault, [test]);
    }
  }
  /** Faults of a module noticed by each test, and by each file's tests. */
  const noticed = new Map<string, number>();
  for (const [fault, test] of journal.killed) {
    for (const by of [test, fileOf(test)]) add(noticed, `${moduleOf(fault)} ${by}`);
  }
  /** Noticed faults that count for a fault. */
  const near = (fault: number): ReadonlyMap<string, number> => {
    const found = new Map<string, number>();
    for (let at = fault - reachOfNear; at <= fault + reachOfNear; at++) {
      const test = journal.killed.get(at);
      if (test === undefined || moduleOf(at) !== moduleOf(fault)) continue;
      for (const by of [test, fileOf(test)]) add(found, by, 20 / (1 + Math.abs(at - fault)));
    }
    return found;
  };
  const worth = (test: string, fault: number, nearby: ReadonlyMap<string, number>): number => {
    const has = (by: string): number =>
      (noticed.get(`${moduleOf(fault)} ${by}`) ?? 0) + (nearby.get(by) ?? 0);
    const file = fileOf(test);
    const whole = 0.05 + has(test) + has(file) / (inFile.get(file) ?? 1);
    return whole / Math.sqrt(costs.get(test) ?? 1);
  };
  return (fault) => {
    const nearby = near(fault);
    const worths = new Map(
      (judges.get(fault) ?? []).map((test) => [test, worth(test, fault, nearby)]),
    );
    return [...worths]
      .toSorted(([, one], [, other]) => other - one)
      .slice(0, most)
      .map(([test]) => test);
  };
}

/** File of a test, from its name. */
export const fileOf = (test: string): string => test.slice(0, test.indexOf(' > '));

function add(counts: Map<string, number>, key: string, weight = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + weight);
}

/**
 * Builds a round: the next tests for each fault nobody has noticed.
 * @param judges tests per fault
 * @param count number of tests per fault
 */
export function turnsOf(
  journal: Journal,
  faults: readonly number[],
  judges: (fault: number) => readonly string[],
  count: number,
): Turns {
  const turns: Record<string, number[]> = {};
  for (const fault of faults) {
    const open = judges(fault).filter((test) => journal.isWanted(fault, test));
    for (const test of open.slice(0, count)) (turns[test] ??= []).push(fault);
  }
  return turns;
}
