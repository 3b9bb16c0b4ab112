/** Rounds at their bounds: many calls, many rounds, many questions at once. */
import { expect, test } from 'vitest';
import { SuspendableCalls } from '../../src/rounds/suspendable-calls.ts';
import { flush } from '../../packages/testing/src/clock.ts';
import { accepted, form, startRounds } from './start-suspendable-calls.ts';
import type { Asking } from './start-suspendable-calls.ts';

test('rejects excess questions of a handler before they consume memory', async () => {
  const { ask } = startRounds(
    async (_, exchange) => {
      const asked = Array.from({ length: 100_000 }, (__, n) => exchange.sendRequest(form(`${n}?`)));
      const refusals = await Promise.allSettled(asked.slice(3));
      expect(refusals.every(({ status }) => status === 'rejected')).toBe(true);
      expect(refusals[0]).toMatchObject({ reason: { code: 'LIMIT_EXCEEDED' } });
      return await asked[0]!;
    },
    { limits: { maxPending: 3 } },
  );
  expect(Object.keys((await ask()).inputRequests)).toEqual(['q1', 'q2', 'q3']);
});

test('limits the number of abandoned suspended calls and ends their handlers', async () => {
  let ended = 0;
  const { ask, rounds, clock } = startRounds(
    async (_, exchange) => {
      try {
        return await exchange.sendRequest(form('Name?'));
      } finally {
        ended++;
      }
    },
    { limits: { maxSuspendedCalls: 64 } },
  );
  for (let n = 0; n < 2000; n++) await ask({ arguments: { n } });
  await flush();
  expect([rounds.waiting.length, ended, clock.liveTimers]).toEqual([64, 1936, 64]);
  clock.increment(600_000);
  await flush();
  expect([rounds.waiting.length, ended, clock.liveTimers, rounds.isIdle]).toEqual([
    0,
    2000,
    0,
    true,
  ]);
});

test('serves the maximum number of rounds in one run', async () => {
  let runs = 0;
  const { ask, retry, options } = startRounds(
    async (_, exchange) => {
      runs++;
      for (let n = 1; n <= 300; n++) {
        await exchange.sendRequest(form(`Question ${n}`));
        exchange.checkpoint = n;
      }
      return { runs };
    },
    { limits: { maxRounds: 300 } },
  );
  let asking = await ask();
  for (let n = 1; n < 300; n++)
    asking = (await retry(asking, { [`q${n}`]: accepted('a') }).result) as Asking;
  expect(asking.requestState.length).toBeLessThan(2000);
  expect(await retry(asking, { q300: accepted('a') }).result).toEqual({ runs: 1 });
  expect(new SuspendableCalls(options).isIdle).toBe(true);
});
