import { describe, expect, test } from 'vitest';
import { routerActor } from '../../src/actors/router.actor.ts';
import { Call } from '../../src/actors/call.ts';
import type { RequestHandler } from '../../src/actors/call.ts';
import type {
  CorrelationEvent,
  RouterEvent,
  SessionFact,
  WriterEvent,
} from '../../src/machines/session-ports.ts';
import { classify } from '../../src/protocol/classify.ts';
import type { OutboundFrame, OutboundResponse } from '../../src/protocol/frames.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import { facts, listener, settled, startPort } from './stand-ins.ts';

/** A router whose gate is open, with these handlers. */
function startRouter(
  handlers: { readonly [method: string]: RequestHandler } = {},
  revision = '2025-11-25',
) {
  const session = listener<SessionFact>();
  const writer = listener<WriterEvent>();
  const correlation = listener<CorrelationEvent>();
  const { heard, report } = facts();
  const handlerOf = (method: string) => handlers[method];
  const logic = routerActor({ handlerOf, maxRunning: 4, maxWaiting: 4, report });
  const { actor, errors } = startPort(logic, {
    session: session.ref,
    writer: writer.ref,
    correlation: correlation.ref,
    roots: {} as never,
  });
  const reading = readInitialize({
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: 'host', version: '1' },
  });
  if (reading.ok) actor.send({ type: 'gate.opened', client: reading.client });
  const receive = (...messages: readonly unknown[]) =>
    actor.send({ type: 'frames.received', frames: messages.map(classify) });
  const sent = (): readonly OutboundFrame[] =>
    writer.events.flatMap((event) => (event.type === 'frames.send' ? event.frames : []));
  const told = () => session.events.map(({ type }) => type);
  const tell = (event: RouterEvent) => actor.send(event);
  return { errors, heard, receive, sent, told, tell, correlation };
}

const request = (id: number, method = 'm') => ({ jsonrpc: '2.0', id, method });
const internal = (id: number) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32603, message: 'Internal error' },
});

const thrown = (value: unknown): never => {
  throw value;
};

/** Objects with a member of any name: the linter rightly dislikes a "then" that is written down. */
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
    'that %s harms its own request alone, and tells the client nothing',
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

  test('may give a result with a member "then" that is no function', async () => {
    const { receive, sent } = startRouter({ m: () => withThen('what happens next') });
    receive(request(1));
    await settled();
    expect(sent()).toEqual([{ jsonrpc: '2.0', id: 1, result: withThen('what happens next') }]);
  });

  test('that answers, fails and answers again is heard once', async () => {
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

describe('our own errors, sent back to us', () => {
  test('are not answered: two that answer each other would never stop', () => {
    const { receive, sent } = startRouter();
    receive(7, { jsonrpc: '2.0', id: null, method: 'm' }, { jsonrpc: '2.0', id: 3, method: 'no' });
    const answers = sent();
    expect(answers).toHaveLength(3);
    receive(...(JSON.parse(JSON.stringify(answers)) as unknown[]));
    expect(sent()).toHaveLength(3);
  });
});

describe('the end', () => {
  test('is told when nothing runs, at once where nothing ever ran', () => {
    const { tell, told } = startRouter();
    expect(told()).toEqual([]);
    tell({ type: 'gate.closed' });
    expect(told()).toEqual(['calls.drained']);
  });

  test('waits for what runs, and for what was cancelled and cleans up', async () => {
    const ends: (() => void)[] = [];
    const { receive, tell, told } = startRouter({
      m: () => new Promise((resolve) => ends.push(() => resolve({}))),
    });
    receive(request(1), request(2));
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    tell({ type: 'gate.closed' });
    ends[1]?.();
    await settled();
    expect(told()).toEqual([]);
    ends[0]?.();
    await settled();
    expect(told()).toEqual(['calls.drained']);
  });

  test('refuses what comes, and still answers ping', () => {
    const { receive, sent, tell } = startRouter({ m: () => ({}) });
    tell({ type: 'gate.closed' });
    receive(request(1), request(2, 'ping'));
    expect(sent()).toMatchObject([
      { id: 1, error: { code: -32000, data: { retryable: false } } },
      { id: 2, result: {} },
    ]);
  });

  test('answers every call that it abandons, and fires its signal', () => {
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

describe('a call that outlives its request', () => {
  /** Answers at once and goes on with what `work` does, in a call of its own. */
  function outliving(work: RequestHandler) {
    const responses: OutboundResponse[] = [];
    const runs: Call[] = [];
    const cancels: ((reason: Error) => void)[] = [];
    const handler: RequestHandler = (_, call) => {
      const replies = { add: (response: OutboundResponse) => responses.push(response), drop() {} };
      const run = new Call(call, work, call.scope, replies);
      runs.push(run);
      cancels.push(call.scope.detach(run));
      return { accepted: true };
    };
    return { handler, responses, runs, cancels };
  }
  const accepted = (id: number) => ({ jsonrpc: '2.0', id, result: { accepted: true } });
  const pending = () => new Promise(() => {});

  test('begins once its request is answered, and gives its answer to its own replies', () => {
    const before: number[] = [];
    const { handler, responses } = outliving(() => {
      before.push(router.sent().length);
      return { done: true };
    });
    const router = startRouter({ m: handler });
    router.receive(request(1));
    expect(router.sent()).toEqual([accepted(1)]);
    expect(before).toEqual([1]);
    expect(responses).toEqual([{ jsonrpc: '2.0', id: 1, result: { done: true } }]);
  });

  test('is none of those that may run at once, and leaves its id free', () => {
    const { handler, runs } = outliving(pending);
    const { receive, sent } = startRouter({ m: handler });
    for (let i = 0; i < 10; i++) receive(request(1));
    expect(sent()).toEqual(Array.from({ length: 10 }, () => accepted(1)));
    expect(runs.map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'running'));
  });

  test('is not cancelled with its request, but by who has begun it: no answer then', () => {
    const { handler, responses, runs, cancels } = outliving(pending);
    const { receive } = startRouter({ m: handler });
    receive(request(1));
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(runs[0]?.state).toBe('running');
    const { signal } = runs[0] as Call;
    cancels[0]?.(new Error('enough'));
    cancels[0]?.(new Error('again'));
    expect([signal.aborted, String(signal.reason), responses]).toEqual([true, 'Error: enough', []]);
  });

  test('that is cancelled before it begins never runs', () => {
    let ran = 0;
    const handler: RequestHandler = (_, call) => {
      const replies = { add: () => {}, drop: () => {} };
      const run = new Call(call, () => ({ ran: ++ran }), call.scope, replies);
      call.scope.detach(run)(new Error('at once'));
      return {};
    };
    startRouter({ m: handler }).receive(request(1));
    expect(ran).toBe(0);
  });

  test('holds the end until it has settled, also where it was cancelled', async () => {
    let finish = () => {};
    const { handler, cancels } = outliving(
      () => new Promise((resolve) => (finish = () => resolve({}))),
    );
    const { receive, tell, told } = startRouter({ m: handler });
    receive(request(1));
    tell({ type: 'gate.closed' });
    cancels[0]?.(new Error('enough'));
    await settled();
    expect(told()).toEqual([]);
    finish();
    await settled();
    expect(told()).toEqual(['calls.drained']);
  });

  test('is abandoned at the end, with an answer', () => {
    const { handler, responses, runs } = outliving(pending);
    const { receive, tell } = startRouter({ m: handler });
    receive(request(1));
    const { signal } = runs[0] as Call;
    tell({ type: 'calls.abandon' });
    expect(signal.aborted).toBe(true);
    expect(responses).toMatchObject([{ id: 1, error: { code: -32000 } }]);
  });

  test('may be ended by who takes its answer, which ends nobody else', () => {
    const { handler, cancels, responses } = outliving(() => ({}));
    const add = responses.push.bind(responses);
    responses.push = (response) => {
      cancels.at(-1)?.(new Error('done with it'));
      return add(response);
    };
    const { receive, sent } = startRouter({ m: handler });
    receive(request(1), request(2), request(3));
    receive(request(4));
    expect(sent()).toEqual([1, 2, 3, 4].map(accepted));
  });
});
