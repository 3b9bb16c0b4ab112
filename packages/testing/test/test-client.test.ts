import {
  ProtocolError,
  createMcpServer,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
} from 'mcp-actors';
import { ErrorAnswer, TestClock, testClient, gate, isRequestFrame } from 'mcp-actors/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { TestClientOptions, TestClient } from 'mcp-actors/testing';
import type { FrameCheck } from '../src/peer.ts';
import { officialSchemas } from '../../../test/contract/official-schemas.ts';
import { streams } from '../../../test/contract/stream-wire.ts';

const door = gate();

const server = createMcpServer({
  name: 'kit',
  version: '1.0.0',
  instructions: 'Be kind',
  logging: {},
  tools: [
    defineTool({
      name: 'add',
      description: 'Adds',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      handler: ({ a, b }) => ({ structured: { sum: a + b } }),
    }),
    defineTool({
      name: 'ask',
      description: 'Asks the client',
      inputSchema: {
        type: 'object',
        properties: { method: { type: 'string' } },
        required: ['method'],
      },
      handler: async ({ method }, context) => JSON.stringify(await context.request(method, {})),
    }),
    defineTool({
      name: 'roots',
      description: 'Lists the roots',
      handler: async (_args, context) =>
        (await context.roots()).roots.map(({ uri, name }) => `${uri} ${name}`).join('\n'),
    }),
    defineTool({
      name: 'work',
      description: 'Reports progress, then waits',
      handler: async (_args, context) => {
        context.progress(1, { total: 2, message: 'half' });
        await door.pass(context.signal);
        return 'done';
      },
    }),
  ],
  resources: [defineResource({ uri: 'a:b', name: 'ab', read: () => 'the text' })],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'note:{id}',
      name: 'note',
      complete: { id: (value) => ['one', 'two'].filter((id) => id.startsWith(value)) },
      read: (_uri, { id }) => String(id),
    }),
  ],
  prompts: [
    definePrompt({
      name: 'greet',
      arguments: {
        who: { required: true, complete: (value, filled) => [`${value}-${filled['title']}`] },
      },
      get: ({ who }) => `Hello ${who}`,
    }),
  ],
});

const clients: TestClient[] = [];

/** What the session asks at a tool’s wish may be anything. */
const check: FrameCheck = (frame, answered) =>
  isRequestFrame(frame) && frame.params ? undefined : officialSchemas(frame, answered);

async function open(options: TestClientOptions = {}): Promise<TestClient> {
  const client = await testClient(server, { check, ...options });
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) {
    await client.close();
    expect(client.peer.violations).toEqual([]);
  }
});

describe('a test client', () => {
  test("exposes the server's info", async () => {
    const { hello } = await open();
    expect(hello).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'kit' },
      instructions: 'Be kind',
    });
  });

  test('lists tools from all pages and calls them', async () => {
    const client = await open({ limits: { pageSize: 1 } });
    expect((await client.listTools()).map(({ name }) => name)).toEqual([
      'add',
      'ask',
      'roots',
      'work',
    ]);
    const result = await client.callTool('add', { a: 1, b: 2 });
    expect(result).toMatchObject({ text: '{"sum":3}', structured: { sum: 3 }, isError: false });
    expect(await client.callTool('add', { a: 1 })).toMatchObject({
      isError: true,
      text: expect.stringContaining('b'),
      structured: undefined,
    });
  });

  test("rejects with the session's error", async () => {
    const client = await open();
    await expect(client.callTool('none')).rejects.toBeInstanceOf(ErrorAnswer);
    await expect(client.callTool('none')).rejects.toMatchObject({ error: { code: -32602 } });
  });

  test('reads resources and receives updates', async () => {
    const client = await open();
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(['a:b']);
    expect((await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      'note:{id}',
    ]);
    expect(await client.readResource('a:b')).toEqual({
      text: 'the text',
      contents: [{ uri: 'a:b', text: 'the text' }],
    });
    expect((await client.readResource('note:7')).text).toBe('7');
    await client.subscribe('a:b');
    server.resourceUpdated('a:b');
    expect(await client.nextNotification('notifications/resources/updated')).toEqual({
      uri: 'a:b',
    });
    await client.unsubscribe('a:b');
  });

  test('gets prompts and completes', async () => {
    const client = await open();
    expect((await client.listPrompts())[0]).toMatchObject({
      name: 'greet',
      arguments: [{ name: 'who' }],
    });
    expect((await client.getPrompt('greet', { who: 'Ada' })).messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Hello Ada' } },
    ]);
    expect(
      await client.complete({ uriTemplate: 'note:{id}' }, { name: 'id', value: 't' }),
    ).toMatchObject({
      values: ['two'],
      hasMore: false,
    });
    const completed = await client.complete(
      { prompt: 'greet' },
      { name: 'who', value: 'a' },
      { title: 'Dr' },
    );
    expect(completed.values).toEqual(['a-Dr']);
  });

  test('declares and answers configured requests', async () => {
    const client = await open({
      roots: ['file:///a', { uri: 'file:///b', name: 'b' }],
      answers: { 'custom/question': () => ({ answer: 42 }) },
    });
    expect((await client.callTool('roots')).text).toBe('file:///a undefined\nfile:///b b');
    client.changeRoots(['file:///c']);
    expect((await client.callTool('roots')).text).toContain('file:///c');
    expect((await client.callTool('ask', { method: 'custom/question' })).text).toBe(
      '{"answer":42}',
    );
    expect((await client.callTool('ask', { method: 'ping' })).text).toBe('{}');
  });

  test('rejects requests without an answer and explains how to provide one', async () => {
    const client = await open();
    expect((await client.callTool('ask', { method: 'other/thing' })).text).toContain(
      'REQUEST_FAILED',
    );
    expect((await client.callTool('ask', { method: 'sampling/createMessage' })).text).toContain(
      'CAPABILITY_MISSING',
    );
  });

  test('declines like a user', async () => {
    const client = await open({
      answers: {
        'custom/refused': () => Promise.reject(new ProtocolError(-1, 'The user said no')),
        'custom/broken': () => {
          throw new Error('a bug in the test');
        },
      },
    });
    expect((await client.callTool('ask', { method: 'custom/refused' })).text).toContain(
      'The user said no',
    );
    expect((await client.callTool('ask', { method: 'custom/broken' })).text).toContain(
      'a bug in the test',
    );
  });

  test('receives progress and cancels', async () => {
    const client = await open();
    const abort = new AbortController();
    const progress: unknown[] = [];
    const call = client.callTool(
      'work',
      {},
      { signal: abort.signal, onProgress: (report) => progress.push(report) },
    );
    await door.arrived();
    abort.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(progress).toMatchObject([{ progress: 1, total: 2, message: 'half' }]);
    await expect(client.callTool('work', {}, { signal: abort.signal })).rejects.toThrow('enough');
  });

  test("aborts an answer's signal when the session cancels its question", async () => {
    const reasons: unknown[] = [];
    const abort = new AbortController();
    const asked = gate();
    const client = await open({
      answers: {
        'custom/slow': async (_params, signal) => {
          await asked.pass(signal).catch((reason: unknown) => reasons.push(reason));
          return {};
        },
      },
    });
    const call = client.callTool('ask', { method: 'custom/slow' }, { signal: abort.signal });
    await asked.arrived();
    abort.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await client.peer.quiet();
    expect(reasons).toEqual([expect.stringContaining('enough')]);
  });

  test('uses the given revision, clock, connection and capabilities', async () => {
    const clock = new TestClock();
    const client = await open({
      revision: '2025-06-18',
      clock,
      connection: streams(),
      capabilities: { experimental: { x: {} } },
    });
    expect(client.hello['protocolVersion']).toBe('2025-06-18');
    expect((await client.callTool('add', { a: 1, b: 1 })).text).toBe('{"sum":2}');
    client.notify('notifications/roots/list_changed');
    await client.setLogLevel('error');
    await client.peer.quiet();
    expect(clock.liveTimers).toBe(0);
  });

  test('rejects pending calls when the session ends', async () => {
    const client = await open();
    const waiting = client.nextNotification('notifications/never');
    client.session.shutdown('the end');
    await expect(waiting).rejects.toThrow('the session has ended (shutdown)');
    await client.close();
  });

  test('supports `await using`', async () => {
    let session;
    {
      await using client = await testClient(server);
      session = client.session;
    }
    expect((await session.closed).kind).toBe('input-ended');
  });
});
