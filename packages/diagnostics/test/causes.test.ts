import { causesOf, createMcpServer, defineTool } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import { gate, testClient } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { headlineOf } from '../src/headline.ts';
import type { PendingDump } from '../src/peer-dump.ts';

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

test('attributes a question to the call or task that asked it', () => {
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

describe('the headline of a session', () => {
  const server = createMcpServer({ name: 'asked', version: '1' });

  test('names a pending handshake', () => {
    const dump = { ...idle, tags: ['awaitsInitialize'], ageMs: 1200 } as const;
    expect(headlineOf(dump)).toMatchObject({ mood: 'waiting', ageMs: 1200 });
    expect(headlineOf({ ...idle, tags: ['awaitsInitialized'] }).sentence).toContain(
      'notifications/initialized',
    );
  });

  test('reports an idle session', async () => {
    await using client = await testClient(server);
    const { mood, sentence } = headlineOf(client.session.dump());
    expect([mood, sentence]).toEqual(['idle', expect.stringContaining('Nothing is pending')]);
  });

  test('names the running work', async () => {
    const door = gate();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      handler: async () => {
        await door.pass();
        return '';
      },
    });
    await using client = await testClient(
      createMcpServer({ name: 'a', version: '1', tools: [wait] }),
    );
    const calls = [client.callTool('wait'), client.callTool('wait')];
    await door.arrived(2);
    expect(headlineOf(client.session.dump()).sentence).toBe(
      'Working on 2 requests; longest on tools/call wait.',
    );
    door.release();
    await Promise.all(calls);
  });

  test('names the oldest pending request to the client', () => {
    const pending: PendingDump[] = [
      { id: 's-1', method: 'sampling/createMessage', state: 'sent', ageMs: 10, leftMs: 90 },
      { id: 's-2', method: 'elicitation/create', state: 'sent', ageMs: 40, leftMs: 60 },
    ];
    const queues = { ...idle.queues, pending: { count: 2, max: 10 } };
    expect(headlineOf({ ...idle, pending, queues })).toEqual({
      mood: 'waiting',
      sentence:
        'Waiting for the client to answer 2 requests: sampling/createMessage, elicitation/create.',
      ageMs: 40,
      leftMs: 60,
    });
  });

  test('names a client that does not read before other causes', () => {
    const queues = { ...idle.queues, holds: ['output'] };
    expect(headlineOf({ ...idle, queues }).sentence).toContain('does not read');
  });

  test('names the end of the session', () => {
    expect(headlineOf({ ...idle, tags: ['flushing'] }).mood).toBe('ended');
    expect(headlineOf({ ...idle, tags: ['closed'] }).sentence).toBe('The session is over.');
  });
});
