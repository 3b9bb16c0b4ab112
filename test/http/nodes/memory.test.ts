import { describe, test } from 'vitest';
import { TestClock, storesContract } from 'mcp-actors/testing';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import { MemoryNodes } from '../../../src/http/nodes/memory-stores.ts';

const openWorld: OpenStoresWorld = async (limits) => {
  const clock = new TestClock();
  const nodes = new MemoryNodes({ clock, ...(limits && { limits }) });
  const started = new Set<string>();
  return {
    start: async () => {
      const stores = nodes.start();
      started.add(stores.node);
      return stores;
    },
    kill: async ({ node }) => nodes.kill(node),
    elapse: async (ms) => {
      clock.increment(ms);
    },
    close: async () => {
      for (const node of started) nodes.kill(node);
      if (clock.liveTimers > 0) throw new Error(`${clock.liveTimers} timers are left`);
    },
  };
};

describe('nodes in memory', () => {
  for (const { name, check } of storesContract) test(name, () => check(openWorld));
});
