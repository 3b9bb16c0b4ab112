/** Which test tries which fault next: no test that is slow or reaches everything keeps a fault from the test that is about it. */
import type { Journal } from './journal.ts';

/** The faults that each test is to try in a round. */
export type Turns = Readonly<Record<string, readonly number[]>>;

/**
 * The tests that reach a fault and can judge it. First is who is fast and reaches little, because it is about what it reaches.
 * @param most how many judge at most
 */
export function judgesOf(journal: Journal, most: number): (fault: number) => readonly string[] {
  const costs = new Map<string, number>();
  const judges = new Map<number, string[]>();
  for (const [test, { ms, faults }] of journal.reaches) {
    if (!journal.isSound(test)) continue;
    costs.set(test, (ms + 1) * faults.size);
    for (const fault of faults) {
      const those = judges.get(fault);
      if (those) those.push(test);
      else judges.set(fault, [test]);
    }
  }
  const cost = (test: string): number => costs.get(test) ?? 0;
  return (fault) =>
    (judges.get(fault) ?? []).toSorted((one, other) => cost(one) - cost(other)).slice(0, most);
}

/**
 * A round: the next judges of each fault that no test has noticed.
 * @param count how many of each
 */
export function turnsOf(
  journal: Journal,
  faults: readonly number[],
  most: number,
  count: number,
): Turns {
  const judgesOfFault = judgesOf(journal, most);
  const turns: Record<string, number[]> = {};
  for (const fault of faults) {
    const open = judgesOfFault(fault).filter((test) => journal.isWanted(fault, test));
    for (const test of open.slice(0, count)) (turns[test] ??= []).push(fault);
  }
  return turns;
}
