/** A server's lists, as a host keeps them: before servers of the official SDK. */
import { describe, expect, test, vi } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { defaultListLimits } from '../../src/lists/lists.ts';
import type { ListReport } from '../../src/lists/list-results.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import { gate, flush } from '../../../testing/src/index.ts';
import { beforeSdk } from './list-hosts.ts';

const inputSchema = { type: 'object' };
const tool = (name: string): JsonObject => ({ name, inputSchema });
const toolsOf = (...names: string[]) => ({ tools: names.map(tool) });
const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

describe('a list', () => {
  test('is asked for when somebody wants it, and then given as it is known', async () => {
    const { lists, sent, wait } = await beforeSdk(() => toolsOf('a', 'b'));
    expect(lists.tools.report).toEqual({ items: [], state: 'asking' });
    await flush();
    expect(sent).toEqual([]);
    const [first, second] = await Promise.all([lists.tools.items(wait), lists.tools.items(wait)]);
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(second).toBe(first);
    expect(await lists.tools.items(wait)).toBe(first);
    expect(sent).toEqual(['tools/list']);
  });

  test('has all pages, and an empty cursor is a cursor [LISTS-01]', async () => {
    const cursors: unknown[] = [];
    const pages: { readonly [cursor: string]: JsonObject } = {
      first: { ...toolsOf('a'), nextCursor: '' },
      '': { ...toolsOf('b'), nextCursor: 'last' },
      last: toolsOf('c'),
    };
    const { lists, wait } = await beforeSdk((_, { cursor = 'first' }) => {
      cursors.push(cursor);
      return pages[cursor as string] as JsonObject;
    });
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a', 'b', 'c']);
    expect(cursors).toEqual(['first', '', 'last']);
  });

  test('is kept byte for byte: schemas, their order and what no revision knows', async () => {
    const odd = {
      'x-own': [1],
      name: 'a',
      inputSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        $defs: { b: { $ref: 'https://127.0.0.1:1/never-fetched' } },
        type: 'object',
        properties: { z: { $ref: '#/$defs/b' }, a: { prefixItems: [true, false] } },
      },
    };
    const { lists, wait } = await beforeSdk(() => ({ tools: [odd] }));
    const [listed] = await lists.tools.items(wait);
    expect(JSON.stringify(listed)).toBe(JSON.stringify(odd));
  });

  test('loses its bad entries alone, and says which they were [LISTS-06]', async () => {
    const entries = [tool('a'), null, { name: 'b' }, { name: 3, inputSchema }, 'c', tool('d')];
    const { lists, problems, wait } = await beforeSdk(() => ({ tools: entries }));
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a', 'd']);
    expect(problems).toEqual([
      'list.entries tools[1]: must be an object, got null; tools[2]: "inputSchema" must be an object, got missing; tools[3]: "name" must be a string, got 3; and 1 more',
    ]);
  });

  test('loses a member that is something else, and keeps its entry', async () => {
    const entries = [
      { ...tool('a'), description: null },
      { ...tool('b'), description: ['no text'] },
    ];
    const { lists, problems, wait } = await beforeSdk(() => ({ tools: entries }));
    expect(await lists.tools.items(wait)).toEqual([tool('a'), tool('b')]);
    expect(problems).toEqual([
      'list.entries tools[1]: "description" must be a string, got an array: ignored',
    ]);
  });

  test('has the first of several tools of one name', async () => {
    const entries = [
      { ...tool('a'), title: 'first' },
      tool('b'),
      ...Array.from({ length: 3 }, () => ({ ...tool('a'), title: 'second' })),
    ];
    const { lists, problems, wait } = await beforeSdk(() => ({ tools: entries }));
    expect(await lists.tools.items(wait)).toEqual(entries.slice(0, 2));
    const again = [2, 3, 4].map((at) => `tools[${at}]: "a" is a duplicate`);
    expect(problems).toEqual([`list.repeated ${again.join('; ')}`]);
  });

  test('of prompts has their arguments, unless they are no list', async () => {
    const given = { name: 'a', arguments: [{ name: 'x' }] };
    const { lists, problems, wait } = await beforeSdk(() => ({
      prompts: [given, { name: 'b', arguments: 'x' }],
    }));
    expect(await lists.prompts.items(wait)).toEqual([given, { name: 'b' }]);
    expect(problems).toEqual([
      'list.entries prompts[1]: "arguments" must be an array, got "x": ignored',
    ]);
  });

  test('of templates may have several of one template', async () => {
    const template = { name: 'a', uriTemplate: 'test://{a}' };
    const { lists, wait } = await beforeSdk(() => ({
      resourceTemplates: [template, { ...template }],
    }));
    expect(await lists.resourceTemplates.items(wait)).toEqual([template, template]);
  });

  test.each([
    ['tools/list', 'tools', { tools: [tool('a')] }],
    ['prompts/list', 'prompts', { prompts: [{ name: 'a' }] }],
    ['resources/list', 'resources', { resources: [{ name: 'a', uri: 'test://a' }] }],
    [
      'resources/templates/list',
      'resourceTemplates',
      { resourceTemplates: [{ name: 'a', uriTemplate: 'test://{a}' }] },
    ],
  ] as const)('is asked for by %s', async (method, name, result) => {
    const { lists, sent, wait } = await beforeSdk(() => result);
    expect(await lists[name].items(wait)).toEqual(Object.values(result)[0]);
    expect(sent).toEqual([method]);
  });
});

describe('a change', () => {
  test('during a query makes its answer stale: whoever waits gets the newer one [LISTS-05]', async () => {
    const door = gate();
    let version = 0;
    const { lists, server, sent, wait } = await beforeSdk(async () => {
      const now = ++version;
      await door.pass();
      return toolsOf(`version ${now}`);
    });
    const waiting = lists.tools.items(wait);
    await door.arrived();
    for (let i = 0; i < 20; i++) {
      await server.notification({ method: 'notifications/tools/list_changed' });
    }
    await flush();
    door.release();
    expect(namesOf(await waiting)).toEqual(['version 2']);
    expect(sent).toEqual(['tools/list', 'tools/list']);
  });

  test('of a known list is asked for at once, and told to all who watch', async () => {
    let names = ['a'];
    const { lists, server } = await beforeSdk(() => toolsOf(...names));
    const reports: ListReport<ListedTool>[] = [];
    const known = (length: number) =>
      new Promise<void>((resolve) => {
        lists.tools.watch((report) => {
          if (report.state === 'known' && report.items.length === length) resolve();
        });
      });
    lists.tools.watch((report) => reports.push(report));
    await known(1);
    names = ['a', 'b'];
    await server.notification({ method: 'notifications/tools/list_changed' });
    await known(2);
    expect(reports.map(({ items, state }) => [state, ...namesOf(items)])).toEqual([
      ['known', 'a'],
      ['stale', 'a'],
      ['known', 'a', 'b'],
    ]);
  });

  test('of another list asks nothing', async () => {
    const { lists, server, sent, wait } = await beforeSdk(() => toolsOf('a'));
    await lists.tools.items(wait);
    await server.notification({ method: 'notifications/prompts/list_changed' });
    await flush();
    expect(sent).toEqual(['tools/list']);
  });

  test('after a page was given may make its cursor wrong: asked from the beginning [LISTS-05]', async () => {
    let first = 0;
    const { lists, wait } = await beforeSdk((_, { cursor }) => {
      if (cursor === undefined) first++;
      if (cursor === 'of 1') throw new ProtocolError(-32602, 'Unknown cursor');
      return cursor === undefined
        ? { ...toolsOf(`a${first}`), nextCursor: `of ${first}` }
        : toolsOf('b');
    });
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a2', 'b']);
  });

  test('is not supposed where the first page is refused, or a later one for another reason', async () => {
    const refused = await beforeSdk(() => {
      throw new ProtocolError(-32602, 'No such list');
    });
    await expect(refused.lists.tools.items(refused.wait)).rejects.toMatchObject({ code: -32602 });
    const failed = await beforeSdk((_, { cursor }) => {
      if (cursor !== undefined) throw new ProtocolError(-32000, 'Not now');
      return { ...toolsOf('a'), nextCursor: 'x' };
    });
    await expect(failed.lists.tools.items(failed.wait)).rejects.toMatchObject({ code: -32000 });
    expect([refused.sent.length, failed.sent.length]).toEqual([1, 2]);
  });

  test('is told to the others if one who watches throws, and that is reported', async () => {
    const { lists, facts, wait } = await beforeSdk(() => toolsOf('a'));
    const states: string[] = [];
    lists.tools.watch(() => {
      throw new Error('a listener');
    });
    lists.tools.watch(({ state }) => states.push(state));
    await lists.tools.items(wait);
    expect([states, facts]).toEqual([['known'], ['listener.failed']]);
  });
});

describe('a refresh', () => {
  test('asks whatever is known, and shares no query that was sent before it', async () => {
    const door = gate();
    let version = 0;
    const { lists, sent, wait } = await beforeSdk(async () => {
      const now = ++version;
      await door.pass();
      return toolsOf(`version ${now}`);
    });
    const before = lists.tools.items(wait);
    await door.arrived();
    const after = lists.tools.items({ ...wait, refresh: true });
    door.release();
    expect(namesOf(await after)).toEqual(['version 2']);
    expect(await before).toBe(await after);
    expect(namesOf(await lists.tools.items({ ...wait, refresh: true }))).toEqual(['version 3']);
    expect(sent).toHaveLength(3);
  });

  test('of a list that nobody has asked for costs one query', async () => {
    const { lists, sent, wait } = await beforeSdk(() => toolsOf('a'));
    await lists.tools.items({ ...wait, refresh: true });
    await flush();
    expect(sent).toEqual(['tools/list']);
  });

  test('comes by itself once the time is over for which the server called its list fresh [LISTS-02]', async () => {
    const pages: { readonly [cursor: string]: JsonObject } = {
      first: { ...toolsOf('a'), ttlMs: 5000, nextCursor: 'x' },
      x: { ...toolsOf('b'), ttlMs: 300, nextCursor: 'y' },
      y: { ...toolsOf('c'), ttlMs: 'soon' },
    };
    const { lists, clock, sent, wait } = await beforeSdk(
      (_, { cursor = 'first' }) => pages[cursor as string] as JsonObject,
    );
    expect(lists.tools.freshUntil).toBe(Infinity);
    await lists.tools.items(wait);
    expect(lists.tools.freshUntil).toBe(clock.now() + 300);
    clock.increment(299);
    await lists.tools.items(wait);
    expect(sent).toHaveLength(3);
    clock.increment(1);
    await lists.tools.items(wait);
    expect(sent).toHaveLength(6);
  });

  test.each([0, -1, -60_000])(
    'is asked for each time if its time is %i [LISTS-08]',
    async (ttlMs) => {
      let version = 0;
      const { lists, sent, wait } = await beforeSdk(() => ({ ...toolsOf(`${++version}`), ttlMs }));
      expect(namesOf(await lists.tools.items(wait))).toEqual(['1']);
      await flush();
      expect(sent).toHaveLength(1);
      expect(namesOf(await lists.tools.items(wait))).toEqual(['2']);
      expect(namesOf(await lists.tools.items(wait))).toEqual(['3']);
    },
  );

  test('of a list without a time is what its server tells, and nothing else [LISTS-08]', async () => {
    let version = 0;
    const { lists, server, clock, sent, wait } = await beforeSdk(() => toolsOf(`${++version}`));
    await lists.tools.items(wait);
    clock.increment(86_400_000);
    expect(namesOf(await lists.tools.items(wait))).toEqual(['1']);
    await server.notification({ method: 'notifications/tools/list_changed' });
    await flush();
    expect(namesOf(await lists.tools.items(wait))).toEqual(['2']);
    expect(sent).toHaveLength(2);
  });
});

describe('a list that cannot be had', () => {
  test('because the server declares none is not asked for', async () => {
    const { lists, sent, wait } = await beforeSdk(() => toolsOf('a'), {
      capabilities: { prompts: {} },
    });
    for (let n = 0; n < 2; n++) {
      await expect(lists.tools.items(wait)).rejects.toMatchObject({
        code: 'CAPABILITY_MISSING',
        message: 'The server does not declare the capability "tools"',
      });
    }
    expect(lists.tools.report.state).toBe('unsupported');
    expect(sent).toEqual([]);
  });

  test('because the server does not know the method is unsupported', async () => {
    const { lists, wait } = await beforeSdk(() => {
      throw new ProtocolError(-32601, 'Method not found');
    });
    await expect(lists.resourceTemplates.items(wait)).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
      message: 'The server does not know resources/templates/list',
    });
  });

  test('fails with what the server has answered, is told with it, and is asked for again', async () => {
    let fails = true;
    const { lists, clock, sent, wait } = await beforeSdk(() => {
      if (fails) throw new ProtocolError(-32000, 'Not now');
      return toolsOf('a');
    });
    await expect(lists.tools.items(wait)).rejects.toMatchObject({ code: -32000 });
    expect(lists.tools.report).toEqual({
      items: [],
      state: 'failed',
      reason: 'MCP error -32000: Not now',
    });
    fails = false;
    clock.increment(4999);
    await flush();
    expect(sent).toHaveLength(1);
    clock.increment(1);
    await expect.poll(() => lists.tools.report).toEqual({ items: [tool('a')], state: 'known' });
  });

  test('fails at once for one who asks after a failure, but not without asking', async () => {
    let fails = true;
    const { lists, sent, wait } = await beforeSdk(() => {
      if (fails) throw new ProtocolError(-32000, 'Not now');
      return toolsOf('a');
    });
    await expect(lists.tools.items(wait)).rejects.toMatchObject({ code: -32000 });
    fails = false;
    const again = lists.tools.items(wait);
    expect(lists.tools.report).toMatchObject({ items: [], state: 'asking' });
    expect(namesOf(await again)).toEqual(['a']);
    expect(sent).toHaveLength(2);
    // What was known is so still, and may be old.
    fails = true;
    await expect(lists.tools.items({ ...wait, refresh: true })).rejects.toMatchObject({
      code: -32000,
    });
    expect(lists.tools.report).toMatchObject({
      items: [tool('a')],
      state: 'stale',
      reason: 'MCP error -32000: Not now',
    });
  });

  test('any more is out of date, though it has nothing in it', async () => {
    const { lists, wait } = await beforeSdk(() => toolsOf());
    expect(await lists.tools.items(wait)).toEqual([]);
    lists.closed();
    expect(lists.tools.report).toEqual({ items: [], state: 'stale' });
  });

  test('because it is no list is an invalid response', async () => {
    const { lists, wait } = await beforeSdk(() => ({ tools: 'none' }) as JsonObject);
    await expect(lists.tools.items(wait)).rejects.toMatchObject({
      code: 'INVALID_RESPONSE',
      message: 'The result of tools/list must have an array "tools", got "none"',
    });
  });
});

describe('whoever waits for a list', () => {
  test('is told when the time is over, and the list goes on being asked for', async () => {
    const door = gate();
    const { lists, clock } = await beforeSdk(async () => {
      await door.pass();
      return toolsOf('a');
    });
    const impatient = lists.tools.items({ timeoutMs: 100 });
    const patient = lists.tools.items({ timeoutMs: 60_000 });
    await door.arrived();
    clock.increment(100);
    await expect(impatient).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      message: 'The list of tools did not arrive within 100 ms: the server did not answer',
    });
    door.release();
    expect(namesOf(await patient)).toEqual(['a']);
    lists.closed();
    const away = lists.tools.items({ timeoutMs: 100 });
    clock.increment(100);
    await expect(away).rejects.toMatchObject({
      message:
        'The list of tools did not arrive within 100 ms: there was no connection to the server',
    });
  });

  test('may stop waiting', async () => {
    const { lists, clock, sent, wait } = await beforeSdk(() => toolsOf('a'));
    const controller = new AbortController();
    const waiting = lists.tools.items({ ...wait, signal: controller.signal });
    controller.abort('enough');
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    await lists.tools.items(wait);
    // Nothing is given then, not even what is known, and nothing asked for.
    for (const list of [lists.tools, lists.prompts]) {
      await expect(list.items({ ...wait, signal: controller.signal })).rejects.toMatchObject({
        code: 'CANCELLED',
        cause: 'enough',
      });
    }
    await flush();
    expect(sent).toEqual(['tools/list']);
    clock.increment(defaultListLimits.listSpacingMs);
    expect(clock.liveTimers).toBe(0);
  });

  test('is forgotten once it has the list', async () => {
    const { lists, wait } = await beforeSdk(() => toolsOf('a'));
    const actor = lists.tools.machine.actor as AnyActorRef;
    const subscribe = actor.subscribe.bind(actor);
    let open = 0;
    vi.spyOn(actor, 'subscribe').mockImplementation((listener) => {
      open++;
      const subscription = subscribe(listener);
      const unsubscribe = () => {
        open--;
        subscription.unsubscribe();
      };
      return { unsubscribe };
    });
    const waiting = lists.tools.items(wait);
    expect(open).toBe(1);
    await waiting;
    expect(open).toBe(0);
  });

  test('waits over a reconnect, for what the new server says', async () => {
    let names = ['old'];
    const { lists, capabilities, wait } = await beforeSdk(() => toolsOf(...names));
    await lists.tools.items(wait);
    lists.closed();
    expect(lists.tools.report).toMatchObject({ state: 'stale', items: [tool('old')] });
    const waiting = lists.tools.items(wait);
    names = ['new'];
    lists.opened({ capabilities, era: 'legacy' });
    expect(namesOf(await waiting)).toEqual(['new']);
  });

  test('over a reconnect asks from the beginning: a cursor belongs to its channel [LISTS-09]', async () => {
    const cursors: unknown[] = [];
    const door = gate();
    const { lists, capabilities, wait } = await beforeSdk(async (_, { cursor }) => {
      cursors.push(cursor);
      if (cursor === 'old') await door.pass();
      return cursor === undefined && cursors.length === 1
        ? { ...toolsOf('a'), nextCursor: 'old' }
        : toolsOf('b');
    });
    const waiting = lists.tools.items(wait);
    await door.arrived();
    lists.closed();
    lists.opened({ capabilities, era: 'legacy' });
    expect(namesOf(await waiting)).toEqual(['b']);
    expect(cursors).toEqual([undefined, 'old', undefined]);
    door.release();
  });

  test('is told when there will be no connection, and again when it is over', async () => {
    const { lists, wait } = await beforeSdk(() => toolsOf('a'));
    lists.closed();
    const waiting = lists.tools.items(wait);
    lists.refuse(new RuntimeError('NOT_READY', 'It has failed'));
    await expect(waiting).rejects.toMatchObject({ code: 'NOT_READY' });
    const others = lists.tools.items(wait);
    lists.end(new RuntimeError('CLOSED', 'It is closed'));
    await expect(others).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(lists.tools.items(wait)).rejects.toMatchObject({ code: 'CLOSED' });
  });
});
