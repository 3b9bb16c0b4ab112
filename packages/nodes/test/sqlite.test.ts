import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { storesContract } from 'mcp-actors/testing';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import type { Stores } from '../../http/src/nodes/stores.ts';
import { sqliteStores } from '../src/sqlite/sqlite-stores.ts';

const openWorld: OpenStoresWorld = async (limits) => {
  const directory = await mkdtemp(join(tmpdir(), 'mcp-sessions-'));
  const nodes: Stores[] = [];
  return {
    start: async () => {
      const node = await sqliteStores(directory, { leaseMs: 900, ...(limits && { limits }) });
      nodes.push(node);
      return node;
    },
    elapse: (ms) => setTimeout(ms),
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
      await rm(directory, { recursive: true });
    },
  };
};

describe('nodes that share a directory', () => {
  for (const { name, check } of storesContract) test(name, () => check(openWorld));
});
