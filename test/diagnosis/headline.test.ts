import { describe, expect, test } from 'vitest';
import { createMcpServer, defineTool } from 'mcp-actors';
import { testClient, gate } from 'mcp-actors/testing';
import type { PendingDump } from '../../src/diagnosis/peer-dump.ts';
import type { SessionDump } from '../../src/diagnosis/session-dump.ts';
import { headlineOf } from '../../src/diagnosis/headline.ts';

describe('why a session does what it does', () => {
  const server = createMcpServer({ name: 'asked', version: '1' });

  test('it waits for the handshake', () => {
    const dump = { ...idle, tags: ['awaitsInitialize'], ageMs: 1200 } as const;
    expect(headlineOf(dump)).toMatchObject({ mood: 'waiting', ageMs: 1200 });
    expect(headlineOf({ ...idle, tags: ['awaitsInitialized'] }).sentence).toContain(
      'notifications/initialized',
    );
  });

  test('nothing is pending', async () => {
    await using client = await testClient(server);
    const { mood, sentence } = headlineOf(client.session.dump());
    expect([mood, sentence]).toEqual(['idle', expect.stringContaining('Nothing is pending')]);
  });

  test('it works, and on what', async () => {
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

  test('it waits for an answer: the one that has been owed for longest', () => {
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

  test('the client does not read, whatever else is pending', () => {
    const queues = { ...idle.queues, holds: ['output'] };
    expect(headlineOf({ ...idle, queues }).sentence).toContain('does not read');
  });

  test('it ends', () => {
    expect(headlineOf({ ...idle, tags: ['flushing'] }).mood).toBe('ended');
    expect(headlineOf({ ...idle, tags: ['closed'] }).sentence).toBe('The session is over.');
  });

  const none = { count: 0, max: 10 };
  const idle: SessionDump = {
    side: 'server',
    id: 'a',
    state: 'rootsKnown',
    tags: ['operating'],
    ageMs: 0,
    quietMs: 0,
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
});
