import { cancelled, gate, request, toolCall } from 'mcp-actors/testing';
import type { ResponseFrame } from '../../packages/testing/src/messages.ts';
import { describe, expect, test } from 'vitest';
import { eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, operate, operateWarm, textOf, tool } from './serving.ts';

/** A tool that waits at its gate, and records the order of starts. */
function holding() {
  const door = gate();
  const started: unknown[] = [];
  const hold = tool('hold', async ({ n }) => {
    started.push(n);
    await door.pass();
    return String(n);
  });
  return { door, hold, started };
}

const call = (n: number) => toolCall(n, 'hold', { n });

everywhere('requests in flight', eachTransportAndHttp, (combination) => {
  test('rejects a repeated id, and continues the first request [BASE-07]', async () => {
    const { door, hold, started } = holding();
    const { peer } = await operateWarm({ tools: [hold] }, combination);
    peer.send(call(1));
    await door.arrived();
    peer.send(toolCall(1, 'echo'));
    const { code, message } = await peer.error(1);
    expect(code).toBe(-32600);
    expect(message).toContain('in flight');
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('1');
    expect(started).toEqual([1]);
    peer.send(toolCall(1, 'echo', { again: true }));
    expect(textOf((await peer.response(1)).result)).toBe('{"again":true}');
  });

  test('runs up to maxRunning requests, and starts queued ones in order [FLOW-01] [FLOW-06]', async () => {
    const { door, hold, started } = holding();
    const { peer } = await operateWarm(
      { tools: [hold] },
      { ...combination, limits: { maxRunning: 2 } },
    );
    peer.send(call(1), call(2), call(3), call(4), call(5));
    await door.arrived(2);
    await peer.quiet();
    expect(started).toEqual([1, 2]);
    door.release(1);
    await door.arrived(3);
    expect(started).toEqual([1, 2, 3]);
    door.release();
    for (const n of [1, 2, 3, 4, 5]) expect(textOf((await peer.response(n)).result)).toBe(`${n}`);
    expect(started).toEqual([1, 2, 3, 4, 5]);
  });

  test('rejects a request beyond maxWaitingBytes, and accepts requests again later [FLOW-02]', async () => {
    const { door, hold } = holding();
    const limits = { maxRunning: 1, maxWaitingBytes: 30_000 };
    const { peer, facts } = await operateWarm({ tools: [hold] }, { ...combination, limits });
    const text = 'x'.repeat(10_000);
    const large = (n: number) => toolCall(n, 'hold', { n, text });
    peer.send(...[1, 2, 3, 4].map(large), call(5));
    const { code, message, data } = await peer.error(4);
    expect(code).toBe(-32000);
    expect(message).toMatch(
      /^Overloaded: 2 requests of 20\d{3} bytes are queued, and this one of 10\d{3}/,
    );
    expect(data).toEqual({ reason: 'overloaded', retryable: true });
    await facts.next('request.refused');
    door.release();
    for (const n of [1, 2, 3, 5]) await peer.response(n);
    peer.send(large(4));
    expect(textOf((await peer.response(4)).result)).toBe('4');
  });

  test('rejects a request beyond maxWaiting, and accepts requests again later [FLOW-02]', async () => {
    const { door, hold } = holding();
    const limits = { maxRunning: 2, maxWaiting: 3 };
    const { peer, facts } = await operateWarm({ tools: [hold] }, { ...combination, limits });
    peer.send(...[1, 2, 3, 4, 5, 6, 7].map(call));
    for (const n of [6, 7]) {
      const { code, message, data } = await peer.error(n);
      expect(code).toBe(-32000);
      expect(message).toContain('2 requests are running and 3 are queued');
      expect(data).toEqual({ reason: 'overloaded', retryable: true });
    }
    await facts.next('request.refused');
    door.release();
    for (const n of [1, 2, 3, 4, 5]) await peer.response(n);
    peer.send(call(6));
    expect(textOf((await peer.response(6)).result)).toBe('6');
  });
});

everywhere('requests in flight', eachTransportAndHttp, () => {
  test('rejects a ping whose id is already in flight [BASE-07]', async () => {
    const { door, hold } = holding();
    const { peer } = await operateWarm({ tools: [hold] });
    peer.send(call(1));
    await door.arrived();
    peer.send(request(1, 'ping'));
    expect((await peer.response(1)).error?.code).toBe(-32600);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('1');
  });

  test('treats the id of a queued request as in flight [BASE-07]', async () => {
    const { door, hold, started } = holding();
    const { peer } = await operateWarm({ tools: [hold] }, { limits: { maxRunning: 1 } });
    peer.send(call(1), call(2));
    await door.arrived();
    peer.send(call(2));
    expect((await peer.error(2)).code).toBe(-32600);
    door.release();
    expect(textOf((await peer.response(2)).result)).toBe('2');
    expect(started).toEqual([1, 2]);
  });

  test('frees the id of a rejected request [FLOW-02] [BASE-07]', async () => {
    const { door, hold } = holding();
    const { peer } = await operateWarm(
      { tools: [hold] },
      { limits: { maxRunning: 1, maxWaiting: 0 } },
    );
    peer.send(call(1), call(2), call(2));
    expect((await peer.error(2)).code).toBe(-32000);
    expect((await peer.error(2)).code).toBe(-32000);
    door.release();
    await peer.response(1);
  });

  test('exempts ping, responses and cancellations from all limits [FLOW-03]', async () => {
    const door = gate();
    const asks = tool('asks', async (_, context) => {
      const { n } = await context.request('custom/question');
      return String(n);
    });
    const hold = tool('hold', (_, { signal }) => door.pass(signal));
    const limits = { maxRunning: 2, maxWaiting: 0 };
    const { peer } = await operateWarm({ tools: [asks, hold] }, { limits });
    peer.send(toolCall(1, 'asks'), toolCall(2, 'hold'), toolCall(3, 'hold'), toolCall(4, 'hold'));
    expect((await peer.error(4)).code).toBe(-32000);
    const asked = await peer.request('custom/question');
    await door.arrived(2);

    expect(await peer.ask('ping')).toEqual({});
    peer.send(cancelled(2), toolCall(5, 'hold'));
    await door.arrived(3);
    peer.answer(asked, { n: 7 });
    expect(textOf((await peer.response(1)).result)).toBe('7');
  });

  test('sends answers in the order in which handlers finish [FLOW-06]', async () => {
    const doors = [gate(), gate(), gate()];
    const hold = tool('hold', async ({ at }) => {
      await doors[at as number]?.pass();
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [hold] });
    peer.send(...[0, 1, 2].map((at) => toolCall(at, 'hold', { at })));
    await Promise.all(doors.map((door) => door.arrived()));
    for (const at of [2, 0, 1]) {
      doors[at]?.release();
      await peer.response(at);
    }
    const ids = peer.received.map((frame) => (frame as ResponseFrame).id);
    expect(ids.slice(-3)).toEqual([2, 0, 1]);
  });

  test('queues the first calls of a session instead of rejecting them [FLOW-02]', async () => {
    const limits = { maxRunning: 1, maxWaiting: 1 };
    const { peer } = await operate({ tools: [echo] }, { limits });
    peer.send(...Array.from({ length: 100 }, (_, id) => toolCall(id, 'echo', { id })));
    for (let id = 0; id < 100; id++) {
      expect(textOf((await peer.response(id)).result)).toBe(`{"id":${id}}`);
    }
  });
});

describe('a session', () => {
  test('answers ten thousand calls in one chunk, once each [BASE-08] [FLOW-01]', async () => {
    const { peer } = await operateWarm({}, { limits: { maxWaiting: 20_000 } });
    peer.send(...Array.from({ length: 10_000 }, (_, id) => toolCall(id, 'echo', { id })));
    await peer.response(9_999);
    await peer.quiet();
    const ids = peer.received.map((frame) => (frame as ResponseFrame).id);
    const answered = ids.filter((id) => typeof id === 'number');
    expect(answered).toHaveLength(10_000);
    expect(new Set(answered).size).toBe(10_000);
  });
});
