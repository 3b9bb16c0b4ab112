/** Streams that outlive their token. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpServer, defineTool } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { AuthorizationServer } from './authorization-server.ts';
import { callTool, request } from './modern/modern-client.ts';
import { EventReader, RawSession, initializeRequest, post } from './raw-client.ts';
import { reportLog, serveHttp } from './serving.ts';

import { as, begin, lives, minute, serve, skew } from './expiring-tokens.ts';
import type { Token } from './expiring-tokens.ts';

test('ends a GET stream with its token, and resumes it with another one', async () => {
  const { url, pass, expired, refuse } = await serve();
  const session = await begin(url, 'short');
  const stream = await session.get();
  const primed = await stream.next();
  await pass(lives.short + skew - 2000);
  await (await session.call('push')).text();
  const { id = '' } = await stream.message();
  expect(expired()).toEqual([]);
  await pass(3000);
  expect((await stream.rest()).filter(({ comment }) => comment === undefined)).toEqual([
    { retry: primed?.retry },
  ]);
  expect(expired()).toMatchObject([{ level: 'info', message: expect.stringContaining('1') }]);

  refuse('short');
  expect((await session.get(id)).response.status).toBe(401);
  const renewed = new RawSession(url, { ...session.headers, ...as('long') });
  await (await renewed.call('push')).text();
  const resumed = await renewed.get(id);
  expect((await resumed.message()).data.method).toBe('test/step');
  await pass(20 * minute);
  expect(expired()).toHaveLength(1);
});

test('keeps a stream whose token does not expire', async () => {
  const { url, pass, expired } = await serve();
  const session = await begin(url, 'endless');
  const stream = await session.get();
  await pass(120 * minute);
  await (await session.call('push')).text();
  expect((await stream.message()).data.method).toBe('test/step');
  expect(expired()).toEqual([]);
});

test('answers an authorized call on its stream, however long it takes', async () => {
  const { url, pass, held, expired } = await serve();
  const session = await begin(url, 'short');
  const response = session.call('hold');
  await pass(lives.short + skew + minute);
  const stream = new EventReader(await response);
  held.release();
  expect((await stream.message()).data.result?.['content']).toEqual([
    { type: 'text', text: 'held' },
  ]);
  expect(expired()).toEqual([]);
});

test('ends a 2026-07-28 subscription without a result, so that it can be repeated', async () => {
  const { url, server, pass, expired } = await serve({}, { maxSubscriptions: 1 });
  const listen = async (token: Token) => {
    const filter = { notifications: { toolsListChanged: true } };
    const stream = new EventReader(
      await request(url, 'subscriptions/listen', filter, { headers: as(token) }),
    );
    expect((await stream.message()).data.method).toBe('notifications/subscriptions/acknowledged');
    return stream;
  };
  const first = await listen('short');
  await pass(lives.short + skew - 3000);
  server.tools.add(defineTool({ name: 'new', description: 'New', handler: () => 'new' }));
  await pass(1000);
  expect((await first.message()).data.method).toBe('notifications/tools/list_changed');
  await pass(3000);
  expect(await first.messages()).toEqual([]);
  // One slot is free.
  const second = await listen('long');
  server.tools.remove('new');
  await pass(1000);
  expect((await second.message()).data.method).toBe('notifications/tools/list_changed');
  expect(expired()).toHaveLength(1);
});

test('answers an authorized 2026-07-28 call', async () => {
  const { url, pass, held } = await serve();
  const called = callTool(url, 'hold', {}, { headers: as('short') });
  await pass(lives.short + skew + minute);
  held.release();
  expect((await called).result?.['content']).toEqual([{ type: 'text', text: 'held' }]);
});

test('ends an HTTP+SSE session with the last token its client presented', async () => {
  const { url, pass, expired } = await serve({ sse: true, path: '/mcp' });
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { accept: 'text/event-stream', ...as('short') };
  const opened = await fetch(new URL('/sse', url), { headers, signal: abort.signal });
  const stream = new EventReader(opened);
  const messages = String((await stream.next())?.data);
  await pass(5 * minute);
  await post(new URL(messages, url), initializeRequest('2024-11-05'), as('long'));
  expect((await stream.message()).data.id).toBe('init');
  // An earlier expiry of another token ends nothing.
  const ping = { jsonrpc: '2.0', id: 'p1', method: 'ping' };
  expect((await post(new URL(messages, url), ping, as('short'))).status).toBe(202);
  expect((await stream.message()).data.id).toBe('p1');
  await pass(lives.long + skew - 2000);
  expect(expired()).toEqual([]);
  await pass(3000);
  await pass(1000);
  expect(await stream.messages()).toEqual([]);
  const gone = await post(new URL(messages, url), initializeRequest('2024-11-05'), as('endless'));
  expect([gone.status, expired().length]).toEqual([404, 1]);
});

describe('a token that is revoked before its expiry', () => {
  test('ends a GET stream within a minute, which resumes with another one', async () => {
    const { url, pass, revoked, expired, refuse } = await serve();
    const session = await begin(url, 'endless');
    const stream = await session.get();
    const primed = await stream.next();
    await pass(10 * minute);
    refuse('endless');
    await pass(minute + 1000);
    expect((await stream.rest()).filter(({ comment }) => comment === undefined)).toEqual([
      { retry: primed?.retry },
    ]);
    expect(revoked()).toMatchObject([
      { level: 'info', message: expect.stringContaining('is no longer valid') },
    ]);
    expect(expired()).toEqual([]);
    expect((await session.get(primed?.id)).response.status).toBe(401);
    const renewed = new RawSession(url, { ...session.headers, ...as('long') });
    await (await renewed.call('push')).text();
    expect((await (await renewed.get(primed?.id)).message()).data.method).toBe('test/step');
  });

  test('ends no stream immediately while it cannot be rechecked', async () => {
    const { url, pass, revoked, named, refuse, away } = await serve();
    const session = await begin(url, 'endless');
    const stream = await session.get();
    away.add('endless');
    await pass(4 * minute + 30_000);
    expect(named('authorization.unavailable')).toHaveLength(4);
    away.delete('endless');
    await (await session.call('push')).text();
    expect((await stream.message()).data.method).toBe('test/step');
    refuse('endless');
    await pass(minute + 1000);
    await stream.rest();
    expect(revoked()).toHaveLength(1);
  });

  test('ends a stream after five minutes without a successful recheck', async () => {
    const { url, pass, revoked, named, away } = await serve();
    const session = await begin(url, 'endless');
    const stream = await session.get();
    const primed = await stream.next();
    // Earlier failed rechecks do not count.
    for (let round = 0; round < 2; round++) {
      away.add('endless');
      await pass(4 * minute);
      away.delete('endless');
      await pass(2 * minute);
    }
    expect(named('authorization.unchecked')).toEqual([]);
    away.add('endless');
    await pass(6 * minute);
    expect((await stream.rest()).filter(({ comment }) => comment === undefined)).toEqual([
      { retry: primed?.retry },
    ]);
    expect(named('authorization.unchecked')).toMatchObject([
      { level: 'info', message: expect.stringContaining('could not be checked for too long') },
    ]);
    expect(revoked()).toEqual([]);
  });

  test('ends a stream that could never be rechecked', async () => {
    const { url, pass, named, away } = await serve();
    const session = await begin(url, 'endless');
    const stream = await session.get();
    away.add('endless');
    await pass(7 * minute);
    await stream.rest();
    expect(named('authorization.unchecked')).toHaveLength(1);
  });

  test('ends a stream earlier if its issuer shortens its lifetime', async () => {
    const { url, pass, expired, shorten, away } = await serve();
    const session = await begin(url, 'endless');
    const stream = await session.get();
    shorten('endless', 3 * minute);
    await pass(2 * minute);
    // Only the current outcome counts.
    away.add('endless');
    expect(expired()).toEqual([]);
    await pass(4 * minute);
    await stream.rest();
    expect(expired()).toHaveLength(1);
  });

  test('ends no stream with recheckMs 0', async () => {
    const { url, pass, revoked, refuse } = await serve({}, { limits: { recheckMs: 0 } });
    const session = await begin(url, 'endless');
    const stream = await session.get();
    await (await session.call('push')).text();
    refuse('endless');
    await pass(30 * minute);
    expect((await stream.message()).data.method).toBe('test/step');
    expect(revoked()).toEqual([]);
  });

  test('does not end the answer to an authorized call, in either era', async () => {
    const { url, pass, held, revoked, refuse } = await serve();
    const session = await begin(url, 'endless');
    const response = session.call('hold');
    const called = callTool(url, 'hold', {}, { headers: as('endless') });
    await held.arrived(2);
    refuse('endless');
    await pass(5 * minute);
    held.release();
    const content = [{ type: 'text', text: 'held' }];
    const answer = await new EventReader(await response).message();
    expect(answer.data.result?.['content']).toEqual(content);
    expect((await called).result?.['content']).toEqual(content);
    expect(revoked()).toEqual([]);
  });

  test('ends a 2026-07-28 subscription', async () => {
    const { url, pass, revoked, refuse } = await serve();
    const filter = { notifications: { toolsListChanged: true } };
    const stream = new EventReader(
      await request(url, 'subscriptions/listen', filter, { headers: as('endless') }),
    );
    expect((await stream.message()).data.method).toBe('notifications/subscriptions/acknowledged');
    refuse('endless');
    await pass(2 * minute);
    expect(await stream.messages()).toEqual([]);
    expect(revoked()).toHaveLength(1);
  });

  test('ends an HTTP+SSE session', async () => {
    const { url, pass, revoked, refuse } = await serve({ sse: true, path: '/mcp' });
    const headers = { accept: 'text/event-stream', ...as('endless') };
    const stream = new EventReader(await fetch(new URL('/sse', url), { headers }));
    await stream.next();
    refuse('endless');
    await pass(2 * minute);
    await pass(1000);
    expect(await stream.messages()).toEqual([]);
    expect(revoked()).toHaveLength(1);
  });

  test('is rechecked a few at a time, leaving the authorization server to requests', async () => {
    const clock = new SimulatedClock();
    const held = gate();
    let [running, most, seen] = [0, 0, 0];
    const verifyToken = async (subject: string) => {
      if (clock.now() < minute) return { subject };
      [running, seen] = [running + 1, seen + 1];
      most = Math.max(most, running);
      await held.pass();
      running--;
      return { subject };
    };
    const authorization = { verifyToken, limits: { maxRechecks: 2 } };
    const server = createMcpServer({ name: 'guarded', version: '1', tools: [] });
    const url = await serveHttp(server, { authorization, clock });
    for (const token of ['a', 'b', 'c', 'd', 'e']) {
      const headers = { authorization: `Bearer ${token}` };
      const begun = await post(url, initializeRequest(), headers);
      const id = begun.headers.get('mcp-session-id') ?? '';
      await new RawSession(url, { ...headers, 'mcp-session-id': id }).get();
    }
    clock.increment(minute);
    clock.increment(1000);
    await held.arrived(2);
    expect(seen).toBe(2);
    held.release();
    await expect.poll(() => seen).toBe(5);
    expect(most).toBe(2);
  });

  test('is rejected by introspection', async () => {
    const issuing = await AuthorizationServer.start({ tokens: 'opaque' });
    onTestFinished(() => issuing.close());
    const clock = new SimulatedClock();
    const { report, facts } = reportLog();
    const server = createMcpServer({ name: 'guarded', version: '1', tools: [] });
    const url = await serveHttp(server, {
      authorization: {
        issuer: issuing.issuer,
        audience: 'https://mcp.example.com/mcp',
        introspection: issuing.introspector,
      },
      clock,
      session: { report },
    });
    const token = await issuing.issue({ aud: 'https://mcp.example.com/mcp' });
    const headers = { authorization: `Bearer ${token}` };
    const begun = await post(url, initializeRequest(), headers);
    const id = begun.headers.get('mcp-session-id') ?? '';
    const stream = await new RawSession(url, { ...headers, 'mcp-session-id': id }).get();
    expect(issuing.count('/introspect')).toBe(1);
    issuing.revoke(token);
    clock.increment(minute - 1000);
    const looked = () => {
      clock.increment(1000);
      return facts.map(({ name }) => name);
    };
    await expect.poll(looked).toContain('authorization.revoked');
    await stream.rest();
    expect(issuing.count('/introspect')).toBe(2);
  });
});

test('lets the official 2025-11-25 client resume its stream with a new token', async () => {
  const { url, pass, refuse, told } = await serve(
    { limits: { retryMs: 10 } },
    { limits: { recheckMs: 0 } },
  );
  let token: Token = 'short';
  const client = new Client(
    { name: 'c', version: '1' },
    { versionNegotiation: { mode: 'legacy' } },
  );
  let heard = gate();
  client.fallbackNotificationHandler = () => Promise.resolve(heard.release());
  const authProvider = {
    token: () => Promise.resolve(token),
    onUnauthorized: () => {
      token = 'long';
      return Promise.resolve();
    },
  };
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
  onTestFinished(() => client.close());
  // Delivered once the stream is open.
  await client.callTool({ name: 'push' });
  await heard.pass();
  heard = gate();
  refuse('short');
  await pass(lives.short + skew + 1000);
  await told('authorization.expired');
  await client.callTool({ name: 'push' });
  await heard.pass();
});
