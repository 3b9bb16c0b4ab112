import { createMcpServer, defineTool } from 'mcp-actors';
import { enveloped, gate } from 'mcp-actors/testing';
import { SimulatedClock } from 'xstate';
import { expect, test } from 'vitest';
import { changeOf, echo } from '../../../../examples/lab/tools.ts';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { httpHandler } from '../../src/index.ts';
import { posted, socketTo } from '../faults/wire.ts';
import { ask, callTool, check, headersOf, request } from './modern-client.ts';
import { EventReader, postHeaders } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';

const streaming = 'text/event-stream';

const listening = { notifications: { toolsListChanged: true, resourceSubscriptions: ['lab://a'] } };

/** Opens a subscription and reads its acknowledgement. */
async function listen(url: URL, signal?: AbortSignal) {
  const asking = { id: 'mine', ...(signal ? { signal } : {}) };
  const response = await request(url, 'subscriptions/listen', listening, asking);
  const stream = new EventReader(response);
  const acknowledged = (await stream.message()).data;
  expect(acknowledged.method).toBe('notifications/subscriptions/acknowledged');
  check(acknowledged, {});
  return { response, stream };
}

test('streams messages sent before the response and ends with it [HMOD-08]', async () => {
  const url = await serveHttp(laboratory);
  const { status, headers, frames } = await callTool(
    url,
    'log',
    { level: 'info', message: 'one' },
    { id: 7, logLevel: 'info' },
  );
  expect([status, headers.get('content-type'), headers.get('x-accel-buffering')]).toEqual([
    200,
    streaming,
    'no',
  ]);
  expect(frames.map(({ method, id }) => method ?? id)).toEqual(['notifications/message', 7]);
});

test('sends a later error as an event and ends the stream [HMOD-08]', async () => {
  const fails = defineTool({
    name: 'fails',
    description: 'Says something, and needs what no client has',
    handler: async (_args, context) => {
      context.log.info('begun');
      return (await context.sample({ messages: [{ role: 'user', content: 'hi' }], maxTokens: 1 }))
        .text;
    },
  });
  const server = createMcpServer({ name: 'failing', version: '1', tools: [fails], logging: {} });
  const url = await serveHttp(server);
  const { status, frames } = await callTool(url, 'fails', {}, { logLevel: 'info' });
  expect([status, frames.map(({ method, error }) => method ?? error?.code)]).toEqual([
    200,
    ['notifications/message', -32021],
  ]);
});

test('turns a slow call into a stream with keepalive comments [HMOD-08]', async () => {
  const held = gate();
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is let go',
    handler: async (_args, { signal }) => {
      await held.pass(signal);
      return 'done';
    },
  });
  const server = createMcpServer({ name: 'waiting', version: '1', tools: [wait] });
  const limits = { streamAfterMs: 20, keepaliveIntervalMs: 20 };
  const url = await serveHttp(server, { limits });
  const response = await request(url, 'tools/call', { name: 'wait' });
  expect(response.headers.get('content-type')).toBe(streaming);
  const stream = new EventReader(response);
  expect([await stream.next(), await stream.next()]).toEqual([{ comment: '' }, { comment: '' }]);
  held.release();
  expect((await stream.message()).data.result?.['content']).toEqual([
    { type: 'text', text: 'done' },
  ]);
  expect(await stream.messages()).toEqual([]);
});

test('streams changes of a subscription with keepalives, and ends with its result [HMOD-08]', async () => {
  const server = createMcpServer({ name: 'changing', version: '1', tools: [echo] });
  const handled = httpHandler(server, { limits: { keepaliveIntervalMs: 20 } });
  const message = enveloped('mine', 'subscriptions/listen', listening) as Message;
  const response = await handled(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { ...postHeaders, ...headersOf(message) },
      body: JSON.stringify(message),
    }),
  );
  const stream = new EventReader(response);
  check((await stream.message()).data, {});
  expect(await stream.next()).toEqual({ comment: '' });
  server.tools.add(changeOf(server));
  const changed = (await stream.message()).data;
  check(changed, {});
  expect(changed.method).toBe('notifications/tools/list_changed');
  const closed = handled.close();
  const result = (await stream.message()).data;
  check(result, message);
  expect(result.id).toBe('mine');
  expect(await stream.messages()).toEqual([]);
  await closed;
});

test('notifies several clients of a change under their own subscription ids [HMOD-08]', async () => {
  const url = await serveHttp(laboratory);
  const streams = await Promise.all([listen(url), listen(url)]);
  await callTool(url, 'change', { what: 'resource', uri: 'lab://a' });
  const heard = await Promise.all(streams.map(({ stream }) => stream.message()));
  expect(heard.map(({ data }) => data.method)).toEqual([
    'notifications/resources/updated',
    'notifications/resources/updated',
  ]);
});

test('ends only the subscription that its client closes [HMOD-09]', async () => {
  const url = await serveHttp(laboratory, { session: { limits: { maxSubscriptions: 4 } } });
  const leaving = new AbortController();
  await listen(url, leaving.signal);
  const stays = await listen(url);
  const refused = await ask(url, 'subscriptions/listen', listening, { id: 'third' });
  expect(refused.error?.message).toContain('has 4 of at most 4');
  leaving.abort();
  // A place is free once the server has noticed the disconnect.
  let again = await request(url, 'subscriptions/listen', listening);
  while (again.headers.get('content-type') !== streaming) {
    again = await request(url, 'subscriptions/listen', listening);
  }
  await callTool(url, 'change', { what: 'resource', uri: 'lab://a' });
  expect((await stays.stream.message()).data.method).toBe('notifications/resources/updated');
});

test('rejects a subscription at a JSON-only endpoint [HMOD-08]', async () => {
  const url = await serveHttp(laboratory, { jsonResponses: true });
  const log = { level: 'info', message: 'one' };
  const answers = [
    await callTool(url, 'log', log, { logLevel: 'info' }),
    await ask(url, 'subscriptions/listen', listening),
  ];
  expect(
    answers.map(({ status, headers, error }) => [status, headers.get('content-type'), error?.code]),
  ).toEqual([
    [200, 'application/json', undefined],
    [404, 'application/json', -32601],
  ]);
});

/** Sends a request and never reads the answer. */
function unread(url: URL, message: Message): void {
  const socket = socketTo(url);
  socket.pause();
  socket.write(posted(url, message, headersOf(message)));
}

test('cuts a client that reads nothing for unreadTimeoutMs, and cancels its request [HMOD-09]', async () => {
  const clock = new SimulatedClock();
  const said = gate();
  const signals: AbortSignal[] = [];
  const say = defineTool({
    name: 'say',
    description: 'Says more than the buffers of a system hold, and waits',
    handler: async (_args, { notify, signal }) => {
      signals.push(signal);
      notify('test/step', { text: 'x'.repeat(2 ** 24) });
      void said.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'done';
    },
  });
  const server = createMcpServer({ name: 'unread', version: '1', tools: [say, echo] });
  const url = await serveHttp(server, { clock });
  unread(url, enveloped(1, 'tools/call', { name: 'say' }) as Message);
  await said.arrived();
  said.release();
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.increment(1000);
      await callTool(url, 'echo', { message: 'beside it' });
    }
  };
  await pass(28);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await pass(7);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('cuts a client over maxUnreadBytes, and cancels its request [HMOD-09]', async () => {
  const aborted = gate();
  const flood = defineTool({
    name: 'flood',
    description: 'Says more than anybody reads, until it is cancelled',
    handler: async (_args, { signal, log }) => {
      signal.addEventListener('abort', () => void aborted.pass());
      const text = 'x'.repeat(64 * 1024);
      while (!signal.aborted) {
        log.info(text);
        await new Promise(setImmediate);
      }
      return 'done';
    },
  });
  const server = createMcpServer({
    name: 'flood',
    version: '1',
    tools: [flood, echo],
    logging: {},
  });
  const url = await serveHttp(server, {
    limits: { maxUnreadBytes: 256 * 1024 },
    session: { limits: { maxLogsPerSecond: 1_000_000 } },
  });
  unread(url, enveloped(1, 'tools/call', { name: 'flood' }, { logLevel: 'info' }) as Message);
  await aborted.arrived();
  // Other clients are unaffected.
  expect((await callTool(url, 'echo', { message: 'hi' })).status).toBe(200);
});
