import type { JsonObject, ProgressReport } from 'mcp-actors';
import { cancelled, gate, progressed, request, toolCall, flush } from 'mcp-actors/testing';
import type { RequestFrame } from '../../packages/testing/src/messages.ts';
import { expect, test } from 'vitest';
import { eachByteTransport, eachTransportAndStreams, everywhere } from '../contract/everywhere.ts';
import { operateWarm, tool } from '../contract/serving.ts';

const progress = 'notifications/progress';

/** Reports the steps of its arguments, waiting at a gate before each. */
function reporting() {
  const door = gate();
  const report = tool('report', async ({ steps }, context) => {
    for (const [value, total] of steps as readonly (readonly [number, number?])[]) {
      await door.pass();
      context.progress(value, total === undefined ? undefined : { total, message: `at ${value}` });
    }
    return 'done';
  });
  return { door, report };
}

everywhere('progress', (combination) => {
  test.each(['token', 0, '', 7])(
    'progress is sent with the token %j and increases [PROGRESS-01] [PROGRESS-05]',
    async (progressToken) => {
      const { door, report } = reporting();
      const { peer, clock } = await operateWarm({ tools: [report] }, combination);
      const steps = [
        [1, 10],
        [2, 10],
        [2, 10],
        [1, 10],
        [10, 10],
      ];
      peer.send(toolCall(1, 'report', { steps }, { progressToken }));
      for (const [at] of steps.entries()) {
        await door.arrived(at + 1);
        clock.increment(1000);
        door.release(1);
      }
      await peer.response(1);
      const told = peer.received.filter(
        (frame) => (frame as { readonly method?: string }).method === progress,
      );
      expect(told.map((frame) => (frame as { readonly params: object }).params)).toEqual(
        [1, 2, 10].map((value) => ({
          progressToken,
          progress: value,
          total: 10,
          ...(combination.revision === '2024-11-05' ? {} : { message: `at ${value}` }),
        })),
      );
    },
  );
});

everywhere('progress', eachTransportAndStreams, () => {
  test('progress is not sent without a token [PROGRESS-01]', async () => {
    const { door, report } = reporting();
    const { peer } = await operateWarm({ tools: [report] });
    door.release();
    for (const meta of [undefined, {}]) await peer.call('report', { steps: [[1]] }, meta);
    expect(peer.count(progress)).toBe(0);
  });

  test('progress is sent at most ten times per second, plus the final report [PROGRESS-03]', async () => {
    const flood = tool('flood', (_, context) => {
      for (let value = 1; value <= 1000; value++) context.progress(value, { total: 1000 });
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [flood] });
    await peer.call('flood', {}, { progressToken: 1 });
    const values = peer.received.flatMap((frame) => {
      const { method, params } = frame as { method?: string; params?: { progress: number } };
      return method === progress ? [params?.progress] : [];
    });
    expect(values).toEqual([1, 1000]);
  });

  test('progress within an interval is delayed, and only the latest report is sent [PROGRESS-03]', async () => {
    const { door, report } = reporting();
    const { peer, clock } = await operateWarm({ tools: [report] });
    const before = clock.liveTimers;
    peer.send(toolCall(1, 'report', { steps: [[1], [2], [3], [2.5], [4]] }, { progressToken: 1 }));
    for (let step = 1; step <= 4; step++) {
      await door.arrived(step);
      door.release(1);
    }
    await door.arrived(5);
    expect((await peer.notification(progress)).params?.['progress']).toBe(1);
    clock.increment(99);
    await peer.quiet();
    expect(peer.count(progress)).toBe(1);
    clock.increment(1);
    expect((await peer.notification(progress)).params?.['progress']).toBe(3);
    expect(clock.liveTimers).toBe(before);
    clock.increment(1000);
    await peer.quiet();
    expect(peer.count(progress)).toBe(2);
    door.release();
    await peer.response(1);
  });

  test.each(['answered', 'cancelled'])(
    'delayed progress is dropped with its timer once the request is %s [PROGRESS-02]',
    async (how) => {
      const { door, report } = reporting();
      const { peer, clock } = await operateWarm({ tools: [report] });
      const before = clock.liveTimers;
      peer.send(toolCall(1, 'report', { steps: [[1], [2], [3]] }, { progressToken: 1 }));
      for (const step of [1, 2]) {
        await door.arrived(step);
        door.release(1);
      }
      await door.arrived(3);
      expect(clock.liveTimers).toBe(before + 1);
      if (how === 'answered') door.release(1);
      else peer.send(cancelled(1));
      await peer.quiet();
      expect(clock.liveTimers).toBe(before);
      clock.increment(1000);
      await peer.quiet();
      expect(peer.count(progress)).toBe(1);
      door.release();
    },
  );

  test('progress that is not finite is not sent [PROGRESS-01]', async () => {
    const odd = tool('odd', (_, context) => {
      context.progress(Number.NaN);
      context.progress(Infinity);
      context.progress(-Infinity);
      context.progress(1, { total: Infinity });
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [odd] });
    await peer.call('odd', {}, { progressToken: 1 });
    expect(peer.violations).toEqual([]);
  });

  test('progress and total can be floating point [PROGRESS-07]', async () => {
    const { door, report } = reporting();
    const { peer, clock } = await operateWarm({ tools: [report] });
    const steps = [
      [0.25, 1.5],
      [0.5, 1.5],
      [1.5, 1.5],
    ];
    peer.send(toolCall(1, 'report', { steps }, { progressToken: 1 }));
    for (const [at, [value, total]] of steps.entries()) {
      await door.arrived(at + 1);
      clock.increment(1000);
      door.release(1);
      expect((await peer.notification(progress)).params).toMatchObject({ progress: value, total });
    }
    await peer.response(1);
  });

  test('progress precedes the response [PROGRESS-02]', async () => {
    const last = tool('last', (_, context) => {
      context.progress(1, { total: 1 });
      queueMicrotask(() => context.progress(2));
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [last] });
    peer.send(toolCall(1, 'last', {}, { progressToken: 1 }));
    await peer.response(1);
    await peer.quiet();
    const order = peer.received.slice(-3).map((frame) => {
      const { method, id } = frame as { method?: string; id?: unknown };
      return method ?? id;
    });
    expect(order.slice(0, 2)).toEqual([progress, 1]);
    expect(peer.count(progress)).toBe(1);
  });

  test('progress stops when the request is cancelled [PROGRESS-02]', async () => {
    const { door, report } = reporting();
    const { peer, clock } = await operateWarm({ tools: [report] });
    peer.send(toolCall(1, 'report', { steps: [[1], [2]] }, { progressToken: 1 }));
    await door.arrived();
    door.release(1);
    await peer.notification(progress);
    peer.send(cancelled(1));
    await flush();
    clock.increment(1000);
    door.release();
    await peer.quiet();
    expect(peer.count(progress)).toBe(1);
  });
});

// The SDK's own transports over streams drop such a request.
everywhere('a token', eachByteTransport, () => {
  test.each([{ progressToken: null }, { progressToken: 1.5 }, 'progressToken'])(
    'an invalid progress token requests no progress: %j [PROGRESS-01]',
    async (_meta) => {
      const { door, report } = reporting();
      const { peer } = await operateWarm({ tools: [report] });
      door.release();
      peer.send(request(1, 'tools/call', { name: 'report', arguments: { steps: [[1]] }, _meta }));
      await peer.response(1);
      expect(peer.count(progress)).toBe(0);
    },
  );
});

everywhere('progress of the client’s', eachTransportAndStreams, () => {
  test('progress carries the token of its request and goes to its sender [PROGRESS-06] [PROGRESS-07]', async () => {
    const heard: number[][] = [];
    const ask = tool('ask', async ({ n }, context) => {
      const mine: number[] = (heard[n as number] = []);
      const onProgress = ({ progress: value }: ProgressReport) => mine.push(value);
      await context.request('custom/question', {}, { onProgress });
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [ask] });
    const calls = Array.from({ length: 20 }, (_, n) => toolCall(n, 'ask', { n }));
    peer.send(...calls);
    const asked: RequestFrame[] = [];
    while (asked.length < calls.length) asked.push(await peer.request('custom/question'));
    const tokens = asked.map(({ params }) => tokenOf(params));
    expect(new Set(tokens).size).toBe(calls.length);
    expect(tokens.every((token) => typeof token === 'string' || Number.isInteger(token))).toBe(
      true,
    );
    for (const [n, token] of tokens.entries()) {
      peer.send(progressed(token, n + 0.25), progressed(token, n + 0.5));
    }
    for (const question of asked.toReversed()) peer.answer(question, {});
    for (const { id } of calls) await peer.response(id as number);
    expect(heard).toEqual(calls.map((_, n) => [n + 0.25, n + 0.5]));
  });
});

function tokenOf(params: JsonObject | undefined): unknown {
  return (params?.['_meta'] as JsonObject | undefined)?.['progressToken'];
}
