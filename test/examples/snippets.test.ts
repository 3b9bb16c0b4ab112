/**
 * Short code snippets of docs/. Pages show the code between a `#region` and its end; the rest of
 * the test runs it.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
// #region session of a child
import { sessionOf } from 'mcp-actors';
// #endregion
import type { SessionEmitted } from 'mcp-actors';
// #region recording
import { recordToFile } from 'mcp-actors/recording';
// #endregion
// #region record-connection
import { connect as connectTo } from 'mcp-actors/client';
import { recordConnectionToFile } from 'mcp-actors/recording';
// #endregion
// #region record-http
import { recordSessions } from 'mcp-actors/recording';
import { serveHttp } from 'mcp-actors/serve';
// #endregion
import { testClient, scriptedConversation, initialize, initialized } from 'mcp-actors/testing';
// #region replay
import { expectReplay } from 'mcp-actors/testing';
// #endregion
// #region contract
import { serverContract } from 'mcp-actors/testing';
// #endregion
import { filter } from 'rxjs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createActor } from 'xstate';
import { hostMachine } from '../../examples/embedding/two-sessions.ts';
import { server as greeter } from '../../examples/quickstart/server.ts';
import { toSdkTransport } from '../../src/transports/to-sdk-transport.ts';

describe('docs/embedding.md', () => {
  test('shows how to access a session that a host has invoked', () => {
    const [left, right] = [memory(), memory()];
    const log = vi.spyOn(console, 'log').mockReturnValue();
    const host = createActor(hostMachine, {
      input: { left: left.transport, right: right.transport },
    }).start();
    // #region session of a child
    const { left: child } = host.getSnapshot().children;
    if (child) console.log(sessionOf(child).dump());
    // #endregion
    expect(log).toHaveBeenCalledWith(expect.objectContaining({ state: 'uninitialized' }));
    host.stop();
  });

  test('shows how to skip events from before a subscription', async () => {
    const { session, peer } = scriptedConversation(greeter);
    peer.send(initialize(1));
    await peer.response(1);
    const acted: string[] = [];
    const act = ({ type }: SessionEmitted) => acted.push(type);
    // #region new events only
    let isNew = false;
    session.events$.pipe(filter(() => isNew)).subscribe((event) => act(event));
    isNew = true;
    // #endregion
    peer.send(initialized);
    await peer.ask('ping');
    expect(acted).toEqual(['session.initialized', 'roots.updated']);
  });
});

describe('docs/errors.md', () => {
  test('shows how to mask errors, for all tools or for one', async () => {
    const fails = () => Promise.reject(new Error('secret'));
    const tools = [defineTool({ name: 'list', description: 'Lists.', handler: fails })];
    // #region masking a server
    const server = createMcpServer({ name: 'notes', version: '1.0.0', tools, errors: 'mask' });
    // #endregion
    // #region masking a tool
    const query = defineTool({
      name: 'query',
      description: 'Queries the notes.',
      errors: 'mask',
      handler: () => Promise.reject(new Error('no such table: notes')),
    });
    // #endregion
    const other = createMcpServer({ name: 'other', version: '1.0.0', tools: [query] });
    await using client = await testClient(server);
    await using another = await testClient(other);
    const masked = /^The tool failed\. See error [0-9a-f]{8}/;
    expect((await client.callTool('list')).text).toMatch(masked);
    expect((await another.callTool('query')).text).toMatch(masked);
  });
});

describe('docs/testing.md', () => {
  test('shows what does not compile', async () => {
    await using client = await testClient(greeter);
    const calls = async () => {
      // #region typed calls
      await client.callTool('greet', { who: 'Ada' });
      // @ts-expect-error: there is no tool "greets"
      await client.callTool('greets', { who: 'Ada' });
      // @ts-expect-error: who is a string
      await client.callTool('greet', { who: 7 });
      // #endregion
    };
    await expect(calls()).rejects.toThrow('greets');
  });

  test('shows an authorized client', async () => {
    const server = createMcpServer({
      name: 'notes',
      version: '1',
      tools: [
        defineTool({
          name: 'whoami',
          description: 'Says who calls',
          handler: (_, { principal }) => `${principal?.subject} ${principal?.scopes.join()}`,
        }),
      ],
    });
    // #region principal
    const principal = { subject: 'ada', scopes: ['notes:write'] };
    const client = await testClient(server, { principal });
    // #endregion
    expect((await client.callTool('whoami')).text).toBe('ada notes:write');
    await client.close();
  });

  test('shows a client that answers requests of the server', async () => {
    const server = greeter;
    // #region answers
    const client = await testClient(server, {
      roots: ['file:///home/ada', { uri: 'file:///srv', name: 'srv' }],
      sample: () => ({
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: 'Short.' },
      }),
      elicit: () => ({ action: 'accept', content: { people: 2 } }),
      capabilities: { sampling: { tools: {} } }, // to declare more
      revision: '2025-06-18', // by default the latest with a handshake
    });
    // #endregion
    expect((await client.callTool('greet', { who: 'Ada' })).text).toContain('file:///home/ada');
    await client.close();
  });

  test('shows a client of 2026-07-28', async () => {
    const server = greeter;
    // #region both ways
    for (const resume of ['keep', 'replay'] as const) {
      const client = await testClient(server, {
        revision: '2026-07-28',
        resume,
        roots: ['file:///home/ada'],
      });
      const { text } = await client.callTool('greet', { who: 'Ada' });
      expect(text).toBe('Hello Ada, from file:///home/ada');
      await client.close();
    }
    // #endregion
  });

  const server = greeter;
  // #region contract
  for (const { name, check } of serverContract) test(name, () => check(server));
  // #endregion
});

describe('docs/recording.md', () => {
  test('shows how a server records its session', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'recording-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'bug.jsonl');
    const server = greeter;
    const { transport, peer } = memory();
    // #region recording
    const session = server.listen(transport, { environment: recordToFile(file) });
    // #endregion
    peer.send(initialize(1));
    peer.end();
    await session.closed;
    await expectReplay(file);
  });

  test('shows how a host records a connection', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'recording-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'connection.jsonl');
    const { transport: served, peer } = memory();
    greeter.listen(served, { report: () => {} });
    const transport = toSdkTransport(peer);
    // #region record-connection
    const record = recordConnectionToFile(file);
    await using connection = await connectTo({ transport }, { record });
    // #endregion
    await connection.listTools();
    await connection.close();
    await expectReplay(file);
  });

  test('shows how an HTTP server records its sessions', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'recording-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const server = greeter;
    // #region record-http
    const serving = await serveHttp(server, { port: 0, environment: recordSessions(directory) });
    // #endregion
    onTestFinished(() => serving.close());
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify(initialize(1));
    await fetch(serving.url, { method: 'POST', headers, body });
    await serving.close();
    const [name = ''] = await readdir(directory);
    await expectReplay(join(directory, name));
  });

  // #region replay
  test('calls a tool with roots', () => expectReplay('test/transcripts/recorded-echo.jsonl'));
  // #endregion
});
