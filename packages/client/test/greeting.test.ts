/** What goes out first, in which order, and with what: by the specification's demands on a client. */
import { openConnection } from 'mcp-actors/client';
import type { ConnectOptions } from 'mcp-actors/client';
import { flush } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { ScriptedTransport } from './scripted-transport.ts';
import type { Script } from './scripted-transport.ts';

function before(script: Script, options: ConnectOptions) {
  const server = new ScriptedTransport(script);
  const connection = openConnection(
    { transport: server },
    { restart: 'none', report: () => {}, clientInfo: { name: 'host', version: '7' }, ...options },
  );
  onTestFinished(() => connection.close());
  return { server, connection };
}

const tools = { tools: [] };

test('initialize says the latest revision, what the host is capable of and who it is [HOST-01]', async () => {
  const { server, connection } = before(() => undefined, {
    era: 'legacy',
    roots: [],
    elicit: () => ({ action: 'cancel' }),
  });
  await connection.ready();
  const [first] = server.sent;
  expect(first).toMatchObject({
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { roots: { listChanged: true }, elicitation: {} },
      clientInfo: { name: 'host', version: '7' },
    },
  });
  expect(first?.params?.['capabilities']).not.toHaveProperty('sampling');
});

test('what is asked during the handshake goes out behind notifications/initialized [HOST-02]', async () => {
  let greet: (() => void) | undefined;
  const { server, connection } = before(
    ({ method, id, params }, to) => {
      if (method === 'tools/list') return tools;
      if (method !== 'initialize') return undefined;
      const serverInfo = { name: 'slow', version: '1' };
      const { protocolVersion } = params ?? {};
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
      greet = () => to.say({ id, result });
      return 'never';
    },
    { era: 'legacy' },
  );
  const list = connection.listTools();
  const ping = connection.request('ping').catch(() => {});
  await flush();
  expect(server.methods()).toEqual(['initialize']);
  greet?.();
  await list;
  expect(server.methods().slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
  expect(server.methods().slice(2)).toEqual(expect.arrayContaining(['tools/list', 'ping']));
  await connection.close();
  await ping;
});

test('a server of a revision that nobody knows is left [HOST-03]', async () => {
  const { server, connection } = before(
    ({ method }) =>
      method === 'initialize'
        ? {
            protocolVersion: '1999-01-01',
            capabilities: {},
            serverInfo: { name: 's', version: '1' },
          }
        : undefined,
    { era: 'legacy' },
  );
  await expect(connection.ready()).rejects.toMatchObject({
    code: 'VERSION_UNSUPPORTED',
    message: expect.stringContaining('1999-01-01') as string,
  });
  expect(server.methods()).toEqual(['initialize']);
});

test('each request of the modern era says its revision and what the host is capable of, the probe first [HOST-10] [HOST-11]', async () => {
  const common = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const { server, connection } = before(
    ({ method }) => {
      const capabilities = { tools: {} };
      if (method === 'server/discover')
        return { ...common, supportedVersions: ['2026-07-28'], capabilities };
      if (method === 'tools/list') return { ...common, ...tools };
      return method === 'tools/call' ? { resultType: 'complete', content: [] } : undefined;
    },
    { era: 'modern', roots: [] },
  );
  await connection.listTools();
  await connection.callTool('any', { a: 1 });
  expect(server.methods()).toEqual(['server/discover', 'tools/list', 'tools/call']);
  for (const { params } of server.sent) {
    expect(params?.['_meta']).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { roots: {} },
      'io.modelcontextprotocol/clientInfo': { name: 'host', version: '7' },
    });
  }
  // A server that asks all the same gets no answer: in this era there are none.
  server.say({ id: 's1', method: 'roots/list' });
  server.say({ id: 's2', method: 'ping' });
  await connection.callTool('any');
  expect(server.methods().slice(3)).toEqual(['tools/call']);
});

test.each([-32_000, -32_001, -32_003, -32_019])(
  'the code %i means nothing of its own, neither to a probe nor to a call [HOST-26]',
  async (code) => {
    const error = { code, message: 'own', data: { of: 'the server' } };
    const { server, connection } = before(({ method, id }, to) => {
      if (method !== 'server/discover' && method !== 'tools/call') return undefined;
      queueMicrotask(() => to.say({ id, error }));
      return 'never';
    }, {});
    expect(await connection.ready()).toMatchObject({ era: 'legacy' });
    const called = connection.callTool('any');
    await expect(called).rejects.toMatchObject({ code, data: error.data });
    expect(connection.state.value).toBe('ready');
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  },
);
