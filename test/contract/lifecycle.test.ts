import { initialized, notification, request, rootsChanged, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachTransport, everywhere } from './everywhere.ts';
import { echo, initialize, operate, serve, textOf, tool } from './serving.ts';

const asks = tool('asks', async (_, context) => {
  const { n } = await context.request('custom/question');
  return String(n);
});

everywhere('a session', ({ revision, transport }) => {
  test('negotiates the requested version [LIFE-01]', async () => {
    const { peer } = serve({ tools: [echo], instructions: 'Be kind' }, { transport });
    const reply = await peer.handshake({ protocolVersion: revision });
    expect(reply).toEqual({
      protocolVersion: revision,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'under-test', version: '1.0.0' },
      instructions: 'Be kind',
    });
  });

  test('rejects everything but ping before initialize [LIFE-04]', async () => {
    const { peer } = serve({ tools: [echo] }, { transport });
    peer.send(
      toolCall(1, 'echo'),
      request(2, 'ping'),
      request(3, 'tools/list'),
      request(4, 'no/such'),
      notification('tools/call', { name: 'echo' }),
    );
    expect((await peer.response(2)).result).toEqual({});
    for (const id of [1, 3, 4]) {
      const { code, message } = await peer.error(id);
      expect(code).toBe(-32600);
      expect(message).toContain('before "initialize"');
    }
    await peer.handshake({ protocolVersion: revision });
    expect(textOf(await peer.call('echo', { now: 'yes' }))).toBe('{"now":"yes"}');
  });

  test('serves requests before initialized [LIFE-05]', async () => {
    const { peer } = serve({ tools: [echo] }, { transport });
    peer.send(initialize(1, { protocolVersion: revision }));
    await peer.response(1);
    expect(textOf(await peer.call('echo', { early: true }))).toBe('{"early":true}');
  });

  test('processes initialize, initialized and a call in one chunk, in order [LIFE-09]', async () => {
    const seen: unknown[] = [];
    const look = tool('look', (_, { client }) => {
      seen.push(client.capabilities, client.dialect.version);
      return 'seen';
    });
    const { peer } = serve({ tools: [look] }, { transport });
    const capabilities = { roots: { listChanged: true } };
    peer.send(
      initialize(1, { protocolVersion: revision, capabilities }),
      initialized,
      toolCall(2, 'look'),
      request(3, 'ping'),
    );
    expect((await peer.response(1)).result?.['protocolVersion']).toBe(revision);
    expect(textOf((await peer.response(2)).result)).toBe('seen');
    expect(seen).toEqual([capabilities, revision]);
    await peer.request('roots/list');
    expect(peer.received[0]).toMatchObject({ id: 1 });
  });

  test('sends no request before initialized, even if a handler makes one [LIFE-06]', async () => {
    const { peer } = serve({ tools: [asks] }, { transport });
    peer.send(initialize(1, { protocolVersion: revision, capabilities: { roots: {} } }));
    peer.send(toolCall(2, 'asks'), rootsChanged);
    await peer.quiet();
    expect([peer.count('roots/list'), peer.count('custom/question')]).toEqual([0, 0]);

    peer.send(initialized);
    peer.answer(await peer.request('custom/question'), { n: 7 });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///a' }] });
    expect(textOf((await peer.response(2)).result)).toBe('7');
  });
});

everywhere('a second initialize', eachTransport, ({ revision }) => {
  const first = { protocolVersion: revision, capabilities: { roots: {} } };

  test('repeats the answer for an identical initialize before operation has begun [LIFE-07]', async () => {
    const { peer, session } = serve({ tools: [echo] });
    peer.send(initialize('a', first), initialize('b', first));
    const [one, two] = [await peer.response('a'), await peer.response('b')];
    expect(two.result).toEqual(one.result);
    expect(session.state).toBe('negotiated');
    peer.send(initialized);
    await peer.request('roots/list');
  });

  test('rejects a different initialize, and keeps the first [LIFE-08]', async () => {
    const { peer, session } = serve({ tools: [echo] });
    peer.send(initialize(1, first), initialize(2, { ...first, capabilities: {} }));
    expect((await peer.error(2)).code).toBe(-32600);
    peer.send(initialized);
    await peer.request('roots/list');
    expect(session.actor.getSnapshot().context.client?.capabilities).toEqual({ roots: {} });
  });

  test('rejects a repeated initialize during operation, and continues the session [LIFE-08]', async () => {
    const { peer } = serve({ tools: [echo] });
    peer.send(initialize(1, first), initialized, initialize(2, first));
    expect((await peer.error(2)).code).toBe(-32600);
    peer.answer(await peer.request('roots/list'), { roots: [] });
    peer.send(initialize(3, first));
    expect((await peer.error(3)).code).toBe(-32600);
    expect(textOf(await peer.call('echo', {}))).toBe('{}');
    expect(peer.count('roots/list')).toBe(1);
  });
});

everywhere('initialized', eachTransport, () => {
  test('ignores initialized before initialize [LIFE-10]', async () => {
    const { peer, session } = serve({ tools: [echo] });
    peer.send(initialized, toolCall(1, 'echo'));
    expect((await peer.error(1)).code).toBe(-32600);
    expect(session.state).toBe('uninitialized');
    peer.send(initialize(2, { capabilities: { roots: {} } }));
    await peer.response(2);
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(0);
  });

  test('ignores a repeated initialized [LIFE-10]', async () => {
    const { peer } = await operate({ tools: [echo] }, { capabilities: { roots: {} } });
    peer.send(initialized, initialized);
    peer.answer(await peer.request('roots/list'), { roots: [] });
    peer.send(initialized);
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(1);
  });

  test('rejects initialized with an id as an unknown method [BASE-06]', async () => {
    const { peer } = serve({ tools: [echo] });
    peer.send(
      initialize(1, { capabilities: { roots: {} } }),
      request(2, 'notifications/initialized'),
    );
    expect((await peer.error(2)).code).toBe(-32601);
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(0);
  });
});
