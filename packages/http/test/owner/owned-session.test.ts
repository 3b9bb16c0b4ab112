/** The stored form of a session, and failures to store it. */
import { beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../src/nodes/stores.ts';
import type { StreamEvent, Stores, WriteResult } from '../../src/nodes/stores.ts';
import { OwnedSession } from '../../src/owner/owned-session.ts';
import type { SessionOwner } from '../../src/owner/owned-session.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';

const who = { id: 's1', principal: 'ada' };
const away = new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
const elsewhere = new StoreUnavailable('away', 'elsewhere', { retryAfterMs: 1000 });
const said = (number: number): StreamEvent => ({ stream: '1', number, text: `said ${number}` });

describe('OwnedSession', () => {
  /** Recorded store commands, and the owner. */
  let asked: unknown[];
  let written: WriteResult | StoreUnavailable;
  let isOwner: boolean;
  let isPut: boolean;
  let warned: string[];
  let tracked: Promise<unknown>[];
  let copy: { loggedEvents: StreamEvent[]; abandon(): void };
  let owner: SessionOwner;
  let session: OwnedSession;
  beforeEach(async () => {
    [asked, written, isOwner, isPut, warned, tracked] = [[], 'written', true, true, [], []];
    copy = { loggedEvents: [], abandon: () => {} };
    const stores = new MemoryNodes().start();
    const answer = async (...what: readonly unknown[]) => {
      asked.push(what);
      if (written instanceof StoreUnavailable) throw written;
      return written;
    };
    const log: Stores['log'] = {
      ...stores.log,
      append: ({ id, fence }, entries) => answer('append', { id, fence }, entries),
      put: ({ id, fence }, entries) => answer('put log', { id, fence }, entries),
    };
    const write: Stores['directory']['write'] = (at, change) => answer('write', at, change);
    owner = {
      stores: { ...stores, log, directory: { ...stores.directory, write } },
      report: ({ message }) => warned.push(message),
      node: 'here',
      has: () => isOwner,
      begin: async ({ record }) => void asked.push(['begin', record]),
      put: async () => {
        asked.push(['put']);
        return isPut;
      },
      remove: async () => void asked.push(['remove']),
      handOver: async (_, owner) => void asked.push(['give', owner]),
      forget: () => asked.push(['forget']),
      markLost: () => {
        asked.push(['lost']);
        return elsewhere;
      },
      markUnsynced: () => asked.push(['lacks log']),
      touch: () => asked.push(['touch']),
      track: (done) => tracked.push(done),
    };
    session = new OwnedSession(who, copy, owner, 5);
  });

  const begun = async () => {
    await session.begin([{ slot: 'initialize', text: '{}' }]);
    asked = [];
  };

  test('exists before it is stored, then with its first facts', async () => {
    isOwner = false;
    expect([session.isServedHere, session.record.revision, session.touchedAt]).toEqual([
      true,
      0,
      5,
    ]);
    await session.begin([
      { slot: 'initialize', text: '{}' },
      { slot: 'other', text: undefined },
    ]);
    const facts = { initialize: '{}', other: '' };
    expect(asked).toEqual([['begin', { ...who, fence: 1, owner: 'here', revision: 1, facts }]]);
    expect(session.isServedHere).toBe(false);
  });

  test('stores each effective change with its own revision', async () => {
    await begun();
    await session.saveChanges([
      { slot: 'logLevel', text: '"error"' },
      { slot: 'logLevel', text: '"error"' },
      { slot: 'none', text: undefined },
      { slot: 'logLevel', text: undefined },
    ]);
    const at = (revision: number) => ({ id: 's1', fence: 1, revision });
    expect(asked).toEqual([
      ['write', at(2), { slot: 'logLevel', text: '"error"' }],
      ['write', at(3), { slot: 'logLevel', text: undefined }],
    ]);
    expect(session.record).toMatchObject({ revision: 3, facts: { initialize: '{}' } });
  });

  test('is restored with all its facts', () => {
    const record = { ...who, fence: 7, owner: 'there', revision: 3, facts: { logLevel: '"info"' } };
    const woken = new OwnedSession(who, copy, owner, 5, record);
    expect(woken.record).toEqual({ ...record, owner: 'here' });
  });

  test('rejects changes beyond 256 KiB without effect', async () => {
    await begun();
    const first = 'initialize{}'.length + 'a'.length;
    const whole = 'x'.repeat(256 * 1024 - first);
    await expect(session.saveChanges([{ slot: 'a', text: `${whole}x` }])).rejects.toMatchObject({
      fault: 'full',
      retryAfterMs: 10_000,
    });
    expect(session.record).toMatchObject({ revision: 1, facts: { initialize: '{}' } });
    await session.saveChanges([{ slot: 'a', text: whole }]);
    await expect(session.saveChanges([{ slot: 'b', text: '' }])).rejects.toMatchObject({
      fault: 'full',
    });
    await session.saveChanges([{ slot: 'a', text: undefined }]);
    await session.saveChanges([{ slot: 'b', text: whole }]);
    expect(asked).toHaveLength(3);
  });

  test('counts bytes, and replaced facts only once', async () => {
    await begun();
    // `€` takes three bytes.
    const most = '€'.repeat(87_360);
    await session.saveChanges([{ slot: 'a', text: most }]);
    await session.saveChanges([{ slot: 'a', text: `x${most}` }]);
    await expect(session.saveChanges([{ slot: 'b', text: '€'.repeat(100) }])).rejects.toMatchObject(
      {
        fault: 'full',
      },
    );
    const woken = new OwnedSession(who, copy, owner, 5, session.record);
    await expect(woken.saveChanges([{ slot: 'b', text: '€'.repeat(100) }])).rejects.toMatchObject({
      fault: 'full',
    });
  });

  test('belongs to another node after a fenced write or an expired lease, acknowledging nothing', async () => {
    await begun();
    written = 'fenced';
    const change = [{ slot: 'logLevel', text: '"error"' }];
    await expect(session.saveChanges(change)).rejects.toBe(elsewhere);
    expect(asked.slice(1)).toEqual([['lost']]);
    isOwner = false;
    await expect(session.saveChanges([{ slot: 'logLevel', text: '"info"' }])).rejects.toBe(
      elsewhere,
    );
    expect(asked.slice(2)).toEqual([['lost']]);
  });

  test.each([
    ['is restored with its events', true],
    ['is not restored after its end', false],
  ])('%s if the store lacks the session', async (_, isLive) => {
    await begun();
    [written, isPut] = ['behind', isLive];
    copy.loggedEvents = [said(1)];
    const done = session.saveChanges([{ slot: 'logLevel', text: '"error"' }]);
    written = 'written';
    await done;
    const log = ['put log', { id: 's1', fence: 1 }, [said(1)]];
    expect(asked.slice(1)).toEqual([['put'], ...(isLive ? [log] : [])]);
  });

  test("renews itself in its node's queue", async () => {
    await begun();
    session.touch(9);
    expect([session.touchedAt, asked]).toEqual([9, [['touch']]]);
    await session.renew();
    expect(asked.slice(1)).toEqual([['write', { id: 's1', fence: 1, revision: 1 }, undefined]]);
    written = away;
    await expect(session.renew()).rejects.toBe(away);
  });

  test('stores the events of a turn together, for everyone who waits', async () => {
    await begun();
    const kept = [session.append(said(1)), session.append(said(2))];
    expect(asked).toEqual([]);
    await Promise.all(kept);
    await session.append(said(3));
    expect(asked).toEqual([
      ['append', { id: 's1', fence: 1 }, [said(1), said(2)]],
      ['append', { id: 's1', fence: 1 }, [said(3)]],
    ]);
    expect(tracked).toHaveLength(2);
  });

  test('stores nothing after its end, or events already restored', async () => {
    await begun();
    isOwner = false;
    await session.append(said(1));
    expect(asked).toEqual([]);
    isOwner = true;
    copy.loggedEvents = [said(2)];
    const kept = session.append(said(2));
    await session.restoreLog();
    await kept;
    expect(asked).toEqual([['put log', { id: 's1', fence: 1 }, [said(2)]]]);
  });

  test('marks events the store lacks, warns and continues', async () => {
    await begun();
    written = away;
    await session.append(said(1));
    expect(asked.slice(1)).toEqual([['lacks log']]);
    expect(warned).toEqual([
      expect.stringContaining('Events of the session s1 could not be stored'),
    ]);
    await expect(tracked[0]).rejects.toBe(away);
  });

  test('ends if the log belongs to another node, and is restored if the log lacks it', async () => {
    await begun();
    written = 'fenced';
    await session.append(said(1));
    expect(asked.slice(1)).toEqual([['lost']]);
    asked = [];
    [written, copy.loggedEvents] = ['behind', [said(1)]];
    const kept = session.append(said(2));
    await Promise.resolve();
    written = 'written';
    await kept;
    expect(asked.slice(1)).toEqual([['put'], ['put log', { id: 's1', fence: 1 }, [said(1)]]]);
  });

  test('delegates removal, handover and release to its node', async () => {
    await session.remove();
    await session.handOver('there');
    session.release();
    expect(asked).toEqual([['remove'], ['give', 'there'], ['forget']]);
    isOwner = false;
    await begun();
    await session.restore();
    expect(asked).toEqual([]);
  });
});
