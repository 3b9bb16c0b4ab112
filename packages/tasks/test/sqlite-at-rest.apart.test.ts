import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type * as sqlite from '../src/sqlite/sqlite.ts';
import { loadSqlite } from '../src/sqlite/sqlite.ts';
import { sqliteTaskStore } from '../src/sqlite/sqlite-task-store.ts';

/** What any store has asked SQLite to prepare. */
const prepared: string[] = vi.hoisted(() => []);
vi.mock('../src/sqlite/sqlite.ts', async (original) => ({
  loadSqlite: async () => {
    const open = await (await original<typeof sqlite>()).loadSqlite();
    return (...place: Parameters<typeof open>) => {
      const database = open(...place);
      const prepare = (sql: string) => {
        prepared.push(sql);
        return database.prepare(sql);
      };
      return { exec: (sql: string) => database.exec(sql), prepare, close: () => database.close() };
    };
  },
}));

test('a heartbeat reads no waiting tasks', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const store = await sqliteTaskStore(directory);
  onTestFinished(() => store.close());
  prepared.length = 0;
  await store.lease('a');
  await store.changes(-1);
  await store.claim({ owner: 'a', server: 'shop', max: 9, held: [] });
  const asked = prepared.filter((sql) => /tasks/.test(sql));
  const database = (await loadSqlite())(join(directory, 'tasks.db'), 1000);
  onTestFinished(() => database.close());
  expect(asked.length).toBeGreaterThan(5);
  const looks = asked.flatMap((sql) => {
    const values = Array<null>(sql.split('?').length - 1).fill(null);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    return (plan as { readonly detail: string }[]).map(({ detail }) => detail);
  });
  // What is parked has no owner, and what has expired is removed.
  const fewest =
    /USING (COVERING )?INDEX tasks_owned|\((expires_at<|server=\? AND due_at|changed>)/;
  expect(looks.filter((look) => / tasks /.test(look) && !fewest.test(look))).toEqual([]);
});
