/** What every connection does, crossed with the era and the way to the server, and with whose server it is. */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { memory } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ServerEntry } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SdkTransport } from '../../src/transports/sdk-transport.ts';
import { toSdkTransport } from '../../src/transports/to-sdk-transport.ts';
import { serveHttp } from '../http/serving.ts';
import { program } from '../tooling/programs.ts';
import { officialServer, ours } from './contract-servers.ts';

function overMemory(): ServerEntry {
  return {
    transport: () => {
      const { transport, peer } = memory();
      ours.listen(transport, { report: () => {} });
      return toSdkTransport(peer);
    },
  };
}

function official(): ServerEntry {
  return {
    transport: () => {
      const [host, server] = InMemoryTransport.createLinkedPair();
      void officialServer().connect(server as never);
      return host as unknown as SdkTransport;
    },
  };
}

const launched = (whose: 'ours' | 'official') => (): ServerEntry => ({
  command: process.execPath,
  args: [...program('test/client/contract-process.ts'), whose],
});

const ways: readonly (readonly [
  string,
  'legacy' | 'modern',
  () => ServerEntry | Promise<ServerEntry>,
])[] = [
  ['a server of ours over a transport', 'legacy', overMemory],
  ['a server of ours over a transport', 'modern', overMemory],
  ['a server of ours over HTTP', 'legacy', async () => ({ url: String(await serveHttp(ours)) })],
  ['a server of ours over HTTP', 'modern', async () => ({ url: String(await serveHttp(ours)) })],
  ['a server of ours over stdio', 'legacy', launched('ours')],
  ['a server of ours over stdio', 'modern', launched('ours')],
  ['a server of the official SDK over a transport', 'legacy', official],
  ['a server of the official SDK over stdio', 'legacy', launched('official')],
];

describe.each(ways)('a connection to %s, %s', (_, era, entryOf) => {
  const connected = async (options: ConnectOptions = {}): Promise<Connection> => {
    const entry = await entryOf();
    const connection = await connect(entry, { era, report: () => {}, ...options });
    onTestFinished(() => connection.close());
    return connection;
  };
  /** A call of `wait` that the server has begun. */
  const begun = async (connection: Connection, options: { readonly signal?: AbortSignal }) => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const result = connection.callTool('wait', {}, { ...options, onProgress: () => arrive() });
    result.catch(() => {});
    await arrived;
    return { result };
  };

  test('lists the tools', async () => {
    const connection = await connected();
    const tools = await connection.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(['echo', 'steps', 'wait']);
  });

  test('gives each of many calls its own answer', async () => {
    const connection = await connected();
    const texts = Array.from({ length: 50 }, (__, at) => `text ${at}`);
    const results = await Promise.all(texts.map((text) => connection.callTool('echo', { text })));
    expect(results.map(({ content }) => content[0])).toMatchObject(
      texts.map((text) => ({ type: 'text', text })),
    );
    expect(connection.pending).toBe(0);
  });

  test('hears of progress, before the answer', async () => {
    const connection = await connected();
    const heard: number[] = [];
    await connection.callTool('steps', {}, { onProgress: ({ progress }) => heard.push(progress) });
    // A server of ours leaves out what is overtaken in the same moment.
    expect([heard[0], heard.at(-1)]).toEqual([1, 3]);
  });

  test('cancels a call that runs', async () => {
    const connection = await connected();
    const controller = new AbortController();
    const { result } = await begun(connection, { signal: controller.signal });
    controller.abort('enough');
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    expect(connection.pending).toBe(0);
    await expect(connection.callTool('echo', { text: 'still there' })).resolves.toMatchObject({
      content: [{ text: 'still there' }],
    });
  });

  test('gives up a call in time', async () => {
    const connection = await connected();
    const late = connection.callTool('wait', {}, { timeoutMs: 50, maxTotalMs: 50 });
    await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  test('ends what is pending when it is closed', async () => {
    const connection = await connected();
    const { result } = await begun(connection, {});
    await connection.close();
    await expect(result).rejects.toMatchObject({ code: 'CLOSED' });
    expect(connection.state.value).toBe('closed');
  });
});
