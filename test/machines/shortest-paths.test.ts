/**
 * Walks the shortest paths of the host's charts: every state is reached, and none is a dead end.
 */
import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { describe, expect, test } from 'vitest';
import {
  RefusedAuthorization,
  authorizationMachine,
} from '../../packages/client/src/auth/authorization.machine.ts';
import { catalogMachine } from '../../packages/client/src/lists/catalog.machine.ts';
import type { ServerProfile } from '../../packages/client/src/connection/connection-context.ts';
import { connectionMachine } from '../../packages/client/src/connection/connection.machine.ts';
import {
  httpStreamMachine,
  streamResumption,
} from '../../packages/client/src/http/http-stream.machine.ts';
import { deviceLoginMachine } from '../../packages/client/src/auth/device-login.machine.ts';
import { followedTaskMachine } from '../../packages/client/src/connection/followed-task.machine.ts';
import { listeningMachine } from '../../packages/client/src/lists/listening.machine.ts';
import { processRestart } from '../../packages/client/src/channel/restart-option.ts';
import { serverSlotMachine } from '../../packages/client/src/hosts/server-slot.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { ProtocolError, RuntimeError } from '../../src/protocol/errors.ts';
import { nodesOf } from './every-machine.ts';
import { recorder } from './stand-ins.ts';

interface Walk {
  readonly machine: AnyStateMachine;
  /** Start states of the walks. */
  readonly inputs: readonly object[];
  /** Events by name. */
  readonly events: { readonly [name: string]: EventObject };
  /** The part of the context that decides the next states. */
  readonly depends?: readonly string[];
  /**
   * Events that lead from any state, unless final, to one of these states. Unexpected events are
   * not delivered.
   */
  readonly ways: readonly { readonly by: readonly string[]; readonly to: readonly string[] }[];
}

const done = (actor: string, output?: unknown): EventObject & { output: unknown } => ({
  type: `xstate.done.actor.${actor}`,
  output,
});
const failed = (actor: string, error: unknown): EventObject & { error: unknown } => ({
  type: `xstate.error.actor.${actor}`,
  error,
});
/** The delay event of the state with this id. */
const after = (delay: string, state: string): EventObject => ({
  type: `xstate.after.${delay}.${state}`,
});

const ignoring = recorder<never, never>([]) as never;
const profile: ServerProfile = {
  era: 'modern',
  revision: '2026-07-28',
  info: { name: 'server', version: '1' },
  capabilities: {},
};
const exited = { kind: 'exited', code: 1, signal: null, stderr: '' };

const connection: Walk = {
  machine: connectionMachine,
  inputs: (['again', 'once'] as const).map((opens) => ({
    times: { connectTimeoutMs: 30_000, probeMs: 500, loginTimeoutMs: 300_000 },
    restart: { ...processRestart, maxAttempts: 2 },
    random: () => 0.5,
    era: { kind: 'unknown' },
    shows: 'pipe',
    opens,
  })),
  events: {
    open: { type: 'connection.open' },
    reopen: { type: 'connection.reopen' },
    close: { type: 'connection.close' },
    opened: { type: 'channel.opened', ends: { reader: ignoring, writer: ignoring } } as EventObject,
    lost: { type: 'channel.lost', loss: exited } as EventObject,
    stopped: { type: 'channel.stopped' },
    challenged: { type: 'channel.challenged' },
    authorized: { type: 'channel.authorized' },
    expired: { type: 'session.expired' },
    modern: { type: 'era.found', era: 'modern', profile } as EventObject,
    legacy: { type: 'era.found', era: 'legacy' } as EventObject,
    accepted: { type: 'greeting.accepted', profile } as EventObject,
    refused: { type: 'greeting.refused', error: new Error('no') } as EventObject,
    'probe timeout': after('probeTimeout', 'connection.connecting.timed.probing'),
    'stable timeout': after('stableTimeout', 'connection.ready.fresh'),
    'backoff timeout': after('backoffTimeout', 'connection.backoff'),
  },
  depends: ['attempts', 'extraLaunch', 'era', 'opens'],
  ways: [
    { by: ['close', 'stopped'], to: ['closed', 'ended'] },
    {
      by: ['reopen', 'stopped', 'backoff timeout', 'open', 'opened', 'modern', 'accepted'],
      to: ['ready.fresh', 'ended'],
    },
  ],
};

const catalog: Walk = {
  machine: catalogMachine,
  inputs: [
    {
      name: 'tools',
      retryMs: 1000,
      maxOvertaken: 2,
      spacingMs: 100,
      maxSpacingMs: 5000,
    },
  ],
  events: {
    wanted: { type: 'list.wanted' },
    invalidate: { type: 'list.invalidate' },
    opened: { type: 'channel.opened' },
    closed: { type: 'channel.closed' },
    answered: done('ask', { kind: 'answered', items: [], freshUntil: 5 }),
    unavailable: done('ask', { kind: 'unavailable', reason: 'none' }),
    failed: failed('ask', new Error('timed out')),
    'retry timeout': after('retryTimeout', 'catalog.retrying'),
    'pause is over': after('spacingTimeout', 'catalog.pausing'),
    rested: after('spacingTimeout', 'catalog.known.recent'),
  },
  depends: ['overtaken'],
  ways: [
    {
      by: ['closed', 'opened', 'invalidate', 'wanted', 'answered', 'answered'],
      to: ['known.recent'],
    },
  ],
};

const stream: Walk = {
  machine: httpStreamMachine,
  inputs: [
    {
      port: { resume: () => {}, gaveUp: () => {}, abandon: () => {}, scatterMs: () => 1000 },
      times: { ...streamResumption, maxAttempts: 2 },
      begins: 'open',
    },
  ],
  events: {
    opened: { type: 'stream.opened' },
    cut: { type: 'stream.cut', heard: false, isResumable: true } as EventObject,
    heard: { type: 'stream.cut', heard: true, isResumable: true } as EventObject,
    lost: { type: 'stream.cut', heard: false, isResumable: false } as EventObject,
    finished: { type: 'stream.finished' },
    refused: { type: 'stream.refused' },
    outslept: { type: 'stream.outslept' },
    'moment is over': after('scatterTimeout', 'http-stream.scattered'),
    'wait is over': after('resumeTimeout', 'http-stream.waiting'),
  },
  depends: ['attempts'],
  ways: [{ by: ['finished'], to: ['ended'] }],
};

const listening: Walk = {
  machine: listeningMachine,
  inputs: [{ filter: {}, retryMs: 1000, maxRetryMs: 30_000 }],
  events: {
    acknowledged: { type: 'subscription.acknowledged', filter: {} } as EventObject,
    cut: failed('listen', new Error('gone')),
    ended: done('listen'),
    refused: failed('listen', new ProtocolError(-32601, 'none')),
    outslept: { type: 'subscription.outslept' },
    'moment is over': after('scatterTimeout', 'listening.scattered'),
    'retry timeout': after('retryTimeout', 'listening.waiting'),
  },
  ways: [
    {
      by: ['cut', 'retry timeout', 'moment is over', 'acknowledged'],
      to: ['asked.open', 'refused'],
    },
  ],
};

const declined = new RefusedAuthorization({ kind: 'declined', error: new Error('declined') });

const authorization: Walk = {
  machine: authorizationMachine,
  inputs: [{ port: {}, visitTimeoutMs: 300_000 }],
  events: {
    opened: { type: 'channel.opened' },
    closed: { type: 'channel.closed' },
    wanted: { type: 'token.wanted' },
    found: done('read', 'found'),
    none: done('read', 'none'),
    unreadable: failed('read', new Error('locked')),
    useless: { type: 'token.useless', demand: {} } as EventObject,
    refused: { type: 'token.refused', demand: {} } as EventObject,
    missing: { type: 'scope.missing', demand: { scope: 'more' } } as EventObject,
    begun: { type: 'login.begun' },
    asked: { type: 'login.asked', url: 'https://as.example/' } as EventObject,
    answered: { type: 'login.answered' },
    'logged in': done('login', { by: 'login', scope: undefined }),
    'another has logged in': done('login', { by: 'store', scope: undefined }),
    'not logged in': failed('login', declined),
    renewed: done('refresh', { kind: 'renewed' }),
    spent: done('refresh', { kind: 'spent', client: 'unknown' }),
  },
  depends: ['reason'],
  // Also after a person has declined, since a new channel asks again.
  ways: [
    {
      by: [
        ...['wanted', 'found', 'refused', 'renewed', 'missing', 'logged in', 'closed', 'opened'],
        ...['wanted', 'found', 'refused', 'spent', 'logged in'],
      ],
      to: ['authorized.obtained'],
    },
  ],
};

const deviceLogin: Walk = {
  machine: deviceLoginMachine,
  inputs: [{ port: {}, intervalMs: 5000, expiresInMs: 600_000 }],
  events: {
    paused: after('pauseTimeout', 'deviceLogin.open.pausing'),
    overdue: after('expiryTimeout', 'deviceLogin.open'),
    granted: done('ask', 'granted'),
    pending: done('ask', 'pending'),
    slower: done('ask', 'slow down'),
    unanswered: done('ask', 'unreachable'),
    expired: done('ask', 'expired'),
    refused: failed('ask', declined),
  },
  ways: [
    { by: ['paused', 'pending', 'paused', 'granted'], to: ['granted', 'expired', 'refused'] },
    { by: ['overdue'], to: ['granted', 'expired', 'refused'] },
  ],
};

const slot: Walk = {
  machine: serverSlotMachine,
  inputs: (['waiting', 'idle', 'disabled', 'faulty'] as const).map((begins) => ({ begins })),
  events: {
    used: { type: 'server.use' },
    opened: { type: 'connection.opened' },
    refused: { type: 'connection.refused', error: new Error('refused') } as EventObject,
    unused: { type: 'connection.closed' },
    closed: { type: 'server.close' },
  },
  ways: [
    {
      by: ['used', 'opened', 'unused', 'used', 'opened'],
      to: ['open', 'refused', 'disabled', 'faulty'],
    },
    { by: ['closed'], to: ['closed'] },
  ],
};

const report = (status: string, more = {}) => ({ taskId: 't', status, ...more });

const followed: Walk = {
  machine: followedTaskMachine,
  inputs: (['legacy', 'modern'] as const).map((era) => ({
    ...{ task: report('working'), era, maxRounds: 1 },
  })),
  events: {
    looked: done('look', report('working')),
    completed: done('look', report('completed', { result: {} })),
    asking: done('look', report('input_required', { inputRequests: { a: {}, b: {} } })),
    cancelled: done('look', report('cancelled')),
    unanswered: failed('look', new RuntimeError('CLOSED', 'gone')),
    unknown: failed('look', new ProtocolError(-32602, 'no such task')),
    answered: done('answer', { kind: 'answered', keys: ['a'] }),
    'answered whole': done('answer', { kind: 'answered', keys: ['a', 'b'] }),
    'ended meanwhile': done('answer', { kind: 'result', result: {} }),
    'no answer': failed('answer', new RuntimeError('REQUEST_FAILED', 'nobody')),
    collected: done('collect', {}),
    'not collected': failed('collect', new RuntimeError('CLOSED', 'gone')),
    told: { type: 'task.told', task: report('completed', { result: {} }) } as EventObject,
    listened: { type: 'task.listened' },
    abandoned: { type: 'task.abandon', error: new Error('enough') } as EventObject,
    withdrawn: done('cancel'),
    'poll timeout': after('pollTimeout', 'followed.open.pausing'),
  },
  depends: ['rounds', 'task', 'outcome'],
  ways: [
    { by: ['abandoned', 'withdrawn'], to: ['ended'] },
    { by: ['poll timeout', 'unknown', 'collected', 'ended meanwhile', 'withdrawn'], to: ['ended'] },
    { by: ['listened', 'completed', 'collected', 'ended meanwhile', 'withdrawn'], to: ['ended'] },
  ],
};

const walks = [
  ...[connection, catalog, stream, listening],
  ...[authorization, deviceLogin, slot, followed],
];

/** Targets of the shortest paths, by variant. */
function walked({ machine, inputs, events, depends = [] }: Walk): readonly AnyMachineSnapshot[] {
  const serializeState = (state: unknown) => {
    const { value, context } = state as AnyMachineSnapshot;
    const members = context as { readonly [name: string]: unknown };
    return JSON.stringify([value, ...depends.map((name) => members[name])]);
  };
  const paths = inputs.flatMap((input) =>
    getShortestPaths(machine, { input, events: Object.values(events), serializeState }),
  );
  return paths.map(({ state }) => state as AnyMachineSnapshot);
}

/** Stable states of a machine, without transient ones. */
const restingIn = ({ root }: AnyStateMachine) =>
  nodesOf(root).filter(
    ({ type, always, parent }) =>
      (type === 'atomic' && !always) || (type === 'final' && parent === root),
  );

describe.each(walks.map((walk) => ({ walk, id: walk.machine.id })))('the chart $id', ({ walk }) => {
  const { machine, events, ways } = walk;
  const states = walked(walk);

  test('reaches each of its states', () => {
    const missed = restingIn(machine).filter(
      ({ path }) => !states.some((state) => state.matches(nested(path) as never)),
    );
    expect(missed.map(({ path }) => path.join('.'))).toEqual([]);
  });

  test.each(ways)('goes by $by to $to, from anywhere', ({ by, to }) => {
    const living = states.filter(({ status }) => status === 'active');
    expect(living.length).toBeGreaterThan(0);
    for (const state of living) {
      const follow = (at: AnyMachineSnapshot, name: string) =>
        transition(machine, at, events[name] as EventObject)[0];
      expect(to, stateName(state)).toContain(stateName(by.reduce(follow, state)));
    }
  });
});

/** Converts a path to a state value. */
const nested = ([first = '', ...rest]: readonly string[]): unknown =>
  rest.length === 0 ? first : { [first]: nested(rest) };

test('holds no channel in a connection that is closed, waiting or failed', () => {
  const away = walked(connection).filter((state) =>
    ['closed', 'backoff', 'failed', 'ended'].includes(stateName(state)),
  );
  expect(away.length).toBeGreaterThan(8);
  for (const { context } of away) {
    expect(context).toMatchObject({ channel: undefined, messaging: undefined });
  }
});

test('holds or awaits the end of a channel in all other states', () => {
  const there = walked(connection).filter((state) =>
    (['connecting', 'ready', 'lost', 'stopping'] as const).some((name) => state.matches(name)),
  );
  expect(there.length).toBeGreaterThan(20);
  for (const state of there) {
    expect([stateName(state), state.context['channel']]).not.toContain(undefined);
  }
});
