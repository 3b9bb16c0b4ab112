import fc from 'fast-check';
import { SimulatedClock, createActor, initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { describe, expect, test } from 'vitest';
import { plainActor } from '../../src/machines/port.ts';
import {
  defaultStopTimes,
  processMachine,
  stopTimesWith,
} from '../../packages/processes/src/process.machine.ts';
import type {
  ChildCommand,
  ChildInput,
  ProcessEvent,
  StopTimes,
} from '../../packages/processes/src/process.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { inWords } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof processMachine>;

const group = 'process.launched.group.ending';
const events = {
  launched: { type: 'child.launched', pid: 7 },
  failed: { type: 'child.failed', error: new Error('nowhere') },
  exited: { type: 'child.exited', code: 3, signal: null },
  'output ended': { type: 'output.ended' },
  emptied: { type: 'group.emptied' },
  stop: { type: 'process.stop' },
  kill: { type: 'process.kill' },
  'drain timeout': { type: 'xstate.after.drainTimeout.process.launched.child.draining' },
  'input timeout': { type: `xstate.after.inputTimeout.${group}.stdinClosed` },
  'terminate timeout': { type: `xstate.after.terminateTimeout.${group}.terminated` },
  'kill timeout': { type: `xstate.after.killTimeout.${group}.killed` },
} as const;
type EventName = keyof typeof events;

const input = { times: defaultStopTimes };
const start = (): Snapshot => initialTransition(processMachine, input)[0];
const step = (state: Snapshot, name: EventName) =>
  transition(processMachine, state, events[name] as ProcessEvent);
const follow = (...names: readonly EventName[]): Snapshot =>
  names.reduce((state, name) => step(state, name)[0], start());

/** The path to each state, and the target and actions of each event. */
const table: readonly {
  readonly path: readonly EventName[];
  readonly state: string;
  readonly row: {
    readonly [name in EventName]?: readonly [next: string, ...done: readonly string[]];
  };
}[] = [
  {
    path: [],
    state: 'spawning',
    row: {
      launched: ['child.running,group.kept', 'emit process.launched'],
      failed: ['gone', 'emit process.failed', 'emit process.gone'],
      stop: ['gone', 'emit process.gone'],
      kill: ['gone', 'emit process.gone'],
    },
  },
  {
    path: ['launched'],
    state: 'child.running,group.kept',
    row: {
      exited: [
        'child.draining,group.ending.terminated',
        'after 250',
        'child<group.terminate',
        'after 2000',
      ],
      'output ended': ['child.silent,group.kept'],
      stop: ['child.running,group.ending.stdinClosed', 'child<input.close', 'after 2000'],
      kill: ['child.running,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'output ended'],
    state: 'child.silent,group.kept',
    row: {
      exited: [
        'child.exited,group.ending.terminated',
        'emit process.exited',
        'child<group.terminate',
        'after 2000',
      ],
      stop: ['child.silent,group.ending.stdinClosed', 'child<input.close', 'after 2000'],
      kill: ['child.silent,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'exited'],
    state: 'child.draining,group.ending.terminated',
    row: {
      'output ended': ['child.exited,group.ending.terminated', 'emit process.exited'],
      'drain timeout': [
        'child.exited,group.ending.terminated',
        'child<output.cut',
        'emit process.exited',
      ],
      emptied: ['child.draining,group.emptied'],
      kill: ['child.draining,group.ending.killed', 'child<group.kill', 'after 1000'],
      'terminate timeout': ['child.draining,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'exited', 'output ended'],
    state: 'child.exited,group.ending.terminated',
    row: {
      emptied: ['gone', 'emit process.gone'],
      kill: ['child.exited,group.ending.killed', 'child<group.kill', 'after 1000'],
      'terminate timeout': ['child.exited,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'exited', 'emptied'],
    state: 'child.draining,group.emptied',
    row: {
      'output ended': ['gone', 'emit process.exited', 'emit process.gone'],
      'drain timeout': ['gone', 'child<output.cut', 'emit process.exited', 'emit process.gone'],
    },
  },
  {
    path: ['launched', 'stop'],
    state: 'child.running,group.ending.stdinClosed',
    row: {
      exited: ['child.draining,group.ending.stdinClosed', 'after 250'],
      'output ended': ['child.silent,group.ending.stdinClosed'],
      'input timeout': [
        'child.running,group.ending.terminated',
        'child<group.terminate',
        'after 2000',
      ],
      emptied: ['child.running,group.emptied'],
      kill: ['child.running,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'stop', 'input timeout'],
    state: 'child.running,group.ending.terminated',
    row: {
      exited: ['child.draining,group.ending.terminated', 'after 250'],
      'output ended': ['child.silent,group.ending.terminated'],
      emptied: ['child.running,group.emptied'],
      'terminate timeout': ['child.running,group.ending.killed', 'child<group.kill', 'after 1000'],
      kill: ['child.running,group.ending.killed', 'child<group.kill', 'after 1000'],
    },
  },
  {
    path: ['launched', 'kill'],
    state: 'child.running,group.ending.killed',
    row: {
      exited: ['child.draining,group.ending.killed', 'after 250'],
      'output ended': ['child.silent,group.ending.killed'],
      emptied: ['child.running,group.emptied'],
      'kill timeout': ['gone', 'emit process.gone'],
    },
  },
  { path: ['stop'], state: 'gone', row: {} },
];

/** `launched` groups the other states. */
const nameOf = (snapshot: Snapshot) => stateName(snapshot).replace(/^launched\./, '');
const cells = table.flatMap(({ path, state, row }) =>
  (Object.keys(events) as EventName[]).map((event) => ({ path, state, event, row })),
);

describe('the process machine', () => {
  test.each(cells)('in $state, on $event, follows the table', (cell) => {
    const before = follow(...cell.path);
    expect(nameOf(before)).toBe(cell.state);
    const [after, actions] = step(before, cell.event);
    const [next = cell.state, ...done] = cell.row[cell.event] ?? [];
    expect(nameOf(after)).toBe(next);
    expect(inWords(actions)).toEqual(done);
  });

  test('ends in time from any state after stop, whatever the child does not do', () => {
    const paths = getShortestPaths(processMachine, {
      input,
      events: [events.launched, events.exited, events['output ended'], events.stop, events.kill],
    });
    const ending = paths.filter(({ state }) => stateName(state).includes('ending'));
    expect(ending.length).toBeGreaterThan(8);
    const times = ['input timeout', 'terminate timeout', 'kill timeout'] as const;
    for (const { state } of ending) {
      const end = times.reduce((at, name) => step(at, name)[0], state as Snapshot);
      expect(stateName(end)).toBe('gone');
    }
  });
});

/** A child that ignores events, unless a test acts for it. */
function run(times: Partial<StopTimes> = {}) {
  const told: string[] = [];
  const clock = new SimulatedClock();
  const child = plainActor<ChildCommand, ChildInput>(() => ({
    receive: ({ type }) => void told.push(`${clock.now()} ${type}`),
  }));
  const actor = createActor(processMachine.provide({ actors: { child } }), {
    input: { times: stopTimesWith(times) },
    clock,
  });
  actor.on('*', (report) => {
    const how = 'group' in report ? ` ${report.group}` : '';
    told.push(`${clock.now()} ${report.type}${how}`);
  });
  actor.start();
  const send = (name: EventName) => actor.send(events[name] as ProcessEvent);
  /** In steps, because a timer may set another. */
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) clock.increment(50);
  };
  const isOver = () => actor.getSnapshot().status !== 'active';
  return { told, clock, pass, send, isOver };
}

describe('the stop of a process', () => {
  test('allows two seconds, two more after SIGTERM and one after SIGKILL [PROC-01]', () => {
    const { told, pass, send } = run();
    send('launched');
    send('stop');
    pass(60_000);
    expect(told).toEqual([
      '0 process.launched',
      '0 input.close',
      '2000 group.terminate',
      '4000 group.kill',
      '5000 process.gone unkillable',
    ]);
  });

  test('is not extended by a repeated stop', () => {
    const { told, clock, send } = run({ inputMs: 10, terminateMs: 10, killMs: 10 });
    send('launched');
    send('stop');
    for (let ms = 0; ms < 30; ms++) {
      send('stop');
      if (ms > 19) send('kill');
      clock.increment(1);
    }
    expect(told.slice(1)).toEqual([
      '0 input.close',
      '10 group.terminate',
      '20 group.kill',
      '30 process.gone unkillable',
    ]);
  });

  test('gives descendants of an ended process the same time', () => {
    const { told, pass, send } = run();
    send('launched');
    send('stop');
    pass(1000);
    send('exited');
    pass(3500);
    send('emptied');
    expect(told.slice(2)).toEqual([
      '1250 output.cut',
      '1250 process.exited',
      '2000 group.terminate',
      '4000 group.kill',
      '4500 process.gone empty',
    ]);
  });
});

describe('any sequence of events', () => {
  /** Possible events of a child: it is launched or fails first, and exits once. */
  const moves = [
    'stop',
    'kill',
    'launched',
    'failed',
    'exited',
    'output ended',
    'emptied',
  ] as const;
  type Move = (typeof moves)[number] | number;
  const order: { readonly [move in Move]?: (before: readonly Move[]) => boolean } = {
    launched: (before) => !before.includes('launched') && !before.includes('failed'),
    failed: (before) => !before.includes('launched') && !before.includes('failed'),
    exited: (before) => before.includes('launched') && !before.includes('exited'),
    'output ended': (before) => before.includes('launched') && !before.includes('output ended'),
    emptied: (before) => before.includes('exited') && !before.includes('emptied'),
  };
  const timed = fc.oneof(fc.constantFrom<Move>(...moves), fc.integer({ min: 1, max: 50 }));

  test('ends the process once, finally, soon after stop', () => {
    fc.assert(
      fc.property(fc.array(timed, { maxLength: 30 }), (wanted) => {
        const { told, pass, send, isOver } = run();
        const done: Move[] = [];
        for (const move of wanted) {
          if (isOver()) break;
          if (typeof move === 'number') pass(move * 50);
          else if (order[move]?.(done) ?? true) send(move);
          else continue;
          done.push(move);
        }
        if (!isOver()) send('stop');
        pass(5250);
        const reports = told.map((line) => line.split(' ')[1] as string);
        expect(reports.filter((type) => type === 'process.gone')).toHaveLength(1);
        expect(reports.at(-1)).toBe('process.gone');
        expect(new Set(reports).size).toBe(reports.length);
        const means = reports.filter((type) => /input.close|group/.test(type));
        const hardness = ['input.close', 'group.terminate', 'group.kill'];
        expect(means).toEqual(hardness.filter((type) => means.includes(type)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the stop times', () => {
  test('are merged into the defaults', () => {
    expect(stopTimesWith({ inputMs: 1, killMs: undefined })).toEqual({
      ...defaultStopTimes,
      inputMs: 1,
    });
  });

  test.each([
    [{ inputMs: -1 }, 'stop.inputMs must be 0 to 2147483647 milliseconds, got -1'],
    [{ killMs: Infinity }, 'stop.killMs must be 0 to 2147483647 milliseconds, got Infinity'],
    [{ drainMs: '1' as never }, 'stop.drainMs must be 0 to 2147483647 milliseconds, got "1"'],
    [
      { wait: 1 } as never,
      'Unknown field stop.wait; known fields: inputMs, terminateMs, killMs, drainMs',
    ],
  ])('are rejected if they are %j', (given, message) => {
    expect(() => stopTimesWith(given)).toThrow(new RangeError(message));
  });
});
