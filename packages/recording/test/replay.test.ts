import { createMcpServer, defineResource, defineTool } from 'mcp-actors';
import type { JsonObject, Tool } from 'mcp-actors';
import { differenceText, readRecording, replay } from 'mcp-actors/recording';
import { cancelled, gate, initialize, initialized, toolCall, flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { withoutChannel } from '../../../test/contract/channel-wire.ts';
import { echo, tool } from '../../../test/contract/serving.ts';
import { askName, expectSame, form, linesOf, recordedSession, roots } from './recorded-session.ts';

const named = { name: 'recorded', version: '1.0.0' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

const held = (pass: (signal: AbortSignal) => Promise<void>): Tool =>
  tool('hold', async (_, { signal }) => {
    await pass(signal);
    return 'passed';
  });

describe('a replay reproduces a session', () => {
  test('with a handshake, calls and the end of the input', async () => {
    const { peer, finish } = recordedSession({ ...named, tools: [echo] });
    await peer.handshake();
    await peer.call('echo', { text: 'hi' });
    await peer.ask('tools/list');
    await peer.ask('ping');
    const recording = await finish();
    const { inputs, outputs, note } = await expectSame(recording);
    expect(inputs).toBeGreaterThan(6);
    expect(outputs).toBeGreaterThan(10);
    expect(note).toBeUndefined();
  });

  test('with a stale roots query, in one turn of the event loop and in several', async () => {
    const resolveRoots = async (list: readonly { readonly uri: string }[]) => {
      await flush();
      return list;
    };
    const { peer, finish } = recordedSession({ ...named, tools: [roots], resolveRoots });
    await peer.handshake({ capabilities });
    const first = await peer.request('roots/list');
    peer.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    peer.answer(first, { roots: [{ uri: 'file:///a' }] });
    const second = await peer.request('roots/list');
    peer.answer(second, { roots: [{ uri: 'file:///b' }] });
    // Overtaken while the answer is on its way to the machine.
    peer.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///c' }] });
    expect(JSON.stringify(await peer.call('roots'))).toContain('file:///c');
    const recording = await finish();
    await expectSame(recording);
    const states = recording.lines.flatMap(({ line }) => ('machine' in line ? [line.to] : []));
    expect(states).toContain('querying.stale');
  });

  test('with roots requested in a call, then over a newly opened channel', async () => {
    const connection = withoutChannel();
    const { peer, finish } = recordedSession({ ...named, tools: [roots] }, { connection });
    await peer.handshake({ capabilities });
    const [asked, called] = [peer.request('roots/list'), peer.call('roots')];
    peer.answer(await asked, { roots: [{ uri: 'file:///a' }] });
    await called;
    connection.openChannel();
    peer.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///b' }] });
    await peer.quiet();
    connection.closeChannel();
    const recording = await finish();
    await expectSame(recording);
    await expectSame(recording, { server: createMcpServer({ ...named, tools: [roots] }) });
    const channels = recording.lines.flatMap(({ line }) =>
      'channel' in line ? [line.channel] : [],
    );
    expect(channels).toEqual(['closed', 'opened', 'closed']);
  });

  test('with questions, withdrawn questions and timeouts', async () => {
    const withdraw = tool('withdraw', async (_, { request }) => {
      const controller = new AbortController();
      const asked = request('custom/question', {}, { signal: controller.signal });
      await flush();
      controller.abort('never mind');
      return asked.then(JSON.stringify, (error: Error) => error.message);
    });
    const progress = tool('progress', async (_, context) => {
      const told: number[] = [];
      const onProgress = (report: { readonly progress: number }) => {
        told.push(report.progress);
        context.progress(report.progress);
      };
      await context.request('custom/question', {}, { onProgress });
      return JSON.stringify(told);
    });
    const { peer, clock, finish } = recordedSession({
      ...named,
      tools: [tool('ask', askName), withdraw, progress],
    });
    await peer.handshake({ capabilities });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    const asked = peer.call('ask');
    peer.answer(await peer.request('elicitation/create'), {
      action: 'accept',
      content: { name: 'Ada' },
    });
    await asked;
    const withdrawn = peer.call('withdraw');
    await peer.request('custom/question');
    await withdrawn;
    const informed = peer.call('progress', {}, { progressToken: 'p' });
    const request = await peer.request('custom/question');
    const progressToken = (request.params?.['_meta'] as JsonObject | undefined)?.['progressToken'];
    for (const at of [1, 2]) {
      peer.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: at },
      });
      clock.increment(200);
    }
    peer.answer(request, { roots: [] });
    await informed;
    const late = peer.call('ask');
    const unanswered = await peer.request('elicitation/create');
    clock.increment(600_000);
    await late;
    peer.answer(unanswered, { action: 'cancel' });
    const recording = await finish();
    await expectSame(recording);
    const lines = recording.lines.map(({ line }) => line);
    expect(lines.filter((line) => 'withdrawn' in line)).toHaveLength(1);
    expect(lines.filter((line) => 'told' in line)).toHaveLength(2);
    expect(lines.filter((line) => 'timer' in line)).not.toEqual([]);
  });

  test('with cancellation, full queues and a client that does not read', async () => {
    const { pass, arrived, release } = gate();
    const big = tool('big', () => 'x'.repeat(400_000));
    const { peer, wire, finish } = recordedSession(
      { ...named, tools: [held(pass), big] },
      { limits: { maxRunning: 2, maxWaiting: 1, maxOutboundBytes: 300_000 } },
    );
    await peer.handshake();
    await peer.call('big');
    for (const id of [1, 2, 3, 4]) peer.send(toolCall(id, 'hold'));
    await arrived(2);
    await peer.error(4);
    peer.send(cancelled(1), cancelled(3), cancelled('nobody'));
    await peer.quiet();
    release();
    await peer.response(2);
    wire.stopReading();
    peer.send(toolCall(5, 'big'));
    await flush();
    peer.send(toolCall(6, 'big'), toolCall(7, 'hold'));
    await flush();
    wire.resumeReading();
    await peer.response(7);
    const recording = await finish();
    await expectSame(recording);
    const flow = recording.lines.flatMap(({ line }) => ('output' in line ? [line.output] : []));
    expect(flow).toContain('blocked');
    expect(flow).toContain('flowing');
  });

  test('with tasks, their messages and their ends', async () => {
    const { pass, arrived, release } = gate();
    const work = defineTool({
      name: 'work',
      description: 'Works',
      inputSchema: { type: 'object' },
      taskSupport: 'optional',
      handler: async (_, { task, elicit, signal }) => {
        task?.describe('half way');
        await pass(signal);
        return JSON.stringify(await elicit({ message: 'Who?', schema: form as never }));
      },
    });
    const { peer, clock, finish } = recordedSession({ ...named, tools: [work] });
    await peer.handshake({ capabilities });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    const create = async () => {
      const { task } = await peer.ask('tools/call', { name: 'work', arguments: {}, task: {} });
      return (task as { readonly taskId: string }).taskId;
    };
    const one = await create();
    const two = await create();
    await arrived(2);
    await peer.ask('tasks/cancel', { taskId: two });
    release();
    const result = peer.ask('tasks/result', { taskId: one });
    peer.answer(await peer.request('elicitation/create'), { action: 'decline' });
    await result;
    clock.increment(3_600_000);
    await peer.ask('tasks/list');
    const recording = await finish();
    await expectSame(recording);
    const tasks = recording.lines.flatMap(({ line }) => ('task' in line ? [line.task] : []));
    expect(new Set(tasks)).toEqual(new Set([1, 2]));
  });

  test('with invalid messages, batches and unsolicited responses', async () => {
    const { peer, finish } = recordedSession({ ...named, tools: [echo] });
    await peer.handshake({ protocolVersion: '2025-03-26' });
    peer.sendRaw('{"jsonrpc":\n[]\n{"jsonrpc":"2.0","id":9}\n');
    peer.sendRaw('{"jsonrpc":"2.0","error":{"code":-1,"message":"what?"}}\n');
    peer.send({ jsonrpc: '2.0', id: 's-1-x', result: {} });
    peer.send({ jsonrpc: '2.0', id: 's-1-y', result: 3 });
    peer.send([toolCall(1, 'echo'), { jsonrpc: '2.0', id: 2, method: 'ping' }, 7]);
    await peer.batch();
    await peer.quiet();
    await expectSame(await finish());
  });

  test('with handler errors and values that JSON cannot represent', async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const outcomes: { readonly [name: string]: () => unknown } = {
      cycle: () => ({ content: [], structuredContent: cycle }),
      throws: () => {
        throw new Error('a bug');
      },
      rejects: () => Promise.reject(new Error('a bug')),
      number: () => 7,
      asks: () => undefined,
    };
    const asks = tool('asks', async (_, { request }) =>
      request('roots/list', { cycle }).catch((error: Error) => error.message),
    );
    const tools = Object.entries(outcomes).map(([name, handler]) => tool(name, handler));
    const { peer, finish } = recordedSession({ ...named, tools: [...tools.slice(0, 4), asks] });
    await peer.handshake({ capabilities });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    let id = 0;
    for (const name of Object.keys(outcomes)) {
      peer.send(toolCall(++id, name));
      await peer.response(id);
    }
    peer.send({ jsonrpc: '2.0', id: 99, method: 'tools/call' });
    await peer.error(99);
    await expectSame(await finish());
  });

  test('with pings, updates and a shutdown of the host', async () => {
    const server = createMcpServer({
      ...named,
      tools: [echo],
      resources: [defineResource({ uri: 'test://one', name: 'one', read: () => 'text' })],
    });
    const { peer, session, clock, text } = recordedSession(server, {
      // What a host does on news of the roots is nested in them.
      onRootsUpdated: () => server.resourceUpdated('test://one'),
    });
    await peer.handshake({ capabilities });
    await peer.ask('resources/subscribe', { uri: 'test://one' });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    await peer.notification('notifications/resources/updated');
    const answered = session.ping();
    peer.answer(await peer.request('ping'), {});
    await answered;
    const controller = new AbortController();
    const given = session.ping({ signal: controller.signal });
    await peer.request('ping');
    controller.abort();
    await expect(given).rejects.toThrow('cancelled');
    server.tools.add(tool('more', () => 'more'));
    clock.increment(1000);
    await peer.notification('notifications/tools/list_changed');
    session.shutdown('enough');
    await session.closed;
    await flush();
    const recording = readRecording(text(), 'host.jsonl');
    await expectSame(recording);
    expect(linesOf(text()).at(-1)).toMatchObject({ closed: 'shutdown', reason: 'enough' });
  });

  test('with a keepalive without an answer', async () => {
    const limits = { keepaliveIntervalMs: 1000, keepaliveTimeoutMs: 100, keepaliveFailures: 2 };
    const { peer, session, clock, text } = recordedSession({ ...named, tools: [] }, { limits });
    await peer.handshake();
    for (let round = 0; round < 4; round++) {
      await flush();
      clock.increment(1000);
      await flush();
      clock.increment(100);
    }
    expect((await session.closed).kind).toBe('unresponsive');
    await flush();
    await expectSame(readRecording(text(), 'keepalive.jsonl'));
  });

  test('with a log that drops messages', async () => {
    const chatty = tool('chatty', (_, { log }) => {
      for (let i = 0; i < 5; i++) log.info(`line ${i}`);
      return 'said';
    });
    const { peer, clock, finish } = recordedSession(
      { ...named, tools: [chatty], logging: {} },
      { limits: { maxLogsPerSecond: 2 } },
    );
    await peer.handshake();
    await peer.call('chatty');
    clock.increment(1500);
    await peer.quiet();
    expect(peer.count('notifications/message')).toBe(3);
    const recording = await finish();
    await expectSame(recording);
    expect(recording.lines.some(({ line }) => 'announce' in line)).toBe(true);
  });

  test('with two messages of one chunk on either side of the handshake', async () => {
    const { peer, finish } = recordedSession({ ...named, tools: [echo] });
    peer.send(toolCall(0, 'echo'), initialize(1), initialized, toolCall(2, 'echo'));
    await peer.response(2);
    await expectSame(await finish());
  });
});

describe('a replay difference', () => {
  async function conversation() {
    const { peer, finish, text } = recordedSession({ ...named, tools: [echo] });
    await peer.handshake();
    await peer.call('echo', { text: 'hi' });
    await finish();
    return text();
  }
  const played = async (text: string) => {
    const recording = readRecording(text, 'bug.jsonl');
    const { difference } = await replay(recording);
    return difference && differenceText(difference, recording);
  };

  test('in a frame is shown with its line, path and preceding lines', async () => {
    const text = await conversation();
    const rows = text.split('\n');
    const at = rows.findIndex((row) => row.includes('"server"') && row.includes('hi'));
    rows[at] = (rows[at] as string).replace('hi', 'ho');
    const shown = await played(rows.join('\n'));
    expect(shown).toContain(`bug.jsonl:${at + 1}: the replay sends a frame otherwise than`);
    expect(shown).toContain(`  ${at}  ${rows[at - 1]}`);
    expect(shown).toContain('server.result.content[0].text: ');
    expect(shown).toMatch(/^- .*ho.*\n\+ .*hi/m);
  });

  test('in a transition, in missing and in extra output is shown', async () => {
    const text = await conversation();
    expect(await played(text.replace('"to":"rootsKnown"', '"to":"initialized"'))).toContain(
      'to: "initialized" was recorded, "rootsKnown" is replayed',
    );
    const rows = text.split('\n');
    const at = rows.findIndex((row) => row.includes('"server"') && row.includes('hi'));
    const without = [...rows.slice(0, at), ...rows.slice(at + 1)].join('\n');
    expect(await played(without)).toContain(
      'the replay sends a frame where the recorded session takes "input.ended"',
    );
    const twice = [...rows.slice(0, at), rows[at], ...rows.slice(at)].join('\n');
    expect(await played(twice)).toContain(
      'the replay does nothing where the recorded session sends a frame',
    );
  });

  test('in the limits of the session shows up as their effect', async () => {
    const { pass, arrived, release } = gate();
    const { peer, finish, text } = recordedSession({ ...named, tools: [held(pass)] });
    await peer.handshake();
    peer.send(toolCall(1, 'hold'), toolCall(2, 'hold'));
    await arrived(2);
    release();
    await peer.response(2);
    await finish();
    const shown = await played(text().replace('"maxRunning":64', '"maxRunning":1'));
    expect(shown).toContain(
      'the replay does nothing where the recorded session starts the handler',
    );
  });
});
