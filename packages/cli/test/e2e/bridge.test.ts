/** `mcp-actors bridge` as a process: official clients of both eras before servers of both, over stdio and HTTP. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connect as connectModern, modern, textOf } from '../../../../test/e2e/both-eras-client.ts';
import { closeClients, connect as connectLegacy } from '../../../../test/e2e/sdk-client.ts';
import { launchHttp } from '../../../../test/e2e/http-process.ts';
import { command, launch, reapServers, repository } from '../../../../test/e2e/server-process.ts';
import { processTable } from '../../../../test/processes/process-table.ts';
import { startCommand, temporaryFolder } from './client-command.ts';

afterEach(async () => {
  await closeClients();
  await reapServers();
});

const serverOf = (era: string) => [process.execPath, `${repository}/test/bridge/${era}-server.mjs`];
const bridgeTo = (...args: readonly string[]) => [...command, 'bridge', ...args];

/** The processes of a server that this test has caused, by a mark in their arguments. */
const running = (era: string, mark: string) => {
  const line = [...serverOf(era), mark].join(' ');
  return processTable().filter((entry) => entry.command === line);
};

/** Nothing is left, not even of those that look after it. */
const nothingLeft = (mark: string) =>
  vi.waitFor(
    () => expect(processTable().filter((entry) => entry.command.includes(mark))).toEqual([]),
    { timeout: 60_000 },
  );

describe.each(['legacy', 'modern'])('before a server of the %s era', (server) => {
  test('over stdio, hosts of both eras call it; its process ends with the session', async () => {
    const mark = crypto.randomUUID();
    const args = bridgeTo('--', ...serverOf(server), mark);
    const { client } = await connectLegacy(args, { capabilities: { sampling: {} } });
    expect(client.getServerVersion()).toMatchObject({ name: server });
    expect(await client.callTool({ name: 'echo', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'said' }],
    });
    const newer = await connectModern(args, { mode: modern });
    expect(textOf(await newer.callTool({ name: 'echo', arguments: {} }))).toBe('said');
    expect(running(server, mark)).toHaveLength(2);
    await newer.close();
    await closeClients();
    await nothingLeft(mark);
  });
});

describe('over HTTP', () => {
  test('each session has a process, and hosts of 2026-07-28 share one', async () => {
    const mark = crypto.randomUUID();
    const args = ['--http', '0', '--log-level', 'info', '--', ...serverOf('legacy'), mark];
    const { url, server } = await launchHttp(bridgeTo(...args));
    const connected = async () => {
      const client = new Client({ name: 'over HTTP', version: '1' }, { capabilities: {} });
      const transport = new StreamableHTTPClientTransport(url);
      await client.connect(transport as never);
      return { client, transport };
    };
    const [one, other] = [await connected(), await connected()];
    expect(running('legacy', mark)).toHaveLength(2);
    await expect(one.client.callTool({ name: 'echo', arguments: {} })).resolves.toBeDefined();
    await one.transport.terminateSession();
    await one.client.close();
    await vi.waitFor(() => expect(running('legacy', mark)).toHaveLength(1), { timeout: 60_000 });
    for (let times = 0; times < 2; times++) {
      const client = new ModernClient(
        { name: 'newer', version: '1' },
        { capabilities: {}, versionNegotiation: { mode: modern } },
      );
      await client.connect(new ModernHttp(url));
      expect(textOf(await client.callTool({ name: 'echo', arguments: {} }))).toBe('said');
      await client.close();
    }
    expect(running('legacy', mark)).toHaveLength(2);
    await other.client.close();
    server.child.kill('SIGTERM');
    await server.exit;
    await nothingLeft(mark);
  });

  test('a remote server is reached for a host that launches commands', async () => {
    const { url } = await launchHttp(
      bridgeTo('--http', '0', '--log-level', 'info', '--', ...serverOf('modern')),
    );
    const { client } = await connectLegacy(bridgeTo(url.href));
    expect(client.getServerVersion()).toMatchObject({ name: 'modern' });
    expect(await client.callTool({ name: 'echo', arguments: {} })).toBeDefined();
  });
});

describe('a failure', () => {
  test('of the command is told in the answer to initialize and on stderr; the exit code is 1', async () => {
    const server = launch(bridgeTo('--', '/no/such/program'));
    const answer = await server.initialize();
    expect(answer['error']).toMatchObject({ code: -32000, data: { reason: 'upstream-failed' } });
    expect(JSON.stringify(answer['error'])).toContain('/no/such/program');
    expect(await server.exit).toMatchObject({ code: 1 });
  });

  test.each([
    [['bridge'], /needs a file of servers, a URL, or a server's command/],
    [['bridge', '--', 'https://a.example'], /is a URL/],
    [['bridge', '--allow-host', 'a', '--', 'node'], /--allow-host is about HTTP/],
    [['bridge', 'https://a.example/mcp', 'more'], /takes one server/],
    [['bridge', '--htpp', '1', '--', 'node'], /--http/],
  ])('of the arguments %j is said in a sentence', async (args, said) => {
    const { code, stderr } = await startCommand(args, temporaryFolder()).ended;
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  });
});
