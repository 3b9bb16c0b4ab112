import { describe, expect, test } from 'vitest';
import { classify } from '../../src/protocol/classify.ts';
import type { InboundFrame } from '../../src/protocol/frames.ts';
import { request, startRouter } from './start-router.ts';
import { settled } from './fakes.ts';

const internal = (id: number) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32603, message: 'Internal error' },
});

const thrown = (value: unknown): never => {
  throw value;
};

/** Computed member names, because the linter rejects a literal "then". */
const withMember = (name: string, value: unknown): object => ({ [name]: value });
const withGetter = (name: string, get: () => unknown): object =>
  Object.defineProperty({}, name, { get, enumerable: true });
const withThen = (then: unknown): object => withMember('then', then);

describe('a handler', () => {
  const hostile: readonly (readonly [string, () => unknown])[] = [
    ['throws', () => thrown(new Error('secret'))],
    ['throws nothing', () => thrown(undefined)],
    ['throws what has no text', () => thrown(Object.create(null))],
    ['rejects with what has no text', () => Promise.reject(Object.create(null) as Error)],
    ['gives nothing', () => undefined],
    ['gives a list', () => []],
    ['gives a text, late', () => Promise.resolve('text')],
    ['gives a promise whose "then" throws', () => withThen(() => thrown(new Error('secret')))],
    [
      'gives a value whose "then" cannot be read',
      () => withGetter('then', () => thrown(new Error('secret'))),
    ],
  ];
  test.each(hostile)(
    'that %s fails only its own request, without details for the client',
    async (_, handler) => {
      const { receive, sent, errors, heard } = startRouter({
        m: handler,
        good: () => ({ fine: true }),
      });
      receive(request(1), request(2, 'good'));
      await settled();
      expect(errors).toEqual([]);
      expect(sent()).toHaveLength(2);
      expect(sent()).toContainEqual(internal(1));
      expect(sent()).toContainEqual({ jsonrpc: '2.0', id: 2, result: { fine: true } });
      expect(heard.map(({ name }) => name)).toEqual(['handler.failed']);
    },
  );

  test('may return a result with a then member that is not a function', async () => {
    const { receive, sent } = startRouter({ m: () => withThen('what happens next') });
    receive(request(1));
    await settled();
    expect(sent()).toEqual([{ jsonrpc: '2.0', id: 1, result: withThen('what happens next') }]);
  });

  test('settles once, even if its promise settles repeatedly', async () => {
    const twice = withThen((resolve: (value: object) => void, reject: (error: unknown) => void) => {
      resolve({ first: true });
      reject(new Error('second'));
      resolve({ third: true });
    });
    const { receive, sent, tell, told } = startRouter({ m: () => twice });
    receive(request(1));
    await settled();
    expect(sent()).toEqual([{ jsonrpc: '2.0', id: 1, result: { first: true } }]);
    tell({ type: 'gate.closed' });
    expect(told()).toContain('calls.drained');
  });
});

describe('a batch', () => {
  const revision = '2025-03-26';
  const handlers = { m: () => ({}), slow: () => Promise.resolve({ late: true }) };
  /** Throws when read. */
  const unseen = (): object =>
    new Proxy(
      {},
      {
        get: () => expect.unreachable('looked at'),
        has: () => expect.unreachable('looked at'),
        ownKeys: () => expect.unreachable('looked at'),
      },
    );

  test('is answered by one frame after its last request, and a malformed member affects no other', async () => {
    const { receive, sent, heard, correlation } = startRouter(handlers, revision);
    const answered = { jsonrpc: '2.0', id: 's-1', result: {} };
    const note = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
    receive([request(1, 'slow'), 7, [request(2)], answered, note, request(3), request(4, 'ping')]);
    expect(sent()).toEqual([]);
    expect(correlation.events.map(({ type }) => type)).toEqual(['responses.received']);
    await settled();
    const invalid = {
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) as string },
    };
    expect(sent()).toEqual([
      [
        invalid,
        invalid,
        { jsonrpc: '2.0', id: 3, result: {} },
        { jsonrpc: '2.0', id: 4, result: {} },
        { jsonrpc: '2.0', id: 1, result: { late: true } },
      ],
    ]);
    expect(heard.map(({ name }) => name)).toEqual(['frame.invalid', 'frame.invalid']);
  });

  test('without requests is not answered', () => {
    const { receive, sent, told } = startRouter(handlers, revision);
    receive([
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', id: null, error: { code: 1, message: 'm' } },
    ]);
    expect([sent(), told()]).toEqual([[], ['roots.changed']]);
  });

  test('rejects initialize, and the second of two requests with the same id', () => {
    const { receive, sent, told } = startRouter({ m: () => new Promise(() => {}) }, revision);
    receive([request(1, 'initialize'), request(2), request(2, 'ping')]);
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
    expect(sent()).toMatchObject([
      [
        { id: 1, error: { code: -32600 } },
        { id: 2, error: { code: -32600 } },
      ],
    ]);
    expect(told()).toEqual([]);
  });

  test.each(['2024-11-05', '2025-06-18', '2025-11-25'])(
    'is rejected as a whole, unparsed, where the revision has none: %s',
    (other) => {
      const { receive, sent, heard } = startRouter(handlers, other);
      receive([request(1), unseen()], request(2));
      expect(sent()).toEqual([
        {
          jsonrpc: '2.0',
          error: { code: -32600, message: expect.stringContaining('no batches') as string },
        },
        { jsonrpc: '2.0', id: 2, result: {} },
      ]);
      expect(heard.map(({ name }) => name)).toEqual(['frame.invalid']);
    },
  );

  test('is served up to maxRunning + maxWaiting members, and rejected as a whole above', async () => {
    const { receive, sent, heard } = startRouter(handlers, revision);
    receive(Array.from({ length: 8 }, (_, id) => request(id, 'slow')));
    await settled();
    await settled();
    expect(sent()).toHaveLength(1);
    expect(sent()[0]).toHaveLength(8);
    expect(JSON.stringify(sent())).not.toContain('error');
    expect(heard).toEqual([]);
    receive([...Array.from({ length: 8 }, (_, id) => request(id)), unseen()]);
    expect(sent().slice(1)).toEqual([
      {
        jsonrpc: '2.0',
        error: { code: -32600, message: expect.stringContaining('at most 8') as string },
      },
    ]);
    expect(heard.map(({ name }) => name)).toEqual(['frame.invalid']);
  });

  test('of invalid members gets no answer many times its size', () => {
    for (const version of [revision, '2025-11-25']) {
      const { receive, sent, heard } = startRouter(handlers, version);
      receive(Array.from({ length: 100_000 }, () => 1));
      expect(JSON.stringify(sent()).length).toBeLessThan(400);
      expect(heard).toHaveLength(1);
    }
  });

  test('is rejected before the handshake, whatever the revision will be', () => {
    const { receive, sent } = startRouter(handlers, 'none');
    receive([unseen()]);
    expect(sent()).toMatchObject([{ error: { code: -32600 } }]);
    expect(sent()[0]).not.toHaveProperty('id');
  });
});

describe('our own errors echoed back', () => {
  test('are not answered, to avoid an endless exchange', () => {
    const { receive, sent } = startRouter();
    receive(7, { jsonrpc: '2.0', id: null, method: 'm' }, { jsonrpc: '2.0', id: 3, method: 'no' });
    const answers = sent();
    expect(answers).toHaveLength(3);
    receive(...(JSON.parse(JSON.stringify(answers)) as unknown[]));
    expect(sent()).toHaveLength(3);
  });
});

describe('the end of a router', () => {
  test('is reported when nothing is running, synchronously if nothing ever ran', () => {
    const { tell, told } = startRouter();
    expect(told()).toEqual([]);
    tell({ type: 'gate.closed' });
    expect(told()).toEqual(['calls.drained']);
  });

  test('waits for running handlers, including cancelled ones that clean up', async () => {
    const ends: (() => void)[] = [];
    const { receive, tell, told } = startRouter({
      m: () => new Promise((resolve) => ends.push(() => resolve({}))),
    });
    receive(request(1), request(2));
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    tell({ type: 'gate.closed' });
    ends[1]?.();
    await settled();
    expect(told()).toEqual(['calls.running']);
    ends[0]?.();
    await settled();
    expect(told()).toEqual(['calls.running', 'calls.drained']);
  });

  test('rejects new requests, and still answers ping', () => {
    const { receive, sent, tell } = startRouter({ m: () => ({}) });
    tell({ type: 'gate.closed' });
    receive(request(1), request(2, 'ping'));
    expect(sent()).toMatchObject([
      { id: 1, error: { code: -32000, data: { retryable: false } } },
      { id: 2, result: {} },
    ]);
  });

  test('aborts nothing if all requests are answered', () => {
    const { receive, sent, tell } = startRouter({ m: () => ({}) });
    receive(request(1));
    tell({ type: 'gate.closed' });
    tell({ type: 'calls.abandon' });
    expect(sent()).toHaveLength(1);
  });

  test('is reported once, and again if the gate is closed again', () => {
    const { receive, tell, told } = startRouter({ m: () => ({}) });
    tell({ type: 'gate.closed' });
    tell({ type: 'calls.abandon' });
    receive(request(1));
    expect(told()).toEqual(['calls.drained']);
    tell({ type: 'gate.closed' });
    expect(told()).toEqual(['calls.drained', 'calls.drained']);
  });

  test('answers every aborted call, and fires its signal', () => {
    const signals: AbortSignal[] = [];
    const { receive, sent, tell } = startRouter({
      m: (_, call) => {
        signals.push(call.signal);
        return new Promise(() => {});
      },
    });
    receive(...[1, 2, 3, 4, 5, 6].map((id) => request(id)));
    tell({ type: 'calls.abandon' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]);
    expect(sent()).toHaveLength(6);
  });
});

test('does not copy the rest of a chunk for each of its lifecycle messages', () => {
  let copied = 0;
  class CountedFrames extends Array<InboundFrame> {
    override slice(start?: number, end?: number): InboundFrame[] {
      const rest = super.slice(start, end);
      copied += rest.length;
      return rest;
    }
  }
  const { tell, told } = startRouter();
  const count = 2000;
  const frames = new CountedFrames();
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
  for (let at = 0; at < count; at++) frames.push(classify(initialized));
  tell({ type: 'frames.received', frames });
  expect(told()).toHaveLength(count);
  expect(copied).toBeLessThanOrEqual(count);
});
