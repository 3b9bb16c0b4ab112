import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom } from 'rxjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { flush } from 'mcp-actors/testing';
import { mayBeNamed, mergedName } from '../../src/hosts/merged-names.ts';
import type { ManagedOptions } from '../../src/hosts/servers.ts';
import { toolsCache } from '../../src/hosts/tools-cache.ts';
import { ScriptedServers, now } from './scripted-servers.ts';

interface Tools {
  readonly [server: string]: readonly string[];
}
const launched = { command: 'x' };

/** Servers with these tools, in this process; those that are called as if they were deaf never answer anything. */
function opened(tools: Tools, options: ManagedOptions = {}, held?: string): ScriptedServers {
  const entries = Object.fromEntries(Object.keys(tools).map((name) => [name, launched]));
  return new ScriptedServers(entries, options, (servers) => {
    for (const [name, own] of Object.entries(tools)) {
      const plan = servers.plan(name);
      plan.tools = own;
      if (held !== undefined) plan.held.add(held);
      if (/^de\.?af$/.test(name)) plan.held.add('initialize');
    }
  });
}
/** Servers that are there, and list their tools once they are told to. */
const silent = (tools: Tools, options?: ManagedOptions) => opened(tools, options, 'tools/list');

const ownersOf = (found: readonly { readonly server: string }[] | undefined) =>
  found?.map(({ server }) => server);
const textOf = ({ content: [block] }: { readonly content: readonly object[] }): string =>
  String((block as { readonly text?: string }).text);

describe('a tool name used before any list is known', () => {
  test('is called at once if it includes its server', async () => {
    const { manager } = opened({ deaf: [], a: ['one'] });
    expect(textOf(await manager.callTool('a__one'))).toBe('a one');
  });

  test('waits only for lists that could contain it if it has a digest', async () => {
    const { manager } = opened({ deaf: [], 'a.b': ['one'] });
    const name = mergedName({ server: 'a.b', tool: 'one' });
    expect(name).toMatch(/_[0-9a-f]{8}$/);
    expect(textOf(await manager.callTool(name))).toBe('a.b one');
  });

  test('is rejected once no list with a matching digest is left', async () => {
    const { manager } = opened({ deaf: [], 'a.b': ['one'] });
    await expect(manager.callTool('a_b__two_01234567')).rejects.toThrow(
      'There is no tool "a_b__two_01234567"',
    );
  });

  test('starts only the lazy server that could have it', async () => {
    const lazy = { ...launched, lazy: true };
    const servers = new ScriptedServers({ other: lazy, 'a.b': lazy });
    servers.plan('a.b').tools = ['one'];
    await servers.manager.callTool(mergedName({ server: 'a.b', tool: 'one' }));
    expect([...servers.manager.status].map(([name, { state }]) => [name, state])).toEqual([
      ['other', 'idle'],
      ['a.b', 'ready'],
    ]);
  });

  test('times out, naming the pending servers', async () => {
    const { manager, clock } = opened({ 'de.af': [] });
    const called = manager.callTool('de_af__x_01234567', {}, { timeoutMs: 30 });
    expect(await now(called.catch(() => 'over'))).toBeUndefined();
    clock.increment(30);
    await expect(called).rejects.toThrow(
      'No server listed the tool "de_af__x_01234567" within 30 ms. Lists still pending: de.af (connecting)',
    );
  });

  test('stops waiting on cancellation or close', async () => {
    const { manager } = opened({ 'de.af': [] });
    const name = 'de_af__x_01234567';
    const controller = new AbortController();
    const cancelled = manager.callTool(name, {}, { signal: controller.signal });
    controller.abort('enough');
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    const called = manager.callTool(name);
    const closed = manager.close();
    await expect(called).rejects.toMatchObject({ code: 'NOT_READY' });
    await closed;
  });

  test('does not wait with whenAway refuse', async () => {
    const { manager } = opened({ 'de.af': [] });
    await expect(
      manager.callTool('de_af__x_01234567', {}, { whenAway: 'refuse' }),
    ).rejects.toMatchObject({ code: -32602 });
  });
});

test('finds all tools with the same own name', async () => {
  const { manager } = opened({ a: ['one'], b: ['one'], c: ['two'] });
  expect(ownersOf(await manager.findTools('one'))).toEqual(['a', 'b']);
  expect(await manager.findTools('three')).toEqual([]);
});

describe('an unavailable tool list', () => {
  test('is reported with its reason, and does not block named tools', async () => {
    const servers = opened({ bad: [], a: ['one'] });
    servers.plan('bad').listFault = 'The database is away';
    const { manager } = servers;
    await flush();
    expect(manager.status.get('bad')).toMatchObject({
      state: 'ready',
      tools: { state: 'failed', reason: expect.stringContaining('The database is away') },
    });
    expect(textOf(await manager.callTool('bad__echo'))).toBe('bad echo');
    expect(await manager.findTools('bad__echo')).toEqual([
      { server: 'bad', tool: 'echo', listed: undefined },
    ]);
  });

  test('is the reason for rejecting a name with a digest', async () => {
    const servers = opened({ 'b.ad': [] });
    servers.plan('b.ad').listFault = 'The database is away';
    await flush();
    const called = servers.manager.callTool(mergedName({ server: 'b.ad', tool: 'echo' }));
    await expect(called).rejects.toThrow(
      /The tools of b\.ad are unavailable: .*The database is away/,
    );
  });

  test('is unsupported if the server has no tools', async () => {
    const servers = new ScriptedServers({
      without: launched,
      off: { ...launched, disabled: true },
    });
    servers.plan('without').capabilities = {};
    const { manager } = servers;
    await flush();
    expect(manager.status.get('without')?.tools).toEqual({
      state: 'unsupported',
      reason: 'The server does not declare the capability "tools"',
    });
    await expect(manager.callTool('without__x')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
    await expect(manager.callTool('off__x')).rejects.toThrow('the server is disabled');
  });

  test('delays other lists for at most the timeout', async () => {
    const { manager, clock } = opened({ deaf: [], a: ['one'] });
    await flush();
    const listed = manager.listTools({ timeoutMs: 20 });
    expect(await now(listed)).toBeUndefined();
    clock.increment(20);
    expect((await listed).map(({ name }) => name)).toEqual(['a__one']);
    expect(manager.status.get('deaf')).toMatchObject({
      state: 'connecting',
      tools: { state: 'asking' },
    });
  });
});

describe('tool search', () => {
  test('waits for another server that could have the name, even if the name includes a server', async () => {
    const name = mergedName({ server: 'a.b', tool: 'c' });
    const servers = silent({ a_b: ['d'], 'a.b': ['c'] });
    await flush();
    const called = servers.manager.callTool(name);
    expect(await now(called)).toBeUndefined();
    servers.answer('a.b', 'tools/list');
    expect(textOf((await now(called)) ?? { content: [] })).toBe('a.b c');
  });

  test('ends when the server lists the tool, or at the timeout', async () => {
    const servers = silent({ a: ['one'] });
    const found = servers.manager.findTools('a__one');
    expect(await now(found)).toBeUndefined();
    servers.answer('a', 'tools/list');
    expect(await now(found)).toEqual([
      { server: 'a', tool: 'one', listed: servers.manager.tools[0] },
    ]);
    expect(ownersOf(await now(servers.manager.findTools('a__one')))).toEqual(['a']);
    const deaf = silent({ a: ['one'] });
    const late = deaf.manager.findTools('a__one', { timeoutMs: 50 });
    await flush();
    deaf.clock.increment(50);
    expect(await now(late)).toEqual([{ server: 'a', tool: 'one', listed: undefined }]);
    const nobody = deaf.manager.findTools('one', { timeoutMs: 50 });
    deaf.clock.increment(50);
    await expect(nobody).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  test('gives other servers at most one more second after a match', async () => {
    const find = async (tools: { readonly [name: string]: readonly string[] }) => {
      const servers = silent(tools);
      await flush();
      const controller = new AbortController();
      const found = servers.manager.findTools('one', { signal: controller.signal });
      servers.answer('a', 'tools/list');
      expect(await now(found)).toBeUndefined();
      return { servers, found, controller };
    };
    const overdue = await find({ a: ['one'], b: ['one'] });
    overdue.servers.clock.increment(999);
    expect(await now(overdue.found)).toBeUndefined();
    overdue.servers.clock.increment(1);
    expect(ownersOf(await now(overdue.found))).toEqual(['a']);
    const without = await find({ a: ['one'], b: ['two'] });
    without.servers.answer('b', 'tools/list');
    expect(ownersOf(await now(without.found))).toEqual(['a']);
    const having = await find({ a: ['one'], b: ['one'], deaf: [] });
    having.servers.answer('b', 'tools/list');
    expect(ownersOf(await now(having.found))).toEqual(['a', 'b']);
    const cancelled = await find({ a: ['one'], b: ['one'] });
    cancelled.controller.abort('enough');
    await expect(cancelled.found).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  });

  test('waits for no disconnected server with whenAway refuse, and starts none early', async () => {
    const servers = new ScriptedServers(
      { a: launched, deaf: launched, waiting: launched },
      { maxStarting: 1 },
      (all) => {
        all.plan('a').tools = ['one'];
        all.plan('deaf').held.add('initialize');
      },
    );
    await flush();
    const { manager, clock, opened } = servers;
    expect(ownersOf(await now(manager.findTools('one', { whenAway: 'refuse' })))).toEqual(['a']);
    expect(await now(manager.findTools('two', { whenAway: 'refuse' }))).toEqual([]);
    const waiting = manager.findTools('two', { timeoutMs: 50 });
    expect(await now(waiting)).toBeUndefined();
    expect(opened.map(({ options }) => options.name)).toEqual(['a', 'deaf']);
    clock.increment(50);
    await expect(waiting).rejects.toThrow('deaf (connecting), waiting (connecting)');
  });

  test('does not settle on cached tools', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'tool-search-'));
    onTestFinished(() => rm(cacheFolder, { recursive: true }));
    const cached = { tools: [{ name: 'one' }], date: '2026-01-01T00:00:00.000Z' };
    await toolsCache(cacheFolder).write({ entry: launched, caller: '' }, cached);
    const servers = silent({ a: ['one'] }, { cacheFolder });
    const { manager } = servers;
    await firstValueFrom(manager.tools$.pipe(filter(({ length }) => length === 1)));
    for (const name of ['a__one', 'one']) {
      const found = manager.findTools(name, { timeoutMs: 50 });
      expect(await now(found)).toBeUndefined();
      servers.clock.increment(50);
      expect(ownersOf(await now(found))).toEqual(['a']);
    }
    // Two are ambiguous, whatever they say.
    const two = silent({ a: ['one'], b: ['one'] }, { cacheFolder });
    await firstValueFrom(two.manager.tools$.pipe(filter(({ length }) => length === 2)));
    expect(ownersOf(await now(two.manager.findTools('one')))).toEqual(['a', 'b']);
    const found = manager.findTools('a__one');
    servers.answer('a', 'tools/list');
    expect(await now(found)).toMatchObject([{ listed: { cachedAt: undefined } }]);
  });
});

test.each([
  ['a', 'a__b', true],
  ['a', 'ab__c', false],
  ['a.b', 'a_b__c_01234567', true],
  ['a.b', 'a_b__c', false],
  ['a'.repeat(70), `${'a'.repeat(55)}_01234567`, true],
  ['a'.repeat(70), `${'b'.repeat(55)}_01234567`, false],
])('whether a tool of %s may be named %s: %s', (server, name, may) => {
  expect(mayBeNamed(server, name)).toBe(may);
});
