/** What a dump says of a session of 2026-07-28: calls that wait for their retry, subscriptions, tasks that ask. */
import { causesOf, defineTool, describeDump, explainDump } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';
import { TestClock, turn } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { bookingMachine } from '../../examples/booking/booking.machine.ts';
import { headlineOf } from '../../src/diagnosis/headline.ts';
import { everything, modern } from './modern-peer.ts';

const handler = async (_: unknown, context: HandlerContext) =>
  (await context.elicit({ message: 'Who?', schema: { type: 'object', properties: {} } })).action;
const greet = defineTool({ name: 'greet', description: 'Asks.', handler });
const inputSchema = {
  type: 'object',
  properties: { day: { type: 'string' } },
  required: ['day'],
} as const;
const greeting = { name: 'greet', arguments: {} };

describe('a dump of a modern session', () => {
  test('says since when a suspended call waits for its retry, and until when', async () => {
    const clock = new TestClock();
    const { ask, session } = modern({ tools: [greet] }, { clock });
    await ask('tools/call', greeting);
    clock.increment(42_000);
    const dump = session.dump();
    expect(dump.calls).toMatchObject([
      { state: 'suspended', ageMs: 42_000, suspendedMs: 42_000, leftMs: 558_000 },
    ]);
    expect(causesOf(dump)).toMatchObject([{ kind: 'suspended', ageMs: 42_000, leftMs: 558_000 }]);
    expect(explainDump(dump)).toEqual([
      'tools/call 1 (greet) is suspended: it asked scripted-peer 1 question (elicitation/create "Who?") 42 s ago, and waits for the retry, given up in 9 min 18 s',
    ]);
    expect(headlineOf(dump)).toEqual({
      mood: 'waiting',
      sentence:
        'Waiting for scripted-peer to answer what tools/call greet has asked, in a retry: elicitation/create "Who?".',
      ageMs: 42_000,
      leftMs: 558_000,
    });
    expect(describeDump(dump)).toContain('Client: each request says who its client is');
  });

  test('says in which state the machine is that a tool is, in each round', async () => {
    const tool = defineTool({
      name: 'book',
      description: 'Books.',
      inputSchema,
      machine: bookingMachine,
    });
    const { ask, send, session } = modern({ tools: [tool] });
    const call = { name: 'book', arguments: { day: 'Monday' } };
    const { requestState } = await ask('tools/call', call);
    const [{ machine } = {}] = session.dump().calls;
    expect(machine).toMatchObject({ state: 'people' });
    expect(explainDump(session.dump())[0]).toContain(
      'tools/call 1 (book) is suspended in the state people: it asked',
    );
    expect(describeDump(session.dump())).toContain(
      'tools/call 1 (book) of scripted-peer: suspended in the state people',
    );
    const inputResponses = { q1: { action: 'accept', content: { people: 2 } } };
    await ask('tools/call', { ...call, requestState, inputResponses });
    // The same one has gone on, for another request.
    expect(session.dump().calls).toMatchObject([
      { id: 2, machine: { id: machine?.id, state: 'seating' } },
    ]);
    send('tools/call', call);
    await expect.poll(() => session.dump().calls).toHaveLength(2);
    expect(new Set(session.dump().calls.map((each) => each.machine?.id)).size).toBe(2);
  });

  test('says that a subscription listens, and counts it as no work', async () => {
    const { send, session, peer } = modern({ tools: [greet] });
    const notifications = { toolsListChanged: true };
    const id = send('subscriptions/listen', { notifications });
    await peer.notification('notifications/subscriptions/acknowledged');
    await turn();
    const dump = session.dump();
    expect(causesOf(dump)).toEqual([]);
    expect(headlineOf(dump).mood).toBe('idle');
    expect(describeDump(dump)).toContain(`subscriptions/listen ${id} of scripted-peer: listens`);
  });

  test('says that the work of a task waits for answers to its questions', async () => {
    const tool = defineTool({
      name: 'greet',
      description: 'Asks.',
      handler,
      taskSupport: 'optional',
    });
    const { ask, session } = modern({ tools: [tool] });
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    const capabilities = { ...everything, extensions };
    const { taskId } = await ask('tools/call', greeting, capabilities);
    await expect.poll(() => causesOf(session.dump())).toMatchObject([{ kind: 'task-input' }]);
    expect(explainDump(session.dump())).toEqual([
      `The task ${String(taskId)}, begun by tools/call 1 (greet), waits for the client to look at the task and answer 1 question`,
    ]);
    expect(headlineOf(session.dump()).sentence).toBe(
      'Waiting for the client to answer what the task of tools/call greet has asked.',
    );
  });
});
