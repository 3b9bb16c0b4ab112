/** Sessions of a server with an upstream, without actors until something needs them. */
import { defineUpstream } from 'mcp-actors/bridge';
import { createMcpServer } from 'mcp-actors';
import type { McpServer, McpSession, RuntimeError, Upstream, UpstreamClient } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { httpHandler } from '../../src/index.ts';
import type { HttpOptions } from '../../src/index.ts';
import { ServedSession } from '../../../../src/server/session.ts';
import { EventReader } from '../raw-client.ts';

const behind: Upstream = {
  serverInfo: { name: 'behind', version: '2' },
  capabilities: { tools: {} },
  request: (method) => ({ method }),
};

/** A client of a server whose upstream is opened by `open`. */
function clientOf(
  open: (client: UpstreamClient) => Upstream | Promise<Upstream>,
  options: HttpOptions = {},
) {
  const opened: UpstreamClient[] = [];
  const server = createMcpServer({
    name: 'front',
    version: '1',
    upstream: defineUpstream((client) => {
      opened.push(client);
      return open(client);
    }),
  });
  const sessions: McpSession[] = [];
  const observed: McpServer = {
    ...server,
    listen: (transport, options) => {
      const session = server.listen(transport, options);
      sessions.push(session);
      return session;
    },
  };
  const report = Object.assign(() => {}, { threshold: 'error' } as const);
  const endpoint = httpHandler(observed, { report: () => {}, session: { report }, ...options });
  onTestFinished(() => endpoint.close());
  let id = '';
  const send = (method: string, message?: object) =>
    endpoint(
      new Request('http://localhost/mcp', {
        method,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(id === '' ? {} : { 'mcp-session-id': id }),
        },
        ...(message ? { body: JSON.stringify({ jsonrpc: '2.0', ...message }) } : {}),
      }),
    );
  const greet = async () => {
    const clientInfo = { name: 'client', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const greeted = await send('POST', { id: 'first', method: 'initialize', params });
    id = greeted.headers.get('mcp-session-id') ?? '';
    return (await greeted.json()) as object;
  };
  const beReady = () => send('POST', { method: 'notifications/initialized' });
  const call = async (callId: number): Promise<unknown> =>
    (await send('POST', { id: callId, method: 'tools/call', params: { name: 'any' } })).json();
  const session = () => {
    const [only] = sessions;
    if (!(only instanceof ServedSession)) throw new Error('there is no session yet');
    return only;
  };
  return { endpoint, send, greet, beReady, call, session, opened };
}

const hasActors = (session: ServedSession) => session.actorless === undefined;
const answered = { id: 1, result: { method: 'tools/call' } };

test('serves a client without actors and closes its single upstream with it', async () => {
  let closed = 0;
  const upstream = { ...behind, close: async () => void closed++ };
  const { send, greet, beReady, call, session, opened } = clientOf(() => upstream);
  expect(await greet()).toMatchObject({
    id: 'first',
    result: { serverInfo: { name: 'behind' }, capabilities: { tools: {} } },
  });
  expect(session().isOperating).toBe(false);
  expect((await beReady()).status).toBe(202);
  expect(session().isOperating).toBe(true);
  expect(await call(1)).toMatchObject(answered);
  expect(session().notify('notifications/x')).toBe(true);
  expect(closed).toBe(0);
  expect((await send('DELETE')).status).toBe(204);
  await session().closed;
  expect([hasActors(session()), opened.length, closed]).toEqual([false, 1, 1]);
});

test('holds messages of the upstream back until the client is initialized', async () => {
  const { send, greet, beReady, opened, session } = clientOf(() => behind);
  await greet();
  opened[0]?.notify('notifications/early');
  expect(session().state).toBe('negotiated');
  const stream = await send('GET');
  expect((await beReady()).status).toBe(202);
  expect(session().state).toBe('rootsKnown');
  const chunks = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => chunks?.cancel());
  let text = '';
  while (!text.includes('notifications/early')) text += (await chunks?.read())?.value ?? '';
  expect(opened).toHaveLength(1);
});

test('rejects an upstream request without a stream, and answers a sent one', async () => {
  const limits = { maxWaitingPushes: 1 };
  const { send, greet, beReady, opened } = clientOf(() => behind, { limits });
  await greet();
  await beReady();
  const ask = () =>
    opened[0]?.request('test/question').then(
      () => 'answered',
      ({ code }: RuntimeError) => code,
    );
  const lost = ask();
  opened[0]?.notify('notifications/late');
  expect(await lost).toBe('TRANSPORT_CLOSED');
  const asked = ask();
  const stream = new EventReader(await send('GET'));
  const { id, method } = (await stream.message()).data;
  expect(method).toBe('test/question');
  expect((await send('POST', { id, result: {} })).status).toBe(202);
  expect(await asked).toBe('answered');
  await stream.leave();
});

test('continues with actors started while the upstream is opening', async () => {
  const { arrived, pass, release } = gate();
  const { greet, beReady, call, session, opened } = clientOf(async () => {
    await pass();
    return behind;
  });
  const greeting = greet();
  await arrived();
  expect(session().state).toBe('resolvingUpstream');
  release();
  expect(await greeting).toMatchObject({ result: { serverInfo: { name: 'behind' } } });
  expect(session().state).toBe('negotiated');
  await beReady();
  expect(await call(1)).toMatchObject(answered);
  expect(session().state).toBe('rootsKnown');
  expect(opened).toHaveLength(1);
});

test('explains to the client why its upstream cannot be opened, without a session', async () => {
  const { greet, call, session } = clientOf(() => Promise.reject(new Error('it is broken')));
  expect(await greet()).toMatchObject({
    error: { code: -32000, message: expect.stringContaining('it is broken') as string },
  });
  await session().closed;
  expect(await call(1)).toMatchObject({ error: { code: -32600 } });
});

test('closes the upstream if the server closes while it is opening', async () => {
  const { arrived, pass } = gate();
  const { endpoint, greet, opened } = clientOf(async () => {
    await pass();
    return behind;
  });
  const greeting = greet();
  await arrived();
  const closing = endpoint.close();
  expect(await greeting).toMatchObject({ error: { message: 'The server is shutting down' } });
  await closing;
  expect(opened[0]?.signal.aborted).toBe(true);
});
