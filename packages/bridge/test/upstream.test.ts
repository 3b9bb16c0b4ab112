/** Servers that find out what they have when their client is known. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProtocolError, createMcpServer } from 'mcp-actors';
import type { JsonObject, ServerDefinition, Upstream, UpstreamClient } from 'mcp-actors';
import { defineUpstream } from 'mcp-actors/bridge';
import {
  TestClock,
  scriptedConversation,
  enveloped,
  gate,
  initialize,
  notification,
  request,
  flush,
} from 'mcp-actors/testing';
import type { ConversationOptions } from 'mcp-actors/testing';
import type { UpstreamFactory } from '../../../src/server/define/upstream.ts';
import { echo } from '../../../test/contract/serving.ts';

/** An upstream that says which method it was asked, with which params. */
const upstream = (more: Partial<Upstream> = {}): Upstream => ({
  serverInfo: { name: 'behind', version: '2' },
  capabilities: { tools: { listChanged: true }, 'x/own': { a: 1 } },
  instructions: 'Ask me',
  request: (method, params) => ({ method, ...(params ? { params } : {}), unknown: true }),
  ...more,
});

function serve(
  make: UpstreamFactory,
  definition: Partial<ServerDefinition> = {},
  options: ConversationOptions = {},
) {
  const server = createMcpServer({
    name: 'front',
    version: '1',
    ...definition,
    upstream: defineUpstream(make),
  });
  const conversation = scriptedConversation(server, options);
  onTestFinished(() => {
    conversation.session.shutdown('the test is over', 0);
  });
  return { server, ...conversation };
}

describe('the initialize of a session with an upstream', () => {
  test("passes the client's description to the upstream, and waits for it", async () => {
    const { arrived, pass, release } = gate();
    const clients: UpstreamClient[] = [];
    const { peer, session } = serve(async (client) => {
      clients.push(client);
      await pass();
      return upstream();
    });
    const clientInfo = { name: 'host', version: '3' };
    peer.send(initialize(1, { capabilities: { sampling: {} }, clientInfo }));
    await arrived();
    expect(session.state).toBe('resolvingUpstream');
    expect(clients[0]?.peer).toMatchObject({ info: clientInfo, capabilities: { sampling: {} } });
    expect(peer.received).toEqual([]);
    release();
    expect(await peer.response(1)).toMatchObject({
      result: {
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'behind', version: '2' },
        capabilities: { tools: { listChanged: true }, 'x/own': { a: 1 } },
        instructions: 'Ask me',
      },
    });
    expect(session.state).toBe('negotiated');
  });

  test('queues messages in order meanwhile, and answers pings at once', async () => {
    const { arrived, pass, release } = gate();
    const notified: string[] = [];
    const asked: string[] = [];
    const { peer } = serve(async () => {
      await pass();
      return upstream({
        request: (method) => {
          asked.push(method);
          return {};
        },
        onClientNotification: (method) => notified.push(method),
      });
    });
    peer.send(initialize(1), initialize(5), request(2, 'tools/list'), request(3, 'ping'));
    await arrived();
    expect(await peer.response(3)).toMatchObject({ result: {} });
    peer.send(notification('notifications/initialized'), notification('notifications/x'));
    peer.send(request(4, 'x/y'));
    release();
    for (const id of [1, 2, 4, 5]) expect(await peer.response(id)).toHaveProperty('result');
    expect(asked).toEqual(['tools/list', 'x/y']);
    expect(notified).toEqual(['notifications/x']);
    const answered = peer.received.map((frame) => (frame as { id?: unknown }).id);
    expect(answered.indexOf(1)).toBeLessThan(answered.indexOf(2));
  });

  test('rejects messages beyond the queue limit', async () => {
    const { arrived, pass, release } = gate();
    const limits = { maxWaiting: 2 };
    const { peer } = serve(
      async () => {
        await pass();
        return upstream();
      },
      {},
      { limits },
    );
    peer.send(initialize(1));
    await arrived();
    peer.send(...[2, 3, 4].map((id) => request(id, 'tools/list')));
    expect(await peer.error(4)).toMatchObject({
      code: -32000,
      data: { reason: 'overloaded', retryable: true },
    });
    release();
    expect(await peer.response(2)).toHaveProperty('result');
  });

  test('fails with the cause if the upstream cannot be opened, and ends the session', async () => {
    const { peer, session, facts } = serve(() => {
      throw new Error('no such command');
    });
    peer.send(initialize(1), request(2, 'tools/list'));
    expect(await peer.error(1)).toMatchObject({
      code: -32000,
      message: 'front cannot serve the client: no such command',
      data: { reason: 'upstream-failed' },
    });
    expect(await peer.error(2)).toMatchObject({ data: { reason: 'shutting-down' } });
    expect(await session.closed).toMatchObject({ kind: 'shutdown' });
    expect(facts.of('upstream.failed')).toHaveLength(1);
  });

  test('is answered with its queued messages after the input has ended', async () => {
    const { arrived, pass, release } = gate();
    const { peer, session } = serve(async () => {
      await pass();
      return upstream();
    });
    peer.send(initialize(1), notification('notifications/initialized'), request(2, 'tools/list'));
    peer.end();
    await arrived();
    expect(session.state).toBe('resolvingUpstream');
    release();
    expect(await peer.response(1)).toMatchObject({ result: { instructions: 'Ask me' } });
    expect(await peer.response(2)).toMatchObject({ result: { method: 'tools/list' } });
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });

  test.each([
    ['the input has ended and upstreamTimeoutMs is over', 'input-ended', 'upstream-failed'],
    ['the session is told to end', 'shutdown', 'shutting-down'],
  ])('is rejected if %s', async (_, kind, reason) => {
    const clock = new TestClock();
    const { arrived, pass } = gate();
    let signal: AbortSignal | undefined;
    const { peer, session } = serve(
      async (client) => {
        signal = client.signal;
        await pass();
        return upstream();
      },
      {},
      { clock, limits: { upstreamTimeoutMs: 500 } },
    );
    peer.send(initialize(1));
    await arrived();
    if (kind === 'shutdown') session.shutdown('enough');
    else {
      peer.end();
      await flush();
      clock.increment(499);
      await flush();
      expect(session.state).toBe('resolvingUpstream');
      clock.increment(1);
    }
    expect(await peer.error(1)).toMatchObject({ data: { reason } });
    expect(await session.closed).toMatchObject({ kind });
    expect(signal?.aborted).toBe(true);
  });

  test('times out, and closes a late upstream', async () => {
    const clock = new TestClock();
    const closed: string[] = [];
    const { arrived, pass, release } = gate();
    let aborted = false;
    const { peer } = serve(
      async ({ signal }) => {
        await pass();
        aborted = signal.aborted;
        return upstream({ close: () => closed.push('late') });
      },
      {},
      { clock },
    );
    peer.send(initialize(1));
    await arrived();
    clock.increment(60_000);
    expect(await peer.error(1)).toMatchObject({ message: /not ready within 60000 ms/ as never });
    release();
    await expect.poll(() => closed).toEqual(['late']);
    expect(aborted).toBe(true);
  });

  test('is cancelled with the session', async () => {
    const { arrived, pass } = gate();
    let signal: AbortSignal | undefined;
    const { peer, session } = serve(async (client) => {
      ({ signal } = client);
      await pass(client.signal);
      return upstream();
    });
    peer.send(initialize(1), request(2, 'tools/list'));
    await arrived();
    session.shutdown('enough');
    await session.closed;
    expect(signal?.aborted).toBe(true);
  });
});

describe('a session with an upstream', () => {
  test('forwards params, results and errors of any method unchanged', async () => {
    const { peer } = serve(() =>
      upstream({
        request: (method, params) => {
          if (method === 'x/fail') throw new ProtocolError(-31_999, 'No', { why: [1] });
          return { method, params, resultType: 'of its own' };
        },
      }),
    );
    await peer.handshake();
    const params = { name: 1, _meta: { 'a/b': { c: 1 } }, extra: [null] };
    expect(await peer.ask('tools/call', params)).toEqual({
      method: 'tools/call',
      params,
      resultType: 'of its own',
    });
    peer.send(request('e', 'x/fail'));
    expect(await peer.error('e')).toEqual({ code: -31_999, message: 'No', data: { why: [1] } });
  });

  test('forwards questions of its upstream within a call, and asks nothing itself', async () => {
    const { peer } = serve(() =>
      upstream({
        request: async (_method, _params, context) => ({
          roots: await context.request('roots/list', undefined, { probe: true }),
        }),
      }),
    );
    await peer.handshake({ capabilities: { roots: {} } });
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(0);
    peer.send(request(9, 'tools/call', { name: 'x' }));
    peer.answer(await peer.request('roots/list'), { roots: [], 'x/own': 1 });
    expect(await peer.response(9)).toMatchObject({ result: { roots: { roots: [], 'x/own': 1 } } });
  });

  test('forwards notifications and requests outside of calls once ready', async () => {
    let client: UpstreamClient | undefined;
    const { peer } = serve((given) => {
      client = given;
      given.notify('notifications/x', { early: true });
      return upstream();
    });
    const asked = expect.poll(() => peer.count('roots/list'));
    await peer.handshake({ capabilities: { roots: {} } });
    expect(await peer.notification('notifications/x')).toMatchObject({ params: { early: true } });
    const roots = client?.request('roots/list');
    await asked.toBe(1);
    peer.answer(await peer.request('roots/list'), { roots: [] });
    expect(await roots).toEqual({ roots: [] });
    await expect(client?.request('sampling/createMessage', {})).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
  });

  test('merges its own tools into one list, behind one middleware', async () => {
    const theirs = { tools: [{ name: 'theirs', 'x/own': 1 }], nextCursor: 'more' };
    const { server, peer } = serve(
      () =>
        upstream({
          request: (method, params) =>
            method === 'tools/list'
              ? params?.['cursor'] === 'more'
                ? { tools: [{ name: 'last' }] }
                : theirs
              : { content: [], called: params?.['name'] },
        }),
      { tools: [echo] },
    );
    const seen: string[] = [];
    server.use(({ method }, next) => {
      seen.push(method);
      return next();
    });
    const { peer: wrapped } = scriptedConversation(server);
    await wrapped.handshake();
    const { tools, nextCursor } = await wrapped.ask('tools/list');
    expect((tools as JsonObject[]).map(({ name }) => name)).toEqual(['echo', 'theirs']);
    expect(nextCursor).toBe('more');
    expect(await wrapped.ask('tools/list', { cursor: 'more' })).toEqual({
      tools: [{ name: 'last' }],
    });
    expect(await wrapped.call('echo', { text: 'hi' })).toMatchObject({
      content: [{ type: 'text', text: '{"text":"hi"}' }],
    });
    expect(await wrapped.call('theirs')).toEqual({ content: [], called: 'theirs' });
    expect(seen).toEqual(['tools/list', 'tools/list', 'tools/call', 'tools/call']);
    wrapped.end();
    peer.end();
  });

  test('closes the upstream with the session, which awaits it', async () => {
    const { pass, arrived, release } = gate();
    const { peer, session } = serve(() => upstream({ close: () => pass() }));
    await peer.handshake();
    let isClosed = false;
    const closed = session.closed.then(() => {
      isClosed = true;
    });
    peer.end();
    await arrived();
    expect(isClosed).toBe(false);
    release();
    await closed;
  });
});

describe('an upstream since 2026-07-28', () => {
  const capabilities = { sampling: {} };
  const ask = (id: number, method: string, more: JsonObject = {}, declared = capabilities) =>
    enveloped(id, method, more, { capabilities: declared });

  test('is shared by clients with the same description', async () => {
    const made: JsonObject[] = [];
    const { peer } = serve(({ peer: { capabilities: declared } }) => {
      made.push(declared);
      return upstream();
    });
    peer.send(ask(1, 'server/discover'));
    expect(await peer.response(1)).toMatchObject({
      result: { capabilities: { 'x/own': { a: 1 } }, instructions: 'Ask me' },
    });
    peer.send(ask(2, 'tools/call', { name: 'a' }), ask(3, 'tools/call', { name: 'b' }));
    expect(await peer.response(2)).toMatchObject({
      result: {
        method: 'tools/call',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'behind', version: '2' } },
      },
    });
    await peer.response(3);
    expect(made).toEqual([capabilities]);
    peer.send(ask(4, 'tools/list', {}, {} as never));
    await peer.response(4);
    expect(made).toEqual([capabilities, {}]);
  });

  test('does not get a method unknown to the revision', async () => {
    const { peer } = serve(() => upstream());
    peer.send(ask(1, 'ping'), ask(2, 'logging/setLevel', { level: 'info' }), ask(3, 'x/y'));
    expect(await peer.error(1)).toMatchObject({ code: -32601 });
    expect(await peer.error(2)).toMatchObject({ code: -32601 });
    expect(await peer.response(3)).toMatchObject({ result: { method: 'x/y' } });
  });

  test('is closed when idle, and limited in number', async () => {
    const clock = new TestClock();
    const closed: unknown[] = [];
    const held = gate();
    const { peer } = serve(
      ({ peer: { capabilities: declared } }) =>
        upstream({
          close: () => closed.push(declared),
          request: async (method) => {
            if (method === 'x/hold') await held.pass();
            return {};
          },
        }),
      {},
      { clock, limits: { maxUpstreams: 1 } },
    );
    peer.send(ask(1, 'tools/list'));
    await peer.response(1);
    // An idle one makes room.
    peer.send(ask(2, 'x/hold', {}, { roots: {} } as never));
    await held.arrived();
    expect(closed).toEqual([capabilities]);
    peer.send(ask(3, 'tools/list'));
    expect(await peer.error(3)).toMatchObject({ data: { reason: 'overloaded', retryable: true } });
    held.release();
    await peer.response(2);
    clock.increment(5 * 60_000);
    expect(closed).toEqual([capabilities, { roots: {} }]);
  });

  test('reports why it is unreachable, and is opened again by the next call', async () => {
    let times = 0;
    const { peer } = serve(() => {
      if (++times === 1) throw new Error('it is down');
      return upstream();
    });
    peer.send(ask(1, 'tools/list'));
    expect(await peer.error(1)).toMatchObject({
      message: /it is down/ as never,
      data: { reason: 'upstream-failed', retryable: true },
    });
    peer.send(ask(2, 'tools/list'));
    expect(await peer.response(2)).toHaveProperty('result');
  });

  test('sends a client what it subscribed to, and learns the subscribed resources', async () => {
    const clients: UpstreamClient[] = [];
    const watched: string[] = [];
    const { peer } = serve((client) => {
      clients.push(client);
      return upstream({
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
        watch: async (uris) => {
          watched.push(...uris);
          return { uris: ['a:1'], end: () => watched.push('ended') };
        },
      });
    });
    const filter = { toolsListChanged: true, resourceSubscriptions: ['a:1', 'a:2'] };
    peer.send(ask(7, 'subscriptions/listen', { notifications: filter }));
    expect(await peer.notification('notifications/subscriptions/acknowledged')).toMatchObject({
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'] } },
    });
    expect(watched).toEqual(['a:1', 'a:2']);
    clients[0]?.notify('notifications/resources/updated', { uri: 'a:1', 'x/own': 1 });
    clients[0]?.notify('notifications/message', { level: 'info' });
    clients[0]?.notify('notifications/tools/list_changed');
    expect(await peer.notification('notifications/resources/updated')).toMatchObject({
      params: { uri: 'a:1', 'x/own': 1, _meta: { 'io.modelcontextprotocol/subscriptionId': 7 } },
    });
    await peer.notification('notifications/tools/list_changed');
    expect(peer.count('notifications/message')).toBe(0);
    peer.send(notification('notifications/cancelled', { requestId: 7 }));
    await expect.poll(() => watched.at(-1)).toBe('ended');
  });
});

test('rejects a plain function as upstream', () => {
  const plain = () => upstream();
  expect(() => createMcpServer({ name: 'front', version: '1', upstream: plain as never })).toThrow(
    TypeError,
  );
});
