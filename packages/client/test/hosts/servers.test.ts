import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom, map } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectAll, openServers } from '../../src/connect-all.ts';
import type { ServersEvent } from '../../src/hosts/server-reports.ts';
import type { Servers, ManagedOptions } from '../../src/hosts/servers.ts';

const script = join(import.meta.dirname, 'small-server.mjs');
/** An entry for a server with these tools. */
const small = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [script, ...args],
});
const official = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, 'official-server.mjs'), ...args],
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
  test('merge their tools by server and call them by merged name, even for servers of the same name [LISTS-11]', async () => {
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

  test.each([
    ['answered with an error', small('read_file', 'write_file')],
    ['answered with a result', official('read_file', 'write_file')],
  ])('suggest a similar tool before any list has arrived: %s', async (_name, entry) => {
    const servers = closing(openServers({ mcpServers: { files: entry } }, quick));
    expect(servers.tools).toEqual([]);
    await expect(servers.callTool('files__read_fil', {})).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Did you mean files__read_file?') as string,
    });
  });

  test('start although others crash, are missing, invalid or disabled, with the reasons', async () => {
    const servers = await connected({
      good: small('one'),
      crash: { command: process.execPath, args: ['-e', 'console.error("boom"); process.exit(3)'] },
      missing: { command: 'no-such-command-anywhere' },
      faulty: { command: 5 },
      off: { command: 'x', disabled: true },
      notEnabled: { command: 'x', enabled: false },
      unclear: { ...small('two'), enabled: 'false' },
    });
    expect(states(servers)).toEqual({
      good: 'ready',
      crash: 'failed',
      missing: 'failed',
      faulty: 'failed',
      off: 'disabled',
      notEnabled: 'disabled',
      unclear: 'failed',
    });
    const { status } = servers;
    expect(status.get('crash')?.error).toMatchObject({ exit: { code: 3 } });
    expect(status.get('crash')?.error?.message).toContain('boom');
    expect(status.get('missing')?.error).toMatchObject({ code: 'SPAWN_FAILED' });
    expect(status.get('faulty')?.error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(namesOf(await servers.listTools())).toEqual(['good__one']);
    await expect(servers.callTool('faulty__x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(servers.use('off')).rejects.toThrow('the server is disabled');
    await expect(servers.use('notEnabled')).rejects.toThrow('the server is disabled');
    expect(status.get('unclear')?.error).toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(servers.use('goood')).rejects.toThrow('unknown server. Did you mean good?');
  });

  test('drop the tools of a server that is lost for good', async () => {
    const servers = await connected({ a: small('die'), b: small('one') });
    await listed(servers, 'a__die', 'b__one');
    await expect(servers.callTool('a__die')).rejects.toMatchObject({
      code: 'CLOSED',
      exit: { code: 7 },
    });
    await listed(servers, 'b__one');
    expect(states(servers)).toEqual({ a: 'failed', b: 'ready' });
  });

  test('all end with close, and none starts after it', async () => {
    const servers = await connected({ a: small('pid'), b: { ...small('one'), lazy: true } });
    const pid = Number(textOf(await servers.callTool('a__pid')));
    await servers.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(servers.use('b')).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(states(servers)).toEqual({ a: 'closed', b: 'closed' });
  });
});

test('does not probe a server with a configured era', async () => {
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

describe('a changing file', () => {
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

  test('starts new servers, stops removed ones and keeps the rest', async () => {
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

  test('is watched until the servers are closed', async () => {
    const { servers } = await watched({ a: { ...small('one'), disabled: true } });
    const another = watch(tmpdir());
    const ends = vi.spyOn(Object.getPrototypeOf(another) as FSWatcher, 'close');
    onTestFinished(() => ends.mockRestore());
    another.close();
    expect(ends).toHaveBeenCalledTimes(1);
    await servers.close();
    expect(ends).toHaveBeenCalledTimes(2);
  });

  test('is reported if invalid, and changes nothing', async () => {
    const { servers, write } = await watched({ a: small('one') });
    const happened = event(servers, 'config-failed');
    await write('{ "mcpServers": ');
    expect((await happened).error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(textOf(await servers.callTool('a__one'))).toBe('one');
  });
});

test('rejects an unreadable file', async () => {
  const file = join(await temporaryFolder(), 'no.json');
  await expect(connectAll(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
