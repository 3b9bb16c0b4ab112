import { expect, test } from 'vitest';
import { defaultHttpLimits } from '../src/options.ts';
import type { HttpLimits } from '../src/options.ts';
import { Maintenance, notListed, maintenanceIntervalMs } from '../src/maintenance.ts';
import type { Maintained } from '../src/maintenance.ts';
import { TestClock } from '../../testing/src/index.ts';

function startUpkeep() {
  const clock = new TestClock();
  const upkeep = new Maintenance(clock, 10);
  const tended: string[] = [];
  const made = (name: string, onTurn = () => {}): Maintained => ({
    listIndex: notListed,
    tick: () => {
      tended.push(name);
      onTurn();
    },
  });
  const turn = () => {
    clock.increment(10);
    return tended.splice(0).sort();
  };
  return { clock, upkeep, made, turn };
}

test('ticks each item once until it is removed', () => {
  const { upkeep, made, turn } = startUpkeep();
  const [a, b, c] = [made('a'), made('b'), made('c')] as const;
  for (const each of [a, b, a, c]) upkeep.add(each);
  expect(turn()).toEqual(['a', 'b', 'c']);
  upkeep.delete(a);
  upkeep.delete(a);
  expect(turn()).toEqual(['b', 'c']);
  upkeep.delete(c);
  upkeep.add(a);
  expect(turn()).toEqual(['a', 'b']);
});

test('ticks every item though some remove themselves', () => {
  const { upkeep, made, turn } = startUpkeep();
  const leaving: Maintained[] = ['a', 'b', 'c', 'd'].map((name, at) =>
    made(name, () => at % 2 === 0 && upkeep.delete(leaving[at] as Maintained)),
  );
  for (const each of leaving) upkeep.add(each);
  expect(turn()).toEqual(['a', 'b', 'c', 'd']);
  expect(turn()).toEqual(['b', 'd']);
});

test('runs a timer only while there are items', () => {
  const { clock, upkeep, made, turn } = startUpkeep();
  const only = made('only', () => upkeep.delete(only));
  upkeep.add(only);
  expect(turn()).toEqual(['only']);
  expect(clock.liveTimers).toBe(0);
  upkeep.add(only);
  expect(turn()).toEqual(['only']);
});

test('ticks twice in the shortest timeout, and at least once a second', () => {
  const often = (limits: Partial<HttpLimits>) =>
    maintenanceIntervalMs({ ...defaultHttpLimits, ...limits });
  expect(often({})).toBe(1000);
  for (const name of [
    'keepaliveIntervalMs',
    'sessionIdleTimeoutMs',
    'streamAfterMs',
    'unreadTimeoutMs',
    'bodyTimeoutMs',
  ]) {
    expect([name, often({ [name]: 300 })]).toEqual([name, 150]);
  }
  expect(often({ unreadTimeoutMs: 1 })).toBe(10);
  // Keepalives are disabled.
  expect(often({ keepaliveIntervalMs: 0 })).toBe(1000);
});

test('ticks once more when stopped and keeps the timer only for remaining items', () => {
  const { clock, upkeep, made, turn } = startUpkeep();
  const leaving = made('leaving', () => upkeep.delete(leaving));
  const left = made('left');
  upkeep.add(leaving);
  upkeep.stopIfEmpty();
  expect([upkeep.size, clock.liveTimers]).toEqual([0, 0]);
  upkeep.add(left);
  upkeep.stopIfEmpty();
  expect(turn()).toEqual(['leaving', 'left', 'left'].sort());
  upkeep.delete(left);
  upkeep.stopIfEmpty();
  expect(clock.liveTimers).toBe(0);
});
