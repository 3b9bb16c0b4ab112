import { createMcpServer, defineTool } from 'mcp-actors';
import { gate, initialize, request, toolCall } from 'mcp-actors/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { officialSchemas } from '../../../../test/contract/official-schemas.ts';
import { callTool } from './modern-client.ts';
import { messagesOf, post } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { connectTo, serveHttp } from '../serving.ts';

const stateless = { stateless: true } as const;

/** Posts a message and returns status and body. */
async function say(url: URL, message: object, headers: object = {}) {
  const response = await post(url, message, headers);
  const { status } = response;
  const frames = await messagesOf(response);
  return { status, frames, session: response.headers.get('mcp-session-id') };
}

const textOf = ({ result }: Message) => result?.['content'];

test('answers initialize and later requests without a session [HTTP-19]', async () => {
  const url = await serveHttp(laboratory, stateless);
  const begun = await say(url, initialize(1));
  const [answer = {}] = begun.frames;
  expect(officialSchemas(answer, 'initialize')).toBeUndefined();
  expect([begun.status, begun.session, answer.result?.['protocolVersion']]).toEqual([
    200,
    null,
    '2025-11-25',
  ]);
  // No capability that needs a session is declared.
  expect(answer.result?.['capabilities']).toMatchObject({ tools: {}, resources: {}, tasks: {} });
  expect(JSON.stringify(answer.result?.['capabilities'])).not.toMatch(
    /listChanged|subscribe|logging|"list"/,
  );
  const version = { 'mcp-protocol-version': '2025-11-25' };
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
  expect((await say(url, initialized, version)).status).toBe(202);
  const called = await say(url, toolCall(2, 'echo', { message: 'hi' }), version);
  expect([called.status, called.session]).toEqual([200, null]);
  expect(called.frames.map(textOf)).toEqual([[{ type: 'text', text: 'hi' }]]);
});

test('serves a request by the revision in its header, by default 2025-03-26 [HTTP-20]', async () => {
  const url = await serveHttp(laboratory, stateless);
  const structured = async (headers: object) => {
    const { frames } = await say(url, toolCall(1, 'echo', { message: 'hi' }), headers);
    return frames[0]?.result?.['structuredContent'];
  };
  expect([
    await structured({}),
    await structured({ 'mcp-protocol-version': '2025-03-26' }),
    await structured({ 'mcp-protocol-version': '2025-06-18' }),
  ]).toEqual([undefined, undefined, { message: 'hi' }]);
});

test('rejects an unknown revision in the header with 400 [HTTP-20]', async () => {
  const url = await serveHttp(laboratory, stateless);
  const { status, frames } = await say(url, request(7, 'tools/list'), {
    'mcp-protocol-version': '1999-01-01',
  });
  expect([status, frames]).toEqual([
    400,
    [
      {
        jsonrpc: '2.0',
        id: 7,
        error: {
          code: -32600,
          message:
            'Invalid request: MCP-Protocol-Version must be one of 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got "1999-01-01"',
        },
      },
    ],
  ]);
  // `initialize` names its revision in the body.
  const greeted = await say(url, initialize(8), { 'mcp-protocol-version': '1999-01-01' });
  expect([greeted.status, greeted.frames[0]?.id]).toEqual([200, 8]);
});

test('rejects a request to the client at once and explains why [HTTP-21]', async () => {
  const url = await serveHttp(laboratory, stateless);
  const { frames } = await say(url, toolCall(1, 'ask', { kind: 'elicitation', count: 1 }));
  expect(frames[0]?.result?.['isError']).toBe(true);
  expect(JSON.stringify(frames[0])).toContain('this server keeps no sessions');
});

test.each(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/list'])(
  'rejects %s, which needs a session [HTTP-21]',
  async (method) => {
    const url = await serveHttp(laboratory, stateless);
    const { frames } = await say(url, request(1, method, { level: 'debug', uri: 'lab://a' }));
    expect(frames[0]?.error).toEqual({
      code: -32601,
      message: `Method not found: "${method}" needs a session, and this server has none`,
    });
  },
);

test('sends no log messages, only the response [HTTP-19]', async () => {
  const url = await serveHttp(laboratory, stateless);
  const { frames } = await say(url, toolCall(1, 'log', { level: 'emergency', message: 'fire' }));
  expect(frames.map(({ id }) => id)).toEqual([1]);
});

test.each(['GET', 'DELETE'])('rejects %s with 405 [HTTP-19]', async (method) => {
  const url = await serveHttp(laboratory, stateless);
  const { status, headers } = await fetch(url, {
    method,
    headers: { accept: 'text/event-stream', 'mcp-session-id': 'mine' },
  });
  expect([status, headers.get('allow')]).toEqual([405, 'POST']);
});

test('cancels nothing by a notification or a disconnect [HTTP-21]', async () => {
  const held = gate();
  const signals: AbortSignal[] = [];
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is let go',
    handler: async (_args, { signal }) => {
      signals.push(signal);
      await held.pass(signal);
      return 'done';
    },
  });
  const server = createMcpServer({ name: 'waiting', version: '1', tools: [wait] });
  const url = await serveHttp(server, stateless);
  const leaving = new AbortController();
  const left = Promise.allSettled([post(url, toolCall(1, 'wait'), {}, leaving.signal)]);
  const stays = say(url, toolCall(1, 'wait'));
  await held.arrived(2);
  leaving.abort();
  await left;
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  expect((await say(url, cancelled)).status).toBe(202);
  expect((await say(url, [cancelled])).status).toBe(202);
  held.release();
  expect((await stays).frames.map(textOf)).toEqual([[{ type: 'text', text: 'done' }]]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
});

test('answers a batch, distinguishing its requests only by position', async () => {
  const url = await serveHttp(laboratory, stateless);
  const batch = [
    toolCall(1, 'echo', { message: 'one' }),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    toolCall(2, 'echo', { message: 'two' }),
    { jsonrpc: '2.0', id: 3 },
    initialize(4),
  ];
  const { status, frames } = await say(url, batch);
  const answers = (frames as unknown as Message[][])[0] ?? [];
  expect(status).toBe(200);
  expect(
    answers
      .map(({ id, error }) => [id, error?.code])
      .toSorted((a, b) => Number(a[0]) - Number(b[0])),
  ).toEqual([
    [1, undefined],
    [2, undefined],
    [4, -32600],
  ]);
});

test.each<[object, number]>([
  [{ 'mcp-protocol-version': '2025-11-25' }, 400],
  [{}, 200],
])('answers a batch at revision %j with %i', async (headers, wanted) => {
  const url = await serveHttp(laboratory, stateless);
  const { status } = await say(url, [request(1, 'ping')], headers);
  const empty = await say(url, [], headers);
  expect([status, empty.status]).toEqual([wanted, 400]);
});

test('serves official clients without sessions beside those of 2026-07-28', async () => {
  const url = await serveHttp(laboratory, stateless);
  const old = new Client({ name: 'old', version: '1' });
  await old.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => old.close());
  const auto = await connectTo(url, 'auto');
  const legacy = await connectTo(url, 'legacy');
  const call = { name: 'echo', arguments: { message: 'hi' } };
  const results = [
    await old.callTool(call),
    await auto.callTool(call),
    await legacy.callTool(call),
  ];
  expect(results.map(({ structuredContent }) => structuredContent)).toEqual(
    results.map(() => ({ message: 'hi' })),
  );
  expect(auto.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  expect((await callTool(url, 'echo', { message: 'hi' })).status).toBe(200);
});
