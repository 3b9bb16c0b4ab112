/** Whom a node tells of what changes at its servers, and how often. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createMcpServer } from '../../../src/index.ts';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import { ChangeLetters } from '../../../src/http/owner/change-letters.ts';
import { TestClock, turn } from '../../../src/testing/index.ts';

const server = createMcpServer({ name: 'one', version: '1' });

describe('what changes at a node', () => {
  let others: readonly string[] | undefined;
  let mayLackOthers: boolean;
  let bug: Error | undefined;
  let posted: string[];
  let toldHere: unknown[];
  let asked: number;
  let warned: string[];
  let clock: TestClock;
  let letters: ChangeLetters;
  beforeEach(() => {
    others = ['b', 'c'];
    mayLackOthers = false;
    bug = undefined;
    posted = [];
    toldHere = [];
    asked = 0;
    warned = [];
    clock = new TestClock();
    letters = new ChangeLetters({
      clock,
      report: ({ message }) => warned.push(message),
      others: async () => {
        asked++;
        if (bug) throw bug;
        if (others) return others;
        throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
      },
      mayLackOthers: () => mayLackOthers,
      tellHere: ({ uri }, at) => toldHere.push([uri, at]),
      post: (node, { serial, uri }) => posted.push(`${node} ${serial} ${uri}`),
    });
  });

  const changes = async (...uris: readonly string[]) => {
    for (const uri of uris) letters.add({ server: 'one', method: 'updated', uri }, server);
    await turn();
  };

  const newlyPosted = async () => {
    await turn();
    return posted.splice(0);
  };

  test('is told to all others at the end of the turn, each change once', async () => {
    await changes('x', 'y', 'x');
    expect(await newlyPosted()).toEqual(['b 3 x', 'b 2 y', 'c 3 x', 'c 2 y']);
    // Servers of this node that have its name, too, are told.
    const told = [
      ['x', server],
      ['y', server],
    ];
    expect([toldHere, warned]).toEqual([told, []]);
  });

  test('is told in the order in which things have changed last, and the others are asked for once at a time', async () => {
    others = undefined;
    await changes('x');
    await changes('y');
    await changes('x');
    expect([asked, warned.length]).toEqual([1, 1]);
    others = ['b'];
    clock.increment(1000);
    expect(await newlyPosted()).toEqual(['b 2 y', 'b 3 x']);
    clock.increment(1000);
    expect([asked, await newlyPosted()]).toEqual([2, []]);
  });

  test('is told to nobody once the store is closed', async () => {
    bug = new StoreUnavailable('closed', 'It is closed', { retryAfterMs: 1000 });
    await changes('x');
    bug = undefined;
    clock.increment(1000);
    expect([asked, await newlyPosted()]).toEqual([1, []]);
  });

  test('is told again, if it may be lost, to those that were told: others may have heard of it from an earlier owner', async () => {
    await changes('x');
    others = ['c', 'd'];
    await changes('y');
    expect(await newlyPosted()).toEqual(['b 1 x', 'c 1 x', 'c 2 y', 'd 2 y']);
    letters.lost();
    expect(await newlyPosted()).toEqual(['c 1 x', 'c 2 y', 'd 2 y']);
    letters.lost();
    expect(await newlyPosted()).toEqual(['c 1 x', 'c 2 y', 'd 2 y']);
  });

  test('is told again to all, if some may not have come back when it was told', async () => {
    others = ['b'];
    mayLackOthers = true;
    await changes('x');
    others = ['b', 'c'];
    mayLackOthers = false;
    letters.lost();
    expect(await newlyPosted()).toEqual(['b 1 x', 'b 1 x', 'c 1 x']);
    others = ['b', 'c', 'd'];
    letters.lost();
    expect(await newlyPosted()).toEqual(['b 1 x', 'c 1 x']);
  });

  test('has been read by the beat after the next', async () => {
    await changes('x');
    letters.beat();
    await changes('y');
    letters.beat();
    posted = [];
    letters.lost();
    expect(await newlyPosted()).toEqual(['b 2 y', 'c 2 y']);
  });

  test('is told once if the node gets another name, and was not told yet', async () => {
    await changes('x');
    others = undefined;
    letters.lost();
    await changes('y');
    posted = [];
    letters.lapsed();
    others = ['b'];
    clock.increment(1000);
    expect(await newlyPosted()).toEqual(['b 2 y']);
  });

  test('is not told again by a node that has another name: nobody could know its number', async () => {
    await changes('x');
    letters.beat();
    await changes('y');
    await newlyPosted();
    letters.lapsed();
    letters.lost();
    expect(await newlyPosted()).toEqual([]);
  });

  test('is told though the store has failed in a way that it should not', async () => {
    bug = new Error('a bug');
    await changes('x');
    expect(warned.at(-1)).toContain('a bug');
    bug = undefined;
    clock.increment(1000);
    expect(await newlyPosted()).toEqual(['b 1 x', 'c 1 x']);
  });

  test('waits in a bounded number until the others are known', async () => {
    others = undefined;
    await changes('long'.repeat(70_000));
    expect(warned).toContainEqual(expect.stringContaining('will not hear of 1 changes'));
    await changes(...Array.from({ length: 1002 }, (_, n) => `${n}`));
    expect(warned).toContainEqual(expect.stringContaining('will not hear of 2 changes'));
    others = ['b'];
    clock.increment(1000);
    const told = await newlyPosted();
    expect([told.length, told[0], told.at(-1)]).toEqual([1000, 'b 4 2', 'b 1003 1001']);
  });

  test('waits with URIs of 256 KiB', async () => {
    others = undefined;
    const names = ['a', 'b', 'c', 'd'].map((name) => name.repeat(64 * 1024));
    await changes(...names);
    expect(warned).toEqual([expect.stringContaining('do not know of a change yet')]);
    await changes('e');
    expect(warned.slice(1)).toEqual([expect.stringContaining('will not hear of 1 changes')]);
    others = ['f'];
    clock.increment(1000);
    const told = await newlyPosted();
    expect(told.map((text) => text.slice(0, 5))).toEqual(['f 2 b', 'f 3 c', 'f 4 d', 'f 5 e']);
  });

  test('stays dropped if it was too much, though it was told before and the store loses its data twice', async () => {
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => `${from + n}`);
    others = ['b'];
    await changes(...numbers(0, 600));
    others = undefined;
    letters.lost();
    await changes(...numbers(600, 1200));
    letters.lost();
    await newlyPosted();
    others = ['b'];
    clock.increment(1000);
    const told = await newlyPosted();
    expect(told.map((text) => text.split(' ')[2])).toEqual(numbers(200, 1200));
  });
});
