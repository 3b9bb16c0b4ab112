/**
 * The shop of examples/checkout. Its process is killed at once, after storing its order, and while
 * packing.
 */
import { readFile } from 'node:fs/promises';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { launch, reapServers } from '../e2e/server-process.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import {
  PostgresServer,
  needsPostgres,
} from '../../packages/tasks/test/postgres/postgres-server.ts';
import { program } from '../tooling/programs.ts';
import type { PostgresPool } from '../../packages/nodes/src/postgres/index.ts';

const envelope = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };

beforeEach(needsPostgres);
afterEach(reapServers);

let ids = 0;

async function ask(shop: ServerProcess, method: string, params: Readonly<Record<string, unknown>>) {
  const id = ++ids;
  shop.send(enveloped(id, method, params as never, envelope));
  return (await shop.answer(id))['result'] as Readonly<Record<string, unknown>>;
}

test('creates and packs every accepted order once', async () => {
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.stop());
  const { Pool } = (await import('pg' as string)) as {
    readonly Pool: new (settings: object) => PostgresPool;
  };
  const pool = new Pool({ connectionString: postgres.url });
  onTestFinished(() => pool.end());
  pool.on('error', () => {});
  const tables = await readFile(new URL('../../examples/checkout/tables.sql', import.meta.url));
  await pool.query(`${String(tables)}; INSERT INTO stock VALUES ('books', 100)`);
  const count = async () => (await pool.query('SELECT FROM orders')).rowCount;

  const open = () =>
    launch(program('examples/checkout/server.ts'), {
      env: { DATABASE_URL: postgres.url, PACKING_MS: '1500' },
    });
  const tasks: string[] = [];
  for (const orders of [0, 2]) {
    const shop = open();
    const params = { name: 'order', arguments: { item: 'books', pieces: 2 } };
    tasks.push((await ask(shop, 'tools/call', params))['taskId'] as string);
    if (orders > 0) await expect.poll(count).toBe(orders);
    shop.child.kill('SIGKILL');
    await shop.exit;
    // Its death is noticed immediately.
    await pool.query('UPDATE mcp_actors.leases SET ends_at = now()');
  }
  const shop = open();
  for (const taskId of tasks) {
    const look = async () => (await ask(shop, 'tasks/get', { taskId }))['status'];
    await expect.poll(look).toBe('completed');
  }
  expect(await count()).toBe(2);
  expect((await pool.query('SELECT pieces FROM stock')).rows).toEqual([{ pieces: 96 }]);
});
