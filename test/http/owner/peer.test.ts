/** What a node tells another one, in order and once, whatever the store does with it. */
import { beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import type { StoreFault } from '../../../src/http/nodes/stores.ts';
import { readPost } from '../../../src/http/owner/letters.ts';
import type { Letter } from '../../../src/http/owner/letters.ts';
import { Peer } from '../../../src/http/owner/peer.ts';
import type { Handed, Taken } from '../../../src/http/owner/peer.ts';
import { TestClock, gate, turn } from '../../../src/testing/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';
import { handedRequest } from './handed-request.ts';

const asking = (pipe: number): Letter => ({
  kind: 'request',
  pipe,
  request: handedRequest,
});
const left = (pipe: number): Letter => ({ kind: 'left', pipe });

const unavailable = (fault: StoreFault, cause?: Error) =>
  new StoreUnavailable(fault, `It is ${fault}`, { retryAfterMs: 1000, cause });

describe('another node', () => {
  let clock: TestClock;
  let shared: MemoryNodes;
  let peer: Peer;
  /** What was sent, as `number: kind pipe, …`; an envelope with nothing in it only asks. */
  let sent: string[];
  /** What the store does with the next texts; a place if it says nothing. */
  let replies: (() => Promise<string | undefined>)[];
  let withdrawn: () => Promise<boolean>;
  let isStill: boolean;
  let mayReopen: boolean;
  let gone: number;
  let reported: string[];
  beforeEach(() => {
    clock = new TestClock();
    [sent, replies, isStill, mayReopen, gone, reported] = [[], [], true, false, 0, []];
    withdrawn = async () => false;
    shared = new MemoryNodes({ clock });
    const stores = shared.start();
    let numbers = 0;
    peer = new Peer('there', {
      stores: {
        ...stores,
        inbox: {
          ...stores.inbox,
          withdraw: (...args) => {
            expect(args).toEqual(['there', 'late', 'here:1']);
            return withdrawn();
          },
          send: async (node, text) => {
            expect(node).toBe('there');
            sent.push(text === '' ? '' : shown(text));
            return (replies.shift() ?? (async () => 'its place'))();
          },
        },
      },
      clock,
      report: ({ message }) => reported.push(message),
      node: 'here',
      storeName: 'memory 0',
      nextNumber: () => ++numbers,
      isStill: (node) => isStill && node === 'here',
      mayReopen: async () => mayReopen,
      gone: () => gone++,
    });
  });

  const shown = (text: string) => {
    const { from, number, letters } = readPost(text);
    expect(from).toBe('here');
    return `${number}: ${letters.map((each) => `${each.kind} ${'pipe' in each && each.pipe}`).join()}`;
  };

  /** A request that was handed to it. */
  const hand = (pipe: number) => {
    const refused: unknown[] = [];
    const refuse = (error: unknown) => void refused.push(error);
    const passage = { pipe, sentTo: undefined, refuse } as unknown as Handed;
    peer.passages.set(pipe, passage);
    peer.post(asking(pipe));
    return { passage, refused };
  };

  /** All that is due has gone, and the store has said what it says. */
  const passed = async () => {
    for (let turns = 0; turns < 4; turns++) await turn();
  };

  const again = async () => {
    clock.increment(50);
    await passed();
  };

  const fails = (fault: StoreFault, cause?: Error) =>
    replies.push(() => Promise.reject(unavailable(fault, cause)));
  const none = () => replies.push(async () => undefined);
  /** The next text is on its way until this is called. */
  const held = () => {
    const arrival = gate();
    replies.push(() => arrival.pass().then(() => 'late'));
    return () => arrival.release();
  };

  test('is told together what comes together, what comes in the next pass and what comes while it is told', async () => {
    const passEnd = () => new Promise<void>((resolve) => setImmediate(resolve));
    peer.post(left(1));
    peer.post(left(2));
    await passEnd();
    expect(sent).toEqual([]);
    peer.post(left(3));
    await passEnd();
    expect(sent).toEqual(['1: left 1,left 2,left 3']);
    peer.post(left(4));
    // Who closes does not wait for others.
    const flushed = peer.flushed();
    peer.post(left(5));
    await flushed;
    expect(sent.slice(1)).toEqual(['2: left 4', '3: left 5']);
  });

  test('is asked whether it lives if anything depends on it, and nothing is on its way', async () => {
    peer.look();
    expect(sent).toEqual([]);
    peer.exchanges.set(1, {} as Taken);
    peer.look();
    await passed();
    expect(sent).toEqual(['']);
    peer.exchanges.clear();
    peer.passages.set(1, {} as Handed);
    const arrive = held();
    peer.look();
    peer.look();
    await passed();
    expect(sent).toEqual(['', '']);
    arrive();
    await passed();
    peer.look();
    expect(sent).toEqual(['', '', '']);
    await passed();
    none();
    peer.look();
    await passed();
    expect(gone).toBe(1);
  });

  test('tells of each change once, and the numbers of 2,500 are remembered', () => {
    const news = (serial: number) => peer.isNews(serial);
    for (let serial = 1; serial <= 2500; serial++) expect(news(serial)).toBe(true);
    expect([news(1), news(2500)]).toEqual([false, false]);
    expect(news(2501)).toBe(true);
    expect([news(2), news(2501)]).toEqual([false, false]);
    // It comes too late to be known.
    expect([news(1), news(1), news(2)]).toEqual([true, false, true]);
  });

  test('is not sent what was taken back before it went', async () => {
    const arrive = held();
    peer.post(left(9));
    await passed();
    peer.post(left(2));
    for (const pipe of [1, 2, 3]) hand(pipe);
    expect(await peer.withdraw(peer.passages.get(2)!)).toBe('withdrawn');
    arrive();
    await passed();
    expect(sent).toEqual(['1: left 9', '2: left 2,request 1,request 3']);
  });

  test('may have what is on its way: only once the store has taken it, can it be asked', async () => {
    const arrive = held();
    const { passage } = hand(1);
    await passed();
    expect(await peer.withdraw(passage)).toBe('unknown');
    expect(reported).toEqual([]);
    arrive();
    await passed();
    // The other node counts its requests, too.
    peer.post({ kind: 'moved', pipe: 1 });
    await passed();
    expect(passage.sentTo).toEqual({ place: 'late', store: 'memory 0' });
    expect(await peer.withdraw(passage)).toBe('read');
    withdrawn = async () => true;
    expect(await peer.withdraw(passage)).toBe('withdrawn');
    // What it says then, it does not know of these data.
    shared.lose();
    expect(await peer.withdraw(passage)).toBe('read');
  });

  test.each<[string, StoreFault, Error?]>([
    ['is slow', 'slow'],
    ['breaks the connection', 'away', new Error('reset')],
  ])('is sent the same again, under the same number, if the store %s', async (_, fault, cause) => {
    fails(fault, cause);
    // Whatever fails after that, nobody knows of the first time.
    fails('full');
    const { refused } = hand(1);
    peer.post(left(2));
    await passed();
    await again();
    peer.post(left(3));
    await again();
    const same = '1: request 1,left 2';
    expect(sent).toEqual([same, same, same, '2: left 3']);
    expect([refused, gone]).toEqual([[], 0]);
  });

  test.each<StoreFault>(['away', 'full', 'refused', 'busy'])(
    'is sent all but the requests again, which are refused, if the store is %s',
    async (fault) => {
      fails(fault);
      const { refused } = hand(1);
      peer.post(left(1));
      await passed();
      expect(refused).toEqual([unavailable(fault)]);
      clock.increment(49);
      await passed();
      expect(sent).toHaveLength(1);
      clock.increment(1);
      await passed();
      expect(sent).toEqual(['1: request 1,left 1', '1: left 1']);
      expect(gone).toBe(0);
    },
  );

  test('that may open its inbox again is not gone: requests are refused, and the rest is sent later', async () => {
    mayReopen = true;
    none();
    const { refused } = hand(1);
    peer.post(left(2));
    await passed();
    expect([refused, gone]).toEqual([[expect.any(StoreUnavailable)], 0]);
    await again();
    expect(sent).toEqual(['1: request 1,left 2', '1: left 2']);
  });

  test('that is gone has not got the last requests, and they can be taken back', async () => {
    none();
    const { passage } = hand(1);
    peer.post(left(2));
    await passed();
    expect(gone).toBe(1);
    expect(await peer.withdraw(passage)).toBe('withdrawn');
    await again();
    expect(sent).toEqual(['1: request 1,left 2']);
  });

  test('that is gone may have got what was sent twice, and it cannot be taken back', async () => {
    fails('slow');
    none();
    const { passage } = hand(1);
    await passed();
    await again();
    expect(gone).toBe(1);
    expect(await peer.withdraw(passage)).toBe('unknown');
  });

  test('hears the rest though the store has failed in a way of its own, which is reported once', async () => {
    const bug = new Error('a bug');
    for (let n = 0; n < 2; n++) replies.push(() => Promise.reject(bug));
    const { passage, refused } = hand(1);
    peer.post(left(2));
    await passed();
    expect(reported).toEqual([expect.stringContaining('a bug')]);
    await again();
    await again();
    expect(sent).toEqual(['1: request 1,left 2', '1: left 2', '1: left 2']);
    expect([refused, gone]).toEqual([[bug], 0]);
    expect(reported).toHaveLength(1);
    passage.sentTo = { place: 'late', store: 'memory 0' };
    withdrawn = () => Promise.reject(bug);
    expect(await peer.withdraw(passage)).toBe('unknown');
    expect(reported).toHaveLength(2);
    withdrawn = () => Promise.reject(unavailable('away'));
    expect(await peer.withdraw(passage)).toBe('unknown');
    expect(reported).toHaveLength(2);
  });

  test('is sent nothing more once the store is closed', async () => {
    fails('closed');
    hand(1);
    await passed();
    await again();
    expect([sent, gone]).toEqual([['1: request 1'], 1]);
  });

  test('is sent nothing under a name that this node has no longer', async () => {
    fails('slow');
    hand(1);
    await passed();
    isStill = false;
    await again();
    peer.post(left(2));
    await again();
    expect([sent, gone]).toEqual([['1: request 1'], 0]);
  });
});
