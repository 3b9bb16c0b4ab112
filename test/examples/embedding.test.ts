import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import { memory, toSdkTransport } from 'mcp-actors';
import { afterEach, expect, test } from 'vitest';
import { createActor, waitFor } from 'xstate';
import { hostMachine } from '../../examples/embedding/two-sessions.ts';
import { launch, reapServers, repository } from '../e2e/server-process.ts';
import { program } from '../tooling/programs.ts';

afterEach(reapServers);

/** An official client with these folders as roots. */
function clientWith(...folders: readonly string[]) {
  const client = new Client(
    { name: 'editor', version: '1.0.0' },
    { capabilities: { roots: { listChanged: true } } },
  );
  const open = new Set(folders);
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [...open].map((uri) => ({ uri })),
  }));
  return { client, open };
}

test('reacts to the roots of two sessions in a host machine', async () => {
  const [left, right] = [memory(), memory()];
  const host = createActor(hostMachine, {
    input: { left: left.transport, right: right.transport },
  });
  const shared: string[][] = [];
  host.on('shared.changed', ({ folders }) => shared.push([...folders]));
  host.start();
  const one = clientWith('file:///app', 'file:///docs');
  const other = clientWith('file:///docs');
  await one.client.connect(toSdkTransport(left.peer));
  await other.client.connect(toSdkTransport(right.peer));
  await waitFor(
    host,
    ({ context }) => context.folders.right.length === 1 && context.folders.left.length === 2,
  );
  expect(shared.at(-1)).toEqual(['file:///docs']);

  other.open.add('file:///app');
  await other.client.sendRootsListChanged();
  await waitFor(host, ({ context }) => context.folders.right.length === 2);
  expect(shared.at(-1)).toEqual(['file:///app', 'file:///docs']);
  expect(await other.client.callTool({ name: 'where' })).toMatchObject({
    content: [{ text: 'file:///docs file:///app' }],
  });

  await one.client.close();
  await waitFor(host, (snapshot) => snapshot.matches({ left: 'ended', right: 'open' }));
  expect(shared.at(-1)).toEqual([]);
  host.send({ type: 'host.close' });
  const { output } = await waitFor(host, ({ status }) => status === 'done');
  expect(output).toEqual({ left: 'input-ended', right: 'shutdown' });
});

test('serves sessions of a web service, and shows them', async () => {
  const service = launch([...program('examples/embedding/serve-web.ts'), '0']);
  const [line] = (await once(service.child.stderr, 'data')) as [Buffer];
  const url = new URL(String(line).trim());

  const { client } = clientWith('file:///shop');
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url));
  await client.connect(transport);
  const ask = () => client.callTool({ name: 'order_state', arguments: { order: 'A-1' } });
  expect(await ask()).toMatchObject({ content: [{ text: 'paid' }] });
  await fetch(new URL('/orders/A-1/sent', url), { method: 'PUT' });
  expect(await ask()).toMatchObject({ content: [{ text: 'sent' }] });

  const shown = (await (await fetch(new URL('/sessions', url))).json()) as { id: string }[];
  expect(shown).toMatchObject([{ client: { name: 'editor' }, queues: { running: { count: 0 } } }]);
  expect(JSON.stringify(shown)).not.toContain(transport.sessionId);
  const states = await fetch(new URL(`/sessions/${shown[0]?.id}/states`, url));
  await transport.terminateSession();
  const told = (await states.text()).matchAll(/^data: (.*)$/gm);
  expect([...told].map(([, state]) => state).slice(-2)).toEqual(['draining', 'closed']);
  expect(await (await fetch(new URL('/sessions', url))).json()).toEqual([]);
  const stranger = { method: 'POST', headers: { origin: 'http://evil.example' }, body: '{}' };
  expect((await fetch(new URL('/mcp', url), stranger)).status).toBe(403);
  await client.close();
});

test('prints events of a plain script on stderr', async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...program('examples/embedding/watch.ts')],
    cwd: repository,
    stderr: 'pipe',
  });
  let told = '';
  transport.stderr?.on('data', (chunk) => (told += String(chunk)));
  const ended = once(transport.stderr as never, 'end');
  const { client } = clientWith('file:///a', 'file:///b');
  await client.connect(transport);
  await client.callTool({ name: 'now' });
  // The client may not have listed its roots by then.
  await expect.poll(() => told).toContain('roots: 2');
  await client.close();
  await ended;
  const lines = told.trim().split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'state: negotiated',
      'client: editor',
      'roots: 2',
      'closed: input-ended',
    ]),
  );
  expect(lines.at(0)).toBe('state: uninitialized');
  expect(told).toMatch(/^requests: .*\bin tools\/call\b/m);
});

test.skipIf(process.platform === 'win32')(
  'notifies a session in a custom process of signals',
  async () => {
    const server = launch(program('examples/embedding/dump-on-signal.ts'));
    await server.initialize();
    server.child.kill('SIGUSR2');
    await expect.poll(() => server.stderr).toMatch(/^Session \S+: \w+, started /);
    server.end();
    await server.exit;
  },
);
