import { newSession, same, storesCase } from './world.ts';
import type { StoresCase } from './world.ts';

/** What every store of sessions must do. */
export const sessionCases: readonly StoresCase[] = [
  storesCase('a session that one node has created is there at another', async ({ a, b }) => {
    same(await a.sessions.create(newSession('s1')), { kind: 'created', evicted: [] }, 'it');
    const journal = [{ slot: 'initialize', version: 1, text: '{"capabilities":{}}' }];
    const expected = { id: 's1', principal: 'anna', revision: 'negotiated', version: 1, journal };
    same(await b.sessions.load('s1'), expected, 'the session');
  }),

  storesCase('a session without a principal has none', async ({ a, b }) => {
    await a.sessions.create({ ...newSession('s1'), principal: undefined });
    const record = await b.sessions.load('s1');
    same([record?.id, record?.principal], ['s1', undefined], 'its principal');
  }),

  storesCase('whatever text is asked for, it is no session', async ({ a }) => {
    await a.sessions.create(newSession('s1'));
    for (const id of ['', 's', 's1 ', '{s1}', 's1}:x', '*', 'ä\u0000\n', 'x'.repeat(10_000)]) {
      same(await a.sessions.load(id), undefined, `the session ${JSON.stringify(id.slice(0, 20))}`);
      same(await a.sessions.remove(id), false, `the removal of ${JSON.stringify(id.slice(0, 20))}`);
    }
  }),

  storesCase(
    'a later entry takes the place of the earlier, in the order of versions',
    async ({ a, b }) => {
      await a.sessions.create(newSession('s1'));
      await a.sessions.update('s1', 'logLevel', '"debug"');
      await b.sessions.update('s1', 'subscription:file:///ä', '{}');
      same(
        await a.sessions.update('s1', 'logLevel', '"error"'),
        { kind: 'updated', version: 4 },
        'it',
      );
      const record = await b.sessions.load('s1');
      same(record?.version, 4, 'the version');
      same(
        record?.journal.slice(1),
        [
          { slot: 'subscription:file:///ä', version: 3, text: '{}' },
          { slot: 'logLevel', version: 4, text: '"error"' },
        ],
        'the journal',
      );
    },
  ),

  storesCase('an entry that is removed is gone, and that is a change', async ({ a, b }) => {
    await a.sessions.create(newSession('s1'));
    await a.sessions.update('s1', 'subscription:x', '{}');
    same(
      await b.sessions.update('s1', 'subscription:x', undefined),
      { kind: 'updated', version: 3 },
      'it',
    );
    const record = await a.sessions.load('s1');
    same([record?.version, record?.journal.length], [3, 1], 'version and entries');
  }),

  storesCase('updates from all nodes at once have a version each', async ({ a, b }) => {
    await a.sessions.create(newSession('s1'));
    const updates = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? a : b).sessions.update('s1', `subscription:${n}`, '{}'),
    );
    const versions = (await Promise.all(updates)).map((it) => it.kind === 'updated' && it.version);
    same(new Set(versions).size, 20, 'the number of versions');
    const record = await b.sessions.load('s1');
    same([record?.version, record?.journal.length], [21, 21], 'version and entries');
  }),

  storesCase(
    'a journal that would be too long stays as it is',
    async ({ a }) => {
      await a.sessions.create(newSession('s1'));
      const full = await a.sessions.update('s1', 'roots', 'x'.repeat(200));
      same(full, { kind: 'full', maxBytes: 200 }, 'the update');
      same((await a.sessions.load('s1'))?.version, 1, 'the version');
      same((await a.sessions.update('s1', 'roots', '[]')).kind, 'updated', 'a smaller one');
    },
    { maxJournalBytes: 200 },
  ),

  storesCase(
    'an entry that was replaced or removed takes no room in the journal',
    async ({ a }) => {
      await a.sessions.create(newSession('s1'));
      for (const text of ['a'.repeat(100), 'b'.repeat(100), undefined, 'c'.repeat(100)]) {
        same((await a.sessions.update('s1', 'roots', text)).kind, 'updated', 'the update');
      }
    },
    { maxJournalBytes: 200 },
  ),

  storesCase('a session that is removed is gone for all nodes', async ({ a, b }) => {
    await a.sessions.create(newSession('s1'));
    same(await b.sessions.remove('s1'), true, 'the removal');
    same(await a.sessions.remove('s1'), false, 'the second removal');
    same(await a.sessions.load('s1'), undefined, 'the session');
    same(await a.sessions.update('s1', 'logLevel', '"info"'), { kind: 'gone' }, 'an update');
  }),

  storesCase('a touch tells what is gone and what another node has changed', async ({ a, b }) => {
    for (const id of ['kept', 'changed', 'removed']) await a.sessions.create(newSession(id));
    await b.sessions.update('changed', 'logLevel', '"info"');
    await b.sessions.remove('removed');
    const held = ['kept', 'changed', 'removed', 'never'].map((id) => ({ id, version: 1 }));
    const expected = { gone: ['removed', 'never'], changed: ['changed'], lost: [] };
    same(await a.sessions.touch(held), expected, 'the report');
    same(await a.sessions.touch([]), { gone: [], changed: [], lost: [] }, 'that of nothing');
  }),

  storesCase(
    'a session that nobody uses expires',
    async ({ a, b, world }) => {
      await a.sessions.create(newSession('s1'));
      await world.elapse(150);
      same(await b.sessions.load('s1'), undefined, 'the session');
      const held = [{ id: 's1', version: 1 }];
      same(await a.sessions.touch(held), { gone: ['s1'], changed: [], lost: [] }, 'the report');
    },
    { idleMs: 100, evictableMs: 50 },
  ),

  storesCase(
    'the quietest session makes room, but none that is in use',
    async ({ a, b, world }) => {
      await a.sessions.create(newSession('quiet'));
      await a.sessions.create(newSession('used'));
      const full = await b.sessions.create(newSession('more'));
      same(full.kind, 'full', 'one more');
      if (full.kind === 'full' && !(full.retryAfterMs > 0 && full.retryAfterMs <= 60_000)) {
        throw new Error(`It is to be tried again after ${full.retryAfterMs} ms`);
      }
      same(await b.sessions.load('more'), undefined, 'the session that found no room');
      await world.elapse(1100);
      await b.sessions.touch([{ id: 'used', version: 1 }]);
      const created = { kind: 'created', evicted: ['quiet'] };
      same(await b.sessions.create(newSession('more')), created, 'one more, later');
      same(await a.sessions.load('quiet'), undefined, 'the quiet one');
      same((await a.sessions.load('used'))?.id, 'used', 'the used one');
    },
    // Longer than the requests take before it is meant to be over.
    { maxSessions: 2, evictableMs: 1000 },
  ),

  storesCase(
    'removed and expired sessions take no room',
    async ({ a, world }) => {
      await a.sessions.create(newSession('s1'));
      await a.sessions.remove('s1');
      const created = { kind: 'created', evicted: [] };
      same(await a.sessions.create(newSession('used')), created, 'one that is used');
      same(await a.sessions.create(newSession('s2')), created, 'the second');
      // What is used keeps the list of all sessions alive, so that it has to drop the expired one.
      await world.elapse(70);
      await a.sessions.touch([{ id: 'used', version: 1 }]);
      await world.elapse(70);
      same(await a.sessions.create(newSession('s3')), created, 'the third');
    },
    { maxSessions: 2, idleMs: 100, evictableMs: 60_000 },
  ),

  storesCase('a session is restored unless there is a younger one', async ({ a, b }) => {
    await a.sessions.create(newSession('s1'));
    await a.sessions.update('s1', 'logLevel', '"info"');
    const record = await a.sessions.load('s1');
    if (!record) throw new Error('There is no session');
    await a.sessions.remove('s1');
    await b.sessions.restore(record);
    same(await a.sessions.load('s1'), record, 'the session');
    await a.sessions.update('s1', 'logLevel', '"debug"');
    await b.sessions.restore(record);
    same((await a.sessions.load('s1'))?.version, 3, 'the version');
  }),
];
