/** The contract of tasks in a real Postgres, and what is its own: migrations, schemas, transactions, news, and who may log in how. */
import { scriptedConversation, enveloped, gate, taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { HandlerContext, JsonObject, Task, TaskStore } from 'mcp-actors';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { postgresTaskMigrations, postgresTaskStore } from '../../nodes/src/postgres/index.ts';
import type { PostgresPool, PostgresTaskStoreOptions } from '../../nodes/src/postgres/index.ts';
import { openTaskWorker } from '../../serve/src/open-task-worker.ts';
import { SessionlessTasks } from '../../../src/server/task-resumer.actor.ts';
import { certificate } from '../../nodes/test/loopback-certificate.ts';
import { PostgresServer, hasPostgres, needsPostgres } from './postgres/postgres-server.ts';
import { capabilities, required } from './task-world.ts';

/** Without its types, which are not installed. */
const { default: pg } = (await import('pg' as string)) as {
  readonly default: { readonly Pool: new (settings: object) => PostgresPool };
};

let server: PostgresServer;
let pool: PostgresPool;
beforeAll(async () => {
  if (!hasPostgres()) return;
  server = await PostgresServer.start();
  pool = new pg.Pool({ connectionString: server.url, max: 20 });
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});
beforeEach(needsPostgres);

let schemas = 0;
const newSchema = () => `tasks ${++schemas}`;

async function openWorld(): Promise<TaskStoreWorld> {
  const schema = newSchema();
  const stores: TaskStore[] = [];
  return {
    async start() {
      const store = await postgresTaskStore({ pool, schema, leaseMs: 5000 });
      stores.push(store);
      return store;
    },
    // Everything is that much older: the server's clock is nobody's to set.
    async elapse(ms) {
      const earlier = `- ${ms} * interval '1 millisecond'`;
      await pool.query(`UPDATE "${schema}".leases SET ends_at = ends_at ${earlier};
        UPDATE "${schema}".tasks SET expires_at = expires_at ${earlier}, due_at = due_at ${earlier}`);
    },
    async close() {
      for (const store of stores) await store.close();
      await pool.query(`DROP SCHEMA "${schema}" CASCADE`);
    },
  };
}

describe('tasks in Postgres', () => {
  for (const { name, check } of taskStoreContract) test(name, () => check(openWorld));
});

const task = { taskId: 't1', server: 'shop', owner: 'a', text: 'begun', ttlMs: 60_000 };

/** A store of a schema of its own, closed with the test. */
async function opened(options: PostgresTaskStoreOptions = {}) {
  const store = await postgresTaskStore({ pool, schema: newSchema(), ...options });
  onTestFinished(() => store.close());
  await store.lease('a');
  return store;
}

describe('the tables', () => {
  test('are created by the first node, and used by all', async () => {
    const schema = newSchema();
    const stores = await Promise.all([1, 2, 3].map(() => opened({ schema })));
    await stores[0]!.create(task);
    expect((await stores[2]!.read('t1'))?.record.text).toBe('begun');
  });

  test('are created by the printed migrations, so nodes need no DDL rights', async () => {
    const schema = newSchema();
    const closed = { schema, migrate: false };
    await expect(opened(closed)).rejects.toThrow('must be in version 3, got 0');
    await pool.query(postgresTaskMigrations({ schema }));
    await pool.query(`CREATE ROLE "${schema}" LOGIN; GRANT USAGE ON SCHEMA "${schema}" TO "${schema}";
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${schema}"`);
    const url = new URL(server.url);
    url.username = schema;
    for (const migrate of [false, true]) {
      const store = await postgresTaskStore({ url: url.href, schema, migrate });
      await store.lease('a');
      await store.create({ ...task, taskId: `t ${migrate}` });
      await store.close();
    }
  });

  test('of an earlier version are migrated; their tasks are kept and do not count towards quotas', async () => {
    const schema = newSchema();
    const [first = ''] = postgresTaskMigrations({ schema }).split(/^ALTER TABLE .* ADD share/m);
    await pool.query(`${first}; COMMIT`);
    await pool.query(`INSERT INTO "${schema}".tasks VALUES
      ('old', 'shop', 'a', 1, 0, 'open', 'begun', now() + interval '1 day')`);
    const store = await opened({ schema });
    await store.create({ ...task, quota: { key: 'ann', max: 1 } });
    const old = { taskId: 'old', fence: 1 };
    expect(await store.finish(old, 'done', true)).toBe('written');
    await pool.query(`UPDATE "${schema}".tasks SET expires_at = now()`);
    await store.lease('a');
    const { rows } = await pool.query(`SELECT FROM "${schema}".tasks, "${schema}".shares`);
    expect(rows).toEqual([]);
  });

  test('are read by a heartbeat at constant cost, however many tasks wait', async () => {
    const asked: [text: string, values: unknown[]][] = [];
    const watched = {
      on: () => {},
      end: async () => {},
      connect: () => pool.connect(),
      query: (text: string, values: unknown[]) => {
        asked.push([text, values]);
        return pool.query(text, values);
      },
    };
    const schema = newSchema();
    const store = await opened({ pool: watched, schema });
    await pool.query(`INSERT INTO "${schema}".tasks
      SELECT n, 'shop', '', 1, 0, 'open', repeat('x', 1000), now() + interval '2 hours', NULL, now() + interval '1 hour'
      FROM generate_series(1, 2000) n`);
    asked.length = 0;
    await store.lease('a');
    await store.changes((await store.changes(undefined)).upTo);
    await store.claim({ owner: 'a', server: 'shop', max: 9, held: [] });
    expect(asked).toHaveLength(7);
    for (const [text, values] of asked) {
      const { rows } = await pool.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
      const [{ Plan: plan }] = rows[0]['QUERY PLAN'] as [{ Plan: { 'Shared Hit Blocks': number } }];
      expect(plan['Shared Hit Blocks'], text).toBeLessThan(50);
    }
  });

  test('of a later version are rejected', async () => {
    const schema = newSchema();
    await opened({ schema });
    await pool.query(`INSERT INTO "${schema}".migrations VALUES (9)`);
    await expect(opened({ schema })).rejects.toThrow('must be at most in version 3, got 9');
  });

  test('keep no expired tasks, and no steps of ended ones', async () => {
    const schema = newSchema();
    const store = await opened({ schema });
    const ended = await store.create(task);
    const over = await store.create({ ...task, taskId: 't2' });
    for (const claim of [ended, over])
      await store.append(claim, { steps: [{ key: 'k', text: 'v' }] });
    await store.finish(ended, 'done');
    const count = async (table: string) =>
      (await pool.query(`SELECT count(*)::int AS n FROM "${schema}".${table}`)).rows[0].n as number;
    expect([await count('tasks'), await count('steps')]).toEqual([2, 1]);
    await pool.query(`UPDATE "${schema}".tasks SET expires_at = now()`);
    await pool.query(
      `INSERT INTO "${schema}".leases VALUES ('long ago', now() - interval '2 days')`,
    );
    await store.lease('a');
    expect([await count('tasks'), await count('steps'), await count('leases')]).toEqual([0, 0, 1]);
  });
});

describe('a step with SQL of the handler', () => {
  /** A store, a table of the author's, and what is in it. */
  async function shop() {
    const schema = newSchema();
    const store = await opened({ schema });
    await pool.query(`CREATE TABLE "${schema}".charges (amount integer)`);
    const charge = (amount: number) => `INSERT INTO "${schema}".charges VALUES (${amount})`;
    const charges = async () => (await pool.query(`SELECT * FROM "${schema}".charges`)).rows;
    return { store, charge, charges, claim: await store.create(task) };
  }

  test('is committed with the SQL', async () => {
    const { store, charge, charges, claim } = await shop();
    const became = await store.appendWith!(claim, 'charge', async (sql) => {
      await sql.query(charge(9));
      expect((await store.read('t1'))?.record.steps).toEqual([]);
      return 'charged';
    });
    expect(became).toBe('written');
    expect(await charges()).toEqual([{ amount: 9 }]);
    expect((await store.read('t1'))?.record.steps).toEqual([{ key: 'charge', text: 'charged' }]);
  });

  test('is rolled back with the SQL on an error or a lost connection', async () => {
    const { store, charge, charges, claim } = await shop();
    const failing = store.appendWith!(claim, 'charge', async (sql) => {
      await sql.query(charge(9));
      throw new Error('out of stock');
    });
    await expect(failing).rejects.toThrow('out of stock');
    const lost = store.appendWith!(claim, 'charge', async (sql) => {
      await sql.query(charge(9));
      const { rows } = await sql.query('SELECT pg_backend_pid() AS pid');
      await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
      return 'charged';
    });
    await expect(lost).rejects.toThrow();
    expect([await charges(), (await store.read('t1'))?.record.steps]).toEqual([[], []]);
  });

  test('is refused to a process that lost the task, and blocks claims until it commits', async () => {
    const { store, claim } = await shop();
    await store.lease('b');
    const request = { owner: 'b', server: 'shop', max: 1 };
    await store.appendWith!(claim, 'charge', async (sql) => {
      await sql.query('SELECT 1');
      await store.leave('a');
      expect((await store.claim(request)).tasks).toEqual([]);
      return 'charged';
    });
    const [taken] = (await store.claim(request)).tasks;
    expect(taken?.steps).toEqual([{ key: 'charge', text: 'charged' }]);
    const make = () => Promise.reject(new Error('it was begun'));
    expect(await store.appendWith!(claim, 'charge', make)).toBe('fenced');
    await store.finish({ taskId: 't1' }, 'done');
    expect(await store.appendWith!(taken!, 'charge', make)).toBe('ended');
  });
});

describe('context.once in a task', () => {
  /** A process whose tool does this, and a client that begins tasks and looks at them. */
  async function serving(store: TaskStore, handler: (context: HandlerContext) => Promise<string>) {
    const work = defineTool({
      name: 'work',
      description: 'Works',
      taskSupport: required,
      durable: true,
      handler: (_, context) => handler(context),
    });
    const server = createMcpServer({ name: 'shop', version: '1.0.0', tools: [work] });
    const facts: string[] = [];
    const report = ({ name }: { readonly name: string }) => void facts.push(name);
    const worker = await openTaskWorker(store, server, {
      report,
      resumer: (by) => new SessionlessTasks(server, by, {}),
    });
    const { peer, session } = scriptedConversation(server, { durable: worker });
    onTestFinished(async () => {
      session.shutdown('the test is over', 0);
      await session.closed;
      await worker.close();
    });
    let id = 0;
    const ask = async (method: string, params: JsonObject) => {
      peer.send(enveloped(++id, method, params, { capabilities }));
      return (await peer.response(id)).result as JsonObject;
    };
    const begin = async () => (await ask('tools/call', { name: 'work' })) as unknown as Task;
    const resultOf = ({ taskId }: Task) =>
      expect.poll(async () => (await ask('tasks/get', { taskId }))['result'], { timeout: 60_000 });
    return { worker, facts, begin, resultOf };
  }

  test('survives a store outage if it makes no query, and runs once', async () => {
    const own = await PostgresServer.start();
    onTestFinished(() => own.stop());
    const [begun, door] = [gate(), gate()];
    let times = 0;
    const store = await postgresTaskStore({ url: own.url });
    const { begin, resultOf, facts } = await serving(store, ({ once }) =>
      once('order', async () => {
        begun.release();
        await door.pass();
        return `order ${++times}`;
      }),
    );
    const task = await begin();
    await begun.pass();
    await own.kill();
    door.release();
    await expect.poll(() => facts, { timeout: 60_000 }).toContain('tasks.away');
    await own.start();
    await resultOf(task).toMatchObject({ content: [{ text: 'order 1' }] });
    expect(times).toBe(1);
  });

  test.each([
    ['that queries waits for a connection', 'SELECT 1', 1],
    ['that does not query holds no connection', undefined, 6],
  ])('%s, and leases and new tasks always get a connection', async (_, query, atOnce) => {
    const small = new pg.Pool({ connectionString: server.url, max: 4 });
    onTestFinished(() => small.end());
    const commandTimeoutMs = 1000;
    const store = await postgresTaskStore({ pool: small, schema: newSchema(), commandTimeoutMs });
    const door = gate();
    let running = 0;
    const all = gate();
    const { worker, begin, resultOf, facts } = await serving(store, ({ once }) =>
      once('order', async ({ sql }) => {
        if (query !== undefined) await sql?.query(query);
        if (++running === atOnce) all.release();
        await door.pass();
        return 'ordered';
      }),
    );
    onTestFinished(() => door.release());
    const tasks: Task[] = [];
    for (let n = 0; n < 6; n++) tasks.push(await begin());
    await all.pass();
    // A connection that is not to be had is missed after this time.
    for (let n = 0; n < 3; n++) await store.lease(worker.owner);
    tasks.push(await begin());
    if (query !== undefined) expect(running).toBe(atOnce);
    expect(facts).toEqual([]);
    door.release();
    for (const task of tasks)
      await resultOf(task).toMatchObject({ content: [{ text: 'ordered' }] });
  });
});

test("notifies a watcher of other processes' changes, also after a reconnect", async () => {
  const schema = newSchema();
  const [here, there] = [await opened({ schema }), await opened({ schema })];
  const claims = [await there.create(task), await there.create({ ...task, taskId: 't2' })];
  let { upTo } = await here.changes(undefined);
  const seen: string[] = [];
  const look = async () => {
    const changes = await here.changes(upTo);
    ({ upTo } = changes);
    seen.push(...changes.taskIds);
  };
  const end = here.watch!(() => void look());
  onTestFinished(end);
  const listeners = `SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN "${schema}"'`;
  await expect.poll(async () => (await pool.query(listeners)).rows.length).toBe(1);
  await there.finish(claims[0]!, 'done');
  await expect.poll(() => seen).toEqual(['t1']);
  await pool.query(`SELECT pg_terminate_backend(pid, 5000) FROM (${listeners}) l`);
  await there.finish(claims[1]!, 'done');
  await expect.poll(() => seen).toEqual(['t1', 't2']);
});

test('delivers each change once, also those seen while an older transaction runs', async () => {
  const store = await opened();
  const claims = [await store.create(task), await store.create({ ...task, taskId: 't2' })];
  const { upTo } = await store.changes(undefined);
  const client = await pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('BEGIN; SELECT pg_current_xact_id()');
  await store.finish(claims[0]!, 'done');
  const first = await store.changes(upTo);
  expect(first.taskIds).toEqual(['t1']);
  await store.finish(claims[1]!, 'done');
  const second = await store.changes(first.upTo);
  expect(second.taskIds).toEqual(['t2']);
  await client.query('COMMIT');
  expect((await store.changes(second.upTo)).taskIds).toEqual([]);
});

test('uses TLS if configured', async () => {
  const url = `${server.url}?sslmode=verify-full`;
  await expect(postgresTaskStore({ url })).rejects.toThrow(/self.signed/);
  const store = await postgresTaskStore({
    url: server.url,
    schema: newSchema(),
    settings: { ssl: { ca: certificate }, application_name: 'by TLS' },
  });
  onTestFinished(() => store.close());
  await store.lease('a');
  const { rows } = await pool.query(
    `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'by TLS'`,
  );
  expect(rows).toContainEqual({ ssl: true });
});

test('an unreachable Postgres fails fast, and pending writes complete once it is back', async () => {
  const own = await PostgresServer.start();
  onTestFinished(() => own.stop());
  const store = await postgresTaskStore({ url: own.url });
  onTestFinished(() => store.close());
  await store.lease('a');
  const claim = await store.create(task);
  await own.kill();
  await expect(store.create({ ...task, taskId: 't2' })).rejects.toThrow();
  await expect(store.finish(claim, 'done')).rejects.toThrow();
  await own.start();
  await expect.poll(() => store.finish(claim, 'done').catch(String)).toBe('written');
  expect((await store.read('t1'))?.record.text).toBe('done');
});

test('a pool without a free connection times out', async () => {
  const small = new pg.Pool({ connectionString: server.url, max: 1 });
  onTestFinished(() => small.end());
  const store = await postgresTaskStore({
    pool: small,
    schema: newSchema(),
    commandTimeoutMs: 1000,
  });
  const taken = await small.connect();
  await expect(store.create(task)).rejects.toThrow('did not answer within 1000 ms');
  taken.release();
  let n = 1;
  const again = () => store.create({ ...task, taskId: `t${++n}` }).then(Boolean, String);
  await expect.poll(again).toBe(true);
});

test.each([
  [{ schema: '' }, TypeError],
  [{ schema: 'x'.repeat(64) }, TypeError],
  [{ leaseMs: -1 }, RangeError],
])('rejects the invalid option %j', async (options, kind) => {
  await expect(postgresTaskStore({ pool, ...options })).rejects.toBeInstanceOf(kind);
});
