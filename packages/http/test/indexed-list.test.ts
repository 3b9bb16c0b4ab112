import { expect, test } from 'vitest';
import { IndexedList, notListed } from '../src/maintenance.ts';

const made = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ at, listIndex: notListed }));

test('removes an item and keeps all others exactly once', () => {
  const roster = new IndexedList<{ at: number; listIndex: number }>();
  const members = made(4);
  for (const member of members) {
    roster.add(member);
    roster.add(member);
  }
  const [first, second] = members;
  if (first) roster.delete(first);
  if (second) roster.delete(second);
  if (second) roster.delete(second);
  expect(roster.all.map(({ at }) => at).toSorted((a, b) => a - b)).toEqual([2, 3]);
  expect(members.map(({ listIndex }) => listIndex === notListed)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('visits each item once while all items remove themselves', () => {
  const roster = new IndexedList<{ at: number; listIndex: number }>();
  for (const member of made(3)) roster.add(member);
  const seen: number[] = [];
  roster.forEach((member) => {
    seen.push(member.at);
    roster.delete(member);
  });
  expect(seen.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
  expect(roster.size).toBe(0);
});

test('visits each remaining item while others are removed', () => {
  const roster = new IndexedList<{ at: number; listIndex: number }>();
  const members = made(4);
  for (const member of members) roster.add(member);
  const seen: number[] = [];
  roster.forEach(({ at }) => {
    seen.push(at);
    for (const each of members.slice(1)) roster.delete(each);
  });
  expect(seen.toSorted((a, b) => a - b)).toEqual([0, 3]);
});
