import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { RootsUpdated } from '../../src/machines/roots.machine.ts';
import type { OwnStream, CorrelationEvent } from '../../src/machines/peer-ports.ts';
import { clientId } from '../actors/ids.ts';
import { inWords, listener } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof rootsMachine>;

const roots = [{ uri: 'file:///a' }];
const [asker, other] = [{ id: clientId(1) }, { id: clientId(1) }];
const outcome = (output: object) => ({ type: 'xstate.done.actor.ask', output });
const events = {
  start: { type: 'roots.start' },
  invalidate: { type: 'roots.invalidate' },
  wanted: { type: 'roots.wanted', relatedTo: asker },
  abandoned: { type: 'roots.abandoned', relatedTo: asker },
  'abandoned by another': { type: 'roots.abandoned', relatedTo: other },
  'own stream opened': { type: 'ownStream.opened' },
  'own stream closed': { type: 'ownStream.closed' },
  answered: outcome({ kind: 'answered', roots }),
  unsupported: outcome({ kind: 'unsupported', problem: '-32601' }),
  failed: {
    type: 'xstate.error.actor.ask',
    error: new RuntimeError('REQUEST_TIMEOUT', 'timed out'),
  },
  garbled: {
    type: 'xstate.error.actor.ask',
    error: new RuntimeError('INVALID_RESPONSE', 'malformed'),
  },
  'retry timeout': { type: 'xstate.after.retryTimeout.roots.retrying' },
} as const;
type EventName = keyof typeof events;

const eventOf = (name: EventName) => events[name] as never;
const start = (maxOvertaken = 2, ownStream: OwnStream = 'open'): Snapshot =>
  initialTransition(rootsMachine, {
    session: listener<RootsUpdated>().ref,
    correlation: listener<CorrelationEvent>().ref,
    timeoutMs: 5000,
    retryMs: 30_000,
    maxOvertaken,
    ownStream,
  })[0];
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => transition(rootsMachine, state, eventOf(name))[0], from);

type StateName =
  | 'unasked'
  | 'querying.fresh'
  | 'querying.repeated'
  | 'querying.stale'
  | 'known'
  | 'unsupported'
  | 'retrying';
type Paths<TState extends string> = { readonly [state in TState]: readonly EventName[] };
const paths: Paths<StateName> = {
  unasked: [],
  'querying.fresh': ['start'],
  'querying.repeated': ['start', 'garbled'],
  'querying.stale': ['start', 'invalidate'],
  known: ['start', 'answered'],
  unsupported: ['start', 'unsupported'],
  retrying: ['start', 'failed'],
};
const pathsWithoutOwnStream: Paths<StateName | 'deferred'> = {
  unasked: [],
  deferred: ['start'],
  'querying.fresh': ['start', 'wanted'],
  'querying.repeated': ['start', 'wanted', 'garbled'],
  'querying.stale': ['start', 'wanted', 'invalidate'],
  known: ['start', 'wanted', 'answered'],
  unsupported: ['start', 'wanted', 'unsupported'],
  retrying: ['start', 'wanted', 'failed'],
};

type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };
const asks = 'xstate.spawnChild';
const table: { readonly [state in StateName]: Row } = {
  unasked: { start: ['querying.fresh', asks], 'own stream closed': ['unasked'] },
  'querying.fresh': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['querying.repeated', asks],
    'own stream closed': ['deferred'],
  },
  'querying.repeated': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['retrying', 'publish', 'after 30000'],
    'own stream closed': ['deferred'],
  },
  'querying.stale': {
    answered: ['querying.fresh', asks],
    unsupported: ['unsupported', 'publish'],
    failed: ['querying.fresh', 'publish', asks],
    garbled: ['querying.fresh', 'publish', asks],
    'own stream closed': ['deferred'],
  },
  known: { invalidate: ['querying.fresh', asks], 'own stream closed': ['known'] },
  unsupported: { 'own stream closed': ['unsupported'] },
  retrying: {
    invalidate: ['querying.fresh', asks],
    'retry timeout': ['querying.fresh', asks],
    'own stream opened': ['querying.fresh', asks],
    'own stream closed': ['retrying'],
  },
};
/** Nothing is asked but on behalf of a call. */
const tableWithoutOwnStream: { readonly [state in StateName | 'deferred']: Row } = {
  unasked: { start: ['deferred'], 'own stream opened': ['unasked'] },
  deferred: { wanted: ['querying.fresh', asks], 'own stream opened': ['querying.fresh', asks] },
  'querying.fresh': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['querying.repeated', asks],
    abandoned: ['deferred'],
    'own stream opened': ['querying.fresh'],
  },
  'querying.repeated': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['retrying', 'publish', 'after 30000'],
    abandoned: ['deferred'],
    'own stream opened': ['querying.repeated'],
  },
  'querying.stale': {
    answered: ['deferred'],
    unsupported: ['unsupported', 'publish'],
    failed: ['deferred', 'publish'],
    garbled: ['deferred', 'publish'],
    abandoned: ['deferred'],
    'own stream opened': ['querying.stale'],
  },
  known: { invalidate: ['deferred'], 'own stream opened': ['known'] },
  unsupported: { 'own stream opened': ['unsupported'] },
  retrying: {
    invalidate: ['deferred'],
    'retry timeout': ['deferred'],
    'own stream opened': ['querying.fresh', asks],
  },
};

const nameOf = ({ value }: Snapshot): string =>
  typeof value === 'string' ? value : Object.entries(value).flat().join('.');
/** A publication is what the session hears; the machine's other actions have no words of their own. */
const words = (actions: Parameters<typeof inWords>[0]) =>
  inWords(actions).map((word) => (word.endsWith('<roots.updated') ? 'publish' : word));

interface Cells {
  readonly ownStream: OwnStream;
  readonly paths: Readonly<Record<string, readonly EventName[]>>;
  readonly table: Readonly<Record<string, Row>>;
}
const cellsOf = ({ ownStream, paths: ways, table: rows }: Cells) =>
  Object.entries(rows).flatMap(([state, row]) =>
    (Object.keys(events) as EventName[]).map((event) => ({
      state,
      event,
      row: row[event],
      before: () => follow(start(2, ownStream), ...(ways[state] ?? [])),
    })),
  );
const withOwnStream: Cells = { ownStream: 'open', paths, table };
const withoutOwnStream: Cells = {
  ownStream: 'none',
  paths: pathsWithoutOwnStream,
  table: tableWithoutOwnStream,
};

describe.each([
  ['a client with a stream of its own', withOwnStream],
  ['a client without a stream of its own', withoutOwnStream],
])('the roots of %s', (_, machine) => {
  const cells = cellsOf(machine);
  test.each(cells.filter(({ row }) => row))(
    'in $state, on $event: $row',
    ({ before, event, row }) => {
      const [next, actions] = transition(rootsMachine, before(), eventOf(event));
      expect([nameOf(next), ...words(actions)]).toEqual(row);
    },
  );

  test.each(cells.filter(({ row }) => !row))('in $state, are not changed by $event', (cell) => {
    const before = cell.before();
    const [next, actions] = transition(rootsMachine, before, eventOf(cell.event));
    expect([nameOf(next), ...words(actions)]).toEqual([cell.state]);
    expect(next.context).toEqual(before.context);
  });

  test('get to each state by the path that the table takes', () => {
    for (const [state, path] of Object.entries(machine.paths)) {
      expect(nameOf(follow(start(2, machine.ownStream), ...path))).toBe(state);
    }
  });
});

describe('a report', () => {
  const reportAfter = (...names: readonly EventName[]) => follow(start(), ...names).context.report;

  test.each([
    ['known', ['start', 'answered'], roots],
    ['unsupported', ['start', 'unsupported'], []],
    ['failed', ['start', 'failed'], []],
    ['unsupported', ['start', 'invalidate', 'unsupported'], []],
  ] as const)('says how it came about: %s after %j', (status, path, list) => {
    expect(reportAfter(...path)).toMatchObject({
      status,
      generation: 1,
      settled: true,
      roots: list,
    });
  });

  test('of a failure keeps the roots that were known, and says why', () => {
    expect(reportAfter('start', 'answered', 'invalidate', 'failed')).toEqual({
      status: 'failed',
      generation: 2,
      settled: true,
      roots,
      problem: 'timed out',
      failure: { code: 'REQUEST_TIMEOUT' },
    });
  });

  test('of a failure that was overtaken is not settled, and keeps what was known too', () => {
    const path = ['start', 'answered', 'invalidate', 'invalidate', 'failed'] as const;
    expect(reportAfter(...path)).toEqual({
      status: 'failed',
      generation: 2,
      settled: false,
      roots,
      problem: 'timed out',
      failure: { code: 'REQUEST_TIMEOUT' },
    });
  });

  test('of a failure says why in words that are bounded', () => {
    const long = { ...events.failed, error: new Error('x'.repeat(1_000_000)) } as never;
    const [state] = transition(rootsMachine, follow(start(), 'start'), long);
    expect(state.context.report?.problem?.length).toBeLessThan(5000);
  });

  test('of an empty list clears what was known', () => {
    const state = follow(start(), 'start', 'answered', 'invalidate');
    const cleared = outcome({ kind: 'answered', roots: [] }) as never;
    expect(transition(rootsMachine, state, cleared)[0].context.report).toMatchObject({
      status: 'known',
      roots: [],
    });
  });

  test('that they are unsupported clears what was known', () => {
    expect(reportAfter('start', 'answered', 'invalidate', 'unsupported')?.roots).toEqual([]);
  });
});

describe('overtaken answers', () => {
  test.each([0, 1, 2, 5])('are published as not settled after %i discards', (maxOvertaken) => {
    let state = follow(start(maxOvertaken), 'start');
    for (let generation = 1; generation <= 3; generation++) {
      for (let i = 0; i < maxOvertaken; i++) {
        state = follow(state, 'invalidate', 'answered');
        expect(state.context.report?.generation ?? 0).toBe(generation - 1);
      }
      state = follow(state, 'invalidate', 'answered');
      expect(state.context.report).toMatchObject({ generation, settled: false, status: 'known' });
      expect(nameOf(state)).toBe('querying.fresh');
    }
    expect(follow(state, 'answered').context.report).toMatchObject({
      generation: 4,
      settled: true,
    });
  });
});

describe('overtaken failures', () => {
  test.each([0, 1, 2, 5])(
    'are published each: %i may be discarded, but those are answers',
    (max) => {
      let state = follow(start(max), 'start');
      for (let generation = 1; generation <= 8; generation++) {
        state = follow(state, 'invalidate', 'failed');
        expect(state.context.report).toMatchObject({
          generation,
          settled: false,
          status: 'failed',
        });
        expect(nameOf(state)).toBe('querying.fresh');
      }
    },
  );

  test('let as many answers be discarded after them as before', () => {
    const path = ['start', 'invalidate', 'answered', 'invalidate', 'failed'] as const;
    let state = follow(start(), ...path);
    expect(state.context.report?.generation).toBe(1);
    state = follow(state, 'invalidate', 'answered', 'invalidate', 'answered');
    expect(state.context.report?.generation).toBe(1);
    state = follow(state, 'invalidate', 'answered');
    expect(state.context.report).toMatchObject({ generation: 2, status: 'known', settled: false });
  });
});

describe('retries', () => {
  /** The delay after so many failures in a row. */
  const delayAfter = (failures: number, from = follow(start(), 'start')): string | undefined => {
    let state = from;
    for (let i = 1; i < failures; i++) state = follow(state, 'failed', 'retry timeout');
    return inWords(transition(rootsMachine, state, eventOf('failed'))[1]).at(-1);
  };

  test.each([
    [1, 30_000],
    [2, 60_000],
    [3, 120_000],
    [4, 240_000],
    [5, 300_000],
    [6, 300_000],
    [2000, 300_000],
  ])('wait twice as long with each failure, up to ten times: %i', (failures, delayMs) => {
    expect(delayAfter(failures)).toBe(`after ${delayMs}`);
  });

  test('wait longer for failures that were overtaken, too', () => {
    const state = follow(start(), 'start', 'invalidate', 'failed', 'invalidate', 'failed');
    expect(delayAfter(1, state)).toBe('after 120000');
  });

  test('begin anew after an answer', () => {
    const state = follow(start(), 'start', 'failed', 'retry timeout', 'failed', 'retry timeout');
    expect(delayAfter(1, follow(state, 'answered', 'invalidate'))).toBe('after 30000');
  });
});
