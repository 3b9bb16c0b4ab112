import { SimulatedClock, createActor, fromPromise } from 'xstate';
import type { EventObject } from 'xstate';
import { describe, expect, test } from 'vitest';
import { plainActor } from '../../src/machines/port.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { AskInput, AskOutcome } from '../../src/machines/roots.machine.ts';
import { sessionMachine } from '../../src/machines/session.machine.ts';
import type { SessionEvent } from '../../src/machines/session.machine.ts';
import type {
  CorrelationEvent,
  CorrelationInput,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../src/machines/peer-ports.ts';
import { stateName } from '../../src/machines/names.ts';
import { recorder, noKeepalive } from './stand-ins.ts';
import { clientId } from '../actors/ids.ts';

const limits = {
  ...noKeepalive,
  drainTimeoutMs: 2000,
  stallTimeoutMs: 300,
  rootsTimeoutMs: 5000,
  rootsRetryMs: 30_000,
  maxOvertakenRoots: 16,
};
const input = {
  server: { serverInfo: { name: 'server', version: '1' }, capabilities: {} },
  limits,
};
const params = (capabilities: object) => ({
  protocolVersion: '2025-11-25',
  capabilities,
  clientInfo: { name: 'host', version: '1' },
});

/**
 * A running session with recording actors, whose router has calls when it closes; `answer` settles
 * the pending roots query.
 */
function startSession(changed: Partial<typeof limits> = {}) {
  const heard = {
    reader: [] as ReaderEvent[],
    router: [] as RouterEvent[],
    correlation: [] as CorrelationEvent[],
    writer: [] as WriterEvent[],
  };
  const asked: AskInput[] = [];
  let answer: (outcome: AskOutcome) => Promise<void> = () => Promise.resolve();
  const ask = fromPromise<AskOutcome, AskInput>(({ input: question }) => {
    asked.push(question);
    return new Promise((resolve) => {
      answer = async (outcome) => {
        resolve(outcome);
        // The promise actor is notified in later microtasks.
        for (let i = 0; i < 10; i++) await Promise.resolve();
      };
    });
  });
  const clock = new SimulatedClock();
  const logic = sessionMachine.provide({
    actors: {
      reader: recorder(heard.reader),
      router: plainActor(({ input: { owner } }) => ({
        receive: (event: RouterEvent) => {
          heard.router.push(event);
          if (event.type === 'gate.closed') owner.send({ type: 'calls.running' });
        },
      })),
      correlation: recorder(heard.correlation),
      writer: recorder(heard.writer),
      roots: rootsMachine.provide({ actors: { ask } }),
    },
  });
  const actor = createActor(logic, {
    input: { ...input, limits: { ...limits, ...changed } },
    clock,
    logger: () => {},
  });
  const emitted: string[] = [];
  actor.on('*', ({ type }) => emitted.push(type));
  actor.start();
  const send = (...events: readonly SessionEvent[]) => {
    for (const event of events) actor.send(event);
  };
  return { actor, clock, heard, asked, emitted, send, answer: (o: AskOutcome) => answer(o) };
}

const initialize = (capabilities: object = { roots: {} }): SessionEvent => ({
  type: 'initialize.received',
  request: { id: clientId(1) },
  reading: readInitialize(params(capabilities)),
});
const initialized: SessionEvent = { type: 'initialized.received' };
const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe('a running session', () => {
  test('sends no requests before initialized, whatever changes', () => {
    const { asked, heard, send } = startSession();
    send({ type: 'roots.changed' }, initialize(), { type: 'roots.changed' });
    expect(asked).toEqual([]);
    expect(heard.correlation).toEqual([]);
    send(initialized);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.timeoutMs).toBe(5000);
  });

  test('sends the answer before opening the gate, so that the client gets it first', () => {
    const { heard, send } = startSession();
    send(initialize());
    expect(types(heard.router)).toEqual(['lifecycle.answered', 'gate.opened']);
  });

  test('publishes the roots once answered, and each update', async () => {
    const { actor, send, answer, emitted } = startSession();
    send(initialize(), initialized);
    await answer({ kind: 'answered', roots: [{ uri: 'file:///a' }] });
    expect(stateName(actor.getSnapshot())).toBe('rootsKnown');
    send({ type: 'roots.changed' });
    await answer({ kind: 'answered', roots: [{ uri: 'file:///b' }] });
    expect(actor.getSnapshot().context.report).toMatchObject({
      generation: 2,
      roots: [{ uri: 'file:///b' }],
    });
    expect(emitted).toEqual([
      'session.negotiated',
      'session.initialized',
      'roots.updated',
      'roots.updated',
    ]);
  });

  test.each([{}, { roots: null }, { roots: false }, { sampling: {} }])(
    'never requests roots from a client that declares none: %j',
    (capabilities) => {
      const { actor, asked, send, clock } = startSession();
      send(initialize(capabilities), initialized, { type: 'roots.changed' });
      clock.increment(10 * 60_000);
      expect(asked).toEqual([]);
      expect(stateName(actor.getSnapshot())).toBe('rootsKnown');
      expect(actor.getSnapshot().context.report?.status).toBe('undeclared');
    },
  );

  test('reports backpressure to its router and reader, in every state', () => {
    const { heard, send } = startSession();
    send({ type: 'output.blocked' }, initialize(), initialized, { type: 'output.flowing' });
    send({ type: 'input.ended' }, { type: 'output.blocked' });
    const flow = ['output.blocked', 'output.flowing', 'output.blocked'];
    expect(types(heard.reader)).toEqual(flow);
    expect(types(heard.router).filter((type) => type.startsWith('output'))).toEqual(flow);
  });
});

describe('the end of a session', () => {
  test('waits for the calls, then for the output', () => {
    const { actor, heard, send, clock } = startSession();
    send(initialize(), { type: 'input.ended' });
    expect(types(heard.correlation)).toEqual(['gate.closed']);
    expect(types(heard.router).at(-1)).toBe('gate.closed');
    clock.increment(1999);
    send({ type: 'calls.drained' });
    expect(types(heard.writer)).toEqual(['output.flush']);
    send({ type: 'output.flushed' });
    expect(actor.getSnapshot()).toMatchObject({
      status: 'done',
      output: { cause: { kind: 'input-ended' } },
    });
  });

  test.each(['aborting', 'flushing'])('comes exactly at the drain deadline: %s', (state) => {
    const { actor, send, clock } = startSession();
    send(initialize(), { type: 'session.shutdown', reason: 'SIGTERM' });
    clock.increment(1750);
    if (state === 'flushing') send({ type: 'calls.drained' });
    clock.increment(249);
    expect(actor.getSnapshot().value).toEqual({ draining: { busy: state } });
    clock.increment(1);
    expect(actor.getSnapshot().status).toBe('done');
  });

  test('gives the client the stall time again on an earlier second shutdown', () => {
    const { actor, heard, send, clock } = startSession();
    send(initialize(), { type: 'input.ended' }, { type: 'calls.drained' });
    clock.increment(299);
    send({ type: 'session.shutdown', reason: 'SIGTERM', drainTimeoutMs: 1000 });
    send({ type: 'calls.drained' });
    clock.increment(299);
    expect(heard.writer).toEqual([{ type: 'output.flush' }, { type: 'output.flush' }]);
    clock.increment(1);
    expect(heard.writer.at(-1)).toEqual({ type: 'output.flush', after: 'stallTimeout' });
    clock.increment(700);
    expect(actor.getSnapshot().status).toBe('done');
  });

  test('cancels running calls, and leaves them an eighth of the time to clean up', () => {
    const { actor, heard, send, clock } = startSession();
    send(initialize(), { type: 'session.shutdown', reason: 'SIGTERM' });
    clock.increment(1749);
    expect(types(heard.router)).not.toContain('calls.abandon');
    clock.increment(1);
    expect(types(heard.router).at(-1)).toBe('calls.abandon');
    send({ type: 'calls.drained' });
    expect(actor.getSnapshot().value).toEqual({ draining: { busy: 'flushing' } });
  });

  test('cancels running calls even without drain time', () => {
    const { actor, heard, send, clock } = startSession({ drainTimeoutMs: 0 });
    send(initialize(), { type: 'session.shutdown', reason: 'SIGTERM' });
    clock.increment(1);
    expect(actor.getSnapshot().status).toBe('done');
    expect(types(heard.router)).toContain('calls.abandon');
  });

  test('cancels running calls at once if nobody reads the output', () => {
    const { actor, heard, send } = startSession();
    send(initialize(), { type: 'output.broken', error: new Error('EPIPE') });
    expect(types(heard.router).slice(-2)).toEqual(['gate.closed', 'calls.abandon']);
    send({ type: 'output.broken', error: new Error('EPIPE') });
    expect(actor.getSnapshot().value).toEqual({ draining: { busy: 'aborting' } });
  });

  test('is not delayed by a repeated end', () => {
    const { actor, send, clock } = startSession();
    send({ type: 'input.ended' });
    clock.increment(1500);
    send({ type: 'input.ended' }, { type: 'session.shutdown', reason: 'again' });
    clock.increment(500);
    expect(actor.getSnapshot()).toMatchObject({
      status: 'done',
      output: { cause: { kind: 'input-ended' } },
    });
  });

  test.each(['reader', 'router', 'correlation', 'writer'] as const)(
    'follows the failure of its %s, and the process survives',
    (name) => {
      const failing = plainActor<EventObject, unknown>(() => {
        throw new Error(`${name} is broken`);
      });
      const heard: RouterEvent[] = [];
      const logic = sessionMachine.provide({
        actors: {
          reader: recorder<ReaderEvent, ReaderInput>([]),
          router: recorder(heard),
          correlation: recorder<CorrelationEvent, CorrelationInput>([]),
          writer: recorder<WriterEvent, WriterInput>([]),
          [name]: failing as never,
        },
      });
      const clock = new SimulatedClock();
      const actor = createActor(logic, { input, clock, logger: () => {} });
      const errors: unknown[] = [];
      actor.subscribe({ error: (error) => errors.push(error) });
      actor.start();
      clock.increment(2000);
      expect(errors).toEqual([]);
      const { status, output } = actor.getSnapshot();
      expect(status).toBe('done');
      expect(output?.cause).toMatchObject({
        kind: 'failure',
        error: { message: `${name} is broken` },
      });
    },
  );

  test('reports missing implementations by name', () => {
    const clock = new SimulatedClock();
    const actor = createActor(sessionMachine, { input, clock, logger: () => {} });
    actor.subscribe({ error: () => {} });
    actor.start();
    const { cause } = actor.getSnapshot().context;
    expect(cause?.kind === 'failure' && String(cause.error)).toMatch(/"writer" actor is provided/);
    actor.stop();
  });
});
