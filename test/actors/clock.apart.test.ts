import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { refTimer, unrefTimer, systemClock } from '../../src/actors/clock.ts';
import { workFor } from './busy-loop.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('systemClock', () => {
  test('calls back after the delay', () => {
    const callback = vi.fn();
    systemClock.setTimeout(callback, 100);
    vi.advanceTimersByTime(99);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledOnce();
  });

  test.each([2 ** 31, 2 ** 32, 1e15, Infinity])(
    'caps a delay of %s ms at the maximum',
    (delayMs) => {
      const callback = vi.fn();
      systemClock.setTimeout(callback, delayMs);
      vi.advanceTimersByTime(2 ** 31 - 2);
      expect(callback).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(callback).toHaveBeenCalledOnce();
    },
  );

  test('cancels timers, and ignores unknown handles', () => {
    const callback = vi.fn();
    systemClock.clearTimeout(systemClock.setTimeout(callback, 1));
    systemClock.clearTimeout(undefined);
    vi.advanceTimersByTime(10);
    expect(callback).not.toHaveBeenCalled();
  });

  test('is monotonic, in milliseconds, whatever the time of day does', () => {
    const before = systemClock.now();
    vi.setSystemTime(0);
    vi.advanceTimersByTime(5);
    expect(systemClock.now() - before).toBeCloseTo(5);
  });
});

test('does not keep the process alive with its timers', () => {
  vi.useRealTimers();
  const timer = systemClock.setTimeout(() => {}, 60_000);
  expect((timer as NodeJS.Timeout).hasRef()).toBe(false);
  systemClock.clearTimeout(timer);
  vi.useFakeTimers();
});

describe('systemClock after the event loop was blocked', () => {
  /** An echo server in this process, so that written data has arrived. */
  async function connected() {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const here = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [there] = (await once(server, 'connection')) as [Socket];
    onTestFinished(() => void here.destroy());
    return { here, there };
  }

  test('reads pending input before firing due timers', async () => {
    vi.useRealTimers();
    const { here, there } = await connected();
    const seen: string[] = [];
    here.once('data', () => seen.push('answer'));
    const due = new Promise<void>((resolve) => {
      refTimer(
        systemClock.setTimeout(() => {
          seen.push('timer');
          resolve();
        }, 5),
      );
    });
    there.write('x');
    workFor(50);
    await due;
    expect(seen).toEqual(['answer', 'timer']);
    vi.useFakeTimers();
  });

  test('does not fire a timer that the pending answer clears', async () => {
    vi.useRealTimers();
    const { here, there } = await connected();
    const callback = vi.fn();
    const timer = systemClock.setTimeout(callback, 5);
    const later = once(here, 'data').then(() => systemClock.clearTimeout(timer));
    there.write('x');
    workFor(50);
    await later;
    // After the replacement of the delayed timer.
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(callback).not.toHaveBeenCalled();
    vi.useFakeTimers();
  });

  test('preserves and changes whether a delayed timer keeps the process alive', async () => {
    vi.useRealTimers();
    const held = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const timer = systemClock.setTimeout(() => {}, 5);
    const fired = new Promise((resolve) => setTimeout(resolve, 5));
    workFor(50);
    // Immediately after it: the replacement timer is set, and not due yet.
    await fired;
    const before = held();
    refTimer(timer);
    expect(held() - before).toBe(1);
    unrefTimer(timer);
    expect(held()).toBe(before);
    vi.useFakeTimers();
  });
});
