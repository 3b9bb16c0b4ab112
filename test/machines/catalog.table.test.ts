import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { catalogMachine } from '../../packages/client/src/lists/catalog.machine.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { inWords } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof catalogMachine>;

const items = [{ name: 'echo' }];
const error = new RuntimeError('REQUEST_TIMEOUT', 'timed out');
const outcome = (output: object) => ({ type: 'xstate.done.actor.ask', output });
const events = {
  wanted: { type: 'list.wanted' },
  invalidate: { type: 'list.invalidate' },
  refresh: { type: 'list.refresh' },
  'channel opened': { type: 'channel.opened' },
  'channel closed': { type: 'channel.closed' },
  answered: outcome({ kind: 'answered', items, freshUntil: 5 }),
  unavailable: outcome({ kind: 'unavailable', reason: 'no tools' }),
  failed: { type: 'xstate.error.actor.ask', error },
  'retry timeout': { type: 'xstate.after.retryTimeout.catalog.retrying' },
  'a quiet time': { type: 'xstate.after.spacingTimeout.catalog.known.recent' },
  'the pause is over': { type: 'xstate.after.spacingTimeout.catalog.pausing' },
} as const;
type EventName = keyof typeof events;

const start = (maxOvertaken = 2): Snapshot =>
  initialTransition(catalogMachine, {
    name: 'tools',
    retryMs: 1000,
    maxOvertaken,
    spacingMs: 100,
    maxSpacingMs: 300,
  })[0];
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => transition(catalogMachine, state, events[name] as never)[0], from);

const asks = 'xstate.spawnChild';
/** By state: the path to it and the effect of each event. Events not listed have no effect. */
const table: {
  readonly [state: string]: {
    readonly path: readonly EventName[];
    readonly on: {
      readonly [event in EventName]?: readonly [next: string, ...done: readonly string[]];
    };
  };
} = {
  'unknown.reachable': {
    path: [],
    on: { wanted: ['asking.fresh', asks], 'channel closed': ['unknown.away'] },
  },
  'unknown.away': {
    path: ['channel closed'],
    on: { wanted: ['waiting'], 'channel opened': ['unknown.reachable'] },
  },
  waiting: {
    path: ['wanted', 'answered', 'channel closed'],
    on: { 'channel opened': ['asking.fresh', asks] },
  },
  'asking.fresh': {
    path: ['wanted'],
    on: {
      invalidate: ['asking.stale'],
      refresh: ['asking.stale'],
      answered: ['known.recent', 'publish', 'after 100'],
      unavailable: ['unavailable', 'publish'],
      failed: ['retrying', 'publish', 'after 1000'],
      'channel closed': ['waiting'],
    },
  },
  'asking.stale': {
    path: ['wanted', 'invalidate'],
    on: {
      answered: ['asking.fresh', asks],
      unavailable: ['unavailable', 'publish'],
      failed: ['asking.fresh', 'publish', asks],
      'channel closed': ['waiting'],
    },
  },
  'known.recent': {
    path: ['wanted', 'answered'],
    on: {
      invalidate: ['asking.fresh', asks],
      refresh: ['asking.fresh', asks],
      'a quiet time': ['known.rested'],
      'channel closed': ['waiting'],
    },
  },
  'known.recent after a change that came soon': {
    path: ['wanted', 'answered', 'invalidate', 'answered'],
    on: {
      invalidate: ['pausing', 'after 100'],
      refresh: ['asking.fresh', asks],
      'a quiet time': ['known.rested'],
      'channel closed': ['waiting'],
    },
  },
  'known.rested': {
    path: ['wanted', 'answered', 'a quiet time'],
    on: {
      invalidate: ['asking.fresh', asks],
      refresh: ['asking.fresh', asks],
      'channel closed': ['waiting'],
    },
  },
  pausing: {
    path: ['wanted', 'answered', 'invalidate', 'answered', 'invalidate'],
    on: {
      refresh: ['asking.fresh', asks],
      'the pause is over': ['asking.fresh', asks],
      'channel closed': ['waiting'],
    },
  },
  unavailable: {
    path: ['wanted', 'unavailable'],
    on: {
      invalidate: ['asking.fresh', asks],
      refresh: ['asking.fresh', asks],
      'channel closed': ['waiting'],
    },
  },
  retrying: {
    path: ['wanted', 'failed'],
    on: {
      wanted: ['asking.fresh', asks],
      invalidate: ['asking.fresh', asks],
      refresh: ['asking.fresh', asks],
      'retry timeout': ['asking.fresh', asks],
      'channel closed': ['waiting'],
    },
  },
};

const nameOf = ({ value }: Snapshot): string =>
  typeof value === 'string' ? value : Object.entries(value).flat().join('.');

/** A publication is a new catalog in the context, so a pure transition shows no action for it. */
function did(before: Snapshot, event: EventName): readonly string[] {
  const [next, actions] = transition(catalogMachine, before, events[event] as never);
  const isPublished = next.context.catalog !== before.context.catalog;
  return [nameOf(next), ...(isPublished ? ['publish'] : []), ...inWords(actions)];
}

const cells = Object.entries(table).flatMap(([name, { path, on }]) =>
  (Object.keys(events) as EventName[]).map((event) => ({
    name,
    event,
    row: on[event],
    before: () => follow(start(), ...path),
  })),
);

test.each(cells.filter(({ row }) => row))('in $name, on $event: $row', ({ before, event, row }) => {
  expect(did(before(), event)).toEqual(row);
});

test.each(cells.filter(({ row }) => !row))('in $name, ignores $event', (cell) => {
  const before = cell.before();
  expect(did(before, cell.event)).toEqual([cell.name.split(' ')[0]]);
  const after = follow(before, cell.event);
  const counts = { failures: 0, crowd: 0 };
  expect({ ...after.context, ...counts }).toEqual({ ...before.context, ...counts });
});

describe('the catalog machine', () => {
  const catalogAfter = (...names: readonly EventName[]) =>
    follow(start(), ...names).context.catalog;

  test('says what is known, and until when', () => {
    expect(catalogAfter('wanted', 'answered')).toEqual({
      status: 'known',
      generation: 1,
      settled: true,
      items,
      freshUntil: 5,
    });
  });

  test('keeps the known list after a failed request, with the error itself', () => {
    expect(catalogAfter('wanted', 'answered', 'invalidate', 'failed')).toMatchObject({
      status: 'failed',
      generation: 2,
      settled: true,
      items,
      error,
    });
  });

  test('survives its channel', () => {
    expect(catalogAfter('wanted', 'answered', 'channel closed', 'channel opened')).toMatchObject({
      status: 'known',
      generation: 1,
      items,
    });
  });

  test('has no list that the server does not offer, whatever was known', () => {
    expect(catalogAfter('wanted', 'answered', 'invalidate', 'unavailable')).toMatchObject({
      status: 'unavailable',
      items: [],
      reason: 'no tools',
    });
  });

  test('uses a discarded answer if no better one arrives', () => {
    const path = ['wanted', 'invalidate', 'answered', 'failed'] as const;
    expect(catalogAfter(...path)).toMatchObject({ status: 'failed', generation: 1, items });
  });

  test.each([0, 1, 5])('publishes an unsettled list after %i discarded answers', (max) => {
    const overtaken = ['the pause is over', 'invalidate', 'answered'] as const;
    let state = follow(start(max), 'wanted');
    for (let generation = 1; generation <= 3; generation++) {
      for (let i = 0; i < max; i++) state = follow(state, ...overtaken);
      expect(state.context.catalog?.generation ?? 0).toBe(generation - 1);
      state = follow(state, ...overtaken);
      expect(state.context.catalog).toMatchObject({ generation, settled: false });
      expect(nameOf(follow(state, 'the pause is over'))).toBe('asking.fresh');
    }
  });
});

describe('a list that keeps changing', () => {
  const change = ['the pause is over', 'invalidate', 'answered'] as const;

  test('is requested at an interval that doubles up to a limit', () => {
    const distances: (string | undefined)[] = [];
    let state = follow(start(), 'wanted');
    for (let i = 0; i < 5; i++) {
      distances.push(did(follow(state, 'the pause is over', 'invalidate'), 'answered').at(-1));
      state = follow(state, ...change);
    }
    expect(distances).toEqual([asks, 'after 100', 'after 200', 'after 300', 'after 300']);
  });

  test.each(['answered', 'failed', 'unavailable'] as const)(
    'that was %s last time keeps its interval',
    (last) => {
      const state = follow(start(), 'wanted', last, 'invalidate', last);
      expect(nameOf(follow(state, 'invalidate'))).toBe('pausing');
    },
  );

  test('is requested immediately after a quiet time, a retry or on another channel', () => {
    const flooded = follow(start(), 'wanted', ...change, ...change);
    const ends = [
      ['the pause is over', 'answered', 'a quiet time'],
      ['the pause is over', 'failed', 'retry timeout', 'answered'],
      ['channel closed', 'channel opened', 'answered'],
    ] as const;
    for (const end of ends) {
      expect(nameOf(follow(flooded, ...end, 'invalidate'))).toBe('asking.fresh');
    }
  });

  test('has no interval if the host wants none', () => {
    const [none] = initialTransition(catalogMachine, {
      name: 'tools',
      retryMs: 1000,
      maxOvertaken: 9,
      spacingMs: 0,
      maxSpacingMs: 300,
    });
    expect(nameOf(follow(none, 'wanted', ...change, ...change))).toBe('asking.fresh');
  });
});

describe('retries of the catalog', () => {
  test.each([
    [1, 1000],
    [2, 2000],
    [4, 8000],
    [5, 10_000],
    [500, 10_000],
  ])('double their delay with each failure, up to ten times: %i', (failures, delayMs) => {
    let state = follow(start(), 'wanted');
    for (let i = 1; i < failures; i++) state = follow(state, 'failed', 'retry timeout');
    expect(did(state, 'failed').at(-1)).toBe(`after ${delayMs}`);
  });

  test('start over on another channel', () => {
    const state = follow(start(), 'wanted', 'failed', 'channel closed', 'channel opened');
    expect(did(state, 'failed').at(-1)).toBe('after 1000');
  });
});
