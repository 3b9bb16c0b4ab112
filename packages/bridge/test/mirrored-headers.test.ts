/** Parameters that a tool behind a bridge wants in headers (`x-mcp-header`): towards hosts, and towards servers. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool, memory, toSdkTransport } from 'mcp-actors';
import type { HandlerContext, JsonObject, McpServer, Upstream, UpstreamClient } from 'mcp-actors';
import { bridge, defineUpstream } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { connect } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { ask, callTool } from '../../http/test/modern/modern-client.ts';
import { serveHttp } from '../../http/test/serving.ts';

const silent = { report: () => {} };

const schemaOf = (header?: string) => ({
  type: 'object' as const,
  properties: { region: { type: 'string', ...(header ? { 'x-mcp-header': header } : {}) } },
});

/** A tool that notes where it was called. */
function deployOf(
  noted: unknown[],
  then: (context: HandlerContext) => unknown = () => 'done',
  header = 'Region',
) {
  return defineTool({
    name: 'deploy',
    description: 'Deploys to a region',
    inputSchema: schemaOf(header),
    handler: async ({ region }: JsonObject, context) => {
      noted.push(region);
      return String(await then(context));
    },
  });
}

const serverOf = (...tools: readonly ReturnType<typeof deployOf>[]) =>
  createMcpServer({ name: 'deployer', version: '1', tools });

/** The server behind a bridge, and what it was asked, in its own era. */
function bridged(server: McpServer, options: BridgeOptions = {}) {
  const { transport, peer } = memory();
  const end = toSdkTransport(peer);
  const asked: string[] = [];
  const send = end.send.bind(end);
  end.send = (message) => {
    const { method } = message as { readonly method?: string };
    if (method !== undefined) asked.push(method);
    return send(message);
  };
  const session = server.listen(transport, silent);
  onTestFinished(async () => {
    session.shutdown('the test is over', 0);
    await session.closed;
  });
  return { asked, front: bridge({ transport: end }, { ...silent, ...options }) };
}

const inRegion = (region: string, said?: string, name = 'deploy') =>
  [name, { region }, { headers: said === undefined ? {} : { 'mcp-param-region': said } }] as const;

const mismatch = (said: string) => ({
  status: 400,
  error: {
    code: -32020,
    message: `Header mismatch: The header Mcp-Param-Region must match the argument region ("east"), got ${said}`,
  },
});

const missing = mismatch('none');
const other = mismatch('"west"');

describe.each(['legacy', 'modern'] as const)(
  'mirrored headers at a bridge of a %s server',
  (era) => {
    test('rejects a call whose headers differ from its arguments [HMOD-03]', async () => {
      const noted: unknown[] = [];
      const { asked, front } = bridged(serverOf(deployOf(noted)), { era });
      const url = await serveHttp(front);
      // Nobody has listed the tools yet.
      expect(await callTool(url, ...inRegion('east'))).toMatchObject(missing);
      await ask(url, 'tools/list');
      expect(await callTool(url, ...inRegion('east', 'west'))).toMatchObject(other);
      expect(noted).toEqual([]);
      expect(await callTool(url, ...inRegion('east', 'east'))).toMatchObject({ status: 200 });
      expect(noted).toEqual(['east']);
      expect(asked.filter((method) => method === 'tools/call')).toHaveLength(1);
    });

    test('reuses the list that its host has just fetched', async () => {
      const { asked, front } = bridged(serverOf(deployOf([])), { era });
      const url = await serveHttp(front);
      await ask(url, 'tools/list');
      for (const region of ['east', 'west']) await callTool(url, ...inRegion(region, region));
      expect(asked.filter((method) => method.startsWith('tools/'))).toEqual([
        'tools/list',
        'tools/call',
        'tools/call',
      ]);
    });

    test('checks the headers of a retry [HMOD-03]', async () => {
      const noted: unknown[] = [];
      const confirmed = (context: HandlerContext) =>
        context.request('elicitation/create', {
          message: 'Sure?',
          requestedSchema: { type: 'object', properties: {} },
        });
      const { front } = bridged(serverOf(deployOf(noted, confirmed)), { era });
      const url = await serveHttp(front);
      const capabilities = { elicitation: { form: {} } };
      const [name, args, { headers }] = inRegion('east', 'east');
      const first = await callTool(url, name, args, { headers, capabilities });
      const { resultType, requestState, inputRequests } = first.result ?? {};
      expect(resultType).toBe('input_required');
      const inputResponses = Object.fromEntries(
        Object.keys(inputRequests as JsonObject).map((key) => [
          key,
          { action: 'accept', content: {} },
        ]),
      );
      const retry = (said: string) =>
        ask(
          url,
          'tools/call',
          { name, arguments: args, requestState, inputResponses } as JsonObject,
          { headers: { 'mcp-param-region': said }, capabilities },
        );
      expect(await retry('west')).toMatchObject(other);
      expect(await retry('east')).toMatchObject({
        status: 200,
        result: { resultType: 'complete' },
      });
    });
  },
);

test('a tool hidden by a policy is unknown, whatever the headers say', async () => {
  const { front } = bridged(serverOf(deployOf([])), { policies: { deny: ['deploy'] } });
  const url = await serveHttp(front);
  expect(await callTool(url, ...inRegion('east'))).toMatchObject({ error: { code: -32602 } });
});

test('a host up to 2025-11-25 needs no mirrored headers', async () => {
  const noted: unknown[] = [];
  const { front } = bridged(serverOf(deployOf(noted)));
  const host = await connect({ url: String(await serveHttp(front)) }, { ...silent, era: 'legacy' });
  onTestFinished(() => host.close());
  await host.callTool('deploy', { region: 'east' });
  expect(noted).toEqual(['east']);
});

describe('mirrored headers at a bridge of many servers', () => {
  const manyOf = async (noted: unknown[], options: BridgeOptions = {}) => {
    const near = await serveHttp(serverOf(deployOf(noted)));
    // It greets, and its list of tools never comes: no time passes after which it would be late.
    const upstream: Upstream = {
      capabilities: { tools: {} },
      request: () => new Promise<never>(() => {}),
    };
    const mute = await serveHttp(
      createMcpServer({ name: 'mute', version: '1', upstream: defineUpstream(() => upstream) }),
    );
    const two = { near: { url: String(near) }, mute: { url: String(mute) } };
    const mcpServers = options.search ? { near: two.near } : two;
    const front = bridge({ mcpServers }, { ...silent, clock: new TestClock(), ...options });
    return await serveHttp(front);
  };

  test('compares a call with its own tool, without waiting for other servers [HMOD-03]', async () => {
    const noted: unknown[] = [];
    const url = await manyOf(noted);
    expect(await callTool(url, ...inRegion('east', undefined, 'near__deploy'))).toMatchObject(
      missing,
    );
    await callTool(url, ...inRegion('east', 'east', 'near__deploy'));
    expect(noted).toEqual(['east']);
  });

  test('a tool found by search needs no headers', async () => {
    const noted: unknown[] = [];
    const url = await manyOf(noted, { search: true });
    await ask(url, 'tools/list');
    await callTool(url, 'call_tool', { name: 'near__deploy', arguments: { region: 'east' } });
    await callTool(url, ...inRegion('west', undefined, 'near__deploy'));
    expect(noted).toEqual(['east', 'west']);
  });
});

test.each([true, false])(
  'an HTTP server gets the headers that its tools require, if the host has listed them (%s) or not [HOST-14]',
  async (isListed) => {
    const noted: unknown[] = [];
    const url = await serveHttp(serverOf(deployOf(noted)));
    const { transport, peer } = memory();
    const session = bridge({ url: String(url) }, silent).listen(transport, silent);
    const entry = { transport: toSdkTransport(peer) };
    const host = await connect(entry, { ...silent, era: 'modern' });
    onTestFinished(async () => {
      await host.close();
      await session.closed;
    });
    if (isListed) await host.request('tools/list', {});
    const result = await host.request('tools/call', {
      name: 'deploy',
      arguments: { region: 'Zürich' },
    });
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    expect(noted).toEqual(['Zürich']);
  },
);

describe('header checks of an upstream', () => {
  /** Its tool wants the header of that name now, and its client has been told of another one. */
  async function changing(told: string | undefined, now: string | undefined) {
    const looked: string[] = [];
    const clients: UpstreamClient[] = [];
    const upstream: Upstream = {
      capabilities: { tools: { listChanged: true } },
      request: (method) =>
        method === 'tools/list'
          ? {
              tools: [{ name: 'deploy', inputSchema: schemaOf(told) }],
              ttlMs: 0,
              cacheScope: 'private',
              resultType: 'complete',
            }
          : { content: [], resultType: 'complete' },
      tool: async (name) => {
        looked.push(name);
        return { name, inputSchema: schemaOf(now) };
      },
    };
    const url = await serveHttp(
      createMcpServer({
        name: 'front',
        version: '1',
        upstream: defineUpstream((client) => {
          clients.push(client);
          return upstream;
        }),
      }),
    );
    await ask(url, 'tools/list');
    return { url, looked, changed: () => clients[0]?.notify('notifications/tools/list_changed') };
  }

  test('lists again before a call is rejected, because another node may have served the list', async () => {
    const { url, looked } = await changing('Region', 'Place');
    const headers = { 'mcp-param-place': 'east' };
    const args = { region: 'east' };
    expect(await callTool(url, 'deploy', args, { headers })).toMatchObject({ status: 200 });
    expect(looked).toEqual(['deploy']);
    expect(await callTool(url, 'deploy', args)).toMatchObject({ status: 400 });
  });

  test('lists again after a list change', async () => {
    const { url, looked, changed } = await changing(undefined, 'Region');
    expect(await callTool(url, ...inRegion('east'))).toMatchObject({ status: 200 });
    expect(looked).toEqual([]);
    changed();
    expect(await callTool(url, ...inRegion('east'))).toMatchObject(missing);
  });

  test('forwards the call if the tools cannot be listed', async () => {
    const calls: unknown[] = [];
    const upstream: Upstream = {
      capabilities: { tools: {} },
      request: (_, params) => {
        calls.push(params?.['name']);
        return { content: [], resultType: 'complete' };
      },
      tool: () => Promise.reject(new Error('no list')),
    };
    const url = await serveHttp(
      createMcpServer({ name: 'front', version: '1', upstream: defineUpstream(() => upstream) }),
    );
    expect(await callTool(url, ...inRegion('east'))).toMatchObject({ status: 200 });
    expect(calls).toEqual(['deploy']);
  });
});
