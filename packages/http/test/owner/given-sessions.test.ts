/** Handed-over sessions when the store loses its data. */
import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../src/nodes/stores.ts';
import { OwnedSession } from '../../src/owner/owned-session.ts';
import { Ownership } from '../../src/owner/ownership.ts';
import { TestClock, gate, flush } from '../../../testing/src/index.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';

const id = 'given';
const leaseMs = 1000;

const hooks = {
  address: async () => ({ url: 'http://node.example/mcp', protocol: 1 }),
  onJoined: () => {},
  onRemoved: () => {},
  onStoreChanged: async () => {},
  onRenewed: () => {},
};

/** Two nodes; the first has handed a session over to the second. */
async function givenSession() {
  const clock = new TestClock();
  const shared = new MemoryNodes({ clock, leaseMs });
  const putting = gate();
  const removing = gate();
  /** Delayed writes: puts of the first node, removals of the second. */
  const late = new Set<'put' | 'remove'>();
  const stores = shared.start();
  const { directory } = stores;
  const put: typeof directory.put = async (...args) => {
    if (late.has('put')) await putting.pass();
    return directory.put(...args);
  };
  const join = async (its: typeof stores) => {
    const node = new Ownership(its, {
      clock,
      report: () => {},
      idleMs: 60_000,
      ...hooks,
    });
    expect(await node.locate('nobody', undefined)).toEqual({ kind: 'none' });
    return node;
  };
  const giver = await join({ ...stores, directory: { ...directory, put } });
  const failing = new Set<'remove'>();
  const takers = shared.start();
  const remove: typeof directory.remove = async (...args) => {
    if (late.delete('remove')) await removing.pass();
    if (failing.delete('remove')) throw new StoreUnavailable('slow', 'slow', { retryAfterMs: 1 });
    return takers.directory.remove(...args);
  };
  const taker = await join({ ...takers, directory: { ...takers.directory, remove } });
  let ends = 0;
  const copy = { loggedEvents: [], abandon: () => ends++ };
  const who = { id, principal: undefined };
  const session = new OwnedSession(who, copy, giver, clock.now());
  await session.begin([{ slot: 'initialize', text: '{}' }]);
  const before = session.record;
  await session.handOver(taker.node);
  return {
    shared,
    giver,
    taker,
    /** Number of local copies ended because another node owns the session. */
    abandoned: () => ends,
    /** Kills the second node. */
    die: () => shared.kill(takers),
    /** The record known to the first node. */
    before,
    putting,
    /** Deletes the session; the store executes it late, or never. */
    removeLate: (session: OwnedSession, isDone: boolean) => {
      late.add('remove');
      if (!isDone) failing.add('remove');
      return session.remove();
    },
    removing,
    claimed: async () => {
      const located = await taker.locate(id, undefined);
      if (located.kind !== 'woken') return expect.unreachable(located.kind);
      const woken = new OwnedSession(who, copy, taker, clock.now(), located.woken.record);
      taker.adopt(woken);
      return woken;
    },
    lose: () => {
      late.add('put');
      shared.lose();
    },
    /** Both nodes renew their leases. */
    beat: async () => {
      clock.increment(leaseMs / 4);
      await flush();
    },
  };
}

test('restores a handed-over session that was not claimed yet', async () => {
  const { shared, taker, putting, claimed, lose, beat } = await givenSession();
  // The store has the session.
  await beat();
  lose();
  putting.release();
  await beat();
  expect(shared.rules.data.records.get(id)?.facts).toEqual({ initialize: '{}' });
  await expect(taker.locate(id, undefined)).rejects.toThrow('other nodes may still restore it');
  for (let beats = 0; beats < 4; beats++) await beat();
  expect((await claimed()).record.facts).toEqual({ initialize: '{}' });
});

test('keeps a session deleted that ended at its new owner, despite a late restore', async () => {
  const { shared, giver, taker, putting, claimed, lose, beat } = await givenSession();
  await (await claimed()).remove();
  lose();
  await beat();
  await putting.arrived();
  putting.release();
  await flush();
  // The record exists but is hidden: both nodes know of the deletion.
  expect(shared.rules.data.records.has(id)).toBe(true);
  for (let beats = 0; beats < 6; beats++) {
    for (const node of [giver, taker]) {
      expect(await node.locate(id, undefined)).toEqual({ kind: 'none' });
    }
    await beat();
  }
});

test.each([
  ['follows the loss', true],
  ['fails', false],
])(
  'keeps a session deleted that ends while the store loses its data, if the removal %s',
  async (_, isDone) => {
    const { giver, taker, putting, removing, ...world } = await givenSession();
    const { claimed, removeLate, lose, beat } = world;
    const removed = removeLate(await claimed(), isDone);
    await removing.arrived();
    lose();
    await beat();
    // The delayed write runs after the other node's renewal.
    removing.release();
    if (isDone) await removed;
    else await expect(removed).rejects.toMatchObject({ fault: 'slow' });
    await putting.arrived();
    putting.release();
    await flush();
    for (let beats = 0; beats < 6; beats++) await beat();
    for (const node of [giver, taker]) {
      expect(await node.locate(id, undefined)).toEqual({ kind: 'none' });
    }
  },
);

test.each([
  ['with their next renewal', false],
  ['by a broadcast', true],
])(
  'keeps a session deleted after its node died and the store was rolled back; others learn of it %s',
  async (_, isAnnounced) => {
    const { shared, giver, taker, putting, claimed, beat, die } = await givenSession();
    const session = await claimed();
    const older = shared.rules.copy();
    await session.remove();
    if (isAnnounced) giver.removedElsewhere([id]);
    else await beat();
    die();
    shared.lose(older);
    putting.release();
    for (let beats = 0; beats < 8; beats++) {
      await beat();
      const located = await giver.locate(id, undefined).catch(String);
      expect(located).toEqual({ kind: 'none' });
    }
    expect(taker.node).not.toBe(giver.node);
  },
);

test('ends a local copy that another node has deleted', async () => {
  const { taker, claimed, abandoned } = await givenSession();
  const session = await claimed();
  const before = abandoned();
  taker.removedElsewhere([id]);
  expect([session.isServedHere, abandoned() - before]).toEqual([false, 1]);
});

test("does not acknowledge a deletion overtaken by another node's claim", async () => {
  const { shared, taker, claimed } = await givenSession();
  const session = await claimed();
  const record = shared.rules.data.records.get(id)!;
  shared.rules.data.records.set(id, { ...record, owner: 'other', fence: record.fence + 1 });
  await expect(session.remove()).rejects.toBeInstanceOf(StoreUnavailable);
  expect(shared.rules.data.removed.has(id)).toBe(false);
  expect(JSON.stringify(taker.view())).not.toContain(id);
});

test.each(['a change', 'stream events'])(
  'continues a claimed session with %s, although the first node restored it before',
  async (kind) => {
    const { shared, taker, before, claimed, beat } = await givenSession();
    const session = await claimed();
    shared.lose();
    shared.rules.put({ ...before, owner: '' }, Infinity);
    const entry = { stream: '1', number: 1, text: 'said' };
    if (kind === 'a change') await session.saveChanges([{ slot: 'logLevel', text: '"error"' }]);
    else await session.append(entry);
    expect(taker.has(session)).toBe(true);
    await beat();
    const { owner, fence, facts } = shared.rules.data.records.get(id)!;
    expect({ owner, fence, facts }).toEqual({
      owner: taker.node,
      fence: session.fence,
      facts: session.record.facts,
    });
  },
);

test('restores sessions of an expired lease if the store loses them before a claim', async () => {
  const clock = new TestClock();
  const shared = new MemoryNodes({ clock, leaseMs });
  const stores = shared.start();
  let store: 'there' | 'away' = 'there';
  const lease: typeof stores.directory.lease = async (...args) => {
    if (store === 'there') return stores.directory.lease(...args);
    throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
  };
  const node = new Ownership(
    { ...stores, directory: { ...stores.directory, lease } },
    {
      clock,
      report: () => {},
      idleMs: 60_000,
      ...hooks,
    },
  );
  await node.ready();
  const who = { id, principal: undefined };
  let lapses = 0;
  const copy = { loggedEvents: [], abandon: () => lapses++ };
  const session = new OwnedSession(who, copy, node, clock.now());
  await session.begin([{ slot: 'initialize', text: '{}' }]);
  const beat = async () => {
    clock.increment(leaseMs / 4);
    await flush();
  };
  store = 'away';
  for (let beats = 0; beats < 5; beats++) await beat();
  expect(lapses).toBe(1);
  store = 'there';
  // The store is read once before it loses its data.
  await node.ready();
  await beat();
  shared.lose();
  await beat();
  expect(shared.rules.data.records.get(id)).toMatchObject({ facts: { initialize: '{}' } });
});

test('remembers deletions as long as a copy of older data may exist', async () => {
  const clock = new TestClock();
  const idleMs = 60_000;
  const node = new Ownership(new MemoryNodes({ clock, leaseMs: 1e9 }).start(), {
    clock,
    report: () => {},
    idleMs,
    ...hooks,
  });
  const end = async (name: string) => {
    const copy = { loggedEvents: [], abandon: () => {} };
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
