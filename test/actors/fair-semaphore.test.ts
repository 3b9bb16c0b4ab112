import { gate, flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { FairSemaphore } from '../../src/actors/fair-semaphore.ts';

/** Work that ends on demand, and records its start. */
function work(turns: FairSemaphore) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    begin: (name: string, signal?: AbortSignal, clientKey?: string) => {
      const held = gate();
      ends.set(name, () => held.release());
      const run = async () => {
        begun.push(name);
        await held.pass();
        return name;
      };
      return turns.run(run, signal, clientKey);
    },
    end: async (name: string) => {
      ends.get(name)?.();
      await flush();
    },
  };
}

test('runs at most maxRunning at once, FIFO', async () => {
  const turns = new FairSemaphore(2);
  const { begun, begin, end } = work(turns);
  const all = ['a', 'b', 'c', 'd'].map((name) => begin(name));
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  for (const name of ['c', 'd']) await end(name);
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  expect(turns.isIdle).toBe(true);
});

test('does not make a client wait behind all the work of another', async () => {
  const { begun, begin, end } = work(new FairSemaphore(1));
  const all = [begin('a1', undefined, 'a'), begin('a2', undefined, 'a')];
  all.push(begin('a3', undefined, 'a'), begin('b1', undefined, 'b'));
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  await Promise.all(all);
});

test('skips work aborted while queued, without losing a permit', async () => {
  const turns = new FairSemaphore(1);
  const { begun, begin, end } = work(turns);
  const first = begin('first');
  const controller = new AbortController();
  const left = begin('left', controller.signal);
  const last = begin('last');
  expect([turns.hasRoom(3), turns.hasRoom(2), turns.hasRoom(1, 'another')]).toEqual([
    true,
    false,
    true,
  ]);
  controller.abort('no more');
  await expect(left).rejects.toBe('no more');
  await expect(begin('late', controller.signal)).rejects.toBe('no more');
  await end('first');
  expect(begun).toEqual(['first', 'last']);
  await end('last');
  await Promise.all([first, last]);
  expect(turns.isIdle).toBe(true);
});

test('frees the permit of work that fails', async () => {
  const turns = new FairSemaphore(1);
  const failed = () => Promise.reject(new Error('no'));
  await expect(turns.run(failed)).rejects.toThrow('no');
  expect(await turns.run(() => Promise.resolve('done'))).toBe('done');
});
