/** Lists of servers that never come to an end: each has a bound of its own, and says so. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { beforeSdk } from './list-hosts.ts';

const inputSchema = { type: 'object' };
const tool = (name: string): JsonObject => ({ name, inputSchema });
const toolsOf = (...names: string[]) => ({ tools: names.map(tool) });
const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

describe('a list without an end', () => {
  test('is cut if its cursor was there before, and says so', async () => {
    const { lists, problems, sent, wait } = await beforeSdk((_, { cursor }) => ({
      ...toolsOf(`after ${String(cursor)}`),
      nextCursor: cursor === 'x' ? 'y' : 'x',
    }));
    expect(namesOf(await lists.tools.items(wait))).toHaveLength(3);
    expect(sent).toHaveLength(3);
    expect(problems).toEqual([expect.stringMatching(/^list\.cursor .*must be new.*"x"/)]);
    expect(lists.tools.report).toMatchObject({ state: 'known', reason: expect.any(String) });
  });

  test.each([
    ['pages', { maxListPages: 4 }, 4],
    ['entries', { maxListEntries: 7 }, 7],
  ])('is cut after so many %s, and says so', async (what, limits, length) => {
    let n = 0;
    const { lists, problems, wait } = await beforeSdk(
      () => ({ ...toolsOf(`tool ${++n}`), nextCursor: `${n}` }),
      { limits },
    );
    expect(await lists.tools.items(wait)).toHaveLength(length);
    expect(problems).toEqual([
      `list.cut The server's list of tools is longer than ${length} ${what}: the rest is cut`,
    ]);
  });

  test('is cut where its text is longer than it may be, and says so', async () => {
    const entries = ['a', 'b', 'c'].map(tool);
    const length = JSON.stringify(entries[0]).length;
    const limits = { maxListBytes: 2 * length };
    const { lists, problems, wait } = await beforeSdk(() => ({ tools: entries }), { limits });
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a', 'b']);
    expect(problems).toEqual([
      `list.cut The server's list of tools is longer than ${2 * length} bytes: the rest is cut`,
    ]);
    expect(lists.tools.report.reason).toContain('the rest is cut');
  });

  test('that is as long as it may be is not cut', async () => {
    const limits = { maxListEntries: 2, maxListPages: 1 };
    const { lists, problems, wait } = await beforeSdk(() => toolsOf('a', 'b'), { limits });
    expect(await lists.tools.items(wait)).toHaveLength(2);
    expect(problems).toEqual([]);
  });

  test('ends at a cursor that is too long, and keeps none of it', async () => {
    const cursor = 'c'.repeat(256 * 1024);
    let n = 0;
    const { lists, problems, sent, wait } = await beforeSdk(() => ({
      ...toolsOf(`tool ${++n}`),
      nextCursor: n === 1 ? cursor : `${cursor}${n}`,
    }));
    expect(namesOf(await lists.tools.items(wait))).toEqual(['tool 1', 'tool 2']);
    expect(sent).toHaveLength(2);
    expect(problems).toEqual([
      expect.stringMatching(/^list\.cursor .*must have at most 262144 characters/),
    ]);
    expect(problems.join().length).toBeLessThan(500);
  });

  test('is cut where its cursors come to more than its text may be', async () => {
    let n = 0;
    const { lists, problems, wait } = await beforeSdk(
      () => ({ ...toolsOf(`tool ${++n}`), nextCursor: `${'c'.repeat(1000)}${n}` }),
      { limits: { maxListBytes: 10_000 } },
    );
    expect((await lists.tools.items(wait)).length).toBe(10);
    expect(problems).toEqual([
      `list.cut The server's list of tools is longer than 10000 bytes: the rest is cut`,
    ]);
  });

  test('is cut where its cursors do, though its pages are empty', async () => {
    let n = 0;
    const { lists, problems, sent, wait } = await beforeSdk(
      () => ({ tools: [], nextCursor: `${'c'.repeat(1000)}${++n}` }),
      { limits: { maxListBytes: 10_000 } },
    );
    expect(await lists.tools.items(wait)).toEqual([]);
    expect(sent).toHaveLength(10);
    expect(problems).toEqual([expect.stringContaining('longer than 10000 bytes')]);
  });

  test('ends at a cursor that is none', async () => {
    const page = { ...toolsOf('a'), nextCursor: 7 } as JsonObject;
    const { lists, problems, wait } = await beforeSdk(() => page);
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a']);
    expect(problems).toEqual([expect.stringMatching(/^list\.cursor .*must be a string, got 7/)]);
  });
});
