import { join } from 'node:path';
import { filter, firstValueFrom } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/actors/clock.ts';
import { openServers } from '../../../src/client/connect-all.ts';
import { mayBeNamed, mergedName } from '../../../src/client/hosts/merged-names.ts';
import type { Servers, ManagedOptions } from '../../../src/client/hosts/servers.ts';

const node = (script: string, ...args: readonly string[]) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, script), ...args],
});
const small = (...args: readonly string[]) => node('small-server.mjs', ...args);
const badList = node('bad-list-server.mjs');
const withoutTools = node('bad-list-server.mjs', '--without');

/** Servers of which nothing is known yet. */
function opened(mcpServers: object, options: ManagedOptions = {}): Servers {
  const servers = openServers({ mcpServers }, { restart: 'none', cacheFolder: false, ...options });
  onTestFinished(() => servers.close());
  return servers;
}

/** Resolves when the list of a server stands there. */
const standing = ({ events$, status }: Servers, server: string, state: string) =>
  status.get(server)?.tools.state === state ||
  firstValueFrom(
    (events$ as Observable<{ type: string; server?: string; report?: { state: string } }>).pipe(
      filter((each) => each.server === server && each.report?.state === state),
    ),
  );

const textOf = ({ content: [block] }: { readonly content: readonly object[] }): string =>
  String((block as { readonly text?: string }).text);

/** Others have no time after the first one has said that it has the tool. */
const hasty = {
  ...systemClock,
  setTimeout: (callback: () => void, ms: number) =>
    systemClock.setTimeout(callback, ms === 1000 ? 0 : ms),
};

describe('a name that is used before any list is known', () => {
  test('is called at its server, if it spells that out', async () => {
    const servers = opened({ deaf: small('--deaf'), a: small('one') });
    expect(textOf(await servers.callTool('a__one', { text: 'x' }))).toBe('one x');
  });

  test('waits for the lists that could have it, if it has a digest, and for no other', async () => {
    const servers = opened({ deaf: small('--deaf'), 'a.b': small('one') });
    const name = mergedName({ server: 'a.b', tool: 'one' });
    expect(name).toMatch(/_[0-9a-f]{8}$/);
    expect(textOf(await servers.callTool(name))).toBe('one');
  });

  test('and has a digest of nothing is refused when those lists are known', async () => {
    const servers = opened({ deaf: small('--deaf'), 'a.b': small('one') });
    await expect(servers.callTool('a_b__two_01234567')).rejects.toThrow(
      'There is no tool "a_b__two_01234567"',
    );
  });

  test('starts the lazy server that could have it, and no other', async () => {
    const lazy = { ...small('one'), lazy: true };
    const servers = opened({ other: lazy, 'a.b': lazy });
    await servers.callTool(mergedName({ server: 'a.b', tool: 'one' }));
    expect([...servers.status].map(([name, { state }]) => [name, state])).toEqual([
      ['other', 'idle'],
      ['a.b', 'ready'],
    ]);
  });

  test('is not waited for longer than its time, and it is told for whom', async () => {
    const servers = opened({ 'de.af': small('--deaf') });
    await expect(servers.callTool('de_af__x_01234567', {}, { timeoutMs: 30 })).rejects.toThrow(
      'Nobody was known to have the tool "de_af__x_01234567" within 30 ms. These have not said what they have: de.af (connecting)',
    );
  });

  test('is waited for by nobody once that was cancelled, or the servers are closed', async () => {
    const servers = opened({ 'de.af': small('--deaf') });
    const name = 'de_af__x_01234567';
    const controller = new AbortController();
    const cancelled = servers.callTool(name, {}, { signal: controller.signal });
    controller.abort('enough');
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    const called = servers.callTool(name);
    const closed = servers.close();
    await expect(called).rejects.toMatchObject({ code: 'NOT_READY' });
    await closed;
  });

  test('is not waited for, if the host does not want to wait for who is away', async () => {
    const servers = opened({ 'de.af': small('--deaf') });
    await expect(
      servers.callTool('de_af__x_01234567', {}, { whenAway: 'refuse' }),
    ).rejects.toMatchObject({ code: -32602 });
  });
});

describe('the own name of a tool', () => {
  test('means the tool of the server that has it, though others have said nothing', async () => {
    const servers = opened({ deaf: small('--deaf'), a: small('one') }, { clock: hasty });
    expect(await servers.findTools('one')).toEqual([
      { server: 'a', tool: 'one', listed: servers.tools[0] },
    ]);
  });

  test('means all tools of that name', async () => {
    const servers = opened({ a: small('one'), b: small('one'), c: small('two') });
    const found = await servers.findTools('one');
    expect(found.map(({ server }) => server)).toEqual(['a', 'b']);
    expect(await servers.findTools('three')).toEqual([]);
  });
});

describe('a list of tools that cannot be had', () => {
  test('is told with its reason, and hides no tool that is named', async () => {
    const servers = opened({ bad: badList, a: small('one') });
    await standing(servers, 'bad', 'failed');
    expect(servers.status.get('bad')).toMatchObject({
      state: 'ready',
      tools: { state: 'failed', reason: expect.stringContaining('The database is away') },
    });
    expect(textOf(await servers.callTool('bad__echo', { text: 'x' }))).toBe('echo x');
    expect(await servers.findTools('bad__echo')).toEqual([
      { server: 'bad', tool: 'echo', listed: undefined },
    ]);
  });

  test('is why a name with a digest is refused', async () => {
    const servers = opened({ 'b.ad': badList });
    await standing(servers, 'b.ad', 'failed');
    await expect(servers.callTool(mergedName({ server: 'b.ad', tool: 'echo' }))).rejects.toThrow(
      /The tools of b\.ad are not known: .*The database is away/,
    );
  });

  test('is unsupported if the server has no tools', async () => {
    const servers = opened({ without: withoutTools, off: { command: 'x', disabled: true } });
    await standing(servers, 'without', 'unsupported');
    expect(servers.status.get('without')?.tools).toEqual({
      state: 'unsupported',
      reason: 'The server declares no "tools" capability',
    });
    await expect(servers.callTool('without__x')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
    await expect(servers.callTool('off__x')).rejects.toThrow('it is disabled');
  });

  test('keeps nobody from the other lists for longer than the time that it is waited for', async () => {
    const servers = opened({ deaf: small('--deaf'), a: small('one') });
    await standing(servers, 'a', 'known');
    const tools = await servers.listTools({ timeoutMs: 20 });
    expect(tools.map(({ name }) => name)).toEqual(['a__one']);
    expect(servers.status.get('deaf')).toMatchObject({
      state: 'connecting',
      tools: { state: 'asking' },
    });
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
