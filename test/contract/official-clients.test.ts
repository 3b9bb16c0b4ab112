import { PassThrough } from 'node:stream';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CreateMessageRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, fromSdkTransport, memory, stdio, toSdkTransport } from 'mcp-actors';
import type { SdkTransport, Transport } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { echo, tool } from './serving.ts';

/** The server's and the client's end. */
interface Ends {
  readonly server: Transport;
  readonly client: SdkTransport;
}

function pipes() {
  const [up, down] = [new PassThrough(), new PassThrough()];
  return { up, down, client: toSdkTransport({ input: down, output: up }) };
}

const connections: { readonly [name: string]: () => Ends } = {
  'memory()': () => {
    const { transport, peer } = memory();
    return { server: transport, client: toSdkTransport(peer) };
  },
  'stdio()': () => {
    const { up, down, client } = pipes();
    return { server: stdio({ input: up, output: down }), client };
  },
  'the SDK’s in-memory pair': () => {
    const [client, server] = InMemoryTransport.createLinkedPair();
    return { server: fromSdkTransport(server), client };
  },
  'the SDK’s stdio server transport': () => {
    const { up, down, client } = pipes();
    return { server: fromSdkTransport(new StdioServerTransport(up, down)), client };
  },
};

/** The operations tested with both clients. */
interface OfficialClient {
  connect(transport: SdkTransport): Promise<void>;
  close(): Promise<void>;
  callTool(
    call: { name: string; arguments?: { [name: string]: unknown } },
    options?: { signal?: AbortSignal; onprogress?: (progress: { progress: number }) => void },
  ): Promise<{ [field: string]: unknown }>;
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  ping(): Promise<unknown>;
  getServerVersion(): { name: string } | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

const introduction = { name: 'official', version: '1' };
const capabilities = { roots: { listChanged: true }, sampling: {} };
const answers = {
  roots: () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
  sample: () => ({
    role: 'assistant' as const,
    model: 'none',
    content: { type: 'text' as const, text: 'forty-two' },
  }),
};

const clients: { readonly [version: string]: () => OfficialClient } = {
  '@modelcontextprotocol/sdk 1': () => {
    const client = new Client1(introduction, { capabilities });
    client.setRequestHandler(ListRootsRequestSchema, answers.roots);
    client.setRequestHandler(CreateMessageRequestSchema, answers.sample);
    return {
      connect: (transport) => client.connect(transport),
      close: () => client.close(),
      callTool: (call, options) => client.callTool(call, undefined, options),
      listTools: () => client.listTools(),
      ping: () => client.ping(),
      getServerVersion: () => client.getServerVersion(),
      set onclose(listener: () => void) {
        client.onclose = listener;
      },
      set onerror(listener: (error: Error) => void) {
        client.onerror = listener;
      },
    };
  },
  '@modelcontextprotocol/client 2, legacy': () => {
    const client = new Client2(introduction, {
      capabilities,
      versionNegotiation: { mode: 'legacy' },
    });
    client.setRequestHandler('roots/list', answers.roots);
    client.setRequestHandler('sampling/createMessage', answers.sample);
    return {
      connect: (transport) => client.connect(transport),
      close: () => client.close(),
      callTool: (call, options) => client.callTool(call, options),
      listTools: () => client.listTools(),
      ping: () => client.ping(),
      getServerVersion: () => client.getServerVersion(),
      set onclose(listener: () => void) {
        client.onclose = listener;
      },
      set onerror(listener: (error: Error) => void) {
        client.onerror = listener;
      },
    };
  },
};

const combinations = Object.keys(clients).flatMap((client) =>
  Object.keys(connections).map((connection) => ({ client, connection })),
);

describe.each(combinations)('$client over $connection', ({ client: version, connection }) => {
  const door = gate();
  const aborted = gate();
  const server = createMcpServer({
    name: 'under-test',
    version: '1',
    tools: [
      echo,
      tool('ask', async (_args, context) => {
        const { content } = await context.request('sampling/createMessage', {
          messages: [{ role: 'user', content: { type: 'text', text: 'What is it?' } }],
          maxTokens: 5,
        });
        return (content as { text: string }).text;
      }),
      tool('roots', async (_args, context) => {
        const { roots } = await context.roots();
        return roots.map(({ uri }) => uri).join();
      }),
      tool('progress', (_args, context) => {
        context.progress(1, { total: 1 });
        return 'done';
      }),
      tool('hold', async (_args, { signal }) => {
        signal.addEventListener('abort', () => aborted.release());
        await door.pass(signal);
        return '';
      }),
    ],
  });

  async function connected() {
    const ends = connections[connection]?.() as Ends;
    const client = clients[version]?.() as OfficialClient;
    const complaints: unknown[] = [];
    client.onerror = (error) => complaints.push(error);
    const session = server.listen(ends.server);
    await client.connect(ends.client);
    onTestFinished(async () => {
      await client.close();
      if (session.actor.getSnapshot().status === 'active') session.shutdown('the test has ended');
      await session.closed;
      expect(complaints).toEqual([]);
    });
    return { client, session };
  }

  const textOf = (result: { [field: string]: unknown }) =>
    (result['content'] as readonly { text: string }[])[0]?.text;

  test('initializes, lists and calls [STREAM-05]', async () => {
    const { client } = await connected();
    expect(client.getServerVersion()).toMatchObject({ name: 'under-test' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    expect(textOf(await client.callTool({ name: 'echo', arguments: { a: '✓' } }))).toBe(
      '{"a":"✓"}',
    );
    await client.ping();
  });

  test('answers requests for roots and sampling [STREAM-05]', async () => {
    const { client } = await connected();
    expect(textOf(await client.callTool({ name: 'roots' }))).toBe('file:///work');
    expect(textOf(await client.callTool({ name: 'ask' }))).toBe('forty-two');
  });

  test('receives progress, and cancels [STREAM-05]', async () => {
    const { client } = await connected();
    const heard: number[] = [];
    await client.callTool(
      { name: 'progress' },
      { onprogress: ({ progress }) => heard.push(progress) },
    );
    expect(heard).toEqual([1]);
    const abort = new AbortController();
    const held = client.callTool({ name: 'hold' }, { signal: abort.signal });
    await door.arrived(1);
    abort.abort(new Error('enough'));
    await expect(held).rejects.toThrow('enough');
    await aborted.pass();
  });

  test('notices the end of the session [STREAM-05]', async () => {
    const { client, session } = await connected();
    const closed = gate();
    client.onclose = () => closed.release();
    // Waits until the handshake is complete.
    await client.callTool({ name: 'roots' });
    session.shutdown('enough');
    await session.closed;
    // A stdio process ends with its session, and its streams with it; these streams have no
    // process.
    if (connection.includes('stdio')) await client.close();
    await closed.pass();
  });
});
