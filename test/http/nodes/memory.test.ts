import { describe, test } from 'vitest';
import { TestClock, storesContract } from 'mcp-actors/testing';
import type { OpenStoresWorld } from 'mcp-actors/testing';
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
