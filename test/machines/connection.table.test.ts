import { initialTransition, transition } from 'xstate';
import type { EventFromLogic, SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import type {
  ConnectionInput,
  ServerProfile,
} from '../../packages/client/src/connection/connection-context.ts';
import type { ConnectionMachineEvent } from '../../packages/client/src/connection/connection-events.ts';
import { connectionMachine } from '../../packages/client/src/connection/connection.machine.ts';
import { processRestart } from '../../packages/client/src/channel/restart-option.ts';
import { stateName } from '../../src/machines/names.ts';
import { recorder, inWords } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof connectionMachine>;

const input: ConnectionInput = {
  times: { connectTimeoutMs: 30_000, probeMs: 500, loginTimeoutMs: 300_000 },
  restart: { ...processRestart, maxAttempts: 2 },
  random: () => 0.5,
  era: { kind: 'unknown' },
  shows: 'pipe',
  opens: 'again',
};
const profileOf = (era: 'legacy' | 'modern'): ServerProfile => ({
  era,
  revision: era === 'legacy' ? '2025-11-25' : '2026-07-28',
  info: { name: 'server', version: '1' },
  capabilities: {},
});

/** An actor that ignores all events. */
const ignoring = recorder<never, never>([]) as never;

const events = {
  open: { type: 'connection.open' },
  reopen: { type: 'connection.reopen' },
  close: { type: 'connection.close' },
  opened: { type: 'channel.opened', ends: { reader: ignoring, writer: ignoring } },
  lost: { type: 'channel.lost', loss: { kind: 'exited', code: 1, signal: null, stderr: 'oh' } },
  'not spawned': { type: 'channel.lost', loss: { kind: 'spawn-failed', error: 'ENOENT' } },
  stopped: { type: 'channel.stopped' },
  challenged: { type: 'channel.challenged' },
  authorized: { type: 'channel.authorized' },
  expired: { type: 'session.expired' },
  relogged: { type: 'login.changed' },
  modern: { type: 'era.found', era: 'modern', profile: profileOf('modern') },
  legacy: { type: 'era.found', era: 'legacy' },
  'no revision': { type: 'era.refused', error: new Error('no revision') },
  accepted: { type: 'greeting.accepted', profile: profileOf('legacy') },
  refused: { type: 'greeting.refused', error: new Error('refused') },
  'input ended': { type: 'input.ended' },
  'output broken': { type: 'output.broken', error: 'EPIPE' },
  'output blocked': { type: 'output.blocked' },
  'output flowing': { type: 'output.flowing' },
} satisfies Record<string, ConnectionMachineEvent>;

/** Events sent by XState itself, which are not part of the machine's event union. */
const timers = {
  'the probe timeout': 'xstate.after.probeTimeout.connection.connecting.timed.probing',
  'the connect timeout': 'xstate.after.connectTimeout.connection.connecting.timed',
  'the login timeout': 'xstate.after.loginTimeout.connection.connecting.authorizing',
  'the stable timeout': 'xstate.after.stableTimeout.connection.ready.fresh',
  'the backoff timeout': 'xstate.after.backoffTimeout.connection.backoff',
};
const failure = { type: 'xstate.error.actor.reader', error: 'bug', actorId: 'reader' };

type EventName = keyof typeof events | keyof typeof timers | 'an actor failed';

const eventOf = (name: EventName): EventFromLogic<typeof connectionMachine> => {
  if (name === 'an actor failed') return failure as never;
  if (Object.hasOwn(timers, name)) return { type: timers[name as keyof typeof timers] } as never;
  return events[name as keyof typeof events];
};

const after = (names: readonly EventName[], changed: Partial<ConnectionInput> = {}): Snapshot =>
  names.reduce(
    (state, name) => transition(connectionMachine, state, eventOf(name))[0],
    initialTransition(connectionMachine, { ...input, ...changed })[0],
  );

const ready = ['open', 'opened', 'modern'] as const;
const paths = {
  closed: [],
  'connecting.opening': ['open'],
  'connecting.probing': ['open', 'opened'],
  'connecting.clearing': ['open', 'opened', 'lost'],
  'connecting.greeting': ['open', 'opened', 'the probe timeout'],
  'connecting.reconsidering': ['open', 'opened', 'the probe timeout', 'refused'],
  'connecting.authorizing': ['open', 'opened', 'challenged'],
  'ready.fresh': ready,
  'ready.stable': [...ready, 'the stable timeout'],
  lost: [...ready, 'lost'],
  backoff: [...ready, 'lost', 'stopped'],
  failed: [...ready, 'not spawned', 'stopped'],
  stopping: [...ready, 'close'],
} satisfies Record<string, readonly EventName[]>;

type StateName = keyof typeof paths;
type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };

const settle = 'correlation<channel.lost';
const withdraw = ['router<gate.closed', 'router<calls.abandon'] as const;
const end = 'channel<channel.close';
const lost = ['lost', 'emit connection.lost', settle, ...withdraw, end] as const;
const lostUnopened = ['lost', 'emit connection.lost', settle, end] as const;
const backoff = ['backoff', 'after 500'] as const;
const flush = 'writer<output.flush';
const stopping = ['stopping', 'correlation<gate.closed', ...withdraw, flush, end] as const;
const stoppingUnopened = ['stopping', 'correlation<gate.closed', end] as const;
const closed = ['closed', 'emit connection.closed'] as const;
const closedAtOnce = ['closed', 'correlation<gate.closed', 'emit connection.closed'] as const;
const opening = ['connecting.opening', 'after 30000'] as const;
const greets = ['connecting.greeting', 'handshake<handshake.greet'] as const;
const readyModern = [
  'ready.fresh',
  'channel<channel.negotiated',
  'router<envelopes.require',
  'correlation<gate.opened',
  'emit connection.ready',
  'after 60000',
] as const;
const readyLegacy = [
  'ready.fresh',
  'channel<channel.negotiated',
  'writer<frames.send',
  'router<gate.opened',
  'correlation<gate.opened',
  'emit connection.ready',
  'after 60000',
] as const;

/** Events of the channel's own actors go to the channel, which knows the reason. */
const asks = (state: string): Row => ({
  'input ended': [state, 'askChannel'],
  'output broken': [state, 'askChannel'],
});
const flows = (state: string): Row => ({
  'output blocked': [state, 'router<output.blocked', 'reader<output.blocked'],
  'output flowing': [state, 'router<output.flowing', 'reader<output.flowing'],
});
const relogs = (state: string): Row => ({ relogged: [state, 'emit login.changed'] });
const anywhere = (state: string): Row => ({ ...asks(state), ...flows(state), ...relogs(state) });
const unopened = (state: string): Row => ({
  ...asks(state),
  ...relogs(state),
  'output blocked': [state],
  'output flowing': [state],
});
/** A bug: the channel is released, and nothing is retried. */
const breaks: Row = {
  'an actor failed': [
    'failed',
    'emit connection.lost',
    settle,
    'correlation<gate.closed',
    'emit connection.failed',
  ],
};
const loses: Row = {
  lost,
  'not spawned': lost,
  stopped: ['backoff', 'emit connection.lost', settle, 'after 500'],
};
const anew = ['connecting.clearing', settle, end, 'after 30000'] as const;
const connects: Row = {
  ...breaks,
  close: stopping,
  reopen: anew,
  ...loses,
  'the connect timeout': lost,
  challenged: ['connecting.authorizing', 'after 300000'],
};

const askedAnew = [
  'connecting.probing',
  'correlation<gate.held',
  'emit login.changed',
  'handshake<handshake.probe',
  'after 30000',
  'after 500',
] as const;

const whileReady = (state: string): Row => ({
  ...anywhere(state),
  relogged: askedAnew,
  modern: [state, 'emit era.learnt'],
  ...breaks,
  ...loses,
  close: stopping,
  reopen: [
    'connecting.clearing',
    'emit connection.lost',
    settle,
    ...withdraw,
    flush,
    end,
    'after 30000',
  ],
  expired: [
    'connecting.greeting',
    'correlation<gate.held',
    'handshake<handshake.greet',
    'after 30000',
  ],
});

const table: { readonly [state in StateName]: Row } = {
  closed: { ...unopened('closed'), ...breaks, open: opening },
  'connecting.opening': {
    ...unopened('connecting.opening'),
    ...connects,
    close: stoppingUnopened,
    lost: lostUnopened,
    'not spawned': lostUnopened,
    'the connect timeout': lostUnopened,
    opened: [
      'connecting.probing',
      'correlation<channel.opened',
      'handshake<handshake.probe',
      'after 500',
    ],
  },
  'connecting.probing': {
    ...anywhere('connecting.probing'),
    ...connects,
    lost: ['connecting.clearing', 'emit probe.ended', settle, end],
    'not spawned': ['connecting.clearing', 'emit probe.ended', settle, end],
    modern: readyModern,
    legacy: greets,
    'no revision': lost,
    'the probe timeout': greets,
  },
  'connecting.clearing': {
    ...anywhere('connecting.clearing'),
    ...connects,
    lost: undefined as never,
    'not spawned': undefined as never,
    stopped: ['connecting.opening'],
  },
  'connecting.greeting': {
    ...anywhere('connecting.greeting'),
    ...connects,
    modern: readyModern,
    legacy: ['connecting.greeting'],
    'no revision': ['connecting.greeting'],
    accepted: readyLegacy,
    refused: ['connecting.reconsidering', 'after 1000'],
  },
  'connecting.reconsidering': {
    ...anywhere('connecting.reconsidering'),
    ...connects,
    modern: readyModern,
    legacy: lost,
    'no revision': lost,
  },
  'connecting.authorizing': {
    ...anywhere('connecting.authorizing'),
    ...breaks,
    close: stopping,
    reopen: anew,
    ...loses,
    authorized: ['connecting.probing', 'after 30000', 'after 500'],
    'the login timeout': lost,
  },
  'ready.fresh': { ...whileReady('ready.fresh'), 'the stable timeout': ['ready.stable'] },
  'ready.stable': whileReady('ready.stable'),
  lost: {
    ...anywhere('lost'),
    ...breaks,
    stopped: backoff,
    reopen: ['connecting.clearing', 'after 30000'],
    close: stopping,
  },
  backoff: {
    ...unopened('backoff'),
    ...breaks,
    reopen: opening,
    'the backoff timeout': opening,
    close: closedAtOnce,
  },
  failed: {
    ...unopened('failed'),
    ...breaks,
    reopen: ['connecting.opening', settle, 'after 30000'],
    close: closedAtOnce,
  },
  stopping: {
    ...anywhere('stopping'),
    stopped: closed,
    'an actor failed': closed,
  },
};

const eventNames = [
  ...Object.keys(events),
  ...Object.keys(timers),
  'an actor failed',
] as EventName[];
const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  eventNames.map((event) => ({ state, event, row: table[state][event] })),
);

describe('the connection machine', () => {
  test.each(cells.filter(({ row }) => row))(
    'in $state, on $event: $row',
    ({ state, event, row }) => {
      const [next, actions] = transition(connectionMachine, after(paths[state]), eventOf(event));
      expect([stateName(next), ...inWords(actions)]).toEqual(row);
    },
  );

  test.each(cells.filter(({ row }) => !row))('in $state, ignores $event', (cell) => {
    const before = after(paths[cell.state]);
    const [next, actions] = transition(connectionMachine, before, eventOf(cell.event));
    expect([stateName(next), ...inWords(actions)]).toEqual([cell.state]);
    expect(next.context).toEqual(before.context);
  });

  test('probes the era again, once, if a server remembered as legacy rejects initialize', () => {
    const era = { kind: 'legacy', by: 'memory' } as const;
    const asked = after(['open', 'opened', 'refused'], { era });
    expect(stateName(asked)).toBe('connecting.probing');
    const names = ['open', 'opened', 'refused', 'legacy', 'refused'] as const;
    expect(stateName(after(names, { era }))).toBe('lost');
  });

  test('launches a server that ended on the probe once more, uncounted if it initializes', () => {
    const names = ['open', 'opened', 'lost', 'stopped', 'opened', 'accepted'] as const;
    const greeted = after(names, { restart: 'none' });
    expect([stateName(greeted), greeted.context.attempts]).toEqual(['ready.fresh', 0]);
    expect(after([...names, 'lost']).context.attempts).toBe(0);
  });

  test('counts that launch if it ends too, and probes the era again in the next', () => {
    const names = ['open', 'opened', 'lost', 'stopped', 'opened', 'lost', 'stopped'] as const;
    const waiting = after(names);
    expect([stateName(waiting), waiting.context.attempts]).toEqual(['backoff', 2]);
    const probed = [...names, 'the backoff timeout', 'opened'] as const;
    expect(stateName(after(probed))).toBe('connecting.probing');
    expect(stateName(after([...probed, 'lost']))).toBe('lost');
    expect(stateName(after(names, { restart: { ...processRestart, maxAttempts: 1 } }))).toBe(
      'failed',
    );
  });

  test('initializes a server that ended on the probe directly in the next attempt', () => {
    const restart = { ...processRestart, maxAttempts: 5 };
    const dies = ['opened', 'lost', 'stopped'] as const;
    const names = ['open', ...dies, ...dies, 'the backoff timeout', ...dies] as const;
    const greeted = after([...names, 'the backoff timeout', 'opened'], { restart });
    expect([stateName(greeted), greeted.context.attempts]).toEqual(['connecting.greeting', 3]);
  });

  test('probes a server that ended on the probe again if it rejects initialize', () => {
    const names = ['open', 'opened', 'lost', 'stopped', 'opened', 'refused'] as const;
    expect(stateName(after(names))).toBe('connecting.probing');
    expect(stateName(after([...names, 'modern']))).toBe('ready.fresh');
  });

  test.each(['backoff', 'connecting.opening'] as const)(
    'restarts the count at 0 if the host reconnects in %s',
    (state) => {
      const names = [...paths.backoff, ...(state === 'backoff' ? [] : ['the backoff timeout'])];
      const before = after(names as readonly EventName[]);
      expect([stateName(before), before.context.attempts]).toEqual([state, 1]);
      const anew = transition(connectionMachine, before, events.reopen)[0];
      expect(anew.context.attempts).toBe(0);
    },
  );

  test('initializes a server with a known profile at once', () => {
    const era = { kind: 'modern', profile: profileOf('modern') } as const;
    expect(stateName(after(['open', 'opened'], { era }))).toBe('ready.fresh');
  });

  test('tries only the era that the host wants', () => {
    const modern = { era: { kind: 'modern' }, wanted: 'modern' } as const;
    expect(stateName(after(['open', 'opened', 'legacy'], modern))).toBe('lost');
    expect(stateName(after(['open', 'opened', 'the probe timeout'], modern))).toBe(
      'connecting.probing',
    );
    const legacy = { era: { kind: 'legacy', by: 'host' }, wanted: 'legacy' } as const;
    expect(stateName(after(['open', 'opened'], legacy))).toBe('connecting.greeting');
  });

  test('reaches each of its states by the path in the table', () => {
    for (const [state, path] of Object.entries(paths)) expect(stateName(after(path))).toBe(state);
  });
});
