import { initialTransition, transition } from 'xstate';
import type { EventFromLogic, SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { sessionMachine } from '../../src/machines/session.machine.ts';
import { stateOf } from '../../src/machines/session-state.ts';
import type { SessionInput } from '../../src/machines/session-context.ts';
import type { SessionEvent } from '../../src/machines/session-ports.ts';
import type { SessionTag } from '../../src/machines/names.ts';
import type { SessionState } from '../../src/machines/session-state.ts';
import { shuttingDown } from '../../src/protocol/errors.ts';
import { stateName } from '../../src/machines/names.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import { inWords, noKeepalive } from './stand-ins.ts';
import type { Action } from './stand-ins.ts';
import { clientId } from '../actors/ids.ts';

type Snapshot = SnapshotFrom<typeof sessionMachine>;

const input: SessionInput = {
  server: { serverInfo: { name: 'server', version: '1' }, capabilities: { tools: {} } },
  limits: {
    ...noKeepalive,
    drainTimeoutMs: 2000,
    stallTimeoutMs: 300,
    rootsTimeoutMs: 5000,
    rootsRetryMs: 30_000,
    maxOvertakenRoots: 16,
  },
};
const params = {
  protocolVersion: '2025-06-18',
  capabilities: { roots: {} },
  clientInfo: { name: 'host', version: '1' },
};

const initialize = (id: number, said: JsonObject) => {
  const [request, reading] = [{ id: clientId(id) }, readInitialize(said)];
  return { type: 'initialize.received', request, reading } as const;
};

const greeted = (type: 'client.initializeAnswered' | 'client.initialized') => {
  const reading = readInitialize(params);
  if (!reading.ok) throw new Error(reading.fault);
  return { type, client: reading.client } as const;
};

const events = {
  initialize: initialize(1, params),
  'a client that was greeted': greeted('client.initializeAnswered'),
  'a client that is ready': greeted('client.initialized'),
  'another initialize': initialize(2, { ...params, x: 1 }),
  'a malformed initialize': initialize(3, {}),
  'an envelope': { type: 'envelope.received' },
  initialized: { type: 'initialized.received' },
  'roots changed': { type: 'roots.changed' },
  'roots needed': { type: 'roots.needed' },
  'roots due': { type: 'roots.due' },
  'roots updated': {
    type: 'roots.updated',
    report: { status: 'known', generation: 1, settled: true, roots: [] },
  },
  'calls drained': { type: 'calls.drained' },
  'calls running': { type: 'calls.running' },
  'output flushed': { type: 'output.flushed' },
  'output stalled': { type: 'output.stalled' },
  'output blocked': { type: 'output.blocked' },
  'output flowing': { type: 'output.flowing' },
  'own stream opened': { type: 'standaloneStream.opened' },
  'own stream closed': { type: 'standaloneStream.closed' },
  'input ended': { type: 'input.ended' },
  'client unresponsive': { type: 'client.unresponsive', failures: 3 },
  shutdown: { type: 'session.shutdown', reason: 'SIGTERM' },
  'shutdown soon': { type: 'session.shutdown', reason: 'SIGTERM', drainTimeoutMs: 1000 },
  'output broken': { type: 'output.broken', error: 'EPIPE' },
} satisfies Record<string, SessionEvent>;

/** Events sent by XState itself, which are not part of the machine's event union. */
const failure = { type: 'xstate.error.actor.writer', error: 'bug', actorId: 'writer' };
const drained = { type: 'xstate.after.drainTimeout.session.draining.busy' };

const settled = { type: 'xstate.after.settleTimeout.session.draining.busy.settling' };

const overdue = { type: 'xstate.after.idleFlushTimeout.session.draining.idle.flushing' };

const stalled = { type: 'xstate.after.stallTimeout.session.draining.busy.flushing' };

type EventName =
  | keyof typeof events
  | 'an actor failed'
  | 'settle timeout'
  | 'drain timeout'
  | 'idle flush timeout'
  | 'stall timeout';

const eventOf = (name: EventName): EventFromLogic<typeof sessionMachine> => {
  if (name === 'an actor failed') return failure as never;
  if (name === 'drain timeout') return drained as never;
  if (name === 'settle timeout') return settled as never;
  if (name === 'idle flush timeout') return overdue as never;
  if (name === 'stall timeout') return stalled as never;
  return events[name];
};

const start = (): Snapshot => initialTransition(sessionMachine, input)[0];
const after = (...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => transition(sessionMachine, state, eventOf(name))[0], start());

const paths = {
  uninitialized: [],
  negotiated: ['initialize'],
  initialized: ['initialize', 'initialized'],
  rootsKnown: ['initialize', 'initialized', 'roots updated'],
  modern: ['an envelope'],
  'draining.idle.settling': ['initialize', 'input ended'],
  'draining.idle.flushing': ['initialize', 'input ended', 'calls drained'],
  'draining.settling': ['initialize', 'input ended', 'calls running'],
  'draining.aborting': ['initialize', 'input ended', 'calls running', 'settle timeout'],
  'draining.flushing': ['initialize', 'input ended', 'calls running', 'calls drained'],
} satisfies Record<string, readonly EventName[]>;

type StateName = keyof typeof paths;
/** The name of a path's state: the two groups of draining have none. */
const called = (state: StateName) => state.replace('idle.', '');
/** Next state and actions of every relevant event; all others have no effect. */
type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };

const close = ['correlation<gate.closed', 'router<gate.closed'] as const;
const ends: Row = {
  'input ended': ['draining.settling', ...close],
  'client unresponsive': ['draining.settling', ...close],
  shutdown: ['draining.settling', ...close],
  'shutdown soon': ['draining.settling', ...close],
  'output broken': ['draining.settling', ...close],
  'an actor failed': ['draining.settling', ...close, 'after 2000', 'after 1750'],
};
const answer = 'router<lifecycle.answered';
const refuses = (state: string): Row => ({
  initialize: [state, answer],
  'another initialize': [state, answer],
  'a malformed initialize': [state, answer],
});
const ignored = 'emit notification.ignored';
/** Events at the wrong time are reported without effect; backpressure concerns other actors. */
const anywhere = (state: string): Row => ({
  initialized: [state, ignored],
  'roots changed': [state, ignored],
  'output blocked': [state, 'router<output.blocked', 'reader<output.blocked'],
  'output flowing': [state, 'router<output.flowing', 'reader<output.flowing'],
});
const negotiates = ['negotiated', answer, 'router<gate.opened', 'emit session.negotiated'] as const;
const rootsUpdated = ['rootsKnown', 'emit roots.updated'] as const;
const closed = ['closed', 'emit session.closed'] as const;
const abandoned = ['closed', 'router<calls.abandon', 'emit session.closed'] as const;

const table: { readonly [state in StateName]: Row } = {
  uninitialized: {
    ...ends,
    ...anywhere('uninitialized'),
    'own stream closed': ['uninitialized'],
    'an envelope': ['modern', 'router<envelopes.require', 'correlation<gate.closed'],
    initialize: negotiates,
    'a client that was greeted': ['negotiated', 'router<gate.opened', 'emit session.negotiated'],
    'a client that is ready': [
      'initialized',
      'router<gate.opened',
      'emit session.negotiated',
      'correlation<gate.opened',
      'emit session.initialized',
    ],
    'another initialize': negotiates,
    'a malformed initialize': ['uninitialized', answer],
  },
  negotiated: {
    ...ends,
    ...anywhere('negotiated'),
    'own stream closed': ['negotiated'],
    'roots needed': ['negotiated'],
    ...refuses('negotiated'),
    initialized: [
      'initialized',
      'correlation<gate.opened',
      'emit session.initialized',
      'roots<roots.ask',
    ],
  },
  initialized: {
    ...ends,
    ...anywhere('initialized'),
    'own stream closed': ['initialized', 'roots<roots.defer'],
    'roots due': ['initialized', 'roots<roots.ask'],
    ...refuses('initialized'),
    'roots changed': ['initialized', 'roots<roots.invalidate'],
    'roots updated': rootsUpdated,
  },
  rootsKnown: {
    ...ends,
    ...anywhere('rootsKnown'),
    'own stream closed': ['rootsKnown', 'roots<roots.defer'],
    'roots due': ['rootsKnown', 'roots<roots.ask'],
    ...refuses('rootsKnown'),
    'roots changed': ['rootsKnown', 'roots<roots.invalidate'],
    'roots updated': rootsUpdated,
  },
  modern: {
    ...ends,
    ...anywhere('modern'),
    'own stream closed': ['modern'],
    ...refuses('modern'),
  },
  'draining.idle.settling': {
    ...refuses('draining.settling'),
    ...anywhere('draining.settling'),
    'roots needed': ['draining.settling', 'roots<roots.defer'],
    'roots due': ['draining.settling', 'roots<roots.defer'],
    'calls drained': ['draining.flushing', 'writer<output.flush', 'after 300'],
    'calls running': ['draining.settling', 'after 2000', 'after 1750'],
    'shutdown soon': ['draining.settling', ...close],
    'an actor failed': closed,
  },
  'draining.idle.flushing': {
    ...refuses('draining.flushing'),
    ...anywhere('draining.flushing'),
    'roots needed': ['draining.flushing', 'roots<roots.defer'],
    'roots due': ['draining.flushing', 'roots<roots.defer'],
    'output flushed': closed,
    'output stalled': closed,
    'idle flush timeout': ['draining.flushing', 'writer<output.flush', 'after 1700', 'after 300'],
    'shutdown soon': ['draining.settling', ...close],
    'output broken': closed,
    'an actor failed': closed,
  },
  'draining.settling': {
    ...refuses('draining.settling'),
    ...anywhere('draining.settling'),
    'roots needed': ['draining.settling', 'roots<roots.defer'],
    'roots due': ['draining.settling', 'roots<roots.defer'],
    'calls drained': [
      'draining.flushing',
      'router<calls.abandon',
      'writer<output.flush',
      'after 300',
    ],
    'settle timeout': ['draining.aborting', 'router<calls.abandon'],
    'shutdown soon': ['draining.settling', 'router<calls.abandon', ...close],
    'output broken': ['draining.aborting', 'router<calls.abandon'],
    'an actor failed': abandoned,
    'drain timeout': abandoned,
  },
  'draining.aborting': {
    ...refuses('draining.aborting'),
    ...anywhere('draining.aborting'),
    'roots needed': ['draining.aborting', 'roots<roots.defer'],
    'roots due': ['draining.aborting', 'roots<roots.defer'],
    'calls drained': ['draining.flushing', 'writer<output.flush', 'after 300'],
    'shutdown soon': ['draining.settling', ...close],
    'an actor failed': closed,
    'drain timeout': closed,
  },
  'draining.flushing': {
    ...refuses('draining.flushing'),
    ...anywhere('draining.flushing'),
    'roots needed': ['draining.flushing', 'roots<roots.defer'],
    'roots due': ['draining.flushing', 'roots<roots.defer'],
    'output flushed': closed,
    'output stalled': closed,
    'stall timeout': ['draining.flushing', 'writer<output.flush', 'after 300'],
    'shutdown soon': ['draining.settling', ...close],
    'output broken': closed,
    'an actor failed': closed,
    'drain timeout': closed,
  },
};

const eventNames = [
  ...Object.keys(events),
  'an actor failed',
  'settle timeout',
  'drain timeout',
  'idle flush timeout',
  'stall timeout',
] as EventName[];
const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  eventNames.map((event) => ({ state, event, row: table[state][event] })),
);

describe('the session machine', () => {
  test.each(cells.filter(({ row }) => row))(
    'in $state, on $event: $row',
    ({ state, event, row }) => {
      const [next, actions] = transition(sessionMachine, after(...paths[state]), eventOf(event));
      expect([stateName(next), ...inWords(actions)]).toEqual(row);
    },
  );

  test.each(cells.filter(({ row }) => !row))('in $state, ignores $event', (cell) => {
    const before = after(...paths[cell.state]);
    const [next, actions] = transition(sessionMachine, before, eventOf(cell.event));
    expect(stateName(next)).toBe(called(cell.state));
    expect(inWords(actions)).toEqual([]);
    expect(next.context).toEqual(before.context);
  });

  test.each(Object.keys(paths) as StateName[])(
    'in %s, ignores events that nobody sends',
    (state) => {
      const before = after(...paths[state]);
      for (const type of ['', 'tools/call', 'xstate.stop.x', '__proto__', 'toString']) {
        const [next, actions] = transition(sessionMachine, before, { type } as never);
        expect([stateName(next), ...inWords(actions)]).toEqual([called(state)]);
      }
    },
  );

  test('reaches each of its states by the path in the table', () => {
    for (const state of Object.keys(paths) as StateName[])
      expect(stateName(after(...paths[state]))).toBe(called(state));
  });
});

/** The response to initialize in a state. */
function answerTo(event: EventName, ...path: readonly EventName[]): unknown {
  const [, actions] = transition(sessionMachine, after(...path), eventOf(event));
  return responsesOf(actions)[0];
}

const responsesOf = (actions: readonly Action[]): unknown[] =>
  actions.flatMap(({ params: sent }) => {
    const { event } = (sent ?? {}) as { readonly event?: { readonly response?: unknown } };
    return event?.response === undefined ? [] : [event.response];
  });

describe('initialize in the session machine', () => {
  test('is answered with the negotiated version and its own id', () => {
    expect(answerTo('initialize')).toMatchObject({
      id: 1,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } },
    });
  });

  test('that is malformed is -32602 with the path of the fault, and a valid one may follow [LIFE-03]', () => {
    expect(answerTo('a malformed initialize')).toMatchObject({
      id: 3,
      error: { code: -32602, message: expect.stringContaining('params.protocolVersion') as string },
    });
    expect(answerTo('initialize', 'a malformed initialize')).toHaveProperty('result');
  });

  test('that is identical before operation gets the same answer [LIFE-07]', () => {
    expect(answerTo('initialize', 'initialize')).toEqual(answerTo('initialize'));
  });

  const later = [
    ['another initialize', 'negotiated'],
    ['a malformed initialize', 'negotiated'],
    ['initialize', 'initialized'],
    ['another initialize', 'initialized'],
    ['initialize', 'rootsKnown'],
    ['a malformed initialize', 'rootsKnown'],
  ] as const;
  test.each(later)(
    'later is -32600, or -32022 in the modern era, and the first one stands: %s in %s [LIFE-08]',
    (event, state) => {
      expect(answerTo(event, ...paths[state])).toMatchObject({ error: { code: -32600 } });
      expect(answerTo(event, ...paths.modern)).toMatchObject({ error: { code: -32022 } });
      const { client } = after(...paths[state], event).context;
      expect(client?.capabilities).toEqual(params.capabilities);
    },
  );

  test.each(['initialize', 'a malformed initialize'] as const)(
    'in a closing session that had none is rejected as shutting down: %s',
    (event) => {
      expect(answerTo(event, 'shutdown')).toMatchObject({
        error: { code: -32000, data: { retryable: false } },
      });
    },
  );

  test.each([
    'draining.idle.settling',
    'draining.idle.flushing',
    'draining.settling',
    'draining.aborting',
    'draining.flushing',
  ] as const)('in a closing session that had one is rejected as shutting down: in %s', (state) => {
    for (const event of ['initialize', 'another initialize', 'a malformed initialize'] as const) {
      expect(answerTo(event, ...paths[state])).toMatchObject({
        id: events[event].request.id,
        error: shuttingDown,
      });
    }
  });

  test.each([
    ['host', '"host"'],
    ['a "name"\n', '"a \\"name\\"\\n"'],
    ['n'.repeat(5000), 'a string of 257 characters'],
  ])('that is rejected names the first client briefly (%#)', (name, words) => {
    const named = { ...params, clientInfo: { name, version: '1' } };
    const [state] = transition(sessionMachine, start(), initialize(1, named));
    const [, actions] = transition(sessionMachine, state, events['another initialize']);
    expect(responsesOf(actions)).toMatchObject([
      { error: { code: -32600, message: expect.stringContaining(words) as string } },
    ]);
    expect(JSON.stringify(responsesOf(actions)).length).toBeLessThan(400);
  });
});

describe('states of the session machine for others', () => {
  const meanings = {
    uninitialized: ['uninitialized', 'awaitsInitialize'],
    negotiated: ['negotiated', 'awaitsInitialized'],
    initialized: ['initialized', 'operating'],
    rootsKnown: ['rootsKnown', 'operating'],
    modern: ['modern', 'stateless'],
    'draining.idle.settling': ['draining', 'settling'],
    'draining.idle.flushing': ['draining', 'flushing'],
    'draining.settling': ['draining', 'settling'],
    'draining.aborting': ['draining', 'aborting'],
    'draining.flushing': ['draining', 'flushing'],
  } as const satisfies { readonly [state in StateName]: readonly [SessionState, SessionTag] };

  test.each(Object.keys(paths) as StateName[])('are described by tags: %s', (state) => {
    const snapshot = after(...paths[state]);
    expect([stateOf(snapshot), ...snapshot.tags]).toEqual(meanings[state]);
  });

  test('are described at the end', () => {
    const snapshot = after(...paths['draining.flushing'], 'output flushed');
    expect([stateOf(snapshot), ...snapshot.tags]).toEqual(['closed', 'closed']);
  });

  test('omit grouping states', () => {
    expect(after(...paths.rootsKnown).value).toEqual({
      open: {
        lifecycle: 'rootsKnown',
        standaloneStream: 'open',
        roots: { active: 'started' },
      },
    });
  });
});

describe('the end of the session machine', () => {
  test.each([
    ['input ended', { kind: 'input-ended' }],
    ['shutdown', { kind: 'shutdown', reason: 'SIGTERM' }],
    ['output broken', { kind: 'output-broken', error: 'EPIPE' }],
    ['an actor failed', { kind: 'failure', error: 'bug' }],
  ] as const)('keeps its first cause, whatever happens while draining: %s', (event, cause) => {
    const closed = after(
      'initialize',
      event,
      'calls running',
      'input ended',
      'shutdown',
      'drain timeout',
    );
    expect(closed.status).toBe('done');
    expect(closed.output).toEqual({ cause });
  });
});
