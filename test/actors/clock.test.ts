import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('the system clock', () => {
  test('calls back after the delay', () => {
    const callback = vi.fn();
    systemClock.setTimeout(callback, 100);
    vi.advanceTimersByTime(99);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledOnce();
  });

  test.each([2 ** 31, 2 ** 32, 1e15, Infinity])(
    'takes a delay of %s ms for the longest that there is',
    (delayMs) => {
      const callback = vi.fn();
      systemClock.setTimeout(callback, delayMs);
      vi.advanceTimersByTime(2 ** 31 - 2);
      expect(callback).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(callback).toHaveBeenCalledOnce();
    },
  );

  test('forgets what is cleared, and does not mind what never was', () => {
    const callback = vi.fn();
    systemClock.clearTimeout(systemClock.setTimeout(callback, 1));
    systemClock.clearTimeout(undefined);
    vi.advanceTimersByTime(10);
    expect(callback).not.toHaveBeenCalled();
  });

  test('goes forwards, in milliseconds, whatever the time of day does', () => {
    const before = systemClock.now();
    vi.setSystemTime(0);
    vi.advanceTimersByTime(5);
    expect(systemClock.now() - before).toBeCloseTo(5);
  });
});

test('its timers do not keep the process alive', () => {
  vi.useRealTimers();
  const timer = systemClock.setTimeout(() => {}, 60_000);
  expect((timer as NodeJS.Timeout).hasRef()).toBe(false);
  systemClock.clearTimeout(timer);
  vi.useFakeTimers();
});
