import { expect, test } from 'vitest';
import { TaskCounts } from '../../src/server/features/task-counts.ts';

const tally = ({ kept, running, cancelled }: TaskCounts['all']) => [kept, running, [...cancelled]];

test('counts a task in total and per client, by its state', () => {
  const room = new TaskCounts();
  for (const id of ['a1', 'a2', 'a3']) room.add(id, 'ann');
  room.add('b1', 'bob');
  room.add('own', undefined);
  room.move('a1', 'cancelled');
  room.move('a2', 'parked');
  room.move('b1', 'ended');
  expect(tally(room.all)).toEqual([5, 2, ['a1']]);
  expect(tally(room.of('ann'))).toEqual([3, 1, ['a1']]);
  expect(tally(room.of('bob'))).toEqual([1, 0, []]);
  expect(tally(room.of('eve'))).toEqual([0, 0, []]);
});

test('counts a parked and resumed task once, and a deleted one no more', () => {
  const room = new TaskCounts();
  room.add('a1', 'ann');
  room.move('a1', 'parked');
  room.add('a1', 'ann');
  expect(tally(room.of('ann'))).toEqual([1, 1, []]);
  expect([room.delete('a1'), room.delete('a1')]).toEqual([true, false]);
  room.move('a1', 'ended');
  expect([tally(room.all), tally(room.of('ann'))]).toEqual(Array(2).fill([0, 0, []]));
});
