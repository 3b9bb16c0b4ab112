/** A manager of servers, step by step: its servers are in this process, and its time is the test's. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom } from 'rxjs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { flush } from 'mcp-actors/testing';
import type { WatchedConnection } from '../../src/connection/watched-connection.ts';
import { readHosts } from '../../src/hosts/hosts-file.ts';
import type { ServersEvent } from '../../src/hosts/server-reports.ts';
import { toolsCache } from '../../src/hosts/tools-cache.ts';
import { ScriptedServers, now } from './scripted-servers.ts';

const launched = { command: 'x' };
const lazy = { ...launched, lazy: true };
const off = { ...launched, disabled: true };
const faulty = { command: 5 };
const config = (mcpServers: object) => readHosts({ mcpServers }, { environment: {} });

const namesOf = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);
const stateOf = ({ manager }: ScriptedServers, name: string) => manager.status.get(name)?.state;

describe('server status', () => {
  test('has the reason for an unusable server at once', async () => {
    const servers = new ScriptedServers({ off, faulty }, { file: 'mcp.json' });
    const { manager, clock } = servers;
    expect(await now(manager.started())).toEqual({ ready: [], late: [], failed: ['faulty'] });
    expect(clock.liveTimers).toBe(0);
    const reason =
      'mcp.json: server "faulty", key "command": 5 is not the name or path of a program';
    expect(Object.fromEntries(manager.status)).toStrictEqual({
      off: { state: 'disabled', launches: 0, tools: { state: 'asking' } },
      faulty: {
        state: 'failed',
        error: expect.objectContaining({ code: 'CONFIG_INVALID', message: reason }),
        launches: 0,
        tools: { state: 'failed', reason },
      },
    });
    const saidOf = (name: string) => manager.use(name).catch(({ message }: Error) => message);
    expect(await saidOf('off')).toBe('mcp.json: server "off": the server is disabled');
    expect(await saidOf('faulty')).toBe(reason);
    expect(await saidOf('nowhere')).toBe('mcp.json: server "nowhere": unknown server');
  });

  test('shows the state of each server and of its tools', async () => {
    const refusal = new RangeError('No such option');
    const servers = new ScriptedServers(
      { a: { ...launched, restart: { initialMs: 1000, jitter: 0 } }, refused: launched },
      {},
      (all) => {
        all.plan('a').held.add('initialize');
        all.plan('refused').refused = refusal;
      },
    );
    const { manager, clock } = servers;
    const status = (name: string) => manager.status.get(name);
    await flush();
    expect(status('refused')).toStrictEqual({
      ...{ state: 'failed', error: refusal, launches: 0 },
      tools: { state: 'failed', reason: 'No such option' },
    });
    const asking = { tools: { state: 'asking' }, launches: 1 };
    expect(status('a')).toStrictEqual({ state: 'connecting', ...asking });
    servers.answer('a', 'initialize');
    expect(await now(manager.started())).toMatchObject({ ready: ['a'], failed: ['refused'] });
    await flush();
    expect(status('a')).toStrictEqual({ state: 'ready', launches: 1, tools: { state: 'known' } });
    servers.launched('a')[0]?.onclose?.();
    await flush();
    const lost = status('a');
    expect(lost).toMatchObject({ state: 'backoff', launches: 1, tools: { state: 'stale' } });
    expect(lost?.error).toBeInstanceOf(Error);
    expect(namesOf(manager.tools)).toEqual(['a__a']);
    clock.increment(1000);
    await flush();
    expect(status('a')).toStrictEqual({ state: 'ready', launches: 2, tools: { state: 'known' } });
    const given = vi.fn();
    manager.tools$.subscribe(given);
    expect(given).toHaveBeenCalledTimes(1);
  });

  test('drops the tools of a failed server', async () => {
    const servers = new ScriptedServers({ a: launched, b: launched });
    const { manager } = servers;
    const told: (readonly string[])[] = [];
    manager.tools$.subscribe((tools) => told.push(namesOf(tools)));
    await flush();
    servers.launched('a')[0]?.onclose?.();
    // Whoever wants a list has it without the failed one, at once.
    expect(namesOf((await now(manager.listTools())) ?? [])).toEqual(['b__b']);
    const { error, ...status } = manager.status.get('a') ?? {};
    expect(status).toStrictEqual({
      ...{ state: 'failed', launches: 1 },
      tools: { state: 'failed', reason: error?.message },
    });
    expect(told[0]).toEqual([]);
    expect(told.at(-1)).toEqual(['b__b']);
    // Each of them is another one than the last.
    expect(told.map((each) => each.join())).toEqual([...new Set(told.map((each) => each.join()))]);
  });

  test('rejects an unknown tool with the reasons of servers that could have it', async () => {
    const servers = new ScriptedServers({ a: launched, 'b.c': launched }, {}, (all) => {
      all.plan('b.c').refused = new Error('b is broken');
    });
    await flush();
    await expect(servers.manager.callTool('a__other')).rejects.toThrow(
      /There is no tool "a__other"$/,
    );
    await expect(servers.manager.callTool('b_c__x_01234567')).rejects.toThrow(
      'There is no tool "b_c__x_01234567". The tools of b.c are unavailable: b is broken',
    );
  });
});

describe('startup', () => {
  const holding = (servers: ScriptedServers) => servers.plan('a').held.add('initialize');
  const openedIn = ({ opened }: ScriptedServers) => opened.map(({ options }) => options.name);

  test('limits concurrent process starts, each holding its slot for at most a second', async () => {
    const url = { url: 'https://a.example/mcp' };
    const seen: WatchedConnection[] = [];
    const watchers = [(watched: WatchedConnection) => seen.push(watched)];
    const servers = new ScriptedServers(
      { a: launched, b: launched, c: launched, d: launched, url },
      { maxStarting: 1, watchers },
      (all) => {
        holding(all);
        all.plan('b').refused = new Error('No');
        all.plan('c').held.add('initialize');
      },
    );
    await flush();
    expect(openedIn(servers)).toEqual(['a', 'url']);
    expect(['b', 'c', 'd'].map((name) => stateOf(servers, name))).toEqual([
      ...['connecting', 'connecting', 'connecting'],
    ]);
    // Nothing is shown of who waits for a turn.
    expect(seen.map((each) => each.dump().name)).toEqual(['a', 'url']);
    servers.answer('a', 'initialize');
    await flush();
    expect(openedIn(servers)).toEqual(['a', 'url', 'b', 'c']);
    servers.clock.increment(999);
    await flush();
    expect(openedIn(servers)).not.toContain('d');
    servers.clock.increment(1);
    await flush();
    expect(openedIn(servers).at(-1)).toBe('d');
    expect(await now(servers.manager.started())).toBeUndefined();
    servers.clock.increment(2000);
    expect(await now(servers.manager.started())).toEqual({
      ...{ ready: ['a', 'd', 'url'], late: ['c'], failed: ['b'] },
    });
  });

  test('leaves no timer if no connection could be created', async () => {
    const servers = new ScriptedServers({ a: launched }, {}, (all) => {
      all.plan('a').refused = new Error('No');
    });
    expect(await now(servers.manager.started())).toMatchObject({ failed: ['a'] });
    await flush();
    expect(servers.clock.liveTimers).toBe(0);
  });

  test('calls forServer once per connection', async () => {
    const auth = { kind: 'bearer', token: 'alice' } as const;
    const forServer = vi.fn((name: string) => (name === 'a' ? { auth, restart: {} } : {}));
    const restart = { maxAttempts: 1 };
    const servers = new ScriptedServers(
      { a: lazy, b: { ...lazy, timeoutMs: 5, restart, era: 'modern' } },
      { forServer, limits: { maxPending: 9 } },
    );
    const { manager } = servers;
    await manager.use('a');
    await manager.use('b');
    expect(servers.callers).toMatchObject([{ auth }, {}]);
    const [a, b] = servers.opened.map(({ options }) => options);
    expect(a).toMatchObject({ name: 'a', auth, restart: {} });
    expect(a?.limits).toStrictEqual({ maxPending: 9 });
    expect(Object.keys(a ?? {})).not.toContain('era');
    expect(b).toMatchObject({ name: 'b', restart, era: 'modern' });
    expect(b).toHaveProperty('limits', { maxPending: 9, requestTimeoutMs: 5 });
    expect(b).not.toHaveProperty('auth');
    expect(forServer.mock.calls).toEqual([['a'], ['b']]);
    await manager.get('a')?.close();
    await manager.use('a');
    expect(servers.opened.at(-1)?.options).toMatchObject({ name: 'a', auth });
    expect(forServer.mock.calls).toEqual([['a'], ['b'], ['a']]);
  });
});

describe('an idle time', () => {
  test('stops an idle server and keeps its tool list', async () => {
    const servers = new ScriptedServers({ a: { ...launched, idleMs: 1000 } });
    const { manager, clock } = servers;
    await flush();
    clock.increment(600);
    await manager.callTool('a__a');
    clock.increment(400);
    expect(stateOf(servers, 'a')).toBe('ready');
    clock.increment(599);
    expect(stateOf(servers, 'a')).toBe('ready');
    clock.increment(1);
    expect(stateOf(servers, 'a')).toBe('idle');
    await flush();
    expect(clock.liveTimers).toBe(0);
    expect(manager.get('a')).toBeUndefined();
    expect(namesOf(manager.tools)).toEqual(['a__a']);
    expect(manager.status.get('a')).toStrictEqual({
      ...{ state: 'idle', launches: 1 },
      tools: { state: 'known' },
    });
    // What is known is not asked for, unless it is wanted anew.
    await manager.listTools();
    expect(servers.opened).toHaveLength(1);
    await manager.listTools({ refresh: true });
    expect(manager.status.get('a')).toMatchObject({ state: 'ready', launches: 2 });
  });

  test('does not count while requests are pending', async () => {
    const servers = new ScriptedServers({ a: { ...launched, idleMs: 1000 } });
    servers.plan('a').held.add('tools/call');
    await flush();
    const called = servers.manager.callTool('a__a', {}, { timeoutMs: 60_000 });
    await flush();
    clock5(servers);
    expect(stateOf(servers, 'a')).toBe('ready');
    servers.answer('a', 'tools/call');
    await called;
    servers.clock.increment(1000);
    expect(stateOf(servers, 'a')).toBe('idle');
  });

  /** Five times the idle time. */
  const clock5 = ({ clock }: ScriptedServers) => {
    for (let count = 0; count < 5; count++) clock.increment(1000);
  };

  test('needs a timer only if set, and none after close', async () => {
    const [without, having] = [{}, { idleMs: 1000 }].map(
      (idle) => new ScriptedServers({ a: { ...launched, ...idle } }),
    );
    await flush();
    expect(having?.clock.liveTimers).toBe((without?.clock.liveTimers ?? 0) + 1);
    await having?.manager.close();
    expect(having?.clock.liveTimers).toBe(0);
  });
});

describe('a lazy server', () => {
  test('starts at its first use, or for its tool list if that is unknown', async () => {
    const servers = new ScriptedServers({ called: lazy, listed: lazy });
    const { manager } = servers;
    await flush();
    expect(manager.status.get('called')).toEqual({
      ...{ state: 'idle', launches: 0 },
      tools: { state: 'asking' },
    });
    expect([manager.get('called'), manager.tools]).toEqual([undefined, []]);
    await manager.callTool('called__called');
    expect(manager.status.get('called')).toMatchObject({ state: 'ready', launches: 1 });
    expect(stateOf(servers, 'listed')).toBe('idle');
    expect(namesOf(await manager.listTools())).toEqual(['called__called', 'listed__listed']);
  });

  test('is listed from the cache, with its date, until it answers', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'manager-'));
    onTestFinished(() => rm(cacheFolder, { recursive: true }));
    const first = new ScriptedServers({ a: lazy }, { cacheFolder });
    await first.manager.listTools();
    await first.manager.close();
    const { manager } = new ScriptedServers({ a: lazy }, { cacheFolder });
    const [tool] = await firstValueFrom(manager.tools$.pipe(filter(({ length }) => length > 0)));
    expect(tool).toMatchObject({
      name: 'a__a',
      cachedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    await manager.listTools();
    expect(manager.status.get('a')?.launches).toBe(0);
    await manager.callTool('a__a');
    await flush();
    expect(manager.tools).toMatchObject([{ name: 'a__a', cachedAt: undefined }]);
    expect(manager.status.get('a')?.launches).toBe(1);
  });
});

test('restarts a server with a closed connection on use but not for a list', async () => {
  const servers = new ScriptedServers({ a: launched, b: launched });
  const { manager } = servers;
  await flush();
  const closed = manager.get('a')?.close();
  const other = await manager.use('a');
  await closed;
  await manager.callTool('a__a');
  expect(manager.status.get('a')).toMatchObject({ state: 'ready', launches: 2 });
  await other.close();
  await manager.listTools();
  expect([stateOf(servers, 'a'), stateOf(servers, 'b')]).toEqual(['closed', 'ready']);
});

describe('the merged list', () => {
  test('omits filtered tools, which cannot be called either', async () => {
    const tools = { allow: ['read_*'], deny: ['*_b'] };
    const servers = new ScriptedServers({ a: { ...launched, tools } });
    servers.plan('a').tools = ['read_a', 'read_b', 'write'];
    const { manager } = servers;
    await flush();
    expect(namesOf(manager.tools)).toEqual(['a__read_a']);
    await expect(manager.callTool('a__write')).rejects.toMatchObject({ code: -32602 });
    await expect(manager.callTool('a__read_x')).rejects.toThrow(
      'There is no tool "a__read_x". Did you mean a__read_a?',
    );
    await expect(manager.callTool('nowhere')).rejects.toThrow(/There is no tool "nowhere"$/);
  });

  test('drops the tools of a server that cannot be reopened', async () => {
    const servers = new ScriptedServers({ a: launched });
    const { manager } = servers;
    let ending = (): void => {};
    servers.plan('a').ending = new Promise((resolve) => (ending = resolve));
    onTestFinished(() => ending());
    await flush();
    const told: (readonly string[])[] = [];
    manager.tools$.subscribe((tools) => told.push(namesOf(tools)));
    void manager.get('a')?.close();
    servers.plan('a').refused = new Error('No more');
    const used = manager.use('a').catch(({ message }: Error) => message);
    await flush();
    expect(manager.status.get('a')).toStrictEqual({
      ...{ state: 'connecting', launches: 1 },
      tools: { state: 'known' },
    });
    expect(told).toEqual([['a__a']]);
    ending();
    expect(await used).toBe('No more');
    await flush();
    expect(told).toEqual([['a__a'], []]);
  });

  test('is fetched again with refresh, without waiting for disconnected servers', async () => {
    const servers = new ScriptedServers({ a: launched, late: launched }, {}, (all) =>
      all.plan('late').held.add('initialize'),
    );
    const { manager } = servers;
    await flush();
    servers.plan('a').tools = ['a', 'b'];
    const refuse = { whenAway: 'refuse' } as const;
    expect(namesOf((await now(manager.listTools(refuse))) ?? [])).toEqual(['a__a']);
    const anew = await now(manager.listTools({ ...refuse, refresh: true }));
    expect(namesOf(anew ?? [])).toEqual(['a__a', 'a__b']);
    const waiting = manager.listTools();
    expect(await now(waiting)).toBeUndefined();
    servers.answer('late', 'initialize');
    expect(namesOf((await now(waiting)) ?? [])).toEqual(['a__a', 'a__b', 'late__late']);
  });

  test('leaves no timer and no process handle after a cancelled wait', async () => {
    const servers = new ScriptedServers({ a: launched, deaf: launched }, {}, (all) =>
      all.plan('deaf').held.add('initialize'),
    );
    await flush();
    servers.plan('a').held.add('tools/list');
    const given = async () => {
      const controller = new AbortController();
      const { signal } = controller;
      const wanted = servers.manager.listTools({ refresh: true, signal });
      await flush();
      controller.abort('enough');
      await expect(wanted).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
      await flush();
      return servers.clock.liveTimers;
    };
    const [began, ended] = [
      vi.spyOn(globalThis, 'setInterval'),
      vi.spyOn(globalThis, 'clearInterval'),
    ];
    expect(await given()).toBe(await given());
    const held = began.mock.results.map(({ value }) => value as unknown);
    const released = ended.mock.calls.map(([timer]) => timer as unknown);
    vi.restoreAllMocks();
    expect(held.length).toBeGreaterThan(0);
    expect(released).toEqual(expect.arrayContaining(held));
  });

  test('uses the cache until a server answers, even with an empty list', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'manager-'));
    onTestFinished(() => rm(cacheFolder, { recursive: true }));
    const cached = { tools: [{ name: 'old' }], date: '2026-01-01T00:00:00.000Z' };
    for (const command of ['x', 'y']) {
      await toolsCache(cacheFolder).write({ entry: { command }, caller: '' }, cached);
    }
    const servers = new ScriptedServers(
      { a: launched, b: { command: 'y', lazy: true } },
      { cacheFolder },
      (all) => all.plan('a').held.add('tools/list'),
    );
    const { manager } = servers;
    await firstValueFrom(manager.tools$.pipe(filter(({ length }) => length === 2)));
    expect(manager.tools).toMatchObject([
      { name: 'a__old', cachedAt: cached.date },
      { name: 'b__old', cachedAt: cached.date },
    ]);
    // A server that was closed before it has listed anything is not waited for either.
    const connection = await manager.use('b');
    await connection.close();
    expect(stateOf(servers, 'b')).toBe('closed');
    expect(await now(manager.findTools('b__old', { whenAway: 'refuse' }))).toMatchObject([
      { server: 'b', listed: { cachedAt: cached.date } },
    ]);
    expect(await now(manager.findTools('b__old'))).toMatchObject([{ server: 'b', tool: 'old' }]);
    expect(stateOf(servers, 'b')).toBe('closed');
    servers.plan('a').tools = [];
    servers.answer('a', 'tools/list');
    await flush();
    expect(namesOf(manager.tools)).toEqual(['b__old']);
    // A server that says that it has no tools has none.
    servers.plan('b').capabilities = {};
    await manager.use('b');
    await flush();
    expect(manager.status.get('b')).toMatchObject({ tools: { state: 'unsupported' } });
    expect(manager.tools).toEqual([]);
  });
});

describe('a new configuration', () => {
  test('is reported with its faults, and starts nothing after close', async () => {
    const servers = new ScriptedServers({ a: launched, gone: launched });
    const { manager } = servers;
    await flush();
    const told: ServersEvent[] = [];
    manager.events$.subscribe((event) => told.push(event));
    const next = config({
      a: { ...launched, tools: { deny: ['a'] }, colour: 'red' },
      b: launched,
      faulty,
    });
    manager.apply(next);
    const changes = { added: ['b', 'faulty'], removed: ['gone'], changed: [], adjusted: ['a'] };
    const { faults, remarks } = next;
    expect(told).toContainEqual({ type: 'config', changes, faults, remarks });
    expect([faults.length, remarks.length]).toEqual([1, 1]);
    expect([manager.faults, manager.remarks]).toEqual([faults, remarks]);
    expect([...manager.status.keys()]).toEqual(['a', 'b', 'faulty']);
    await flush();
    expect(await firstValueFrom(manager.tools$)).toMatchObject([
      { name: 'b__b', inputSchema: { type: 'object' } },
    ]);
    // What happens on those that have come is told, too.
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'tools', server: 'b', report: expect.anything() }),
    );
    expect(told.some((each) => each.type === 'connection' && each.server === 'b')).toBe(true);
    await manager.close();
    manager.apply(config({ c: launched }));
    await flush();
    expect(servers.opened.map(({ options }) => options.name)).toEqual(['a', 'gone', 'b']);
    expect([...manager.status.keys()]).not.toContain('c');
  });

  test('applies a new tool filter without restarting, and reports it', async () => {
    const servers = new ScriptedServers({ a: launched });
    await flush();
    const before = servers.manager.get('a');
    const told: (readonly string[])[] = [];
    servers.manager.tools$.subscribe((tools) => told.push(namesOf(tools)));
    servers.manager.apply(config({ a: { ...launched, tools: { deny: ['a'] } } }));
    await flush();
    expect(told).toEqual([['a__a'], []]);
    expect(servers.manager.get('a')).toBe(before);
    expect(servers.opened).toHaveLength(1);
  });
});

test('emits connection events with their server, buffered for late listeners', async () => {
  const servers = new ScriptedServers({ a: launched });
  const { manager } = servers;
  const listening = () => {
    const told: string[] = [];
    manager.events$.subscribe((each) => {
      if (each.type === 'tools') {
        told.push(`${each.server} lists ${namesOf(each.report.items).join()}`);
      }
      if (each.type !== 'connection' || each.event.type !== 'state') return;
      told.push(`${each.server} ${each.event.state.value}`);
    });
    return told;
  };
  const first = listening();
  await flush();
  const late = listening();
  await manager.close();
  expect(first).toEqual(expect.arrayContaining(['a connecting', 'a ready', 'a lists a']));
  expect([first.at(-1), late.at(-1)]).toEqual(['a closed', 'a closed']);
});

describe('close', () => {
  test('prevents every start if called in the first turn', async () => {
    const watch = vi.fn();
    const servers = new ScriptedServers({ a: launched, off, faulty }, { watchers: [watch] });
    const { manager } = servers;
    const ended: string[] = [];
    manager.atEnd(() => ended.push('watching'));
    manager.tools$.subscribe({ complete: () => ended.push('tools') });
    manager.events$.subscribe({ complete: () => ended.push('events') });
    const started = manager.started();
    await manager.close();
    expect(await now(started)).toEqual({ ready: [], late: [], failed: ['faulty'] });
    await flush();
    expect(servers.opened).toEqual([]);
    expect(watch).not.toHaveBeenCalled();
    expect(ended).toEqual(['watching', 'tools', 'events']);
    expect(stateOf(servers, 'a')).toBe('closed');
    expect(servers.clock.liveTimers).toBe(0);
  });

  test('closes all connections for good', async () => {
    const servers = new ScriptedServers({ a: launched });
    const connection = await servers.manager.use('a');
    await flush();
    await servers.manager.close();
    expect(connection.state.value).toBe('closed');
    await expect(servers.manager.use('a')).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(servers.manager.status.get('a')).toStrictEqual({
      ...{ state: 'closed', launches: 1 },
      tools: { state: 'known' },
    });
  });
});
