import { causesOf, defineTool, describeDump, explainDump } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';
import {
  TestClock,
  gate,
  notification,
  progressed,
  request,
  toolCall,
  flush,
} from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { bookingMachine } from '../../examples/booking/booking.machine.ts';
import { headlineOf } from '../../packages/diagnostics/src/headline.ts';
import { asking } from '../contract/asking.ts';
import { operate, operateWarm, serve, tool } from '../contract/serving.ts';
import { begin, held } from '../contract/task-serving.ts';
import { everything, modern } from './modern-peer.ts';

/** What stands under "Why nothing goes on". */
function causes(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.startsWith('  - ') ? [line.slice(4)] : []));
}

/** A session whose tool waits for a person's answer; the call is request 7. */
async function asked() {
  const search = tool('search', async (_, context) => {
    const schema = { type: 'object', properties: { where: { type: 'string' } } } as const;
    return (await context.elicit({ message: 'Where?', schema })).action;
  });
  const capabilities = { elicitation: {} };
  const serving = await operateWarm({ tools: [search] }, { capabilities });
  serving.peer.send(toolCall(7, 'search'));
  return { ...serving, question: await serving.peer.request('elicitation/create') };
}

describe('a session dump shows', () => {
  test('that the client has not introduced itself', async () => {
    const { session, clock } = serve({});
    clock.increment(12_000);
    const dump = session.dump();
    expect(dump).toMatchObject({
      state: 'uninitialized',
      tags: ['awaitsInitialize'],
      ageMs: 12_000,
      quietMs: 12_000,
    });
    expect(dump).not.toHaveProperty('client');
    expect(dump.roots).toEqual({ state: 'unasked', tags: [], list: [] });
    expect(causes(describeDump(dump))).toEqual([
      'The client has not sent initialize, 12 s after the start',
    ]);
  });

  test('the client, the actors and that nothing is pending', async () => {
    const { session, clock } = await operate(
      {},
      { capabilities: { sampling: {} }, limits: { keepaliveIntervalMs: 100_000 } },
    );
    clock.increment(90_000);
    const dump = session.dump();
    expect(dump.client).toMatchObject({ revision: '2025-11-25', capabilities: { sampling: {} } });
    expect(dump.actors).toContainEqual({
      id: 'keepalive',
      kind: 'machine',
      status: 'active',
      state: 'listening',
    });
    expect(dump.actors).toContainEqual({
      id: 'router',
      kind: 'actor',
      status: 'active',
      state: 'open',
    });
    expect(causes(describeDump(dump))).toEqual([
      'Nothing is pending: the session waits for the client, last heard 1 min 30 s ago',
    ]);
  });

  test('the pending request of each call with its age and deadline', async () => {
    const { session, clock, question } = await asked();
    clock.increment(42_000);
    const dump = session.dump();
    expect(dump.calls).toEqual([
      {
        id: 7,
        method: 'tools/call',
        subject: 'search',
        state: 'parked',
        ageMs: 42_000,
        openQuestions: 1,
      },
    ]);
    expect(dump.pending).toEqual([
      {
        id: question.id,
        method: 'elicitation/create',
        state: 'sent',
        ageMs: 42_000,
        leftMs: 558_000,
        relatedTo: 7,
      },
    ]);
    expect(dump.queues).toMatchObject({ running: { count: 0 }, pending: { count: 1, max: 1024 } });
    expect(causes(describeDump(dump))).toEqual([
      "tools/call 7 (search) waits for the client's answer to elicitation/create, asked 42 s ago, given up in 9 min 18 s",
    ]);
  });

  test('a deadline moved by progress with an unchanged age', async () => {
    const { ask } = asking();
    const limits = { requestTimeoutMs: 60_000 };
    const { session, clock, peer } = await operateWarm({ tools: [ask] }, { limits });
    peer.send(toolCall(7, 'ask', { method: 'custom/question', options: { progress: true } }));
    const { id } = await peer.request('custom/question');
    clock.increment(50_000);
    // A request's own id is its progress token.
    peer.send(progressed(id, 1));
    await flush();
    expect(session.dump().pending[0]).toMatchObject({ ageMs: 50_000, leftMs: 60_000 });
  });

  test('requests that wait for the initialized client', async () => {
    const { ask } = asking();
    const { peer, session, clock } = serve({ tools: [ask] });
    peer.send(
      request('hello', 'initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'slow', version: '1' },
      }),
    );
    await peer.response('hello');
    peer.send(toolCall(1, 'ask', { method: 'custom/question' }));
    await expect.poll(() => session.dump().pending).toHaveLength(1);
    clock.increment(3000);
    const dump = session.dump();
    expect(dump).toMatchObject({ state: 'negotiated', tags: ['awaitsInitialized'] });
    expect(dump.pending).toMatchObject([{ state: 'held', relatedTo: 1, ageMs: 3000 }]);
    expect(causes(describeDump(dump))).toEqual([
      'The client has not sent notifications/initialized, last heard 3 s ago; until it has, nothing may be asked of it',
      'tools/call 1 (ask) has custom/question to ask, held for 3 s until the client sends notifications/initialized, given up in 57 s',
    ]);
  });

  test('running and queued calls', async () => {
    const door = gate();
    const slow = tool('slow', async (_, { signal }) => {
      await door.pass(signal);
      return 'done';
    });
    const limits = { maxRunning: 1 };
    const { peer, session, clock } = await operateWarm({ tools: [slow] }, { limits });
    peer.send(toolCall(1, 'slow'));
    await door.arrived();
    clock.increment(5000);
    peer.send(toolCall('b', 'slow'));
    await flush();
    clock.increment(7000);
    const dump = session.dump();
    expect(dump.calls).toMatchObject([
      { id: 1, state: 'running', ageMs: 12_000 },
      { id: 'b', state: 'waiting', ageMs: 7000 },
    ]);
    expect(dump.queues).toMatchObject({
      running: { count: 1, max: 1 },
      waiting: { count: 1, max: 1024 },
      holds: [],
    });
    expect(causes(describeDump(dump))).toEqual([
      '1 of 1 requests run; the longest, tools/call 1 (slow), for 12 s; 1 waits for a place',
      'tools/call 1 (slow) has run for 12 s and asks nothing of the client: its handler is at work',
    ]);
    door.release();
    await peer.response('b');
  });

  test('a client that does not read', async () => {
    const limits = { maxOutboundBytes: 100_000 };
    const write = tool('write', () => 'x'.repeat(60_000));
    const { peer, wire, session, facts } = await operateWarm({ tools: [write] }, { limits });
    wire.stopReading();
    for (let n = 0; facts.of('output.blocked').length === 0; n++) {
      expect(n).toBeLessThan(10);
      peer.send(toolCall(n, 'write'));
      await flush();
    }
    const dump = session.dump();
    expect(dump.queues.holds).toEqual(['output']);
    expect(dump.queues.outboundBytes.count).toBeGreaterThan(100_000);
    expect(causes(describeDump(dump))).toEqual([
      expect.stringMatching(
        /^The client does not read: 1\d\d(\.\d)? KiB wait for it, and no request is started/,
      ),
    ]);
  });

  test('the state of the roots', async () => {
    const { peer, session, clock } = await operate({}, { capabilities: { roots: {} } });
    const question = await peer.request('roots/list');
    clock.increment(3000);
    expect(session.dump().roots).toMatchObject({ state: 'querying.fresh', tags: ['asking'] });
    peer.send(notification('notifications/roots/list_changed'));
    await flush();
    const overtaken = { state: 'querying.stale', tags: ['asking', 'overtaken'] };
    expect(session.dump().roots).toMatchObject(overtaken);
    expect(causes(describeDump(session.dump()))).toEqual([
      'The client has not answered roots/list, asked 3 s ago, given up in 2 s; what needs the roots waits for it',
    ]);
    peer.answer(question, { roots: [] });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///work' }] });
    await peer.quiet();
    expect(session.dump()).toMatchObject({
      state: 'rootsKnown',
      tags: ['operating'],
      roots: {
        state: 'known',
        tags: ['settled'],
        status: 'known',
        settled: true,
        generation: 1,
        list: [{ uri: 'file:///work' }],
      },
    });
    expect(describeDump(session.dump())).toContain(
      'Roots: known, known, 1 in the list\n  file:///work',
    );
  });

  test('calls that wait for the roots', async () => {
    const where = tool('where', async (_, context) => {
      const { roots } = await context.roots();
      return roots.map(({ uri }) => uri).join();
    });
    const { peer, session, clock } = await operateWarm(
      { tools: [where] },
      { capabilities: { roots: {} } },
    );
    const question = await peer.request('roots/list');
    peer.send(toolCall(7, 'where'));
    await expect.poll(() => session.dump().calls).toMatchObject([{ id: 7, awaitsRoots: true }]);
    clock.increment(3000);
    expect(causes(describeDump(session.dump()))).toEqual([
      'The client has not answered roots/list, asked 3 s ago, given up in 2 s; what needs the roots waits for it',
      "tools/call 7 (where) has run for 3 s and waits until the client's roots are known",
    ]);
    peer.answer(question, { roots: [{ uri: 'file:///work' }] });
    expect(await peer.response(7)).toMatchObject({
      result: { content: [{ text: 'file:///work' }] },
    });
    expect(session.dump().calls).toEqual([]);
  });

  test('a failed roots query with its reason', async () => {
    const { peer, session, clock } = await operate({}, { capabilities: { roots: {} } });
    await peer.request('roots/list');
    clock.increment(5000);
    await peer.quiet();
    expect(session.dump().roots).toMatchObject({ state: 'retrying', status: 'failed' });
    expect(causes(describeDump(session.dump()))).toEqual([
      expect.stringMatching(/^The roots are not known: .*roots\/list.* within 5000 ms/),
    ]);
  });

  test('running tasks and their waiters', async () => {
    const { door, hold } = held();
    const { peer, session } = await operateWarm({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(9, 'tasks/result', { taskId }));
    await flush();
    const dump = session.dump();
    expect(dump.tasks).toMatchObject([{ taskId, status: 'working', waiters: 1 }]);
    expect(dump.queues.tasks).toEqual({ count: 1, max: 64 });
    expect(dump.calls).toContainEqual(expect.objectContaining({ taskId, state: 'running' }));
    expect(dump.calls).toContainEqual(
      expect.objectContaining({ id: 9, subject: taskId, state: 'parked', openQuestions: 0 }),
    );
    expect(causes(describeDump(dump))).toEqual([
      expect.stringContaining(`tasks/result 9 (${taskId}) has waited `),
      expect.stringMatching(`^The task ${taskId}, begun by tools/call .* \\(hold\\), has run for `),
    ]);
    door.release();
    await peer.response(9);
  });

  test('the pending requests of a task', async () => {
    const { ask } = asking();
    const { peer, session } = await operateWarm({ tools: [{ ...ask, taskSupport: 'optional' }] });
    const { taskId } = await begin(peer, 'ask', { arguments: { method: 'custom/question' } });
    await peer.request('custom/question');
    const dump = session.dump();
    expect(dump.pending).toMatchObject([{ method: 'custom/question', taskId }]);
    expect(dump.tasks).toMatchObject([{ status: 'input_required' }]);
    expect(causes(describeDump(dump))).toEqual([
      expect.stringMatching(
        `^The task ${taskId}, begun by .* waits for the client's answer to custom/question`,
      ),
    ]);
  });

  test('a draining session and its pending work', async () => {
    const door = gate();
    const { peer, session } = await operateWarm({ tools: [tool('stubborn', () => door.pass())] });
    peer.send(toolCall(1, 'stubborn'));
    await door.arrived();
    session.shutdown('a test');
    const dump = session.dump();
    expect(dump).toMatchObject({ state: 'draining.settling', tags: ['settling'] });
    expect(causes(describeDump(dump))[0]).toBe(
      'The session is ending: 1 request may still end by itself, then it closes',
    );
    door.release();
    await session.closed;
    expect(causes(describeDump(session.dump()))).toEqual(['The session has ended']);
  });
});

describe('describeDump', () => {
  test('describes a dump and its JSON copy alike', async () => {
    const { session } = await asked();
    const dump = session.dump();
    expect(JSON.parse(JSON.stringify(dump))).toEqual(dump);
  });

  test('escapes control characters in the client name', async () => {
    const { peer, session } = serve({});
    const clientInfo = { name: '\u001b]0;owned\u0007\r\nfake', version: 'x'.repeat(1000) };
    await peer.handshake({ clientInfo });
    const text = describeDump(session.dump());
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(text).toContain('Client: \\u001b]0;owned\\u0007\\u000d\\u000afake xxx');
    expect(text.length).toBeLessThan(2000);
  });

  test('stays short with a thousand unanswered requests', async () => {
    const { ask } = asking();
    const { peer, session } = await operateWarm({ tools: [ask] });
    for (let n = 0; n < 1000; n++) peer.send(toolCall(n, 'ask', { method: 'custom/question' }));
    await expect.poll(() => session.dump().pending).toHaveLength(1000);
    const text = describeDump(session.dump());
    expect(causes(text)).toHaveLength(21);
    expect(causes(text).at(-1)).toBe('… and 980 more like these');
    expect(text.split('\n').length).toBeLessThan(150);
  });
});

const handler = async (_: unknown, context: HandlerContext) =>
  (await context.elicit({ message: 'Who?', schema: { type: 'object', properties: {} } })).action;
const greet = defineTool({ name: 'greet', description: 'Asks.', handler });
const inputSchema = {
  type: 'object',
  properties: { day: { type: 'string' } },
  required: ['day'],
} as const;
const greeting = { name: 'greet', arguments: {} };

describe('a 2026-07-28 session dump', () => {
  test('shows how long a suspended call has waited and when it expires', async () => {
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

  test('shows the state of a machine tool in each round', async () => {
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

  test('shows a subscription without counting it as a running call', async () => {
    const { send, session, peer } = modern({ tools: [greet] });
    const notifications = { toolsListChanged: true };
    const id = send('subscriptions/listen', { notifications });
    await peer.notification('notifications/subscriptions/acknowledged');
    await flush();
    const dump = session.dump();
    expect(causesOf(dump)).toEqual([]);
    expect(headlineOf(dump).mood).toBe('idle');
    expect(describeDump(dump)).toContain(`subscriptions/listen ${id} of scripted-peer: listens`);
  });

  test('shows a task that waits for answers', async () => {
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
