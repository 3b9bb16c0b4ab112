import { notification, request } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachTransport, everywhere } from './everywhere.ts';
import { echo, initialize, operate, serve, textOf } from './serving.ts';

// An unknown version leads to a session of the latest revision.
everywhere('version negotiation', eachTransport, () => {
  test.each(['2026-07-28', '1999-01-01', '', 'latest', '2025-11-25 '])(
    'answers the unknown version %j with the latest [LIFE-02]',
    async (protocolVersion) => {
      const { peer, session } = serve({ tools: [echo] });
      const reply = await peer.handshake({ protocolVersion });
      expect(reply['protocolVersion']).toBe('2025-11-25');
      expect(session.actor.getSnapshot().context.client?.requestedVersion).toBe(protocolVersion);
      expect(textOf(await peer.call('echo', {}))).toBe('{}');
    },
  );
});

everywhere('a malformed initialize', ({ revision: protocolVersion }) => {
  const clientInfo = { name: 'client', version: '1' };
  const capabilities = {};

  const faults: readonly [path: string, params: object | undefined][] = [
    ['params', undefined],
    ['params.protocolVersion', { capabilities, clientInfo }],
    ['params.protocolVersion', { protocolVersion: 20250618, capabilities, clientInfo }],
    ['params.capabilities', { protocolVersion, clientInfo }],
    ['params.capabilities', { protocolVersion, capabilities: null, clientInfo }],
    ['params.capabilities', { protocolVersion, capabilities: [], clientInfo }],
    ['params.capabilities', { protocolVersion, capabilities: 'roots', clientInfo }],
    ['params.clientInfo', { protocolVersion, capabilities }],
    ['params.clientInfo', { protocolVersion, capabilities, clientInfo: 'client' }],
    ['params.clientInfo.name', { protocolVersion, capabilities, clientInfo: { version: '1' } }],
    [
      'params.clientInfo.name',
      { protocolVersion, capabilities, clientInfo: { ...clientInfo, name: 7 } },
    ],
    [
      'params.clientInfo.version',
      { protocolVersion, capabilities, clientInfo: { name: 'client' } },
    ],
  ];

  test.each(faults)(
    'rejects initialize naming %s, and accepts a valid one afterwards [LIFE-03]',
    async (path, params) => {
      const { peer, session } = serve({ tools: [echo] });
      peer.send(params ? { ...request(0, 'initialize'), params } : request(0, 'initialize'));
      const { code, message } = await peer.error(0);
      expect(code).toBe(-32602);
      expect(message).toMatch(new RegExp(`${path.replaceAll('.', '\\.')} must be`));
      expect(session.state).toBe('uninitialized');

      const reply = await peer.handshake({ protocolVersion });
      expect(reply['protocolVersion']).toBe(protocolVersion);
    },
  );

  test('rejects an invalid initialize in a negotiated session without affecting it [LIFE-08]', async () => {
    const { peer } = await operate({ tools: [echo] });
    peer.send(request(1, 'initialize', { capabilities }));
    expect([-32600, -32602]).toContain((await peer.error(1)).code);
    expect(textOf(await peer.call('echo', {}))).toBe('{}');
  });

  test('does not treat a notification as initialize [BASE-05] [LIFE-04]', async () => {
    const { peer, session } = serve({ tools: [echo] });
    peer.send(notification('initialize', { protocolVersion, capabilities, clientInfo }));
    await peer.quiet();
    expect(session.state).toBe('uninitialized');
    expect(peer.received).toHaveLength(1);
  });
});

everywhere('capabilities', ({ revision }) => {
  test('declares no capabilities for a server without features, and rejects their methods [LIFE-11]', async () => {
    const { peer } = serve({});
    const reply = await peer.handshake();
    expect(reply['capabilities']).toEqual({});
    for (const method of ['tools/list', 'resources/list', 'prompts/list', 'logging/setLevel']) {
      await expect(peer.ask(method)).rejects.toMatchObject({ error: { code: -32601 } });
    }
  });

  test('never declares roots, which belong to the client [LIFE-11]', async () => {
    const { peer } = serve({ tools: [echo], resources: [] });
    const reply = await peer.handshake({ capabilities: { roots: {} } });
    expect(reply['capabilities']).not.toHaveProperty('roots');
    await expect(peer.ask('roots/list')).rejects.toMatchObject({ error: { code: -32601 } });
  });

  test('accepts unknown capabilities of a client [LIFE-01]', async () => {
    const { peer } = serve({ tools: [echo] });
    peer.send(initialize(1, { capabilities: { telepathy: { range: 3 }, experimental: {} } }));
    expect((await peer.response(1)).error).toBeUndefined();
  });

  test("sends the server's title only to revisions that support titles [LIFE-11]", async () => {
    const { peer } = serve({ title: 'A title' });
    expect((await peer.handshake())['serverInfo']).toEqual({
      name: 'under-test',
      version: '1.0.0',
      ...(revision >= '2025-06-18' ? { title: 'A title' } : {}),
    });
  });
});
