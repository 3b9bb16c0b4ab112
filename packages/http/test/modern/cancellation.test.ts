import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import { enveloped, gate } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { httpHandler } from '../../src/index.ts';
import { ask, callTool, headersOf, request } from './modern-client.ts';
import type { ModernRequestOptions } from './modern-client.ts';
import { messagesOf, post, postHeaders } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';

/** A tool that waits for a gate and records the end of its calls. */
function waiting() {
  const held = gate();
  const aborted = gate();
  const runs: string[] = [];
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is let go',
    inputSchema: { type: 'object', properties: { who: { type: 'string' } } },
    handler: async ({ who = '' }, { signal, log }) => {
      runs.push(who);
      log.info(`${who} has begun`);
      signal.addEventListener('abort', () => void aborted.pass());
      await held.pass(signal);
      return who;
    },
  });
  const server = createMcpServer({ name: 'waiting', version: '1', tools: [wait], logging: {} });
  return { server, held, aborted, runs };
}

const call = (url: URL, who: string, asking: ModernRequestOptions = {}) =>
  request(url, 'tools/call', { name: 'wait', arguments: { who } }, asking);

test.each([
  ['before its answer has begun', undefined],
  ['while its answer is a stream', 'info'],
])('cancels a request when its client disconnects %s [HMOD-09]', async (_, logLevel) => {
  const { server, held, aborted } = waiting();
  const url = await serveHttp(server);
  const leaving = new AbortController();
  const asked = Promise.allSettled([call(url, 'first', { signal: leaving.signal, logLevel })]);
  await held.arrived();
  // The headers have arrived, because the answer is a stream.
  if (logLevel) expect((await asked)[0].status).toBe('fulfilled');
  leaving.abort();
  await aborted.arrived();
});

test('cancels only the request of the disconnected client among equal ids [HMOD-09]', async () => {
  const { server, held, aborted } = waiting();
  const url = await serveHttp(server);
  const leaving = new AbortController();
  const leaves = Promise.allSettled([call(url, 'first', { id: 1, signal: leaving.signal })]);
  const stays = callTool(url, 'wait', { who: 'second' }, { id: 1 });
  await held.arrived(2);
  leaving.abort();
  await aborted.arrived();
  await leaves;
  held.release();
  expect((await stays).result?.['content']).toEqual([{ type: 'text', text: 'second' }]);
  expect(aborted.arrivals).toBe(1);
});

test('does not start a queued request whose client has disconnected [HMOD-09]', async () => {
  const { server, held, runs } = waiting();
  const received = gate();
  const handler = httpHandler(server, {
    session: {
      limits: { maxRunning: 1 },
      watchers: [({ traffic }) => void traffic.listen({ received: () => void received.pass() })],
    },
  });
  const leaving = new AbortController();
  const first = handler(webRequest('first'));
  void handler(webRequest('second', leaving.signal));
  const third = handler(webRequest('third'));
  await received.arrived(3);
  leaving.abort();
  held.release();
  const answers = await Promise.all([first, third]);
  expect([answers.map(({ status }) => status), runs]).toEqual([
    [200, 200],
    ['first', 'third'],
  ]);
  await handler.close();
});

test('ignores a posted cancellation [HMOD-09]', async () => {
  const { server, held, aborted } = waiting();
  const url = await serveHttp(server);
  const asked = callTool(url, 'wait', { who: 'first' }, { id: 'mine' });
  await held.arrived();
  const cancelled = {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'mine' },
  };
  const { status } = await post(url, cancelled, { 'mcp-protocol-version': '2026-07-28' });
  held.release();
  expect([status, (await asked).status, aborted.arrivals]).toEqual([202, 200, 0]);
});

const anything = defineForm({ type: 'object', properties: { name: { type: 'string' } } });

test('keeps a suspended call when its connection has closed [HMOD-09]', async () => {
  let runs = 0;
  const greet = defineTool({
    name: 'greet',
    description: 'Greets whoever is there',
    handler: async (_args, context) => {
      runs++;
      const { action } = await context.elicit({ message: 'Who is there?', schema: anything });
      return action;
    },
  });
  const url = await serveHttp(createMcpServer({ name: 'greeter', version: '1', tools: [greet] }));
  const capabilities = { elicitation: {} };
  const asked = await request(
    url,
    'tools/call',
    { name: 'greet' },
    { capabilities, headers: { connection: 'close' } },
  );
  const [question] = await messagesOf(asked);
  const { inputRequests, requestState } = (question?.result ?? {}) as {
    readonly [name: string]: object;
  };
  const [key = ''] = Object.keys(inputRequests ?? {});
  const retry = { name: 'greet', requestState, inputResponses: { [key]: { action: 'decline' } } };
  const { result } = await ask(url, 'tools/call', retry, { id: 2, capabilities });
  expect([result?.['content'], runs]).toEqual([[{ type: 'text', text: 'decline' }], 1]);
});

test('cancels a request when the client of the web handler disconnects [HMOD-09]', async () => {
  const { server, held, aborted } = waiting();
  const handler = httpHandler(server);
  const leaving = new AbortController();
  void handler(webRequest('first', leaving.signal));
  await held.arrived();
  leaving.abort();
  await aborted.arrived();
  await handler.close();
});

function webRequest(who: string, signal?: AbortSignal): Request {
  const message = enveloped(1, 'tools/call', { name: 'wait', arguments: { who } });
  const headers = { ...postHeaders, ...headersOf(message as Message) };
  const body = JSON.stringify(message);
  const init = { method: 'POST', headers, body, ...(signal ? { signal } : {}) };
  return new Request('http://localhost/mcp', init);
}
