import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom, map, startWith } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectAll, openServers } from '../../../src/client/connect-all.ts';
import type { WatchedConnection } from '../../../src/client/connection/watched-connection.ts';
import type { ServersEvent } from '../../../src/client/hosts/server-reports.ts';
import type { Servers, ManagedOptions } from '../../../src/client/hosts/servers.ts';
import { HeldClock } from '../../actors/held-clock.ts';

const script = join(import.meta.dirname, 'small-server.mjs');
/** An entry for a server with these tools. */
const small = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [script, ...args],
});
const quick = { restart: 'none', cacheFolder: false } as const;

function closing<T extends Servers>(servers: T): T {
  onTestFinished(() => servers.close());
  return servers;
}
const connected = async (mcpServers: object, options: ManagedOptions = {}) =>
  closing(await connectAll({ mcpServers }, { ...quick, startupMs: 30_000, ...options }));

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'servers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const namesOf = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);
const states = ({ status }: Servers) =>
  Object.fromEntries([...status].map(([name, { state }]) => [name, state]));
const textOf = ({ content: [block] }: { readonly content: readonly object[] }): string =>
  String((block as { readonly text?: string }).text);

/** Resolves when the merged list has these names. */
const listed = ({ tools$ }: Servers, ...names: readonly string[]) =>
  firstValueFrom(
    tools$.pipe(
      map(namesOf),
      filter((each) => each.join() === names.join()),
    ),
  );
const event = <K extends ServersEvent['type']>({ events$ }: Servers, type: K) =>
  firstValueFrom(
    (events$ as Observable<ServersEvent>).pipe(
      filter((each): each is Extract<ServersEvent, { readonly type: K }> => each.type === type),
    ),
  );

describe('many servers', () => {
  test('have one list of tools, each with its server, and are called by its names, though they call themselves alike [LISTS-11]', async () => {
    const servers = await connected({ b: small('two', 'one'), a: small('one') });
    expect(await servers.started()).toEqual({ ready: ['b', 'a'], late: [], failed: [] });
    await listed(servers, 'a__one', 'b__one', 'b__two');
    expect(servers.tools[1]).toMatchObject({
      name: 'b__one',
      server: 'b',
      tool: 'one',
      description: 'Says one',
      cachedAt: undefined,
    });
    expect(textOf(await servers.callTool('b__two', { text: 'x' }))).toBe('two x');
  });

  test('start although others crash, are missing, faulty or disabled, and say why', async () => {
    const servers = await connected({
      good: small('one'),
      crash: { command: process.execPath, args: ['-e', 'console.error("boom"); process.exit(3)'] },
      missing: { command: 'no-such-command-anywhere' },
      faulty: { command: 5 },
      off: { command: 'x', disabled: true },
    });
    expect(states(servers)).toEqual({
      good: 'ready',
      crash: 'failed',
      missing: 'failed',
      faulty: 'failed',
      off: 'disabled',
    });
    const { status } = servers;
    expect(status.get('crash')?.error).toMatchObject({ exit: { code: 3 } });
    expect(status.get('crash')?.error?.message).toContain('boom');
    expect(status.get('missing')?.error).toMatchObject({ code: 'SPAWN_FAILED' });
    expect(status.get('faulty')?.error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(namesOf(await servers.listTools())).toEqual(['good__one']);
    await expect(servers.callTool('faulty__x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(servers.use('off')).rejects.toThrow('it is disabled');
    await expect(servers.use('goood')).rejects.toThrow(
      'there is no such server. Did you mean good?',
    );
  });

  test('do not wait for one that never answers, which is told as late', async () => {
    const clock = new HeldClock(4000);
    const servers = closing(
      openServers(
        { mcpServers: { deaf: small('--deaf'), good: small('one') } },
        { ...quick, startupMs: 4000, clock },
      ),
    );
    await listed(servers, 'good__one');
    clock.letGo();
    expect(await servers.started()).toMatchObject({ ready: ['good'], late: ['deaf'], failed: [] });
    expect(namesOf(await servers.listTools({ whenAway: 'refuse' }))).toEqual(['good__one']);
  });

  test('start so many at a time, and all in the end', async () => {
    const servers = await connected(
      { a: small('one'), b: small('one'), c: small('one') },
      { maxStarting: 1 },
    );
    expect(states(servers)).toEqual({ a: 'ready', b: 'ready', c: 'ready' });
  });

  test('leave out what a filter denies, which can then not be called', async () => {
    const servers = await connected({
      a: { ...small('read_a', 'read_b', 'write'), tools: { allow: ['read_*'], deny: ['*_b'] } },
    });
    await listed(servers, 'a__read_a');
    await expect(servers.callTool('a__write')).rejects.toMatchObject({ code: -32602 });
    await expect(servers.callTool('a__read_x')).rejects.toThrow(
      'There is no tool "a__read_x". Did you mean a__read_a?',
    );
    await expect(servers.callTool('nowhere')).rejects.toThrow(/There is no tool "nowhere"$/);
  });

  test('of which one is lost and not made again lose its tools', async () => {
    const servers = await connected({ a: small('die'), b: small('one') });
    await listed(servers, 'a__die', 'b__one');
    await expect(servers.callTool('a__die')).rejects.toMatchObject({
      code: 'CLOSED',
      exit: { code: 7 },
    });
    await listed(servers, 'b__one');
    expect(states(servers)).toEqual({ a: 'failed', b: 'ready' });
  });

  test('whose tools nobody waits for any more say so', async () => {
    const servers = await connected({ a: small('one') });
    const controller = new AbortController();
    const listed = servers.listTools({ refresh: true, signal: controller.signal });
    controller.abort('enough');
    await expect(listed).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  });

  test('are all ended by close, and none is started after that', async () => {
    const servers = await connected({ a: small('pid'), b: { ...small('one'), lazy: true } });
    const pid = Number(textOf(await servers.callTool('a__pid')));
    await servers.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(servers.use('b')).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(states(servers)).toEqual({ a: 'closed', b: 'closed' });
  });

  test('of which the host has closed one start it again if it is used', async () => {
    const servers = await connected({ a: small('pid'), b: small('one') });
    await listed(servers, 'a__pid', 'b__one');
    const pid = textOf(await servers.callTool('a__pid'));
    const closed = servers.get('a')?.close();
    const other = await servers.use('a');
    await closed;
    await other.ready();
    expect(textOf(await servers.callTool('a__pid'))).not.toBe(pid);
    expect(servers.status.get('a')).toMatchObject({ state: 'ready', launches: 2 });
    await other.close();
    expect(states(servers)).toEqual({ a: 'closed', b: 'ready' });
    // What is only listed goes without it.
    await servers.listTools();
    expect(states(servers)).toEqual({ a: 'closed', b: 'ready' });
  });

  test('tell what happens on each connection, and which it was', async () => {
    const servers = closing(openServers({ mcpServers: { a: small('one') } }, quick));
    const told: string[] = [];
    servers.events$.subscribe((each) => {
      if (each.type === 'connection' && each.event.type === 'state') {
        told.push(`${each.server} ${each.event.state.value}`);
      }
    });
    const reported = firstValueFrom(
      (servers.events$ as Observable<ServersEvent>).pipe(
        filter((each) => each.type === 'tools' && each.report.state === 'known'),
      ),
    );
    await servers.started();
    expect(await reported).toMatchObject({ server: 'a', report: { items: [{ name: 'one' }] } });
    await servers.close();
    expect(told).toContain('a ready');
    expect(told.at(-1)).toBe('a closed');
  });
});

describe('servers without a connection', () => {
  test('are shown to what watches the connections, which then have their ids', async () => {
    const seen: WatchedConnection[] = [];
    const servers = await connected(
      { a: { ...small('one'), lazy: true, idleMs: 1 }, off: { ...small('x'), disabled: true } },
      { watchers: [(watched) => seen.push(watched)] },
    );
    const dumps = () =>
      seen.map(({ id, dump }) => ({ id, name: dump().name, state: dump().state }));
    expect(dumps()).toMatchObject([
      { name: 'a', state: 'idle' },
      { name: 'off', state: 'disabled' },
    ]);
    const [first, off] = seen;
    await servers.callTool('a__one');
    await first?.closed;
    expect(seen[2]).toMatchObject({ id: first?.id, side: 'host' });
    expect(seen[2]?.dump()).toMatchObject({ id: first?.id, launches: 1 });
    // Once it has slept it is shown anew.
    await expect.poll(() => dumps()[3]).toMatchObject({ name: 'a', state: 'idle' });
    expect(seen[3]?.id).not.toBe(first?.id);
    await servers.close();
    for (const each of [off, seen[3]]) expect(await each?.closed).toBeUndefined();
    expect(seen).toHaveLength(4);
  });
});

describe('a lazy server', () => {
  test('is started by its first use', async () => {
    const servers = await connected({ a: { ...small('one'), lazy: true } });
    expect(servers.status.get('a')).toEqual({
      state: 'idle',
      launches: 0,
      tools: { state: 'asking' },
    });
    expect(servers.get('a')).toBeUndefined();
    expect(textOf(await servers.callTool('a__one'))).toBe('one');
    expect(servers.status.get('a')).toMatchObject({ state: 'ready', launches: 1 });
  });

  test('is started to be listed, if nothing is known of it', async () => {
    const servers = await connected({ a: { ...small('one'), lazy: true } });
    expect(servers.tools).toEqual([]);
    expect(namesOf(await servers.listTools())).toEqual(['a__one']);
  });

  test('is listed from the cache, with the date, until it has answered itself', async () => {
    const cacheFolder = await temporaryFolder();
    const entries = { a: { ...small('one'), lazy: true } };
    const first = await connected(entries, { cacheFolder });
    await first.listTools();
    await first.close();
    const servers = await connected(entries, { cacheFolder });
    await listed(servers, 'a__one');
    expect(servers.tools[0]?.cachedAt).toMatch(/^\d{4}-\d\d-\d\dT/);
    await servers.listTools();
    expect(servers.status.get('a')?.launches).toBe(0);
    await servers.callTool('a__one');
    await firstValueFrom(servers.tools$.pipe(filter(([tool]) => tool?.cachedAt === undefined)));
    expect(servers.status.get('a')?.launches).toBe(1);
  });
});

test('a server whose entry says its era is not asked for it', async () => {
  const servers = await connected({
    old: { ...small('one'), era: 'legacy' },
    asked: { ...small('one'), era: 'auto' },
  });
  const eraOf = (name: string) => servers.get(name)?.server?.era;
  expect([eraOf('old'), eraOf('asked')]).toEqual(['legacy', 'modern']);
  const other = closing(openServers({ mcpServers: { a: { ...small('one'), era: 'old' } } }, quick));
  expect(other.faults.map(({ key, message }) => `${key}: ${message}`)).toEqual([
    'era: "old" is not one of auto, legacy, modern',
  ]);
});

test('an idle server is stopped, keeps its tools, and is started by its next use', async () => {
  const servers = await connected({ a: { ...small('pid'), idleMs: 300 } });
  await listed(servers, 'a__pid');
  const pid = textOf(await servers.callTool('a__pid'));
  await firstValueFrom(
    servers.events$.pipe(
      startWith(undefined),
      filter(() => servers.status.get('a')?.state === 'idle'),
    ),
  );
  expect(namesOf(servers.tools)).toEqual(['a__pid']);
  expect(textOf(await servers.callTool('a__pid'))).not.toBe(pid);
  expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
  expect(servers.status.get('a')?.launches).toBe(2);
});

describe('a file that changes', () => {
  async function watched(mcpServers: object) {
    const file = join(await temporaryFolder(), 'mcp.json');
    const write = async (text: string) => {
      // As an editor does it.
      await writeFile(`${file}~`, text);
      await rename(`${file}~`, file);
    };
    await write(JSON.stringify({ mcpServers }));
    const servers = closing(await connectAll(file, { ...quick, startupMs: 30_000 }));
    return {
      servers,
      write,
      change: (next: object) => write(JSON.stringify({ mcpServers: next })),
    };
  }

  test('starts what is new, ends what is gone, and lets go on what is the same', async () => {
    const { servers, change } = await watched({
      kept: small('one'),
      gone: small('two'),
      other: small('x'),
    });
    const [kept, gone, other] = ['kept', 'gone', 'other'].map((name) => servers.get(name));
    const happened = event(servers, 'config');
    await change({ kept: small('one'), other: small('y'), added: small('three') });
    expect((await happened).changes).toEqual({
      added: ['added'],
      removed: ['gone'],
      changed: ['other'],
      adjusted: [],
    });
    await listed(servers, 'added__three', 'kept__one', 'other__y');
    expect(servers.get('kept')).toBe(kept);
    expect(servers.get('other')).not.toBe(other);
    expect([kept, gone, other].map((each) => each?.state.value)).toEqual([
      'ready',
      'closed',
      'closed',
    ]);
  });

  test('restarts nothing for another filter of tools', async () => {
    const { servers, change } = await watched({ a: small('one', 'two') });
    const before = servers.get('a');
    await listed(servers, 'a__one', 'a__two');
    await change({ a: { ...small('one', 'two'), tools: { deny: ['two'] } } });
    await listed(servers, 'a__one');
    expect(servers.get('a')).toBe(before);
  });

  test('is watched no longer than its servers are there', async () => {
    const { servers } = await watched({ a: { ...small('one'), disabled: true } });
    const another = watch(tmpdir());
    const ends = vi.spyOn(Object.getPrototypeOf(another) as FSWatcher, 'close');
    onTestFinished(() => ends.mockRestore());
    another.close();
    expect(ends).toHaveBeenCalledTimes(1);
    await servers.close();
    expect(ends).toHaveBeenCalledTimes(2);
  });

  test('and cannot be used is told, and all goes on', async () => {
    const { servers, write } = await watched({ a: small('one') });
    const happened = event(servers, 'config-failed');
    await write('{ "mcpServers": ');
    expect((await happened).error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(textOf(await servers.callTool('a__one'))).toBe('one');
  });
});

test('a file that cannot be read is refused', async () => {
  const file = join(await temporaryFolder(), 'no.json');
  await expect(connectAll(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
