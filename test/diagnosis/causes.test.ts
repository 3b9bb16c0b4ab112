import { causesOf } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import { expect, test } from 'vitest';

const none = { count: 0, max: 10 };
const idle: SessionDump = {
  side: 'server',
  id: 'a',
  state: 'rootsKnown',
  tags: ['operating'],
  ageMs: 5,
  quietMs: 3,
  actors: [],
  roots: { state: 'undeclared', tags: ['settled'], list: [] },
  calls: [],
  pending: [],
  tasks: [],
  queues: {
    running: none,
    waiting: none,
    pending: none,
    outboundBytes: none,
    tasks: none,
    inFlightBytes: none,
    retainedBytes: none,
    holds: [],
  },
};
const call = (id: number, more: object) =>
  ({ id, method: 'tools/call', state: 'running', ageMs: 10, openQuestions: 0, ...more }) as const;
const full = { count: 10, max: 10 };

test.each([
  ['nothing', {}, []],
  [
    'a missing initialize',
    { tags: ['awaitsInitialize'] },
    [{ kind: 'initialize-missing', ageMs: 5 }],
  ],
  [
    'a missing initialized',
    { tags: ['awaitsInitialized'] },
    [{ kind: 'initialized-missing', ageMs: 3 }],
  ],
  ['calls that may still end', { tags: ['settling'] }, [{ kind: 'settling', calls: 0 }]],
  ['calls that clean up', { tags: ['aborting'] }, [{ kind: 'aborting', calls: 0 }]],
  ['the last output', { tags: ['flushing'] }, [{ kind: 'flushing', calls: 0 }]],
  ['the end', { tags: ['closed'] }, [{ kind: 'closed' }]],
  [
    'bounds that are reached',
    { queues: { ...idle.queues, running: full, waiting: full, pending: full, tasks: full } },
    [{ kind: 'running-full', waiting: 10 }, { kind: 'pending-full' }, { kind: 'tasks-full' }],
  ],
  [
    'output that waits',
    { queues: { ...idle.queues, outboundBytes: full } },
    [{ kind: 'output-queued', bytes: 10 }],
  ],
  [
    'a task that is waited for, and work',
    { calls: [call(1, {}), call(2, { state: 'parked' }), call(3, { openQuestions: 1 })] },
    [
      { kind: 'task', subject: call(2, { state: 'parked' }), ageMs: 10 },
      { kind: 'work', subject: call(1, {}), ageMs: 10 },
    ],
  ],
  [
    'roots that could not be had',
    {
      roots: {
        state: 'retrying',
        tags: ['settled'],
        status: 'failed',
        problem: 'no answer',
        list: [],
      },
    },
    [{ kind: 'roots-failed', problem: 'no answer' }],
  ],
] as const)('a dump holds %s', (_, dump, causes) => {
  expect(causesOf({ ...idle, ...dump })).toEqual(causes);
});

test('a question belongs to the call or to the task that asked it', () => {
  const of = (more: object) =>
    ({ id: 's-1', method: 'ping', state: 'sent', ageMs: 1, leftMs: 9, ...more }) as const;
  const ofCall = of({ relatedTo: 7 });
  const ofTask = of({ relatedTo: 7, taskId: 't' });
  const calls = [call(7, { openQuestions: 1 }), call(7, { openQuestions: 1, taskId: 't' })];
  expect(causesOf({ ...idle, calls, pending: [ofCall, ofTask, of({})] })).toEqual([
    { kind: 'question', subject: ofCall, askedBy: calls[0], ageMs: 1, leftMs: 9 },
    { kind: 'question', subject: ofTask, askedBy: calls[1], ageMs: 1, leftMs: 9 },
    { kind: 'question', subject: of({}), ageMs: 1, leftMs: 9 },
  ]);
});
