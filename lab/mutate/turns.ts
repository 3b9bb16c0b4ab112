/** Which test tries which fault next: no test that is slow or reaches everything keeps a fault from the test that is about it. */
import type { Journal } from './journal.ts';

/** How many of the faults before it and after it stand near one: about those of a function. */
const reachOfNear = 15;

/** The faults that each test is to try in a round. */
export type Turns = Readonly<Record<string, readonly number[]>>;

/**
 * The tests that reach a fault and can judge it. First is who is fast and reaches little, because it is about what it reaches, and
 * who has noticed other faults of the same module, above all such as stand near by, or stands in a file with such tests.
 * @param most how many judge at most
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
  /** How many faults of a module a test has noticed, and how many the tests of a file have. */
  const noticed = new Map<string, number>();
  for (const [fault, test] of journal.killed) {
    for (const by of [test, fileOf(test)]) add(noticed, `${moduleOf(fault)} ${by}`);
  }
  /** What a test or a file has noticed that counts for a fault. */
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

/** The file of a test, by its name. */
export const fileOf = (test: string): string => test.slice(0, test.indexOf(' > '));

function add(counts: Map<string, number>, key: string, weight = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + weight);
}

/**
 * A round: the next judges of each fault that no test has noticed.
 * @param judges of each fault
 * @param count how many of each
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
