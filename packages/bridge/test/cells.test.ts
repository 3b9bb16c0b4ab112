/** The 48 cells of docs/bridge.md: hosts and servers of both eras, of the official SDKs; the servers are processes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { memory, toSdkTransport } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { connect } from 'mcp-actors/client';
import { program } from '../../../test/tooling/programs.ts';
import { features, pairs } from './cells.ts';
import type { Cell, Feature, Pair } from './cells.ts';
import { everything, hostOf } from './hosts.ts';
import type { Host } from './hosts.ts';

const silent = { report: () => {} };
const thing = 'test://thing';
const meta = { logLevel: 'io.modelcontextprotocol/logLevel' };

const launched = ({ server }: Pair) => ({
  command: process.execPath,
  args: [`packages/bridge/test/${server}-server.mjs`],
});

type Check = (host: Host, pair: Pair) => Promise<void>;

/** Sends a request that must be refused, and gives the error. */
async function refusal(request: Promise<unknown>): Promise<string> {
  return request.then(
    (result) => `not refused: ${JSON.stringify(result)}`,
    (error: unknown) => String(error),
  );
}

const lastAsked = ({ asked }: Host) => asked.at(-1);

const checks: { readonly [feature in Feature]: Check } = {
  'form elicitation': async (host) => {
    expect(JSON.parse(await host.callTool('form'))).toEqual({
      action: 'accept',
      content: { name: 'Ada' },
    });
    expect(lastAsked(host)).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { properties: { name: { type: 'string' } } } },
    });
  },
  'URL elicitation, with its completion': async (host, pair) => {
    const completed = host.next('notifications/elicitation/complete');
    expect(await host.callTool('url')).toBe('accept');
    const { params } = lastAsked(host) ?? {};
    expect(params).toMatchObject({ mode: 'url', url: 'https://example.org/x' });
    if (pair.host === 'modern') {
      expect(params?.['elicitationId']).toBeUndefined();
      return;
    }
    const { elicitationId } = await completed;
    expect(elicitationId).toBe(params?.['elicitationId']);
    if (pair.server === 'legacy') expect(elicitationId).toBe('e-1');
  },
  sampling: async (host) => {
    expect(await host.callTool('sample')).toBe('Hi');
    expect(lastAsked(host)?.params['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: 'Say something' } },
    ]);
  },
  'sampling with tools': async (host) => {
    expect(await host.callTool('sample-tools')).toBe('with tools');
    expect(lastAsked(host)?.params).toMatchObject({
      tools: [{ name: 'lookup' }],
      toolChoice: { mode: 'auto' },
    });
  },
  roots: async (host) => {
    expect(await host.callTool('roots')).toBe('file:///work');
  },
  'roots changed': async (host, pair) => {
    const declared = JSON.parse(await host.callTool('client')) as JsonObject;
    expect(declared['roots']).toEqual(
      pair.host === 'legacy' && pair.server === 'legacy' ? { listChanged: true } : {},
    );
    if (pair.host === 'modern') return;
    await host.notify('notifications/roots/list_changed');
    // What comes after the notification finds it counted.
    if (pair.server === 'legacy') expect(await host.callTool('roots-changed')).toBe('1');
    else expect(await host.callTool('roots')).toBe('file:///work');
  },
  'log level': async (host, pair) => {
    const logged = () => host.told.filter(({ method }) => method === 'notifications/message');
    const before = logged().length;
    const options = pair.host === 'modern' ? { _meta: { [meta.logLevel]: 'warning' } } : {};
    if (pair.host === 'legacy') await host.request('logging/setLevel', { level: 'warning' });
    const next = host.next('notifications/message');
    await host.callTool('log', options);
    expect(await next).toMatchObject({ level: 'warning', data: 'loud' });
    expect(logged().length).toBe(before + 1);
    if (pair.host === 'legacy') {
      expect(await refusal(host.request('logging/setLevel', { level: 'loud' }))).toMatch(
        /-32602|level/,
      );
    }
  },
  progress: async (host) => {
    const heard: JsonObject[] = [];
    expect(await host.callTool('steps', { onprogress: (report) => heard.push(report) })).toBe(
      'done',
    );
    expect(heard).toEqual(
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `${progress} of 3` })),
    );
  },
  cancellation: async (host, pair) => {
    const given = new AbortController();
    const begun = new Promise<void>((resolve) => {
      const call = host.callTool('wait', { signal: given.signal, onprogress: () => resolve() });
      call.catch(() => {});
    });
    await begun;
    given.abort('not needed');
    // A server reads in order: what it is asked next comes after the cancellation.
    await expect.poll(() => host.callTool('aborted')).toBe('1');
    if (pair.host !== 'legacy' || pair.server !== 'legacy') return;
    const asked = host.asked.length;
    const withdrawn = host.callTool('withdraw');
    await expect.poll(() => host.asked.length).toBe(asked + 1);
    await host.callTool('withdraw-now');
    expect(await withdrawn).toBe('withdrawn');
    await expect.poll(() => host.withdrawn).toBe(1);
  },
  tasks: async (_, { host: era }) => {
    const { transport, peer } = memory();
    const entry = { command: process.execPath, args: program('examples/lab/server.ts') };
    const session = bridge(entry, { era, ...silent }).listen(transport, silent);
    const host = await connect({ transport: toSdkTransport(peer) }, { era, ...silent });
    const task = await host.callToolAsTask('job', { ms: 1 });
    expect(task.id).not.toBe('');
    expect((await task.result()).content).not.toEqual([]);
    await host.close();
    await session.closed;
  },
  'subscriptions and changes of lists': async (host, pair) => {
    const heard = [
      host.next('notifications/tools/list_changed'),
      host.next('notifications/resources/updated'),
    ];
    if (pair.host === 'legacy') await host.request('resources/subscribe', { uri: thing });
    else await host.listen({ toolsListChanged: true, resourceSubscriptions: [thing] });
    expect(await host.callTool('change')).toBe(thing);
    const [, updated] = await Promise.all(heard);
    expect(updated).toMatchObject({ uri: thing });
    if (pair.host === 'legacy') await host.request('resources/unsubscribe', { uri: thing });
  },
  completion: async (host) => {
    const ref = { type: 'ref/prompt', name: 'greet' };
    const params = { ref, argument: { name: 'city', value: 'Ber' } };
    expect(await host.request('completion/complete', params)).toMatchObject({
      completion: { values: ['Berlin'] },
    });
  },
};

/** Requests that a bridge refuses for a feature, before they reach the server. The official clients do not send them. */
const refused: { readonly [feature in Feature]?: readonly [string, JsonObject] } = {
  tasks: ['tasks/get', { taskId: '1' }],
};

/** What a host is answered that sends a request with our client. */
async function refusalOf(
  pair: Pair,
  [method, params]: readonly [string, JsonObject],
): Promise<string> {
  const { transport, peer } = memory();
  const session = bridge(launched(pair), silent).listen(transport, silent);
  const host = await connect({ transport: toSdkTransport(peer) }, { era: pair.host, ...silent });
  const error = await refusal(host.request(method, params));
  await host.close();
  await session.closed;
  return error;
}

describe.each(pairs)('a $host host of a bridged $server server', (pair) => {
  let host: Host;

  beforeAll(async () => {
    host = await hostOf(pair.host, bridge(launched(pair), silent));
  });

  afterAll(() => host.close());

  test("sees the server's own description", async () => {
    expect(host.info).toMatchObject({ name: pair.server, version: '1.0.0' });
    expect(host.instructions).toBe('Call what you like');
    expect(host.capabilities).toEqual({
      completions: {},
      logging: {},
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      tools: { listChanged: true },
    });
    expect(JSON.parse(await host.callTool('client'))).toMatchObject({
      ...everything(pair.host),
      roots: {},
    });
  });

  test('gets results and errors unchanged, with unknown members and metadata', async () => {
    const result = await host.request(
      'tools/call',
      { name: 'echo', arguments: {} },
      { _meta: { 'example.org/trace': { id: 1 } } },
    );
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'said' }],
      unknown: [1],
      _meta: { 'example.org/seen': { 'example.org/trace': { id: 1 } } },
    });
    expect(await refusal(host.request('prompts/get', { name: 'none' }))).toMatch(
      /-32602|not found/,
    );
  });

  const at = pairs.indexOf(pair);
  test.each(
    Object.entries(features).map(
      ([feature, cells]) => [feature as Feature, cells[at] as Cell] as const,
    ),
  )('%s: %j', async (feature, cell) => {
    if (cell.works) return await checks[feature](host, pair);
    const asked = refused[feature];
    if (!asked) throw new Error(`Nothing says how ${feature} is refused`);
    expect(await refusalOf(pair, asked)).toContain(`"${cell.refusedBy}"`);
  });
});

describe('a capability that the host has not declared', () => {
  test.each(pairs)('is not declared to the server ($host host, $server server)', async (pair) => {
    const host = await hostOf(pair.host, bridge(launched(pair), silent), { sampling: {} });
    expect(JSON.parse(await host.callTool('client'))).toEqual({ sampling: {} });
    expect(host.asked).toEqual([]);
    await host.close();
  });
});

describe("a server's question without a related call", () => {
  test('is answered although the call that carried it ends meanwhile', async () => {
    const host = await hostOf(
      'modern',
      bridge(launched({ host: 'modern', server: 'legacy' }), silent),
    );
    const asking = host.callTool('ask-later');
    await expect.poll(() => host.callTool('held')).toBe('1');
    // The last call is taken for the one that asks.
    const holding = host.callTool('hold');
    await expect.poll(() => host.callTool('held')).toBe('2');
    await host.callTool('go');
    expect(await Promise.all([asking, holding])).toEqual(['accept', 'held']);
    expect(host.asked.map(({ params }) => params['message'])).toEqual(['Later?']);
    await host.close();
  });
});
