import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { classify } from '../../src/protocol/classify.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import type { RequestContext, RequestHandler } from '../../src/actors/request-context.ts';
import { enveloped } from '../../packages/testing/src/index.ts';
import { request, startRouter } from './start-router.ts';
import { settled } from './fakes.ts';

const method = 'tools/call';
const seen: RequestContext[] = [];
const handlers: { readonly [method: string]: RequestHandler } = {
  [method]: (_, exchange) => {
    seen.push(exchange);
    return { content: [] };
  },
  ping: () => ({ pong: true }),
  'logging/setLevel': () => ({}),
};

const answersTo = (router: ReturnType<typeof startRouter>) =>
  router.sent() as readonly { id: unknown; result?: object; error?: { code: number } }[];

describe('a request with an envelope', () => {
  test.each(['none', '2025-11-25'])('is served separately, in a session of %s', (revision) => {
    const router = startRouter(handlers, revision);
    router.receive(enveloped(1, method, {}, { capabilities: { sampling: {} } }));
    const client = { info: { name: 'scripted-peer' }, capabilities: { sampling: {} } };
    expect(seen.at(-1)?.request.peer).toMatchObject({
      ...client,
      dialect: { version: '2026-07-28' },
    });
    expect(answersTo(router)).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          resultType: 'complete',
          content: [],
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'server', version: '1' } },
        },
      },
    ]);
  });

  test('makes a new session modern, once, before it is served', () => {
    const router = startRouter(handlers, 'none');
    router.receive(enveloped(1, method));
    expect(router.told()).toEqual(['envelope.received']);
    router.tell({ type: 'envelopes.require' });
    router.receive(enveloped(2, method));
    expect(router.told()).toEqual(['envelope.received']);
    expect(answersTo(router).map(({ id }) => id)).toEqual([1, 2]);
  });

  test('does not change the era of a legacy session [ERA-04]', () => {
    const router = startRouter(handlers);
    router.receive(enveloped(1, method));
    expect(router.told()).toEqual([]);
  });

  test.each([
    ['discovery', enveloped(1, 'server/discover')],
    ['one of an unknown version', enveloped(1, method, {}, { protocolVersion: '2099-01-01' })],
    ['one that is malformed', enveloped(1, method, {}, { capabilities: undefined })],
    ['a ping', request(1, 'ping')],
    ['a request without one', request(1, method)],
  ])('decides the era only if valid; %s does not', (_, message) => {
    const router = startRouter(handlers, 'none');
    router.receive(message);
    expect(router.told()).toEqual([]);
    expect(answersTo(router)).toHaveLength(1);
  });

  test.each(['ping', 'logging/setLevel', 'resources/subscribe', 'tasks/list', 'x/unknown', ''])(
    'is answered with -32601 for a method unknown to its revision: %j',
    (removed) => {
      const router = startRouter(handlers, 'none');
      router.receive(enveloped(1, removed));
      expect(answersTo(router)).toMatchObject([{ error: { code: -32601 } }]);
    },
  );

  test('cannot send requests to its client', async () => {
    const router = startRouter(handlers, 'none');
    router.receive(enveloped(1, method));
    const question = { method: 'elicitation/create', timeoutMs: 1, maxTotalMs: 1 };
    const asked = seen.at(-1)?.sendRequest(question);
    await expect(asked).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    expect(router.correlation.events).toEqual([]);
  });

  test.each([
    [{}, 'undeclared'],
    [{ roots: {} }, 'unsupported'],
  ])('of a client that declares %j has roots that are %s', async (capabilities, status) => {
    const router = startRouter(handlers, 'none');
    router.receive(enveloped(1, method, {}, { capabilities }));
    const report = await seen.at(-1)?.roots({ timeoutMs: 1, clock: undefined as never });
    expect(report).toMatchObject({ status, roots: [] });
  });
});

describe('server/discover', () => {
  test.each(['none', '2025-11-25'])('is answered in a session of %s', (revision) => {
    const router = startRouter({}, revision);
    router.receive(enveloped(1, 'server/discover'));
    expect(answersTo(router)).toMatchObject([
      { id: 1, result: { resultType: 'complete', supportedVersions: ['2026-07-28'], ttlMs: 0 } },
    ]);
  });

  test('requires an envelope', () => {
    const router = startRouter({});
    router.receive(request(1, 'server/discover'));
    expect(answersTo(router)).toMatchObject([{ error: { code: -32602 } }]);
  });
});

describe('a modern session', () => {
  test.each(['tools/call', 'ping', 'logging/setLevel', 'x/unknown'])(
    'answers a request without an envelope with -32602 naming the keys: %s',
    (bare) => {
      const router = startRouter(handlers, 'none');
      router.tell({ type: 'envelopes.require' });
      router.receive(request(1, bare));
      const named = /protocolVersion" and "io.modelcontextprotocol\/clientCapabilities"/;
      expect(answersTo(router)).toMatchObject([
        { error: { code: -32602, message: expect.stringMatching(named) as string } },
      ]);
    },
  );
});

describe('a modern session at its end', () => {
  test('rejects requests and discovery with a code allowed by their revision', () => {
    const router = startRouter(handlers, 'none');
    router.tell({ type: 'gate.closed' });
    router.receive(enveloped(1, method), enveloped(2, 'server/discover'), request(3, method));
    expect(answersTo(router).map(({ error }) => error?.code)).toEqual([-32603, -32603, -32000]);
    expect(answersTo(router)[0]).toMatchObject({ error: { data: { reason: 'shutting-down' } } });
  });

  test('notifies long-lived calls before waiting for them, and later ones at once', () => {
    const order: string[] = [];
    const router = startRouter({
      [method]: (_, exchange) =>
        new Promise((resolve) => {
          exchange.whenClosing(() => {
            order.push('closing');
            resolve({});
          });
        }),
    });
    router.receive(request(1, method));
    expect(order).toEqual([]);
    router.tell({ type: 'gate.closed' });
    expect(order).toEqual(['closing']);
    expect(router.told()).not.toContain('calls.drained');
  });

  test('aborts running calls with a code allowed by their revision [ENV-09]', () => {
    const router = startRouter({ [method]: () => new Promise(() => {}) }, 'none');
    router.receive(enveloped(1, method));
    router.tell({ type: 'calls.abandon' });
    expect(answersTo(router)).toMatchObject([{ id: 1, error: { code: -32603 } }]);
  });
});

describe('an error thrown by the handler of a modern request', () => {
  test.each([
    [{ sampling: {} }, -32021],
    [undefined, -32603],
  ])('for a missing capability, %j, has the code %i', (requiredCapabilities, code) => {
    const error = new RuntimeError('CAPABILITY_MISSING', 'no', { requiredCapabilities });
    const router = startRouter(
      {
        [method]: () => {
          throw error;
        },
      },
      'none',
    );
    router.receive(enveloped(1, method));
    expect(answersTo(router)).toMatchObject([
      { error: code === -32021 ? { code, data: { requiredCapabilities } } : { code } },
    ]);
  });
});

describe('a request without a session', () => {
  const origin = {
    idScope: 'request',
    revision: '2025-06-18',
    noRequestsReason: 'no session is kept',
  } as const;
  const serve = (handler: RequestHandler) => {
    const router = startRouter({ [method]: handler }, 'none');
    const frame = classify(request(1, method));
    if (frame.kind !== 'request') throw new Error('This is no request');
    router.tell({ type: 'frames.received', frames: [{ ...frame, origin }] });
  };

  test('is rejected at once if it sends a request to its client', async () => {
    let report: unknown = undefined;
    serve(async (_, exchange) => {
      report = await exchange.roots({ timeoutMs: Infinity, clock: systemClock });
      return {};
    });
    await settled();
    expect(report).toMatchObject({
      status: 'failed',
      settled: false,
      roots: [],
      problem: expect.stringContaining('no session is kept') as string,
      failure: { code: 'CAPABILITY_MISSING' },
    });
  });
});
