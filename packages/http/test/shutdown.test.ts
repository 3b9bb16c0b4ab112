/** A server that closes while clients keep calling. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serveHttp } from 'mcp-actors/serve';
import { enveloped, gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MemoryNodes } from '../../nodes/test/memory-stores.ts';
import type { Stores } from '../src/nodes/stores.ts';
import { httpHandler } from '../src/index.ts';
import {
  EventReader,
  RawSession,
  begin,
  initializeRequest,
  post,
  postHeaders,
} from './raw-client.ts';

/** A server that counts calls and signals once there were enough. */
async function serveCounted(isEnough: number) {
  let ran = 0;
  let enough = () => {};
  const wasEnough = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const server = createMcpServer({
    name: 'counted',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'work',
        description: 'Does something, once.',
        handler: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          if (++ran === isEnough) enough();
          return `done ${ran}`;
        },
      }),
    ],
  });
  const serving = await serveHttp(server, { port: 0 });
  onTestFinished(() => serving.close());
  return { serving, wasEnough, ran: () => ran };
}

type Send = (id: number) => Promise<Response>;

const params = { name: 'work', arguments: {} };

async function inSession(url: URL): Promise<Send> {
  const clientInfo = { name: 'caller', version: '1' };
  const handshake = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: handshake };
  const begun = await post(url, initialize);
  const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  return (id) => post(url, { jsonrpc: '2.0', id, method: 'tools/call', params }, headers);
}

async function withoutSession(url: URL): Promise<Send> {
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'work',
  };
  return (id) => post(url, enveloped(id, 'tools/call', params), headers);
}

/**
 * Calls until the server closes.
 *
 * @returns number of successful calls
 */
async function keepCalling(send: Send): Promise<number> {
  for (let told = 0; ; told++) {
    let response: Response;
    try {
      response = await send(told + 1);
    } catch {
      // The port is closed, so nothing was executed.
      return told;
    }
    const text = await response.text();
    if (response.status !== 200) {
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      return told;
    }
    expect(text).toContain('done');
  }
}

describe.each([
  ['in sessions', inSession],
  ['without sessions', withoutSession],
])('a shutdown with clients that keep calling, %s', (_name, sender) => {
  test('answers everything that was done before the end', async () => {
    const { serving, wasEnough, ran } = await serveCounted(100);
    const callers = await Promise.all(Array.from({ length: 8 }, () => sender(serving.url)));
    const told = callers.map(keepCalling);
    await wasEnough;
    await serving.close();
    const sum = (await Promise.all(told)).reduce((all, each) => all + each, 0);
    expect(sum).toBe(ran());
    expect(sum).toBeGreaterThanOrEqual(100);
  });
});

test('rejects new streams while draining, to be retried at another node', async () => {
  const held = gate();
  const hold = defineTool({
    name: 'hold',
    description: 'Waits until it is let go',
    handler: async () => {
      await held.pass();
      return 'held';
    },
  });
  const report = () => {};
  const server = createMcpServer({ name: 'draining', version: '1', tools: [hold] });
  const handler = httpHandler(server, { report, session: { report }, sse: true });
  const ask = (method: string, message?: object, more = {}, path = '/mcp') => {
    const headers = { ...postHeaders, ...more };
    const body = message && JSON.stringify({ jsonrpc: '2.0', ...message });
    const init = { method, headers, ...(body && { body }) };
    return handler(new Request(`http://localhost${path}`, init));
  };
  const begun = await ask('POST', initializeRequest());
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  await ask('POST', { method: 'notifications/initialized' }, session);
  const call = ask('POST', { id: 1, method: 'tools/call', params: { name: 'hold' } }, session);
  await held.arrived();
  const closed = handler.close();
  for (const path of ['/mcp', '/sse']) {
    const refused = await ask('GET', undefined, session, path);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  }
  held.release();
  expect(await (await call).text()).toContain('held');
  await closed;
});

describe('a stream at shutdown', () => {
  const step = defineTool({
    name: 'step',
    description: 'Says something, and never answers.',
    handler: async (_, context) => {
      context.notify('test/step');
      await new Promise(() => {});
      return '';
    },
  });

  test('suggests when to reconnect if it is standalone [HTTP-06]', async () => {
    const { url, close } = await serveStep();
    const session = await begin(url);
    const stream = await session.get();
    expect(await stream.next()).toMatchObject({ retry: '1234' });
    await close();
    expect(await stream.rest()).toEqual([{ retry: '1234' }]);
  });

  test('suggests when to reconnect if another node still has to answer it [HTTP-06]', async () => {
    const nodes = new MemoryNodes();
    const [one, other] = [await serveStep(nodes.start()), await serveStep(nodes.start())];
    const session = await begin(one.url);
    const call = new EventReader(await session.call('step', {}, 7));
    const { id } = await call.message();
    const stream = await new RawSession(other.url, session.headers).get(id);
    expect(await stream.next()).toMatchObject({ retry: '1234' });
    await other.close();
    expect(await stream.rest()).toEqual([{ retry: '1234' }]);
    await call.leave();
  });

  test('ends with its answer if it belongs to a call [HTTP-07]', async () => {
    const { url, close } = await serveStep();
    const session = await begin(url);
    const call = new EventReader(await session.call('step', {}, 7));
    expect((await call.message()).data.method).toBe('test/step');
    await close();
    expect(await call.rest()).toMatchObject([
      { data: { id: 7, error: { code: -32_000 } } },
      { retry: '1234' },
    ]);
  });

  async function serveStep(stores?: Stores) {
    const stateKeys = [Buffer.alloc(32, 1).toString('base64')];
    const server = createMcpServer({ name: 'ending', version: '1', tools: [step], stateKeys });
    const serving = await serveHttp(server, {
      port: 0,
      limits: { retryMs: 1234 },
      report: () => {},
      session: { report: () => {} },
      ...(stores ? { stores } : {}),
    });
    onTestFinished(() => serving.close(0));
    return { url: serving.url, close: () => serving.close(10) };
  }
});
