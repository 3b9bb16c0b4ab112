/** Attention rules of the page, tested with real sessions. */
import { gate, notification, request, rootsChanged, toolCall, flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { followedChart, mostUrgent, waitOf } from '../src/page/attention.ts';
import type { CallDump } from '../../diagnostics/src/peer-dump.ts';
import type { SessionDump } from '../../diagnostics/src/session-dump.ts';
import { asking } from '../../../test/contract/asking.ts';
import { operate, operateWarm, serve, tool } from '../../../test/contract/serving.ts';
import { modern } from '../../../test/server/modern-peer.ts';
import { begin, held } from '../../../test/contract/task-serving.ts';

const callOf = (dump: SessionDump, id: unknown): CallDump => {
  const call = dump.calls.find((each) => each.id === id);
  if (!call) throw new Error(`No call ${String(id)}`);
  return call;
};
const wait = (dump: SessionDump, id: unknown, elapsedMs = 0) =>
  waitOf(callOf(dump, id), dump, elapsedMs);

const where = tool('where', async (_, context) => `${(await context.roots()).roots.length}`);

describe('waitOf', () => {
  test('describes a call waiting for the client: method, age and timeout', async () => {
    const { ask } = asking();
    const { session, peer, clock } = await operateWarm({ tools: [ask] });
    peer.send(toolCall(7, 'ask', { method: 'custom/question' }));
    await peer.request('custom/question');
    clock.increment(12_000);
    expect(wait(session.dump(), 7, 1000)).toEqual({
      on: 'client',
      words: 'waiting for the client: custom/question, sent 13.0 s ago, times out in 47.0 s',
    });
  });

  test('describes a call waiting for the roots with the state of their query', async () => {
    const { session, peer, clock } = await operateWarm(
      { tools: [where] },
      { capabilities: { roots: {} } },
    );
    await peer.request('roots/list');
    peer.send(toolCall(7, 'where'));
    await expect.poll(() => session.dump().calls).toHaveLength(1);
    clock.increment(3000);
    const dump = session.dump();
    expect(wait(dump, 7)).toEqual({
      on: 'roots',
      words: 'waiting for the roots: roots/list, sent 3.0 s ago, times out in 2.0 s',
    });
    expect(followedChart(dump)).toBe('roots');
  });

  test('describes a queued call with its position and the slots in use', async () => {
    const door = gate();
    const slow = tool('slow', async (_, { signal }) => {
      await door.pass(signal);
      return 'done';
    });
    const { session, peer } = await operateWarm({ tools: [slow] }, { limits: { maxRunning: 1 } });
    for (const id of [1, 2, 3]) peer.send(toolCall(id, 'slow'));
    await door.arrived();
    await flush();
    const dump = session.dump();
    expect(wait(dump, 1)).toEqual({ on: 'nothing', words: 'handler running' });
    expect(wait(dump, 3)).toEqual({
      on: 'slot',
      words: 'queued: position 2, 1 of 1 slots in use',
    });
    door.release();
    await peer.response(3);
  });

  test("describes a suspended call waiting for the client's retry", async () => {
    const greet = tool('greet', async (_, context) => {
      const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
      return (await context.elicit({ message: 'Who are you?', schema })).action;
    });
    const { ask, session } = modern({ tools: [greet] });
    const asking = await ask('tools/call', { name: 'greet', arguments: {} });
    expect(asking).toMatchObject({ resultType: 'input_required' });
    const dump = session.dump();
    expect(dump.calls.map((call) => waitOf(call, dump, 0))).toEqual([
      {
        on: 'client',
        words: expect.stringMatching(
          /^suspended: waiting for the retry with 1 answer to elicitation\/create "Who are you\?", sent .* ago, times out in /,
        ) as string,
      },
    ]);
  });

  test('describes calls waiting for a task or for their handler', async () => {
    const { door, hold } = held();
    const { peer, session } = await operate({ tools: [hold] });
    const began = begin(peer, 'hold');
    const { taskId } = await began;
    await door.arrived();
    peer.send(request(9, 'tasks/result', { taskId }));
    await flush();
    const dump = session.dump();
    expect(wait(dump, 9)).toEqual({ on: 'task', words: 'waiting for its task to end' });
    expect(followedChart(dump)).toBe('task');
    door.release();
    await peer.response(9);
  });
});

describe('followedChart', () => {
  test('follows the session chart before the handshake, while nothing is pending, and at the end', async () => {
    const { session, peer } = serve({});
    expect(followedChart(session.dump())).toBe('session');
    await peer.handshake();
    expect(followedChart(session.dump())).toBe('session');
    session.shutdown('a test');
    expect(followedChart(session.dump())).toBe('session');
    await session.closed;
  });

  test('follows the roots chart while the roots are queried, even behind older questions', async () => {
    const { ask } = asking();
    const { session, peer } = await operateWarm(
      { tools: [ask] },
      { capabilities: { roots: { listChanged: true } } },
    );
    peer.answer(await peer.request('roots/list'), { roots: [] });
    peer.send(toolCall(7, 'ask', { method: 'custom/question' }));
    await peer.request('custom/question');
    expect(followedChart(session.dump())).toBe('session');
    peer.send(rootsChanged);
    await peer.request('roots/list');
    expect(followedChart(session.dump())).toBe('roots');
  });

  test('follows the keepalive chart while its own ping is unanswered, but not for another ping', async () => {
    const limits = { keepaliveIntervalMs: 10_000 };
    const { session, peer, clock } = await operate({}, { limits });
    clock.increment(10_000);
    await peer.request('ping');
    expect(followedChart(session.dump())).toBe('keepalive');
    const without = await operate({});
    const pong = without.session.ping();
    const ping = await without.peer.request('ping');
    expect(followedChart(without.session.dump())).toBe('session');
    without.peer.answer(ping, {});
    await pong;
  });
});

test('mostUrgent picks the longest wait first and ended sessions last', async () => {
  const ended = await operate({});
  ended.session.shutdown('a test');
  await ended.session.closed;
  const idle = await operate({});
  const { ask } = asking();
  const working = await operateWarm({ tools: [tool('work', () => new Promise(() => {}))] });
  working.peer.send(toolCall(1, 'work'));
  const waiting = await operateWarm({ tools: [ask] });
  waiting.peer.send(toolCall(1, 'ask', { method: 'custom/question' }));
  await waiting.peer.request('custom/question');
  waiting.clock.increment(5000);
  const newer = serve({});
  newer.peer.send(notification('notifications/unknown'));
  const candidates = [ended, idle, working, waiting, newer].map(({ session }) => ({
    dump: session.dump(),
    closed: session === ended.session ? 'a test' : undefined,
  }));
  const order: number[] = [];
  const left = [...candidates];
  while (left.length > 0) {
    const urgent = mostUrgent(left);
    order.push(candidates.indexOf(urgent as (typeof candidates)[number]));
    left.splice(left.indexOf(urgent as (typeof candidates)[number]), 1);
  }
  expect(order).toEqual([3, 4, 2, 1, 0]);
  expect(mostUrgent([])).toBeUndefined();
});
