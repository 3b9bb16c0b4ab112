import { initialTransition, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import { taskIn, taskMachine } from '../../packages/tasks/src/task.machine.ts';
import type { TaskSnapshot } from '../../packages/tasks/src/task.machine.ts';
import type { OutboundResponse } from '../../src/protocol/frames.ts';
import { inWords } from './stand-ins.ts';

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const answered = (response: object) => ({
  type: 'run.answered',
  response: { jsonrpc: '2.0', id: 1, ...response } as OutboundResponse,
});
const events = {
  asks: { type: 'input.requested', method: 'elicitation/create' },
  'is answered': { type: 'input.received' },
  'says how far it is': { type: 'task.describe', message: 'half' },
  succeeds: answered({ result: text('done') }),
  'gives an error result': answered({ result: { ...text('no luck'), isError: true } }),
  'is refused': answered({ error: { code: -32602, message: 'wrong' } }),
  'is cancelled': { type: 'task.cancel', reason: 'The client cancelled the task' },
  'time is up': { type: 'xstate.after.ttlTimeout.task.kept' },
} as const;
type EventName = keyof typeof events;

const start = (): TaskSnapshot => {
  let seconds = 0;
  return initialTransition(taskMachine, {
    taskId: 't',
    ttlMs: 60_000,
    pollIntervalMs: 1000,
    timeOfDay: () => new Date(1000 * seconds++).toISOString(),
  })[0];
};
const eventOf = (name: EventName) => events[name] as never;
const follow = (from: TaskSnapshot, ...names: readonly EventName[]): TaskSnapshot =>
  names.reduce((state, name) => transition(taskMachine, state, eventOf(name))[0], from);

const paths = {
  working: [],
  input_required: ['asks'],
  completed: ['succeeds'],
  failed: ['gives an error result'],
  cancelled: ['is cancelled'],
  expired: ['time is up'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;

type Row = { readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]] };
const changed = 'emit task.changed';
const ends: Row = {
  succeeds: ['completed', changed],
  'gives an error result': ['failed', changed],
  'is refused': ['failed', changed],
  'is cancelled': ['cancelled', changed],
};
const expires: Row = { 'time is up': ['expired', 'emit task.expired'] };
const table: { readonly [state in StateName]: Row } = {
  working: {
    asks: ['input_required', changed],
    'says how far it is': ['working'],
    ...ends,
    ...expires,
  },
  input_required: {
    asks: ['input_required'],
    'is answered': ['working', changed],
    'says how far it is': ['input_required'],
    ...ends,
    ...expires,
  },
  completed: expires,
  failed: expires,
  cancelled: expires,
  expired: {},
};

const nameOf = (snapshot: TaskSnapshot): string => taskIn(snapshot)?.status ?? 'expired';
/** Events for others; its data is in the context. */
const words = (actions: Parameters<typeof inWords>[0]) =>
  inWords(actions).filter((word) => word.startsWith('emit'));

const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  (Object.keys(events) as EventName[]).map((event) => ({ state, event, row: table[state][event] })),
);

describe('the task machine', () => {
  test('starts as working, with its times [TASKS-05]', () => {
    expect(taskIn(start())).toEqual({
      taskId: 't',
      status: 'working',
      createdAt: '1970-01-01T00:00:00.000Z',
      lastUpdatedAt: '1970-01-01T00:00:01.000Z',
      ttl: 60_000,
      pollInterval: 1000,
    });
  });

  test('sets the timer of its ttl, and no other', () => {
    const [, actions] = initialTransition(taskMachine, {
      taskId: 't',
      ttlMs: 60_000,
      pollIntervalMs: 1000,
      timeOfDay: () => '',
    });
    expect(inWords(actions).filter((word) => word.startsWith('after'))).toEqual(['after 60000']);
  });

  test.each(cells.filter(({ row }) => row))(
    'that is $state, when it $event: $row [TASKS-06]',
    ({ state, event, row }) => {
      const before = follow(start(), ...paths[state]);
      const [next, actions] = transition(taskMachine, before, eventOf(event));
      expect([nameOf(next), ...words(actions)]).toEqual(row);
    },
  );

  test.each(cells.filter(({ row }) => !row))(
    'that is $state ignores that it $event [TASKS-06]',
    ({ state, event }) => {
      const before = follow(start(), ...paths[state]);
      const [next, actions] = transition(taskMachine, before, eventOf(event));
      expect([nameOf(next), ...inWords(actions)]).toEqual([state]);
      expect(next.context).toEqual(before.context);
    },
  );

  test('reaches each state by the path in the table', () => {
    for (const [state, path] of Object.entries(paths)) {
      expect(nameOf(follow(start(), ...path))).toBe(state);
    }
  });

  test('is working again after the last answer, not the first', () => {
    const asked = follow(start(), 'asks', 'asks', 'asks', 'is answered', 'is answered');
    expect(nameOf(asked)).toBe('input_required');
    expect(nameOf(follow(asked, 'is answered'))).toBe('working');
  });
});

describe('the status message', () => {
  const messageAfter = (...names: readonly EventName[]) =>
    taskIn(follow(start(), ...names))?.statusMessage;

  test.each([
    [undefined, []],
    ['half', ['says how far it is']],
    ["Waiting for the client's answer to elicitation/create", ['asks']],
    ["Waiting for the client's answer to elicitation/create", ['asks', 'says how far it is']],
    ['half', ['asks', 'says how far it is', 'is answered']],
    [undefined, ['says how far it is', 'succeeds']],
    ['no luck', ['says how far it is', 'gives an error result']],
    ['wrong', ['is refused']],
    ['The client cancelled the task', ['is cancelled']],
  ] as const)('is %j after %j', (message, path) => {
    expect(messageAfter(...path)).toBe(message);
  });

  test.each([
    [{ content: [], isError: true }, 'The tool returned an error without text'],
    [{ isError: true }, 'The tool returned an error without text'],
    [{ ...text('x'.repeat(501)), isError: true }, 'x'.repeat(500)],
  ])('of the failure %j is %j', (result, message) => {
    const failed = answered({ result }) as never;
    expect(taskIn(transition(taskMachine, start(), failed)[0])?.statusMessage).toBe(message);
  });
});

describe('the time of the last update', () => {
  const updatedAfter = (...names: readonly EventName[]) =>
    taskIn(follow(start(), ...names))?.lastUpdatedAt.slice(17, 19);

  test.each([
    ['01', []],
    ['02', ['asks']],
    ['02', ['asks', 'asks', 'is answered']],
    ['03', ['asks', 'is answered']],
    ['02', ['says how far it is']],
    ['02', ['succeeds', 'is cancelled']],
  ] as const)('is :%s after %j', (second, path) => {
    expect(updatedAfter(...path)).toBe(second);
  });
});
