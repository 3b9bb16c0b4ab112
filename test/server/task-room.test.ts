import { expect, test } from 'vitest';
import { TaskRoom } from '../../src/server/features/task-room.ts';

const tally = ({ kept, running, cancelled }: TaskRoom['all']) => [kept, running, [...cancelled]];

test('a task counts towards all and towards its client, by what has become of it', () => {
  const room = new TaskRoom();
  for (const id of ['a1', 'a2', 'a3']) room.enter(id, 'ann');
  room.enter('b1', 'bob');
  room.enter('own', undefined);
  room.move('a1', 'cancelled');
  room.move('a2', 'parked');
  room.move('b1', 'ended');
  expect(tally(room.all)).toEqual([5, 2, ['a1']]);
  expect(tally(room.of('ann'))).toEqual([3, 1, ['a1']]);
  expect(tally(room.of('bob'))).toEqual([1, 0, []]);
  expect(tally(room.of('eve'))).toEqual([0, 0, []]);
});

test('what is parked and goes on here counts once, and what is gone is gone', () => {
  const room = new TaskRoom();
  room.enter('a1', 'ann');
  room.move('a1', 'parked');
  room.enter('a1', 'ann');
  expect(tally(room.of('ann'))).toEqual([1, 1, []]);
  expect([room.leave('a1'), room.leave('a1')]).toEqual([true, false]);
  room.move('a1', 'ended');
  expect([tally(room.all), tally(room.of('ann'))]).toEqual(Array(2).fill([0, 0, []]));
});
