import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { storesContract } from 'mcp-actors/testing';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import {
  PostgresServer,
  hasPostgres,
  needsPostgres,
} from '../../tasks/test/postgres/postgres-server.ts';
import type { Stores } from '../../http/src/nodes/stores.ts';
import { postgresStores } from '../src/postgres/index.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  if (hasPostgres()) postgres = await PostgresServer.start();
});
afterAll(() => postgres?.stop());

const openWorld: OpenStoresWorld = async (limits) => {
  const schema = `s${randomUUID()}`;
  const nodes: Stores[] = [];
  return {
    start: async () => {
      const node = await postgresStores({
        url: postgres.url,
        ...{ schema, leaseMs: 2500, settings: { max: 4 } },
        ...(limits && { limits }),
      });
      nodes.push(node);
      return node;
    },
    elapse: (ms) => setTimeout(ms),
    close: async () => void (await Promise.all(nodes.map((node) => node.close()))),
  };
};

describe('nodes that share a Postgres', () => {
  for (const { name, check } of storesContract) {
    test(name, async (context) => {
      needsPostgres(context);
      await check(openWorld);
    });
  }
});
