import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { keepaliveMachine } from '../../src/machines/keepalive.machine.ts';
import type { ClientUnresponsive, CorrelationEvent } from '../../src/machines/session-ports.ts';
import { inWords, listener, noKeepalive } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof keepaliveMachine>;

const outcome = (output: object) => ({ type: 'xstate.done.actor.probe', output });
const events = {
  start: { type: 'keepalive.start' },
  stop: { type: 'keepalive.stop' },
  'listen timeout': { type: 'xstate.after.listenTimeout.keepalive.listening' },
  'heard just now': outcome({ kind: 'heard', agoMs: 0 }),
  'heard a while ago': outcome({ kind: 'heard', agoMs: 20_000 }),
  silent: outcome({ kind: 'silent' }),
} as const;
type EventName = keyof typeof events;

const start = (keepaliveIntervalMs: number): Snapshot =>
  initialTransition(keepaliveMachine, {
    ...noKeepalive,
    keepaliveIntervalMs,
    keepaliveFailures: 2,
    session: listener<ClientUnresponsive>().ref,
    correlation: listener<CorrelationEvent>().ref,
  })[0];
const step = (state: Snapshot, name: EventName) =>
  transition(keepaliveMachine, state, events[name] as never);
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => step(state, name)[0], from);

const paths = {
  unstarted: [],
  off: ['start', 'stop'],
  listening: ['start'],
  probing: ['start', 'listen timeout'],
  'probing, after a silence': ['start', 'listen timeout', 'silent', 'listen timeout'],
  unresponsive: ['start', 'listen timeout', 'silent', 'listen timeout', 'silent'],
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
  unstarted: { start: ['listening', 'after 30000'], stop: ['off'] },
  off: {},
  listening: { stop: ['off'], 'listen timeout': ['probing', asks] },
  probing: { ...heard, stop: ['off'], silent: ['listening', 'after 30000'] },
  'probing, after a silence': { ...heard, stop: ['off'], silent: ['unresponsive', tells] },
  unresponsive: {},
};

/** The session's reference has an id that no test knows. */
const words = (actions: Parameters<typeof inWords>[0]) =>
  inWords(actions).map((word) => (word.endsWith('<client.unresponsive') ? tells : word));

const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  (Object.keys(events) as EventName[]).map((event) => ({ state, event, row: table[state][event] })),
);

describe('the keepalive machine', () => {
  test.each(cells)('in $state, on $event, does what the table says [PING-05]', (cell) => {
    const before = follow(start(30_000), ...paths[cell.state]);
    const [after, actions] = step(before, cell.event);
    const [next = before.value, ...done] = cell.row ?? [];
    expect(after.value).toBe(next);
    expect(words(actions)).toEqual(done);
  });

  test('rests in a state of its own where it is not wanted [PING-06]', () => {
    const [state, actions] = step(start(0), 'start');
    expect(state.value).toBe('off');
    expect(actions).toEqual([]);
  });

  test('counts silences in a row only [PING-05]', () => {
    const round = ['listen timeout', 'silent', 'listen timeout', 'heard just now'] as const;
    const state = follow(start(30_000), 'start', ...round, ...round, ...round);
    expect(state.value).toBe('listening');
    expect(state.context.failures).toBe(0);
  });
});
