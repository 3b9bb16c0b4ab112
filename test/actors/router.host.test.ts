import { Quotas } from '../../src/actors/memory-budget.ts';
import { SimulatedClock } from 'xstate';
import { describe, expect, test } from 'vitest';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import { hostSide } from '../../src/actors/router/host-side.ts';
import { routerActor } from '../../src/actors/router/router.actor.ts';
import type {
  CallsFact,
  CorrelationEvent,
  RouterEvent,
  WriterEvent,
} from '../../src/machines/peer-ports.ts';
import { classify } from '../../src/protocol/classify.ts';
import { negotiateDialect } from '../../src/protocol/dialects/registry.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { gate } from '../../packages/testing/src/index.ts';
import { facts, listener, settled, startPort } from './fakes.ts';

/** A host's router with these handlers, and a log of answers and notifications in order. */
function startHost(
  handlers: { readonly [method: string]: RequestHandler } = {},
  { opened = 'legacy' as 'legacy' | 'modern' | 'not yet', revision = '2025-11-25' } = {},
) {
  const owner = listener<CallsFact>();
  const writer = listener<WriterEvent>();
  const happened: string[] = [];
  const correlation = listener<CorrelationEvent>((event) => {
    if (event.type !== 'responses.received') return void happened.push(event.type);
    for (const { id } of event.responses) happened.push(`answer ${id}`);
  });
  const { heard, report } = facts();
  const requestIds = new RequestIds('integers');
  for (let given = 0; given < 3; given++) requestIds.next();
  const logic = routerActor(hostSide, () => ({
    handlers: new Map(Object.entries(handlers)),
    traffic: { received: () => {} },
    limits: {
      maxRunning: 2,
      maxWaiting: 3,
      maxWaitingBytes: 1_000_000,
      maxRunningBytes: 1_000_000,
    },
    quotas: new Quotas(),
    clock: new SimulatedClock(),
    requestIds,
    peer: 'server' as const,
    report,
    onNotification: ({ method }) => void happened.push(method),
  }));
  const { actor, errors } = startPort(logic, {
    owner: owner.ref,
    writer: writer.ref,
    correlation: correlation.ref,
  });
  const tell = (event: RouterEvent) => actor.send(event);
  if (opened === 'modern') tell({ type: 'envelopes.require' });
  if (opened === 'legacy') {
    const info = { name: 'server', version: '1' };
    const dialect = negotiateDialect(revision);
    const peer = { dialect, requestedVersion: revision, info, capabilities: {} };
    tell({ type: 'gate.opened', peer });
  }
  const receive = (...messages: readonly unknown[]) =>
    tell({ type: 'frames.received', frames: messages.map((message) => classify(message)) });
  const sent = (): readonly OutboundFrame[] =>
    writer.events.flatMap((event) => (event.type === 'frames.send' ? event.frames : []));
  const names = () => heard.map(({ name }) => name);
  return { receive, sent, tell, happened, heard, names, owner, correlation, errors };
}

const ask = (id: number | string, method = 'roots/list') => ({ jsonrpc: '2.0', id, method });
const tells = (method: string, params?: object) => ({
  jsonrpc: '2.0',
  method,
  ...(params ? { params } : {}),
});

describe('the router of a host', () => {
  test('answers ping, even before the handshake is done', () => {
    for (const opened of ['legacy', 'not yet'] as const) {
      const { receive, sent } = startHost({}, { opened });
      receive(ask('p', 'ping'));
      expect(sent()).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
    }
  });

  test("returns a handler's result unchanged", () => {
    const roots = [{ uri: 'file:///home/ada', name: 'ada' }];
    const { receive, sent } = startHost({ 'roots/list': () => ({ roots }) });
    receive(ask(1));
    expect(sent()).toEqual([{ jsonrpc: '2.0', id: 1, result: { roots } }]);
  });

  test.each(['initialize', 'server/discover', 'tools/list'])(
    'answers %s with method not found',
    (method) => {
      const { receive, sent } = startHost();
      receive({ ...ask(1, method), params: {} });
      expect(sent()).toMatchObject([
        { id: 1, error: { code: -32601, message: expect.stringContaining(method) as string } },
      ]);
    },
  );

  test('rejects requests before the handshake', () => {
    const { receive, sent } = startHost(
      { 'roots/list': () => ({ roots: [] }) },
      { opened: 'not yet' },
    );
    receive(ask(1));
    expect(sent()).toMatchObject([
      { id: 1, error: { message: '"roots/list" must not come before the handshake is done' } },
    ]);
  });

  test('runs requests up to maxRunning, queues more, and rejects those beyond the limit', async () => {
    const held = gate();
    let running = 0;
    let most = 0;
    const { receive, sent } = startHost({
      'elicitation/create': async () => {
        most = Math.max(most, ++running);
        await held.pass();
        running--;
        return { action: 'decline' };
      },
    });
    receive(...Array.from({ length: 20 }, (_, id) => ask(id, 'elicitation/create')));
    expect(sent().map((frame) => 'error' in frame && frame.error.code)).toEqual(
      Array.from({ length: 15 }, () => -32000),
    );
    held.release();
    for (let turn = 0; turn < 5; turn++) await settled();
    expect([sent().length, most]).toEqual([20, 2]);
  });

  test('rejects the second of two requests with the same id', async () => {
    const held = gate();
    const { receive, sent } = startHost({
      'roots/list': async () => {
        await held.pass();
        return { roots: [] };
      },
    });
    receive(ask(1), ask(1));
    expect(sent()).toMatchObject([{ id: 1, error: { code: -32600 } }]);
    held.release();
    await settled();
    expect(sent().slice(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: { roots: [] } }]);
  });

  test('rejects requests while the connection is closing', () => {
    const { receive, sent, tell, owner } = startHost({ 'roots/list': () => ({ roots: [] }) });
    tell({ type: 'gate.closed' });
    receive(ask(1));
    expect(sent()).toMatchObject([
      { id: 1, error: { message: 'The client is closing the connection' } },
    ]);
    expect(owner.events[0]).toEqual({ type: 'calls.drained' });
  });

  test('answers a batch of its revision with one frame', () => {
    const { receive, sent, happened } = startHost({}, { revision: '2025-03-26' });
    receive([ask(1, 'ping'), tells('notifications/message'), ask(2, 'sampling/createMessage')]);
    expect(sent()).toMatchObject([
      [
        { id: 1, result: {} },
        { id: 2, error: { code: -32601 } },
      ],
    ]);
    expect(happened).toEqual(['notifications/message']);
  });
});

describe('the router of a host with a modern server', () => {
  test.each(['ping', 'roots/list', 'elicitation/create'])(
    'never answers %s, and reports it',
    (method) => {
      const { receive, sent, heard } = startHost(
        { 'roots/list': () => ({ roots: [] }) },
        { opened: 'modern' },
      );
      receive(ask(1, method));
      expect(sent()).toEqual([]);
      expect(heard).toMatchObject([
        { name: 'request.forbidden', message: expect.stringContaining(method) as string },
      ]);
    },
  );

  test('does not answer malformed input', () => {
    const { receive, sent, names } = startHost({}, { opened: 'modern' });
    receive({ jsonrpc: '2.0', id: 9, method: 5 }, 'Listening on port 3000');
    expect([sent(), names()]).toEqual([[], ['frame.invalid', 'frame.invalid']]);
  });

  test("treats a cancellation as one of a request of the host's", () => {
    const { receive, correlation } = startHost({}, { opened: 'modern' });
    receive(tells('notifications/cancelled', { requestId: 2, reason: 'shutting down' }));
    expect(correlation.events).toEqual([
      { type: 'remote.cancelled', id: 2, reason: 'shutting down' },
    ]);
  });
});

describe('notifications of the server', () => {
  test('are processed in input order, between the surrounding responses', () => {
    const { receive, happened } = startHost();
    const answer = (id: number) => ({ jsonrpc: '2.0', id, result: {} });
    receive(
      answer(1),
      tells('notifications/tools/list_changed'),
      answer(2),
      answer(3),
      tells('notifications/progress', { progressToken: 1, progress: 1 }),
      tells('notifications/something/new'),
      tells('notifications/initialized'),
    );
    expect(happened).toEqual([
      'answer 1',
      'notifications/tools/list_changed',
      'answer 2',
      'answer 3',
      'progress.received',
      'notifications/something/new',
      'notifications/initialized',
    ]);
  });

  test("cancel the server's own request, never one of the host's with the same id", async () => {
    let aborted: unknown = 'not yet';
    const { receive, sent, correlation, names } = startHost({
      'sampling/createMessage': (_, { signal }) => {
        signal.addEventListener('abort', () => (aborted = (signal.reason as Error).message));
        return new Promise(() => {});
      },
    });
    receive(ask(1, 'sampling/createMessage'));
    receive(tells('notifications/cancelled', { requestId: 1, reason: 'changed its mind' }));
    await settled();
    expect(aborted).toBe('The server cancelled the request: changed its mind');
    receive(tells('notifications/cancelled', { requestId: 1 }));
    expect(sent()).toEqual([]);
    expect([correlation.events, names()]).toEqual([[], ['cancellation.ignored']]);
  });
});

describe('invalid input from a server', () => {
  test.each([
    ['a banner', 'Server started'],
    ['null', null],
    ['a message without a version', { id: undefined, hello: 1 }],
    ['an empty batch', []],
  ])('is reported without an answer: %s', (_, value) => {
    const { receive, sent, names, errors } = startHost();
    receive(value, ask(1, 'ping'));
    expect(names()).toEqual(['frame.invalid']);
    expect(sent()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    expect(errors).toEqual([]);
  });

  test('is answered if it is a request with an id', () => {
    const { receive, sent } = startHost();
    receive({ jsonrpc: '2.0', id: 'x', method: 'roots/list', params: [] });
    expect(sent()).toMatchObject([{ id: 'x', error: { code: -32602 } }]);
  });

  test("settles no request of the host's with the same id", () => {
    const { receive, happened, names } = startHost();
    receive({ jsonrpc: '2.0', id: 1, method: 5 });
    expect([happened, names()]).toEqual([[], ['frame.invalid']]);
  });

  test('with a result is passed to correlation as a malformed response', () => {
    const { receive, happened } = startHost();
    receive({ jsonrpc: '2.0', id: 1, result: null }, { jsonrpc: '1.0', id: 2, result: {} });
    expect(happened).toEqual(['answer 1', 'answer 2']);
  });

  test("settles a request of the host's if it is its oversized response", () => {
    const { tell, sent, happened, correlation, names } = startHost();
    const error = { code: -32600, message: 'the message is longer than 9 bytes' };
    const frames = [2, 99].map(
      (id) => ({ kind: 'invalid', answers: [id as never], error }) as const,
    );
    tell({ type: 'frames.received', frames });
    expect(happened).toEqual(['answer 2']);
    expect(correlation.events).toMatchObject([
      { responses: [{ id: 2, outcome: { ok: false, tooLong: error.message } }] },
    ]);
    expect([sent(), names()]).toEqual([[], ['frame.invalid']]);
  });

  test('is reported if it is an error about an unreadable message', () => {
    const { receive, heard } = startHost();
    receive({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } });
    expect(heard).toMatchObject([
      {
        name: 'response.unknown',
        message: 'The server could not read one of our messages: error -32700: Parse error',
      },
    ]);
  });
});
