/**
 * Items visible to some principals only, over HTTP: during authorization, in the session, and at
 * another node.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import type { Visible } from '../../../src/server/define/visible.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AuthorizationOptions } from '../src/index.ts';
import { StoreUnavailable } from '../src/nodes/stores.ts';
import { MemoryNodes } from '../../nodes/test/memory-stores.ts';
import { startRedisNodes, stateKeys } from '../../nodes/test/redis-nodes.ts';
import { RedisServer, hasRedis, needsRedis } from '../../nodes/test/redis-server.ts';
import { at, startNodes } from './owner/nodes.ts';
import { callTool } from './modern/modern-client.ts';
import { EventReader, RawSession, begin, initializeRequest, jsonOf, post } from './raw-client.ts';
import { serveHttp } from './serving.ts';

/** A token consists of a name and scopes. */
const authorization: AuthorizationOptions = {
  verifyToken: (token) => {
    const [subject = '', ...scopes] = token.split('+');
    return { subject, scopes };
  },
};
const as = (token: string) => ({ authorization: `Bearer ${token}` });
const admins: Visible = ({ principal }) => principal?.scopes.includes('admin') ?? false;

const secret = defineTool({
  name: 'secret',
  description: 'Is for admins',
  visible: admins,
  scopes: ['secret.use'],
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  },
  handler: () => 'done',
});
const open = defineTool({ name: 'open', description: 'Is for all', handler: () => 'done' });

const serve = () =>
  serveHttp(createMcpServer({ name: 's', version: '1', tools: [secret, open] }), { authorization });

async function sessionOf(url: URL, token: string): Promise<RawSession> {
  const begun = await post(url, initializeRequest(), as(token));
  await begun.text();
  const id = begun.headers.get('mcp-session-id') ?? '';
  const session = new RawSession(url, { ...as(token), 'mcp-session-id': id });
  await session.notify('notifications/initialized');
  return session;
}

const namesIn = async (response: Response) =>
  ((await jsonOf(response)).result!['tools'] as JsonObject[]).map(({ name }) => name);

describe('a tool hidden from a principal', () => {
  test('requires no scopes and has no headers, in either era', async () => {
    const url = await serve();
    const ada = await sessionOf(url, 'ada');
    const unknown = /unknown tool "secret"; this server has open/;
    const inSession = await ada.call('secret');
    expect([inSession.status, (await jsonOf(inSession)).error?.message]).toEqual([
      200,
      expect.stringMatching(unknown),
    ]);
    const sessionless = await callTool(url, 'secret', { region: 'eu' }, { headers: as('ada') });
    expect(sessionless.error?.message).toMatch(unknown);
  });

  test('is rejected as usual for those who see it', async () => {
    const url = await serve();
    const ada = await sessionOf(url, 'ada+admin');
    expect((await ada.call('secret')).status).toBe(403);
    const call = (token: string) =>
      callTool(
        url,
        'secret',
        { region: 'eu' },
        { headers: { ...as(token), 'mcp-param-region': 'eu' } },
      );
    expect((await call('ada+admin')).status).toBe(403);
    expect((await call('ada+admin+secret.use')).status).toBe(200);
  });

  test("appears once the session's token allows it, with a notification", async () => {
    const url = await serve();
    const before = await sessionOf(url, 'ada');
    expect(await namesIn(await before.request('tools/list'))).toEqual(['open']);
    const stream = await before.get();
    const after = new RawSession(url, { ...before.headers, ...as('ada+admin') });
    await (await after.call('open')).text();
    const { data } = await stream.message();
    expect(data.method).toBe('notifications/tools/list_changed');
    expect(await namesIn(await after.request('tools/list'))).toEqual(['secret', 'open']);
  });
});

test('is filtered over HTTP+SSE, and reported once visible', async () => {
  const server = createMcpServer({ name: 's', version: '1', tools: [secret, open] });
  const { href } = await serveHttp(server, { authorization, sse: true });
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { accept: 'text/event-stream', ...as('ada') };
  const events = new EventReader(
    await fetch(new URL('/sse', href), { headers, signal: abort.signal }),
  );
  const messages = new URL(String((await events.next())?.data), href);
  const send = async (message: object, token = 'ada') =>
    expect((await post(messages, { jsonrpc: '2.0', ...message }, as(token))).status).toBe(202);
  const ask = async (method: string, params = {}, token = 'ada') => {
    await send({ id: method, method, params }, token);
    return (await events.message()).data;
  };
  await send(initializeRequest('2024-11-05'));
  await events.message();
  await send({ method: 'notifications/initialized' });
  const listed = async (token: string) => {
    const { result } = await ask('tools/list', {}, token);
    return (result!['tools'] as JsonObject[]).map(({ name }) => name);
  };
  expect(await listed('ada')).toEqual(['open']);
  const refused = await ask('tools/call', { name: 'secret' });
  expect(refused.error?.message).toContain('unknown tool "secret"');
  await ask('tools/call', { name: 'open' }, 'ada+admin');
  expect((await events.message()).data.method).toBe('notifications/tools/list_changed');
  expect(await listed('ada+admin')).toEqual(['secret', 'open']);
});

const switching = () => ({
  tools: [
    defineTool({
      name: 'hide',
      description: 'Hides itself',
      handler: (_, { session }) => {
        session.disable('hide');
        return 'hidden';
      },
    }),
    open,
  ],
});

describe('switched items of a session', () => {
  test('persist at the node that continues it', async () => {
    const [first, second] = await startNodes(2, switching);
    const session = await begin(first!.url);
    await (await session.call('hide')).text();
    first!.kill();
    const there = at(second!, session);
    expect(await namesIn(await there.request('tools/list'))).toEqual(['open']);
    expect((await jsonOf(await there.call('hide'))).error?.code).toBe(-32602);
  });

  test('are stored before the call that switched them is answered', async () => {
    const stores = new MemoryNodes().start();
    const { write } = stores.directory;
    const server = createMcpServer({ name: 's', version: '1', ...switching() });
    const url = await serveHttp(server, { stores });
    const session = await begin(url);
    Object.assign(stores.directory, {
      write: (...args: Parameters<typeof write>) =>
        args[1]?.slot === 'item:hide'
          ? Promise.reject(new StoreUnavailable('slow', 'no answer', { retryAfterMs: 1000 }))
          : write(...args),
    });
    const refused = await session.call('hide');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await jsonOf(refused)).error?.message).toContain('other nodes');
  });
});

describe('nodes that share a Redis', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    if (hasRedis()) redis = await RedisServer.start();
  });
  afterAll(() => redis?.stop());

  test('serve one list per session and notify from any node', async (context) => {
    needsRedis(context);
    let isOpen = false;
    const late = { ...open, name: 'late', visible: () => isOpen };
    const servers = [0, 1].map(() =>
      createMcpServer({
        ...{ name: 's', version: '1', stateKeys },
        tools: [secret, late, ...switching().tools],
      }),
    );
    const [here, there] = await startRedisNodes({
      count: 2,
      stores: () => ({ url: redis!.url, leaseMs: 120_000, commandTimeoutMs: 60_000 }),
      server: (node) => servers[node]!,
      http: { authorization },
    });
    const ada = await sessionOf(here!, 'ada');
    const stream = await ada.get();
    const told = async () => (await stream.message()).data.method;
    const elsewhere = (token: string) => new RawSession(there!, { ...ada.headers, ...as(token) });
    const names = async (token: string) => namesIn(await elsewhere(token).request('tools/list'));
    expect(await names('ada')).toEqual(['hide', 'open']);
    const refused = await jsonOf(await elsewhere('ada').call('secret'));
    expect(refused.error?.message).toContain('unknown tool "secret"');

    await (await elsewhere('ada+admin').call('open')).text();
    expect(await told()).toBe('notifications/tools/list_changed');
    expect(await names('ada+admin')).toEqual(['secret', 'hide', 'open']);

    await (await elsewhere('ada+admin').call('hide')).text();
    expect(await told()).toBe('notifications/tools/list_changed');
    expect(await namesIn(await ada.request('tools/list'))).toEqual(['open']);

    const bob = await sessionOf(here!, 'bob');
    const others = await bob.get();
    expect(await namesIn(await bob.request('tools/list'))).toEqual(['hide', 'open']);
    isOpen = true;
    servers[1]!.visibilityChanged();
    expect((await others.message()).data.method).toBe('notifications/tools/list_changed');
    expect(await namesIn(await bob.request('tools/list'))).toEqual(['late', 'hide', 'open']);
  });
});
