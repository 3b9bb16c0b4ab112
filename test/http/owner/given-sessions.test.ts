/** What becomes of a session that one node has given to another when the store loses its data. */
import { expect, test } from 'vitest';
import { OwnedSession, Ownership } from '../../../src/http/owner/ownership.ts';
import { TestClock, gate, turn } from '../../../src/testing/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';

const id = 'given';
const leaseMs = 1000;

/** Two nodes, of which the first has given a session to the second. */
async function givenSession() {
  const clock = new TestClock();
  const shared = new MemoryNodes({ clock, leaseMs });
  const putting = gate();
  let puts: 'at once' | 'late' = 'at once';
  const stores = shared.start();
  const { directory } = stores;
  const put: typeof directory.put = async (...args) => {
    if (puts === 'late') await putting.pass();
    return directory.put(...args);
  };
  const join = async (its: typeof stores) => {
    const node = new Ownership(its, {
      clock,
      report: () => {},
      idleMs: 60_000,
      inbox: { received: () => {} },
      lapsed: () => expect.unreachable(),
      storeChanged: () => {},
      beat: () => {},
    });
    expect(await node.locate('nobody', undefined)).toEqual({ kind: 'none' });
    return node;
  };
  const giver = await join({ ...stores, directory: { ...directory, put } });
  const taker = await join(shared.start());
  const copy = { said: [], abandon: () => {} };
  const who = { id, principal: undefined };
  const session = new OwnedSession(who, copy, giver, clock.now());
  await session.begin([{ slot: 'initialize', text: '{}' }]);
  await session.give(taker.node);
  return {
    shared,
    taker,
    putting,
    claimed: async () => {
      const located = await taker.locate(id, undefined);
      if (located.kind !== 'woken') return expect.unreachable(located.kind);
      const woken = new OwnedSession(who, copy, taker, clock.now(), located.woken.record);
      taker.own(woken);
      return woken;
    },
    lose: () => {
      puts = 'late';
      shared.lose();
    },
    /** Both look at the store. */
    beat: async () => {
      clock.increment(leaseMs / 4);
      await turn();
    },
  };
}

test('one that the other node has not claimed yet is put back', async () => {
  const { shared, taker, putting, claimed, lose, beat } = await givenSession();
  // The store is seen, and has it.
  await beat();
  lose();
  putting.release();
  await beat();
  expect(shared.rules.data.records.get(id)?.facts).toEqual({ initialize: '{}' });
  await expect(taker.locate(id, undefined)).rejects.toThrow('may be given them back');
  for (let beats = 0; beats < 4; beats++) await beat();
  expect((await claimed()).record.facts).toEqual({ initialize: '{}' });
});

test('one that has ended at the other node stays ended, though the first puts it back later', async () => {
  const { shared, taker, putting, claimed, lose, beat } = await givenSession();
  await (await claimed()).remove();
  lose();
  await beat();
  await putting.arrived();
  expect(shared.rules.data.records.has(id)).toBe(false);
  putting.release();
  await turn();
  expect(shared.rules.data.records.has(id)).toBe(true);
  await beat();
  expect(shared.rules.data.records.has(id)).toBe(false);
  expect(await taker.locate(id, undefined)).toEqual({ kind: 'none' });
});

test('the sessions that a node has ended are remembered until no copy of older data can have them, and no longer', async () => {
  const clock = new TestClock();
  const idleMs = 60_000;
  const node = new Ownership(new MemoryNodes({ clock, leaseMs: 1e9 }).start(), {
    clock,
    report: () => {},
    idleMs,
    inbox: { received: () => {} },
    lapsed: () => expect.unreachable(),
    storeChanged: () => {},
    beat: () => {},
  });
  const end = async (name: string) => {
    const copy = { said: [], abandon: () => {} };
    const who = { id: name, principal: undefined };
    const session = new OwnedSession(who, copy, node, clock.now());
    await session.begin([{ slot: 'initialize', text: '{}' }]);
    await session.remove();
  };
  const remembers = () =>
    ['first', 'second', 'third'].filter((name) => JSON.stringify(node.view()).includes(name));
  await end('first');
  clock.increment(2 * idleMs - 1);
  await end('second');
  expect(remembers()).toEqual(['first', 'second']);
  clock.increment(1);
  await end('third');
  expect(remembers()).toEqual(['second', 'third']);
});
