import { describe, expect, test } from 'vitest';
import { TestClock, storesContract } from 'mcp-actors/testing';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import { storeLimits } from '../../http/src/nodes/stores.ts';
import { MemoryNodes } from './memory-stores.ts';

const openWorld: OpenStoresWorld = async (limits) => {
  const clock = new TestClock();
  const nodes = new MemoryNodes({ clock, leaseMs: 300, ...(limits && { limits }) });
  return {
    start: async () => nodes.start(),
    elapse: async (ms) => {
      clock.increment(ms);
    },
    close: async () => {},
  };
};

describe('nodes in memory', () => {
  for (const { name, check } of storesContract) test(name, () => check(openWorld));
});

test('accepts only known store limits', () => {
  const defaults = storeLimits();
  const [name = ''] = Object.keys(defaults);
  expect(storeLimits({ [name]: 7 })).toEqual({ ...defaults, [name]: 7 });
  expect(storeLimits({ [name]: undefined })).toEqual(defaults);
  expect(() => storeLimits({ [name]: 0 })).toThrow(`${name} must be a positive number, got 0`);
  expect(() => storeLimits({ maxEverything: 1 } as object)).toThrow(
    /^Unknown limit maxEverything of the stores, must be one of \w+, /,
  );
});
