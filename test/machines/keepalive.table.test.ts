import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { keepaliveMachine } from '../../src/machines/keepalive.machine.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import type { ClientUnresponsive } from '../../src/machines/session-ports.ts';
import { inWords, listener, noKeepalive } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof keepaliveMachine>;

const outcome = (output: object) => ({ type: 'xstate.done.actor.probe', output });
const events = {
  'listen timeout': { type: 'xstate.after.listenTimeout.keepalive.listening' },
  'heard just now': outcome({ kind: 'heard', agoMs: 0 }),
  'heard a while ago': outcome({ kind: 'heard', agoMs: 20_000 }),
  silent: outcome({ kind: 'silent' }),
} as const;
type EventName = keyof typeof events;

const start = (): Snapshot =>
  initialTransition(keepaliveMachine, {
    ...noKeepalive,
    keepaliveIntervalMs: 30_000,
    keepaliveFailures: 2,
    session: listener<ClientUnresponsive>().ref,
    correlation: listener<CorrelationEvent>().ref,
  })[0];
const step = (state: Snapshot, name: EventName) =>
  transition(keepaliveMachine, state, events[name] as never);
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => step(state, name)[0], from);

const paths = {
  listening: [],
  probing: ['listen timeout'],
  'probing, after a silence': ['listen timeout', 'silent', 'listen timeout'],
  unresponsive: ['listen timeout', 'silent', 'listen timeout', 'silent'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;

type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };
const asks = 'xstate.spawnChild';
const tells = `${undefined}<client.unresponsive`;
const heard: Row = {
  'heard just now': ['listening', 'after 30000'],
  'heard a while ago': ['listening', 'after 10000'],
};
const table: { readonly [state in StateName]: Row } = {
  listening: { 'listen timeout': ['probing', asks] },
  probing: { ...heard, silent: ['listening', 'after 30000'] },
  'probing, after a silence': { ...heard, silent: ['unresponsive', tells] },
  unresponsive: {},
};

/** The session's reference has an id unknown to the test. */
const words = (actions: Parameters<typeof inWords>[0]) =>
  inWords(actions).map((word) => (word.endsWith('<client.unresponsive') ? tells : word));

const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  (Object.keys(events) as EventName[]).map((event) => ({ state, event, row: table[state][event] })),
);

describe('the keepalive machine', () => {
  test.each(cells)('in $state, on $event, follows the table [PING-05]', (cell) => {
    const before = follow(start(), ...paths[cell.state]);
    const [after, actions] = step(before, cell.event);
    const [next = before.value, ...done] = cell.row ?? [];
    expect(after.value).toBe(next);
    expect(words(actions)).toEqual(done);
  });

  test('runs from the start, and not at all in a session without keepalive [PING-06]', () => {
    const [state, actions] = initialTransition(keepaliveMachine, start().context);
    expect([state.value, ...words(actions)]).toEqual(['listening', 'after 30000']);
  });

  test('counts consecutive missed pings only [PING-05]', () => {
    const round = ['listen timeout', 'silent', 'listen timeout', 'heard just now'] as const;
    const state = follow(start(), ...round, ...round, ...round);
    expect(state.value).toBe('listening');
    expect(state.context.failures).toBe(0);
  });
});
