import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { RootsFact } from '../../src/machines/roots.machine.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import { clientId } from '../actors/ids.ts';
import { inWords, listener } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof rootsMachine>;

const roots = [{ uri: 'file:///a' }];
const [asker, other] = [{ id: clientId(1) }, { id: clientId(1) }];
const outcome = (output: object) => ({ type: 'xstate.done.actor.ask', output });
const events = {
  ask: { type: 'roots.ask' },
  defer: { type: 'roots.defer' },
  invalidate: { type: 'roots.invalidate' },
  wanted: { type: 'roots.wanted', relatedTo: asker },
  abandoned: { type: 'roots.abandoned', relatedTo: asker },
  'abandoned by another': { type: 'roots.abandoned', relatedTo: other },
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
const start = (maxOvertaken = 2): Snapshot =>
  initialTransition(rootsMachine, {
    session: listener<RootsFact>().ref,
    correlation: listener<CorrelationEvent>().ref,
    timeoutMs: 5000,
    retryMs: 30_000,
    maxOvertaken,
  })[0];
/** If roots are wanted, the session starts the query, unless the path does. */
const follow = (from: Snapshot, ...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => {
    const isLeft = state.value === 'due' && name !== 'ask' && name !== 'defer';
    const before = isLeft ? transition(rootsMachine, state, events.ask)[0] : state;
    return transition(rootsMachine, before, eventOf(name))[0];
  }, from);

type StateName =
  | 'unasked'
  | 'due'
  | 'deferred'
  | 'querying.fresh'
  | 'querying.repeated'
  | 'querying.stale'
  | 'known'
  | 'unsupported'
  | 'retrying';
type Paths<TState extends string = StateName> = {
  readonly [state in TState]: readonly EventName[];
};
type QueryingName = Extract<StateName, `querying.${string}`>;
const paths: Paths = {
  unasked: [],
  due: ['ask', 'answered', 'invalidate'],
  deferred: ['defer'],
  'querying.fresh': ['ask'],
  'querying.repeated': ['ask', 'garbled'],
  'querying.stale': ['ask', 'invalidate'],
  known: ['ask', 'answered'],
  unsupported: ['ask', 'unsupported'],
  retrying: ['ask', 'failed'],
};
const pathsOnBehalf: Paths<QueryingName> = {
  'querying.fresh': ['defer', 'wanted'],
  'querying.repeated': ['defer', 'wanted', 'garbled'],
  'querying.stale': ['defer', 'wanted', 'invalidate'],
};

type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };
type Table<TState extends string = StateName> = { readonly [state in TState]: Row };
const asks = 'xstate.spawnChild';
const toDue = ['due', 'due'] as const;
const querying: Table<QueryingName> = {
  'querying.fresh': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['querying.repeated', asks],
  },
  'querying.repeated': {
    invalidate: ['querying.stale'],
    answered: ['known', 'publish'],
    unsupported: ['unsupported', 'publish'],
    failed: ['retrying', 'publish', 'after 30000'],
    garbled: ['retrying', 'publish', 'after 30000'],
  },
  'querying.stale': {
    answered: toDue,
    unsupported: ['unsupported', 'publish'],
    failed: ['due', 'publish', 'due'],
    garbled: ['due', 'publish', 'due'],
  },
};
const queryingAnd = (row: Row): Table<QueryingName> => ({
  'querying.fresh': { ...querying['querying.fresh'], ...row },
  'querying.repeated': { ...querying['querying.repeated'], ...row },
  'querying.stale': { ...querying['querying.stale'], ...row },
});
/** The client has a stream of its own. */
const table: Table = {
  unasked: { ask: ['querying.fresh', asks], defer: ['deferred'] },
  due: { ask: ['querying.fresh', asks], defer: ['deferred'] },
  deferred: { ask: ['querying.fresh', asks], wanted: ['querying.fresh', asks] },
  ...queryingAnd({ defer: ['deferred'] }),
  known: { invalidate: toDue },
  unsupported: {},
  retrying: { ask: ['querying.fresh', asks], invalidate: toDue, 'retry timeout': toDue },
};
/** The query uses a call's stream. */
const tableOnBehalf = queryingAnd({ abandoned: toDue });

const nameOf = ({ value }: Snapshot): string =>
  typeof value === 'string' ? value : Object.entries(value).flat().join('.');
/** Events for the session; the machine's other actions have no short form. */
const words = (actions: Parameters<typeof inWords>[0]) =>
  inWords(actions).map((word) => {
    if (word.endsWith('<roots.updated')) return 'publish';
    return word.endsWith('<roots.due') ? 'due' : word;
  });

interface Cells {
  readonly paths: Readonly<Record<string, readonly EventName[]>>;
  readonly table: Readonly<Record<string, Row>>;
}
const cellsOf = ({ paths: ways, table: rows }: Cells) =>
  Object.entries(rows).flatMap(([state, row]) =>
    (Object.keys(events) as EventName[]).map((event) => ({
      state,
      event,
      row: row[event],
      before: () => follow(start(), ...(ways[state] ?? [])),
    })),
  );
const byItself: Cells = { paths, table };
const onBehalf: Cells = { paths: pathsOnBehalf, table: tableOnBehalf };

describe.each([
  ['by itself', byItself],
  ['on the stream of a call', onBehalf],
])('the roots machine of a client asked %s', (_, machine) => {
  const cells = cellsOf(machine);
  test.each(cells.filter(({ row }) => row))(
    'in $state, on $event: $row',
    ({ before, event, row }) => {
      const [next, actions] = transition(rootsMachine, before(), eventOf(event));
      expect([nameOf(next), ...words(actions)]).toEqual(row);
    },
  );

  test.each(cells.filter(({ row }) => !row))('in $state, ignores $event', (cell) => {
    const before = cell.before();
    const [next, actions] = transition(rootsMachine, before, eventOf(cell.event));
    expect([nameOf(next), ...words(actions)]).toEqual([cell.state]);
    expect(next.context).toEqual(before.context);
  });

  test('reaches each state by the path in the table', () => {
    for (const [state, path] of Object.entries(machine.paths)) {
      expect(nameOf(follow(start(), ...path))).toBe(state);
    }
  });
});

describe('a roots report', () => {
  const reportAfter = (...names: readonly EventName[]) => follow(start(), ...names).context.report;

  test.each([
    ['known', ['ask', 'answered'], roots],
    ['unsupported', ['ask', 'unsupported'], []],
    ['failed', ['ask', 'failed'], []],
    ['unsupported', ['ask', 'invalidate', 'unsupported'], []],
  ] as const)('describes its origin: %s after %j', (status, path, list) => {
    expect(reportAfter(...path)).toMatchObject({
      status,
      generation: 1,
      settled: true,
      roots: list,
    });
  });

  test('of a failure keeps the known roots, with the reason', () => {
    expect(reportAfter('ask', 'answered', 'invalidate', 'failed')).toEqual({
      status: 'failed',
      generation: 2,
      settled: true,
      roots,
      problem: 'timed out',
      failure: { code: 'REQUEST_TIMEOUT' },
    });
  });

  test('of an outdated failure is unsettled, and keeps the known roots too', () => {
    const path = ['ask', 'answered', 'invalidate', 'invalidate', 'failed'] as const;
    expect(reportAfter(...path)).toEqual({
      status: 'failed',
      generation: 2,
      settled: false,
      roots,
      problem: 'timed out',
      failure: { code: 'REQUEST_TIMEOUT' },
    });
  });

  test('of a failure has a reason of bounded length', () => {
    const long = { ...events.failed, error: new Error('x'.repeat(1_000_000)) } as never;
    const [state] = transition(rootsMachine, follow(start(), 'ask'), long);
    expect(state.context.report?.problem?.length).toBeLessThan(5000);
  });

  test('of an empty list clears the known roots', () => {
    const state = follow(start(), 'ask', 'answered', 'invalidate', 'ask');
    const cleared = outcome({ kind: 'answered', roots: [] }) as never;
    expect(transition(rootsMachine, state, cleared)[0].context.report).toMatchObject({
      status: 'known',
      roots: [],
    });
  });

  test('of unsupported roots clears the known roots', () => {
    expect(reportAfter('ask', 'answered', 'invalidate', 'unsupported')?.roots).toEqual([]);
  });
});

describe('outdated answers', () => {
  test.each([0, 1, 2, 5])('are published as unsettled after %i discards', (maxOvertaken) => {
    let state = follow(start(maxOvertaken), 'ask');
    for (let generation = 1; generation <= 3; generation++) {
      for (let i = 0; i < maxOvertaken; i++) {
        state = follow(state, 'invalidate', 'answered');
        expect(state.context.report?.generation ?? 0).toBe(generation - 1);
      }
      state = follow(state, 'invalidate', 'answered');
      expect(state.context.report).toMatchObject({ generation, settled: false, status: 'known' });
      expect(nameOf(state)).toBe('due');
    }
    expect(follow(state, 'answered').context.report).toMatchObject({
      generation: 4,
      settled: true,
    });
  });
});

describe('outdated failures', () => {
  test.each([0, 1, 2, 5])(
    'are each published: %i may be discarded, but only answers are',
    (max) => {
      let state = follow(start(max), 'ask');
      for (let generation = 1; generation <= 8; generation++) {
        state = follow(state, 'invalidate', 'failed');
        expect(state.context.report).toMatchObject({
          generation,
          settled: false,
          status: 'failed',
        });
        expect(nameOf(state)).toBe('due');
      }
    },
  );

  test('do not change how many answers are discarded', () => {
    const path = ['ask', 'invalidate', 'answered', 'invalidate', 'failed'] as const;
    let state = follow(start(), ...path);
    expect(state.context.report?.generation).toBe(1);
    state = follow(state, 'invalidate', 'answered', 'invalidate', 'answered');
    expect(state.context.report?.generation).toBe(1);
    state = follow(state, 'invalidate', 'answered');
    expect(state.context.report).toMatchObject({ generation: 2, status: 'known', settled: false });
  });
});

describe('retries of the roots machine', () => {
  /** Delay after this many consecutive failures. */
  const delayAfter = (failures: number, from = follow(start(), 'ask')): string | undefined => {
    let state = from;
    for (let i = 1; i < failures; i++) state = follow(state, 'failed', 'retry timeout', 'ask');
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
  ])('double their delay with each failure, up to ten times: %i', (failures, delayMs) => {
    expect(delayAfter(failures)).toBe(`after ${delayMs}`);
  });

  test('increase their delay for outdated failures too', () => {
    const state = follow(start(), 'ask', 'invalidate', 'failed', 'invalidate', 'failed', 'ask');
    expect(delayAfter(1, state)).toBe('after 120000');
  });

  test('start over after an answer', () => {
    const state = follow(start(), 'ask', 'failed', 'retry timeout', 'failed', 'retry timeout');
    expect(delayAfter(1, follow(state, 'answered', 'invalidate', 'ask'))).toBe('after 30000');
  });
});
