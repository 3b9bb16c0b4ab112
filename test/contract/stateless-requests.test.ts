/** Requests of 2026-07-28 with envelopes, over every transport. */
import {
  cancelled,
  enveloped,
  failure,
  gate,
  progressed,
  request,
  result,
} from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import type { JsonObject } from 'mcp-actors';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { askModern as ask, callModern as call } from './enveloped.ts';
import {
  modernOverBytes,
  modernEverywhere,
  modernEverywhereAndHttp,
  everywhere,
} from './everywhere.ts';
import { echo, initialize, serve, textOf, tool } from './serving.ts';
import type { Serving } from './serving.ts';

const said = ({ peer }: Pick<Serving, 'peer'>, method: string) =>
  (peer.received as readonly JsonObject[])
    .filter((frame) => frame['method'] === method)
    .map(({ params }) => params as JsonObject);

/** Frames sent from then on, except those for requests that the peer makes in order to wait. */
const from = ({ peer }: Pick<Serving, 'peer'>, start: number) =>
  (peer.received.slice(start) as readonly JsonObject[]).filter(
    ({ id }) => !String(id).startsWith('peer-'),
  );

/** A tool that sends progress and logs before and after its gate opens. */
function holding() {
  const door = gate();
  const reasons: unknown[] = [];
  const hold = tool('hold', async (_, context) => {
    context.signal.addEventListener('abort', () => reasons.push(context.signal.reason));
    context.progress(1);
    await door.pass();
    context.progress(2);
    context.log.error('late');
    return 'held';
  });
  return { door, hold, reasons };
}

const held = (id: unknown) =>
  enveloped(
    id,
    'tools/call',
    { name: 'hold', _meta: { progressToken: 't' } },
    { logLevel: 'debug' },
  );

everywhere('a modern request', modernEverywhereAndHttp, ({ transport }) => {
  test.each<[string, EnvelopeOptions]>([
    ['protocolVersion', { protocolVersion: 7 }],
    ['clientCapabilities', { capabilities: undefined }],
    ['clientCapabilities', { capabilities: [] }],
    ['clientInfo', { clientInfo: { name: 'nobody' } }],
    ['logLevel', { logLevel: 'loud' }],
  ])(
    'rejects a request with an invalid %s with -32602 naming the key: %j [ENV-04] [LOG-08]',
    async (key, options) => {
      const serving = serve({ tools: [echo] });
      await expect(call(serving, 'echo', {}, options)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining(`io.modelcontextprotocol/${key}`) as string,
      });
      await call(serving, 'echo');
    },
  );

  test('rejects a request without an envelope in a modern session with -32602 naming the keys [ENV-04]', async () => {
    const serving = serve({ tools: [echo] });
    await call(serving, 'echo');
    serving.peer.send(request(1, 'tools/call', { name: 'echo' }));
    const { code, message } = await serving.peer.error(1);
    expect(code).toBe(-32602);
    expect(message).toMatch(/protocolVersion.*clientCapabilities/);
  });

  test.each(['2025-11-25', '2099-01-01', ''])(
    'rejects the version %j with -32022 and the supported ones [ERA-01]',
    async (protocolVersion) => {
      const serving = serve({ tools: [echo] });
      await expect(call(serving, 'echo', {}, { protocolVersion })).rejects.toMatchObject({
        code: -32022,
        data: { supported: ['2026-07-28'], requested: protocolVersion },
      });
      await call(serving, 'echo');
    },
  );

  test('serves each request for the client that its envelope describes [ENV-03]', async () => {
    const who = tool('who', (_, { client }) =>
      JSON.stringify([client.info.name, client.capabilities]),
    );
    const serving = serve({ tools: [who] });
    const asked = async (name: string, capabilities: JsonObject) =>
      JSON.parse(
        textOf(
          await call(serving, 'who', {}, { capabilities, clientInfo: { name, version: '1' } }),
        ),
      ) as unknown;
    const both = [asked('one', { sampling: {} }), asked('other', {})];
    expect(await Promise.all(both)).toEqual([
      ['one', { sampling: {} }],
      ['other', {}],
    ]);
  });

  test.each(['ping', 'logging/setLevel', 'resources/subscribe', 'tasks/list', 'x/none'])(
    'answers %s with -32601, as the revision has no such method [ENV-07]',
    async (method) => {
      const serving = serve({ tools: [echo], resources: [], logging: {} });
      await call(serving, 'echo');
      const params = { level: 'error', uri: 'a:b' };
      await expect(ask(serving, method, params)).rejects.toMatchObject({ code: -32601 });
    },
  );

  test('rejects a request that needs an undeclared capability with -32021, without asking the client [ENV-05]', async () => {
    const { ask: asks } = asking();
    const serving = serve({ tools: [asks] });
    const args = { method: 'sampling/createMessage', params: { messages: [] } };
    await expect(call(serving, 'ask', args)).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  test("sends progress with the request's own token, until the request is answered [PROGRESS-08]", async () => {
    let late = (_value: number) => {};
    const steps = tool('steps', (_, { progress }) => {
      for (const step of [1, 1, 3, 2]) progress(step, { total: 3 });
      late = progress;
      return 'ok';
    });
    const serving = serve({ tools: [steps] });
    await call(serving, 'steps');
    await ask(serving, 'tools/call', { name: 'steps', _meta: { progressToken: 0 } });
    late(9);
    serving.clock.increment(10_000);
    await serving.peer.quiet();
    expect(said(serving, 'notifications/progress')).toEqual([
      { progressToken: 0, progress: 1, total: 3 },
      { progressToken: 0, progress: 3, total: 3 },
    ]);
  });

  test('sends log messages from the requested level on, and none by default [LOG-07]', async () => {
    const log = tool('log', (_, context) => {
      context.log.info('small');
      context.log.error('great');
      return 'logged';
    });
    const serving = serve({ logging: { level: 'debug' }, tools: [log] });
    await call(serving, 'log');
    expect(said(serving, 'notifications/message')).toEqual([]);
    await call(serving, 'log', {}, { logLevel: 'error' });
    expect(said(serving, 'notifications/message')).toMatchObject([{ data: 'great' }]);
    await call(serving, 'log');
    expect(said(serving, 'notifications/message')).toHaveLength(1);
  });

  test('aborts the signal of a cancelled request and sends nothing more for it [CANCEL-11] [PROGRESS-08] [LOG-07]', async () => {
    const { door, hold, reasons } = holding();
    const serving = serve({ tools: [echo, hold], logging: {} });
    const { peer, clock } = serving;
    await call(serving, 'echo');
    peer.send(held(1));
    await door.arrived();
    await peer.quiet();
    const start = peer.received.length;
    peer.send(cancelled(1, 'no longer wanted'));
    await peer.quiet();
    door.release();
    clock.increment(10_000);
    await peer.quiet();
    const why = transport === 'HTTP' ? 'closed the connection' : 'no longer wanted';
    expect(String(reasons[0])).toContain(why);
    expect(from(serving, start)).toEqual([]);
  });
});

// Over HTTP ids are per POST, clients cancel by disconnecting, and invalid requests have a status.
// Connections have no era.
everywhere('a modern request', modernEverywhere, () => {
  test('allows the id of an answered request, but not of one in flight [ENV-01]', async () => {
    const { door, hold } = holding();
    const serving = serve({ tools: [echo, hold] });
    const { peer } = serving;
    peer.send(held(0));
    await door.arrived();
    peer.send(enveloped(0, 'tools/call', { name: 'echo' }));
    expect(await peer.error(0)).toMatchObject({ code: -32600 });
    door.release();
    expect(textOf((await peer.response(0)).result)).toBe('held');
    peer.send(enveloped(0, 'tools/call', { name: 'echo' }));
    expect(textOf((await peer.response(0)).result)).toBe('{}');
  });

  test('sends no requests and no unrelated notifications to a modern client [ENV-06]', async () => {
    const serving = serve({ tools: [echo], resources: [], prompts: [], logging: {} });
    const { peer, server, session, clock } = serving;
    const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
    await call(serving, 'echo', {}, { capabilities });
    server.tools.add(tool('new', () => 'new'));
    session.resourceUpdated('a:b');
    await expect(session.ping()).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    clock.increment(1_000_000);
    await peer.quiet();
    expect((peer.received as readonly JsonObject[]).filter(({ method }) => method)).toEqual([]);
  });

  test('ignores malformed cancellations and those of other requests [CANCEL-12]', async () => {
    const { door, hold, reasons } = holding();
    const serving = serve({ tools: [echo, hold] });
    const { peer } = serving;
    peer.send(enveloped(7, 'tools/call', { name: 'echo' }));
    await peer.response(7);
    peer.send(held(1));
    await door.arrived();
    const odd = { jsonrpc: '2.0', method: 'notifications/cancelled' };
    peer.send(cancelled('1'), cancelled(7), cancelled(null), odd, { ...odd, params: [] });
    await peer.quiet();
    expect(reasons).toEqual([]);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
  });
});

everywhere('modern input that is not a request', modernEverywhere, () => {
  test('does not answer notifications of any method, or responses [ENV-02]', async () => {
    const serving = serve({ tools: [echo] });
    const { peer } = serving;
    await call(serving, 'echo');
    const start = peer.received.length;
    peer.send(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/none', params: { any: 1 } },
      progressed('t', 1),
      result('s-1', {}),
      failure(1, { code: -32603, message: 'failed' }),
    );
    await peer.quiet();
    expect(from(serving, start)).toEqual([]);
  });
});

everywhere('the era', modernEverywhere, () => {
  test('makes the session modern with a call: initialize is rejected with the versions, and the connection continues [ERA-02]', async () => {
    const serving = serve({ tools: [echo] });
    const { peer } = serving;
    await call(serving, 'echo');
    peer.send(initialize(1, { protocolVersion: '2025-11-25' }));
    const { code, message } = await peer.error(1);
    expect([code, message]).toEqual([-32022, expect.stringContaining('2026-07-28')]);
    expect(textOf(await call(serving, 'echo'))).toBe('{}');
  });
});

everywhere('discovery', modernEverywhereAndHttp, () => {
  test('answers discovery first, with versions, capabilities and instructions [DISC-01]', async () => {
    const serving = serve({ tools: [echo], instructions: 'Echo.' });
    expect(await ask(serving, 'server/discover')).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'Echo.',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'under-test', version: '1.0.0' } },
    });
    expect(serving.session.state).toBe('uninitialized');
  });
});

everywhere('the end of the input', modernOverBytes, () => {
  test('answers running requests, and ends calls that await their client at the end [STDIO-10]', async () => {
    const { door, hold } = holding();
    const ended: string[] = [];
    const { ask: asks } = asking();
    const waits = tool('waits', async (args, context) => {
      try {
        return await asks.handler?.(args as never, context);
      } finally {
        ended.push('waits');
      }
    });
    const serving = serve({ tools: [hold, waits] });
    const { peer, session } = serving;
    const listened = enveloped('l', 'subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    peer.send(listened);
    await peer.notification('notifications/subscriptions/acknowledged');
    const args = { method: 'roots/list', options: { probe: true } };
    await call(serving, 'waits', args, { capabilities: { roots: {} } });
    peer.send(held(1));
    await door.arrived();
    peer.end();
    expect((await peer.response('l')).result).toMatchObject({ resultType: 'complete' });
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
    await session.closed;
    expect(ended).toEqual(['waits']);
  });
});
