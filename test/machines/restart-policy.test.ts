import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { delayBefore } from '../../packages/client/src/channel/restart-policy.ts';
import {
  httpRestart,
  processRestart,
  restartPolicyWith,
} from '../../packages/client/src/channel/restart-option.ts';
import type { RestartOption } from '../../packages/client/src/channel/restart-option.ts';

const middle = () => 0.5;
const attempts = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

describe('the delay before a new attempt', () => {
  test('doubles from half a second, with at most five attempts for a process [RESTART-01]', () => {
    const waits = attempts.map((attempt) => delayBefore(attempt, processRestart, middle));
    expect(waits.slice(0, 6)).toEqual([500, 1000, 2000, 4000, 8000, 'give-up']);
  });

  test('is capped at half a minute, with unlimited attempts for an endpoint', () => {
    const waits = attempts.map((attempt) => delayBefore(attempt, httpRestart, () => 1));
    expect(waits.slice(5)).toEqual([19_200, 30_000, 30_000, 30_000, 30_000, 30_000]);
  });

  test('has a jitter of a fifth, even at its maximum', () => {
    expect(delayBefore(1, processRestart, () => 0)).toBe(400);
    expect(delayBefore(1, processRestart, () => 1)).toBe(600);
    expect(delayBefore(8, httpRestart, () => 0)).toBe(24_000);
    expect(delayBefore(8, httpRestart, middle)).toBe(27_000);
  });

  test('is absent without a policy', () => {
    expect(delayBefore(1, 'none', middle)).toBe('give-up');
  });

  test('stays within its bounds for every policy and number of attempts', () => {
    const policies = fc.record({
      initialMs: fc.integer({ min: 1, max: 1000 }),
      maxMs: fc.integer({ min: 1000, max: 2 ** 31 - 1 }),
      factor: fc.double({ min: 1, max: 1000, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      maxAttempts: fc.constant(Infinity),
    });
    const randoms = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(policies, fc.integer({ min: 1 }), randoms, (given, attempt, random) => {
        const policy = restartPolicyWith(given, processRestart);
        const delayMs = delayBefore(attempt, policy, () => random);
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(given.maxMs);
      }),
    );
  });
});

describe('restartPolicy', () => {
  test('merges options into the default', () => {
    expect(restartPolicyWith(undefined, processRestart)).toEqual(processRestart);
    expect(restartPolicyWith({ maxAttempts: 2, factor: undefined }, httpRestart)).toEqual({
      ...httpRestart,
      maxAttempts: 2,
    });
    expect(restartPolicyWith('none', processRestart)).toBe('none');
    expect(restartPolicyWith({ maxAttempts: Infinity }, processRestart)).toMatchObject({
      maxAttempts: Infinity,
    });
  });

  const wrong: readonly (readonly [given: unknown, message: string])[] = [
    ['always', 'restart must be "none" or an object, got "always"'],
    [null, 'restart must be "none" or an object, got null'],
    [5, 'restart must be "none" or an object, got 5'],
    [{ initialMs: 0 }, 'restart.initialMs must be 1 to 2147483647 milliseconds, got 0'],
    [{ maxMs: Infinity }, 'restart.maxMs must be 1 to 2147483647 milliseconds, got Infinity'],
    [{ factor: 0.5 }, 'restart.factor must be a number from 1 to 1000, got 0.5'],
    [{ jitter: 1.1 }, 'restart.jitter must be a number from 0 to 1, got 1.1'],
    [
      { maxAttempts: 1.5 },
      'restart.maxAttempts must be a whole number of at least 0, or Infinity, got 1.5',
    ],
    [
      { maxAttempts: '3' },
      'restart.maxAttempts must be a whole number of at least 0, or Infinity, got "3"',
    ],
    [{ stableMs: NaN }, 'restart.stableMs must be 0 to 2147483647 milliseconds, got NaN'],
    [
      { retries: 3 },
      'Unknown field restart.retries; known fields: initialMs, maxMs, factor, jitter, maxAttempts, stableMs',
    ],
    [{ initialMs: 60_000 }, 'restart.initialMs must be at most restart.maxMs (30000), got 60000'],
  ];

  test.each(wrong)('is rejected if it is %j', (given, message) => {
    expect(() => restartPolicyWith(given as RestartOption, processRestart)).toThrow(
      new RangeError(message),
    );
  });

  test('is rejected naming the option', () => {
    expect(() => restartPolicyWith({ jitter: -1 }, processRestart, 'servers.git.restart')).toThrow(
      'servers.git.restart.jitter must be',
    );
  });
});
