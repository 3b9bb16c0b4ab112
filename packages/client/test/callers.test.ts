/** What a server tells one who is logged in, it does not tell another: a host keeps them apart. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, openServers } from 'mcp-actors/client';
import type { ConnectOptions, ServerEntry } from 'mcp-actors/client';
import type { AuthOption } from '../src/auth/options.ts';
import { defer, firstValueFrom, merge } from 'rxjs';
import { filter } from 'rxjs/operators';
import { callerOf } from '../src/connect.ts';
import { greeted, scriptedServer } from './http/scripted-server.ts';
import type { Scripted, ScriptedServer } from './http/scripted-server.ts';

const bearer = (token: string | (() => string)): AuthOption => ({ kind: 'bearer', token });

/** Whose request it is, by its token. */
const callerIn = ({ headers }: Scripted) =>
  headers.authorization?.replace(/^Bearer /, '').replace(/-.*/, '') ?? 'nobody';

const capabilities = { tools: {}, resources: {}, prompts: {} };

/** What each caller has, of each list. */
function listFor(asked: Scripted, method = ''): object {
  const name = `of-${callerIn(asked)}`;
  if (method === 'tools/list') return { tools: [{ name, inputSchema: { type: 'object' } }] };
  if (method === 'prompts/list') return { prompts: [{ name }] };
  return { resources: [{ name, uri: `x:${name}` }] };
}

/** A server that shows each caller something else. */
function ofCallers(era: 'legacy' | 'modern'): Promise<ScriptedServer> {
  return scriptedServer((asked) => {
    const { method } = asked.message ?? {};
    if (era === 'legacy') {
      if (method === 'initialize') {
        const serverInfo = { name: 'scripted', version: '1' };
        return asked.result({ protocolVersion: '2025-11-25', capabilities, serverInfo });
      }
      if (method === 'server/discover') return asked.json({}, 404);
      return greeted(asked) || asked.result(listFor(asked, method));
    }
    const hints = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'private' };
    if (method !== 'server/discover') return asked.result({ ...listFor(asked, method), ...hints });
    const instructions = `for ${callerIn(asked)}`;
    const supportedVersions = ['2026-07-28'];
    return asked.result({ ...hints, supportedVersions, capabilities, instructions });
  });
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

describe('lists on disk', () => {
  /** Servers whose lists are cached: what is known before they are asked, and what they say then. */
  const cachedIn = (cacheFolder: string) => ({
    async run(entry: ServerEntry, options: ConnectOptions) {
      const mcpServers = { a: { ...entry, lazy: true } };
      const servers = openServers({ mcpServers }, { report: () => {}, cacheFolder, ...options });
      const first = await firstValueFrom(
        merge(
          servers.tools$.pipe(filter(({ length }) => length > 0)),
          defer(() => servers.listTools()),
        ),
      );
      await servers.listTools({ refresh: true });
      const last = servers.tools;
      await servers.close();
      return { first: first.map(({ name, cachedAt }) => [name, !!cachedAt]), last: namesOf(last) };
    },
    files: async () => (await readdir(cacheFolder)).filter((name) => name.endsWith('.json')),
  });

  test('are those of the token that they were given for [LISTS-07]', async () => {
    const url = (await ofCallers('modern')).url.href;
    const { run, files } = cachedIn(await temporaryFolder());
    const by = (token: string) => run({ url }, { auth: bearer(token) });
    expect(await by('alice')).toEqual({ first: [['a__of-alice', false]], last: ['a__of-alice'] });
    await expect.poll(files).toHaveLength(1);
    expect(await by('bob')).toEqual({ first: [['a__of-bob', false]], last: ['a__of-bob'] });
    await expect.poll(files).toHaveLength(2);
    expect((await by('alice')).last).toEqual(['a__of-alice']);
    expect(await files()).toHaveLength(2);
  });

  test('are those of the server that has given them', async () => {
    const [one, two] = [await ofCallers('modern'), await ofCallers('modern')];
    const { run, files } = cachedIn(await temporaryFolder());
    await run({ url: one.url.href, headers: { authorization: 'Bearer one' } }, {});
    await expect.poll(files).toHaveLength(1);
    const { first } = await run({ url: two.url.href }, {});
    expect(first).toEqual([['a__of-nobody', false]]);
    await expect.poll(files).toHaveLength(2);
  });

  test('are kept of nobody who is only known once he is asked [LISTS-07]', async () => {
    const url = (await ofCallers('modern')).url.href;
    const { run, files } = cachedIn(await temporaryFolder());
    await run({ url }, { auth: bearer(() => 'alice') });
    expect((await run({ url }, { auth: bearer(() => 'bob') })).first).toEqual([
      ['a__of-bob', false],
    ]);
    // Whatever was written before this is there by now.
    await run({ url }, { auth: bearer('carol') });
    await expect.poll(files).not.toHaveLength(0);
    await run({ url }, { auth: bearer('carol') });
    expect(await files()).toHaveLength(1);
  });

  const http = { url: 'https://example.com/mcp' };
  const command = { command: 'node' };

  test.each<[what: string, entry: ServerEntry, options: ConnectOptions]>([
    ['a login of a person', http, { auth: true }],
    ['a login of the host', http, { auth: { kind: 'client-credentials', clientId: 'x' } }],
    ['a function that gives tokens', http, { auth: bearer(() => 'alice') }],
    ['a fetch of the host', http, { fetch: (...of) => fetch(...of) }],
    ['a whole environment', command, { inheritEnv: true }],
  ])('are not kept if the caller is not known before: %s [LISTS-07]', (_, entry, options) => {
    expect(callerOf(entry, options)).toBeUndefined();
  });

  test('are kept for an entry alone that says all, whatever other servers log in with', () => {
    expect(callerOf(http, {})).toBe('');
    expect(callerOf(http, { auth: false, inheritEnv: true })).toBe('');
    expect(callerOf(command, { auth: true, fetch: (...of) => fetch(...of) })).toBe('');
    const inheriting = () => callerOf(command, { inheritEnv: ['OF_CALLER_*'] });
    process.env['OF_CALLER_TOKEN'] = 'alice';
    onTestFinished(() => void delete process.env['OF_CALLER_TOKEN']);
    const alice = inheriting();
    process.env['OF_CALLER_TOKEN'] = 'bob';
    expect(inheriting()).not.toBe(alice);
  });
});

describe.each(['legacy', 'modern'] as const)('another login in one connection, %s', (era) => {
  async function connected() {
    const server = await ofCallers(era);
    const who = { token: 'alice' };
    const connection = await connect(
      { url: server.url.href },
      { auth: bearer(() => who.token), report: () => {}, restart: 'none' },
    );
    onTestFinished(() => connection.close());
    return { connection, who, server };
  }

  const seen = async (connection: Awaited<ReturnType<typeof connected>>['connection']) => [
    ...namesOf(await connection.listTools()),
    ...namesOf(await connection.listPrompts()),
    ...namesOf(await connection.listResources()),
  ];

  test('sees nothing of what was kept for the one before [LISTS-07]', async () => {
    const { connection, who } = await connected();
    expect(await seen(connection)).toEqual(['of-alice', 'of-alice', 'of-alice']);
    const reports: (readonly string[])[] = [];
    const watch = connection.tools$.subscribe(({ items }) => reports.push(namesOf(items)));
    who.token = 'bob';
    await connection.request('resources/read', { uri: 'x:1' });
    expect(await seen(connection)).toEqual(['of-bob', 'of-bob', 'of-bob']);
    watch.unsubscribe();
    // Nothing of the one before stands in for what is still to come.
    expect(reports).toEqual([['of-alice'], [], ['of-bob']]);
    expect(connection.state.value).toBe('ready');
    if (era === 'modern') expect(connection.server?.instructions).toBe('for bob');
  });

  test('is not suspected of a host that makes a token for each request', async () => {
    const { connection, who, server } = await connected();
    let count = 0;
    Object.defineProperty(who, 'token', { get: () => `alice-${count++}` });
    await seen(connection);
    await seen(connection);
    const asked = server.asked.map(({ message }) => message?.method);
    expect(asked.filter((method) => method === 'tools/list').length).toBeLessThanOrEqual(2);
    expect(asked.filter((method) => method === 'server/discover')).toHaveLength(1);
  });
});
