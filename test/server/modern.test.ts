/** What requests of 2026-07-28 are answered with; every answer is checked against the official schemas. */
import { definePrompt, describeDump, logLevels } from 'mcp-actors';
import type { JsonObject, LogLevel, ServerDefinition } from 'mcp-actors';
import {
  cancelled,
  enveloped,
  gate,
  initialized,
  progressed,
  request,
  rootsChanged,
} from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { asking } from '../contract/asking.ts';
import { askModern as ask, callModern as call } from '../contract/enveloped.ts';
import { echo, initialize, serve, textOf, tool } from '../contract/serving.ts';
import type { Serving, ServingOptions } from '../contract/serving.ts';

const notified = ({ peer }: Pick<Serving, 'peer'>, method: string) =>
  (peer.received as readonly JsonObject[])
    .filter((frame) => frame['method'] === method)
    .map(({ params }) => params as JsonObject);

/** Everything but what the peer's own pings are answered with. */
const said = (frames: readonly unknown[]) =>
  (frames as readonly JsonObject[]).filter(({ id }) => !String(id).startsWith('peer-'));

const settled = async (features: Partial<ServerDefinition>, options?: ServingOptions) => {
  const serving = serve({ ...features, tools: [echo, ...(features.tools ?? [])] }, options);
  await call(serving, 'echo');
  return serving;
};

describe('a 2026-07-28 result', () => {
  test('contains its type and the name and version of the server [ENV-08] [ENV-10]', async () => {
    const serving = serve({ title: 'Title', icons: [{ src: 'https://x.y/z.png' }], tools: [echo] });
    const result = await call(serving, 'echo');
    expect(result).toMatchObject({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'under-test', version: '1.0.0' } },
    });
    const { _meta } = await ask(serving, 'server/discover');
    expect(_meta).toMatchObject({
      'io.modelcontextprotocol/serverInfo': { title: 'Title', icons: [{}] },
    });
  });

  test('keeps the _meta of its author [ENV-10]', async () => {
    const serving = serve({
      tools: [tool('meta', () => ({ content: [], _meta: { 'x.y/z': 1 } }))],
    });
    const { _meta } = await call(serving, 'meta');
    expect(Object.keys(_meta as object)).toEqual(['x.y/z', 'io.modelcontextprotocol/serverInfo']);
  });

  test('is -32602 with the URI for a missing resource [RES-09]', async () => {
    const serving = serve({ resources: [] });
    await expect(ask(serving, 'resources/read', { uri: 'a:b' })).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'a:b' },
    });
  });

  test('is the ordinary result of a tool whose request asks for a task', async () => {
    const serving = serve({
      tools: [{ ...tool('long', () => 'done'), taskSupport: 'optional' }],
    });
    const { tools } = await ask(serving, 'tools/list');
    expect(tools).toEqual([
      { name: 'long', description: 'The long tool', inputSchema: { type: 'object' } },
    ]);
    const result = await ask(serving, 'tools/call', { name: 'long', task: { ttl: 1 } });
    expect(textOf(result)).toBe('done');
    await expect(ask(serving, 'tasks/list')).rejects.toMatchObject({ code: -32601 });
  });

  test('is unchanged from earlier revisions for completion and prompts', async () => {
    const serving = serve({
      prompts: [
        definePrompt({
          name: 'greet',
          arguments: { who: { complete: (_, filled) => ['Ada', ...Object.values(filled)] } },
          get: ({ who }) => `Greet ${who}`,
        }),
      ],
    });
    const completed = await ask(serving, 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'A' },
      context: { arguments: { other: 'Bob' } },
    });
    expect(completed['completion']).toMatchObject({ values: ['Ada', 'Bob'] });
    const got = await ask(serving, 'prompts/get', { name: 'greet', arguments: { who: 'Ada' } });
    expect(got['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: 'Greet Ada' } },
    ]);
  });
});

describe('a 2026-07-28 request', () => {
  test('identifies its client independently of other requests [ENV-03] [ENV-11]', async () => {
    const serving = serve({
      tools: [
        tool('client', (_, { client, session }) =>
          JSON.stringify([client.info.name, client.capabilities, session.revision]),
        ),
      ],
    });
    const asked = async (options: EnvelopeOptions) =>
      JSON.parse(textOf(await call(serving, 'client', {}, options))) as unknown;
    const clientInfo = { name: 'first', version: '1' };
    expect(await asked({ clientInfo, capabilities: { sampling: {} } })).toEqual([
      'first',
      { sampling: {} },
      '2026-07-28',
    ]);
    expect(await asked({ clientInfo: undefined })).toEqual(['anonymous', {}, '2026-07-28']);
  });

  test('requires a unique id in flight, which can be reused afterwards', async () => {
    const open = gate();
    const { peer } = await settled({ tools: [tool('wait', () => open.pass().then(() => 'ok'))] });
    const waiting = enveloped(1, 'tools/call', { name: 'wait' });
    peer.send(waiting, enveloped(1, 'tools/call', { name: 'echo' }));
    expect(await peer.error(1)).toMatchObject({ code: -32600 });
    open.release();
    await peer.quiet();
    peer.send(enveloped(1, 'tools/call', { name: 'echo' }));
    await peer.quiet();
    expect(peer.received.filter((frame) => (frame as { id?: unknown }).id === 1)).toHaveLength(3);
  });

  test('ignores keys with a meaning in other revisions', async () => {
    const serving = await settled({});
    const text = JSON.stringify(enveloped('odd', 'tools/call', { name: 'echo' }));
    const odd = text
      .replace('"clientCapabilities":{', '"clientCapabilities":{"__proto__":{"sampling":{}},')
      .replace('"_meta":{', '"_meta":{"__proto__":{"x":1},"constructor":7,');
    serving.peer.sendRaw(`${odd}\n`);
    expect((await serving.peer.response('odd')).result).toMatchObject({ resultType: 'complete' });
    expect({}).not.toHaveProperty('x');
  });

  test('receives no response, progress or log after its cancellation', async () => {
    const open = gate();
    const serving = await settled({
      logging: {},
      tools: [
        tool('late', async (_, context) => {
          context.progress(1);
          await open.pass();
          context.progress(2);
          context.log.error('late');
          return 'late';
        }),
      ],
    });
    const { peer } = serving;
    const meta = { progressToken: 't' };
    peer.send(enveloped(1, 'tools/call', { name: 'late', _meta: meta }, { logLevel: 'debug' }));
    await peer.notification('notifications/progress');
    const before = peer.received.length;
    peer.send(cancelled(1));
    open.release();
    await peer.quiet();
    serving.clock.increment(10_000);
    await peer.quiet();
    expect(said(peer.received.slice(before))).toEqual([]);
  });

  test('receives progress only with its own token', async () => {
    const serving = await settled({
      tools: [
        tool('steps', (_, context) => {
          context.progress(1, { total: 2, message: 'half' });
          context.progress(2, { total: 2 });
          return 'ok';
        }),
      ],
    });
    await call(serving, 'steps');
    expect(notified(serving, 'notifications/progress')).toEqual([]);
    const params = { name: 'steps', _meta: { progressToken: 0 } };
    await ask(serving, 'tools/call', params);
    expect(notified(serving, 'notifications/progress')).toEqual([
      { progressToken: 0, progress: 1, total: 2, message: 'half' },
      { progressToken: 0, progress: 2, total: 2 },
    ]);
  });
});

describe('a call without requests to its client', () => {
  test('creates no AbortSignal unless its handler reads it', async () => {
    const made = vi.fn();
    class Counted extends AbortController {
      constructor() {
        super();
        made();
      }
    }
    vi.stubGlobal('AbortController', Counted);
    onTestFinished(() => void vi.unstubAllGlobals());
    const heeding = tool('heeding', (_, { signal }) => String(signal.aborted));
    const serving = await settled({ tools: [heeding] });
    await call(serving, 'echo');
    expect(made).not.toHaveBeenCalled();
    expect(textOf(await call(serving, 'heeding'))).toBe('false');
    expect(made).toHaveBeenCalledOnce();
  });
});

describe('2026-07-28 log messages', () => {
  const log = tool('log', (_, context) => {
    for (const level of logLevels) context.log[level](level);
    return 'logged';
  });
  const levels = (serving: Serving) =>
    notified(serving, 'notifications/message').map(({ level }) => level);

  test('are sent only to requests with a log level', async () => {
    const serving = await settled({ logging: { level: 'debug' }, tools: [log] });
    await call(serving, 'log');
    expect(levels(serving)).toEqual([]);
  });

  test.each(logLevels)('respect the level of their request: %s', async (logLevel) => {
    const serving = await settled({ logging: { level: 'emergency' }, tools: [log] });
    await call(serving, 'log', {}, { logLevel });
    expect(levels(serving)).toEqual(logLevels.slice(logLevels.indexOf(logLevel)));
  });

  test('keep levels of sessions and requests independent', async () => {
    const serving = serve({ logging: {}, tools: [echo, log] });
    await serving.peer.handshake();
    await serving.peer.ask('logging/setLevel', { level: 'alert' });
    await call(serving, 'log', {}, { logLevel: 'critical' });
    expect(levels(serving)).toEqual(['critical', 'alert', 'emergency']);
    await serving.peer.call('log');
    expect(levels(serving).slice(3)).toEqual(['alert', 'emergency']);
    await call(serving, 'log');
    expect(levels(serving)).toHaveLength(5);
  });

  test('are summarized beyond the limit only on their open request', async () => {
    const open = gate();
    const flood = tool('flood', async (_, context) => {
      for (let n = 0; n < 20; n++) context.log.error(n);
      await open.pass();
      return 'ok';
    });
    const options = { limits: { maxLogsPerSecond: 5 } };
    const serving = await settled({ logging: {}, tools: [flood] }, options);
    const { peer, clock } = serving;
    const logLevel: LogLevel = 'debug';
    peer.send(enveloped('open', 'tools/call', { name: 'flood' }, { logLevel }));
    await peer.quiet();
    clock.increment(1000);
    await peer.quiet();
    expect(notified(serving, 'notifications/message').at(-1)).toMatchObject({
      data: { omitted: 15 },
    });
    peer.send(enveloped('ended', 'tools/call', { name: 'flood' }, { logLevel }));
    await peer.quiet();
    open.release();
    await peer.response('ended');
    const before = peer.received.length;
    clock.increment(1000);
    await peer.quiet();
    expect(said(peer.received.slice(before))).toEqual([]);
  });
});

describe('a 2026-07-28 client', () => {
  const limits = { keepaliveIntervalMs: 1000, keepaliveTimeoutMs: 100, keepaliveFailures: 1 };
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

  test('receives neither requests nor unrelated notifications [ENV-06]', async () => {
    const { ask: asks, errors } = asking();
    const serving = await settled(
      { tools: [asks], resources: [], prompts: [], logging: {} },
      { limits },
    );
    const { peer, session, server, clock } = serving;
    peer.send(initialized, rootsChanged, progressed('s-1', 1));
    for (const method of ['x/custom', 'ping']) {
      await call(serving, 'ask', { method }, { capabilities });
    }
    expect(errors.map(({ code }) => code)).toEqual(Array(2).fill('CAPABILITY_MISSING'));
    const roots = { method: 'roots/list', options: { probe: true } };
    const asked = await call(serving, 'ask', roots, { capabilities });
    expect(asked['resultType']).toBe('input_required');
    await expect(session.ping()).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    server.tools.add(tool('new', () => 'new'));
    server.resourceUpdated('a:b');
    expect(server.elicitationCompleted('e')).toBe(false);
    clock.increment(1_000_000);
    await peer.quiet();
    expect((peer.received as readonly JsonObject[]).filter(({ method }) => method)).toEqual([]);
    expect(session.state).toBe('modern');
  });

  test('does not receive a host request queued before its first message', async () => {
    const { peer, session } = serve({ tools: [echo] });
    const pinged = session.ping({ timeoutMs: 1000 });
    await Promise.all([
      expect(pinged).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' }),
      call({ peer }, 'echo'),
    ]);
    expect(peer.count('ping')).toBe(0);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['roots/list', {}, { roots: {} }],
    ['sampling/createMessage', { messages: [] }, { sampling: {} }],
    ['sampling/createMessage', { messages: [], tools: [] }, { sampling: { tools: {} } }],
    ['elicitation/create', { mode: 'form' }, { elicitation: {} }],
    ['elicitation/create', { mode: 'url' }, { elicitation: { url: {} } }],
  ])(
    'gets -32021 if %s with %j lacks a capability [ELICIT-11] [SAMPLE-08] [ROOTS-23]',
    async (method, params, required) => {
      const { ask: asks } = asking();
      const serving = serve({ tools: [asks] });
      const capability = Object.keys(required)[0] as string;
      const declared = method === 'sampling/createMessage' ? { sampling: {} } : {};
      const options = { capabilities: Object.hasOwn(params, 'tools') ? declared : {} };
      const args = { method, params, options: { probe: true } };
      await expect(call(serving, 'ask', args, options)).rejects.toMatchObject({
        code: -32021,
        message: expect.stringContaining(capability) as string,
        data: { requiredCapabilities: required },
      });
    },
  );

  test('can be served without an undeclared capability', async () => {
    const serving = serve({
      tools: [
        tool('careful', async (_, context) => {
          const schema = { type: 'object', properties: { n: { type: 'string' } } } as const;
          const asked = await context
            .elicit({ message: 'n?', schema })
            .catch((error: { code: string }) => error.code);
          return `went on: ${JSON.stringify(asked)}`;
        }),
      ],
    });
    expect(textOf(await call(serving, 'careful'))).toBe('went on: "CAPABILITY_MISSING"');
  });

  test('receives no forms if it only supports URLs [ELICIT-11]', async () => {
    const { ask: asks } = asking();
    const serving = serve({ tools: [asks] });
    const options = { capabilities: { elicitation: { url: {} } } };
    const args = { method: 'elicitation/create', params: { mode: 'form' } };
    await expect(call(serving, 'ask', args, options)).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    });
  });
});

describe('a dump of a 2026-07-28 session', () => {
  test('shows that the session has no client and no roots', async () => {
    const { session } = await settled({});
    const text = describeDump(session.dump());
    expect(text).toContain(': modern, started');
    expect(text).toContain('Client: each request says who its client is');
    expect(text).toContain('Roots: asked for by each call that needs them');
    expect(session.dump()).not.toHaveProperty('client');
  });
});

describe('a legacy session', () => {
  test('is served normally despite interleaved requests with envelopes [ERA-04]', async () => {
    const serving = serve({ tools: [echo] });
    const { peer } = serving;
    peer.send(initialize(1));
    await peer.response(1);
    expect((await call(serving, 'echo'))['resultType']).toBe('complete');
    peer.send(initialized, request(2, 'tools/list'));
    expect((await peer.response(2)).result).not.toHaveProperty('resultType');
    expect(serving.session.state).toBe('rootsKnown');
  });
});
