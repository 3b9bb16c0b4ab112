/** The deprecated HTTP+SSE transport, with its official client. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { httpHandler } from '../../src/index.ts';
import type { HttpOptions, ServerFactory } from '../../src/index.ts';
import { createMcpServer, defineTool } from '../../../../src/index.ts';
import type { HandlerContext, RuntimeError } from '../../../../src/index.ts';
import { TestClock, gate, flush } from '../../../testing/src/index.ts';
import { EventReader, initializeRequest, jsonOf, post } from '../raw-client.ts';
import { reportLog, serveEndpoint, serveHttp, serveTools } from '../serving.ts';

const at = (url: URL, path: string) => new URL(path, url);

const roots = defineTool({
  name: 'roots',
  description: 'Asks for the roots',
  handler: async (_, context) => {
    const { roots: known } = await context.roots();
    return `${known[0]?.uri} by ${context.http?.method}`;
  },
});

const ask = defineTool({
  name: 'ask',
  description: 'Asks the model, and then a person',
  handler: async (_, context) => {
    const messages = [{ role: 'user', content: { type: 'text', text: 'Where to?' } }] as const;
    const { content } = await context.sample({ messages, maxTokens: 10 });
    const schema = { type: 'object', properties: { who: { type: 'string' } } } as const;
    const form = await context.elicit({ message: 'Who?', schema });
    return JSON.stringify([content, form]);
  },
});

async function connected(url: URL) {
  const client = new Client(
    { name: 'sse', version: '1' },
    { capabilities: { roots: {}, sampling: {}, elicitation: {} } },
  );
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'North' },
  }));
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { who: 'Ada' },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work' }] }));
  const transport = new SSEClientTransport(at(url, '/sse'));
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Opens a stream without the client. */
async function opened(url: URL) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { accept: 'text/event-stream' };
  const response = await fetch(at(url, '/sse'), { headers, signal: abort.signal });
  const events = new EventReader(response);
  const first = await events.next();
  expect(first?.event).toBe('endpoint');
  return { abort, events, messages: at(url, String(first?.data)) };
}

describe('HTTP+SSE', () => {
  test('serves the official client, including requests to the client [HTTP-17]', async () => {
    const { url } = await serveTools([roots, ask], { sse: true, path: '/mcp' });
    const client = await connected(url);
    const result = await client.callTool({ name: 'roots' });
    expect(result.content).toEqual([{ type: 'text', text: 'file:///work by POST' }]);
    const asked = JSON.stringify(await client.callTool({ name: 'ask' }));
    expect(asked).toContain('North');
    expect(asked).toContain('Ada');
  });

  test('ends a session with its stream and cancels its calls [HTTP-17]', async () => {
    const held = gate();
    const cancelled = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      handler: async (_, { signal }) => {
        signal.addEventListener('abort', () => void cancelled.pass());
        await held.pass(signal);
        return 'done';
      },
    });
    const { url, told } = await serveTools([hold], { sse: true });
    const { abort, messages } = await opened(url);
    await post(messages, initializeRequest('2024-11-05'));
    await post(messages, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
    await held.arrived();
    abort.abort();
    await cancelled.arrived();
    await told('session.closed');
    expect((await post(messages, { jsonrpc: '2.0', method: 'x' })).status).toBe(404);
  });

  test('accepts posts with 202 and answers on the stream [HTTP-17]', async () => {
    const { url } = await serveTools([], { sse: true });
    const { events, messages } = await opened(url);
    const accepted = await post(messages, initializeRequest('2024-11-05'));
    expect([accepted.status, await accepted.text()]).toEqual([202, '']);
    expect(await events.next()).toMatchObject({
      event: 'message',
      data: { result: { protocolVersion: '2024-11-05' } },
    });
  });

  test.each([
    ['a POST to the stream', '/sse', 'POST', 405, 'GET'],
    ['a GET of the messages path', '/messages', 'GET', 405, 'POST'],
    ['a message without a session', '/messages', 'POST', 400, 'sessionId is missing'],
    ['a message for an unknown session', '/messages?sessionId=x', 'POST', 404, '"x"'],
  ])('rejects %s [HTTP-17]', async (_, path, method, status, names) => {
    const { url } = await serveTools([], { sse: true });
    const response =
      method === 'GET'
        ? await fetch(at(url, path))
        : await post(at(url, path), initializeRequest());
    expect([response.status, (await jsonOf(response)).error?.message]).toEqual([
      status,
      expect.stringContaining(names),
    ]);
  });

  test('rejects an invalid message, and plain text [HTTP-17]', async () => {
    const { url } = await serveTools([], { sse: true });
    const { messages } = await opened(url);
    const answers = await Promise.all([
      post(messages, 7),
      fetch(messages, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 415]);
    const headers = { 'content-type': 'application/json' };
    const unreadable = { method: 'POST', body: Uint8Array.of(0xff), headers };
    const refused = await jsonOf(await fetch(messages, unreadable));
    expect(refused.error?.message).toBe('The body is not UTF-8');
    const accept = { accept: 'application/json' };
    expect((await fetch(at(url, '/sse'), { headers: accept })).status).toBe(406);
  });

  test("frees a session's slot once its stream has ended [HTTP-17]", async () => {
    const { url, told } = await serveTools([], { sse: true, limits: { maxSessions: 1 } });
    const { abort, messages, events } = await opened(url);
    await post(messages, initializeRequest('2024-11-05'));
    await events.next();
    await post(messages, { jsonrpc: '2.0', id: 1, method: 'ping' });
    await events.next();
    abort.abort();
    await told('session.closed');
    await opened(url);
  });

  test('ends its sessions and their calls with the endpoint [HTTP-17]', async () => {
    const facts = reportLog();
    const { report } = facts;
    const server = createMcpServer({ name: 'closing', version: '1' });
    const { url, close } = await serveEndpoint(server, { sse: true, report, session: { report } });
    const { messages, events } = await opened(url);
    await post(messages, initializeRequest('2024-11-05'));
    await events.next();
    await close();
    expect(facts.facts.map(({ name }) => name)).toContain('session.closed');
    expect(await events.rest()).toEqual([]);
  });

  test('is limited like other sessions, and disabled by default [HTTP-17]', async () => {
    const { url, told } = await serveTools([], { sse: true, limits: { maxSessions: 1 } });
    await opened(url);
    const refused = await fetch(at(url, '/sse'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    await told('session.refused');
    const { url: without } = await serveTools([], { path: '/mcp' });
    expect((await fetch(at(without, '/sse'))).status).toBe(404);
  });

  test('sends keepalive comments [HTTP-17]', async () => {
    const clock = new SimulatedClock();
    const { url } = await serveTools([], { sse: true, clock });
    const { events } = await opened(url);
    for (let second = 0; second < 16; second++) clock.increment(1000);
    expect(await events.next()).toEqual({ comment: '' });
  });

  const plain = createMcpServer({ name: 'plain', version: '1' });
  const fail = () => {
    throw new Error('none today');
  };

  test.each<[string, ServerFactory, HttpOptions]>([
    ['a server', fail, {}],
    ['options', plain, { session: fail }],
    ['an environment', plain, { environment: fail }],
    ['a session with these options', plain, { session: { limits: { maxRunning: -1 } } }],
  ])('reports why %s could not be created [HTTP-17]', async (_, server, options) => {
    const { facts, report } = reportLog();
    const url = await serveHttp(server, { ...options, sse: true, report });
    const failed = await fetch(at(url, '/sse'));
    expect([failed.status, await failed.text()]).toEqual([
      500,
      expect.stringContaining('No server could be created for this session'),
    ]);
    const error = expect.any(Error) as Error;
    const message = expect.stringMatching(/^No server could be created for a session: ./) as string;
    expect(facts).toMatchObject([{ name: 'server.failed', message, details: { error } }]);
  });
});

/** An in-process endpoint with the tool `run`, and a function that opens streams. */
function inProcess(
  run: (context: HandlerContext) => string | Promise<string>,
  options: HttpOptions = {},
) {
  const clock = new TestClock();
  const tool = defineTool({ name: 'run', description: 'Runs', handler: (_, it) => run(it) });
  const server = createMcpServer({ name: 'old', version: '1', tools: [tool] });
  const report = () => {};
  const common = { sse: true, clock, report, session: { report }, ...options };
  const handler = httpHandler(server, common);
  onTestFinished(() => void handler.close(0));
  const send = (path: string, init: RequestInit) =>
    handler(new Request(new URL(path, 'http://localhost'), init));
  const open = async (who = 'ada') => {
    const authorization = `Bearer ${who}`;
    const response = await send('/sse', { headers: { authorization } });
    const events = new EventReader(response);
    const path = `/${String((await events.next())?.data)}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const say = async (message: object) => {
      const answer = await send(path, { method: 'POST', headers, body: JSON.stringify(message) });
      return answer.status;
    };
    return { events, say };
  };
  return { clock, handler, send, open };
}

const verifyToken = (subject: string) => ({ subject });
const call = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'run' } };
const hello = initializeRequest('2025-03-26');
const ready = { jsonrpc: '2.0', method: 'notifications/initialized' };

describe('the slot of an HTTP+SSE session', () => {
  test.each([
    ['that was opened first', [], 404, 202],
    ['that was used first', [hello], 202, 404],
  ])(
    'goes to another client if the session is unused, the one %s',
    async (_, said, first, second) => {
      const limits = { maxSessions: 2 };
      const { clock, open } = inProcess(() => '', { limits, authorization: { verifyToken } });
      const one = await open();
      clock.increment(1);
      const two = await open();
      clock.increment(1);
      for (const message of said) expect(await one.say(message)).toBe(202);
      await open('bob');
      expect([await one.say(ready), await two.say(ready)]).toEqual([first, second]);
    },
  );

  test('is kept once its client has sent a request', async () => {
    const limits = { maxSessions: 1 };
    const { send, open } = inProcess(() => '', { limits, authorization: { verifyToken } });
    const greeted = await open();
    for (const message of [hello, ready]) await greeted.say(message);
    const asking = await open('bob');
    expect(await greeted.say(ready)).toBe(404);
    for (const message of [hello, ready, call]) await asking.say(message);
    const refused = await send('/sse', { headers: { authorization: 'Bearer carol' } });
    expect(refused.status).toBe(503);
    expect(await asking.say(ready)).toBe(202);
  });
});

describe('an HTTP+SSE session', () => {
  test('identifies the sender of each post and batch, and drops unserializable messages', async () => {
    const { open } = inProcess(
      (context) => {
        context.notify('test/step', { tokens: 1n } as never);
        return 'never';
      },
      { authorization: { verifyToken } },
    );
    const { events, say } = await open();
    for (const message of [hello, ready, call]) expect(await say(message)).toBe(202);
    expect((await events.message()).data.id).toBe('init');
    expect(await events.next()).toMatchObject({ data: { id: 'c', result: { isError: true } } });
    const { open: openOther } = inProcess(
      ({ principal, http }) => `${principal?.id} by ${http?.method}`,
      { authorization: { verifyToken } },
    );
    const other = await openOther();
    for (const message of [hello, ready, [call]]) await other.say(message);
    await other.events.message();
    const { data } = await other.events.message();
    expect(JSON.stringify(data)).toMatch(/"text":"\S*ada\S* by POST"/);
  });

  test("uses the endpoint's clock and drains its calls on close", async () => {
    const [asked, held] = [gate(), gate()];
    const { clock, handler, open } = inProcess(async (context) => {
      const answer = context.request('test/question', undefined, { timeoutMs: 5000 });
      void asked.pass();
      const code = await answer.then(
        () => 'answered',
        ({ code }: RuntimeError) => code,
      );
      await held.pass();
      return code;
    });
    const { events, say } = await open();
    for (const message of [hello, ready, call]) await say(message);
    await asked.arrived();
    clock.increment(5000);
    await held.arrived();
    let isClosed = false;
    const closed = handler.close().then(() => void (isClosed = true));
    await flush();
    expect(isClosed).toBe(false);
    held.release();
    const told = await events.messages();
    expect(told.at(-1)).toMatchObject({
      id: 'c',
      result: { content: [{ text: 'REQUEST_TIMEOUT' }] },
    });
    await closed;
    clock.increment(1000);
    expect(clock.liveTimers).toBe(0);
  });
});

test('lets a client of both transports detect the old one by a GET that streams [HTTP-17]', async () => {
  const { url } = await serveTools([roots], { sse: true, path: '/mcp' });
  expect((await post(at(url, '/sse'), initializeRequest())).status).toBe(405);
  const response = await fetch(at(url, '/sse'));
  onTestFinished(() => void response.body?.cancel().catch(() => {}));
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(new EventReader(response).response.ok).toBe(true);
});
