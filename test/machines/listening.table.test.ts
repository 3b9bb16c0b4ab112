import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { expect, test } from 'vitest';
import { listeningMachine } from '../../packages/client/src/lists/listening.machine.ts';
import { ProtocolError } from '../../src/protocol/errors.ts';
import { inWords } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof listeningMachine>;

const failed = (error: unknown) => ({ type: 'xstate.error.actor.listen', error });
const events = {
  acknowledged: { type: 'subscription.acknowledged', filter: { toolsListChanged: true } },
  ended: { type: 'xstate.done.actor.listen', output: undefined },
  cut: failed(new Error('gone')),
  refused: failed(new ProtocolError(-32601, 'Method not found')),
  outslept: { type: 'subscription.outslept' },
  'scatter timeout': { type: 'xstate.after.scatterTimeout.listening.scattered' },
  'retry timeout': { type: 'xstate.after.retryTimeout.listening.waiting' },
  'stable timeout': { type: 'xstate.after.stableTimeout.listening.asked.open' },
} as const;
type EventName = keyof typeof events;

const start = (): Snapshot =>
  initialTransition(listeningMachine, {
    filter: { toolsListChanged: true },
    retryMs: 1000,
    maxRetryMs: 30_000,
    scatterMs: () => 700,
  })[0];
const step = (state: Snapshot, name: EventName) =>
  transition(listeningMachine, state, events[name] as never);
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => step(state, name)[0], from);
const nameOf = ({ value }: Snapshot): string =>
  typeof value === 'string' ? value : Object.entries(value).flat().join('.');

const asks = 'xstate.spawnChild';
const table: {
  readonly [state: string]: {
    readonly path: readonly EventName[];
    readonly on: {
      readonly [event in EventName]?: readonly [next: string, ...done: readonly string[]];
    };
  };
} = {
  'asked.opening': {
    path: [],
    on: {
      acknowledged: ['asked.open', 'emit listening.opened', 'after 30000'],
      ended: ['waiting', 'emit listening.cut', 'after 1000'],
      cut: ['waiting', 'emit listening.cut', 'after 1000'],
      refused: ['refused', 'emit listening.refused'],
      outslept: ['scattered', 'after 700'],
    },
  },
  'asked.open': {
    path: ['acknowledged'],
    on: {
      ended: ['waiting', 'emit listening.cut', 'after 1000'],
      cut: ['waiting', 'emit listening.cut', 'after 1000'],
      refused: ['refused', 'emit listening.refused'],
      outslept: ['scattered', 'after 700'],
      'stable timeout': ['asked.open'],
    },
  },
  waiting: { path: ['cut'], on: { 'retry timeout': ['asked.opening', asks] } },
  scattered: { path: ['outslept'], on: { 'scatter timeout': ['asked.opening', asks] } },
  refused: { path: ['refused'], on: {} },
};

const cells = Object.entries(table).flatMap(([name, { path, on }]) =>
  (Object.keys(events) as EventName[]).map((event) => ({
    name,
    event,
    path,
    row: on[event] ?? [name],
  })),
);

test.each(cells)('in $name, on $event: $row', ({ path, event, row }) => {
  const [next, actions] = step(follow(start(), ...path), event);
  const done = inWords(actions).filter((word) => !/^(xstate\.assign|xstate\.stopChild)/.test(word));
  expect([nameOf(next), ...done]).toEqual(row);
});

test.each([
  [1, 1000],
  [2, 2000],
  [5, 16_000],
  [6, 30_000],
  [5000, 30_000],
])('after %i cuts in a row waits %i ms', (cuts, delayMs) => {
  let state = start();
  for (let i = 1; i < cuts; i++) state = follow(state, 'acknowledged', 'cut', 'retry timeout');
  expect(inWords(step(state, 'cut')[1])).toContain(`after ${delayMs}`);
});

test('forgets cuts after a stable time, not on an acknowledgment', () => {
  const twice = follow(start(), 'cut', 'retry timeout', 'acknowledged');
  expect(twice.context.cuts).toBe(1);
  expect(follow(twice, 'stable timeout').context.cuts).toBe(0);
});
