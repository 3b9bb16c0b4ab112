/** Connections to a store that break at the worst moment: no loss may end the process, and none may be left open. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, LookupFunction, Server, Socket } from 'node:net';
import { createClient } from 'redis';
import { enveloped, gate } from 'mcp-actors/testing';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { redisTaskStore } from '../../nodes/src/redis.ts';
import { launch, reapServers } from '../../../test/e2e/server-process.ts';
import { RedisServer, needsRedis } from '../../nodes/test/redis-server.ts';
import { PostgresServer, needsPostgres } from './postgres/postgres-server.ts';
import { program } from '../../../test/tooling/programs.ts';

afterEach(reapServers);

/** Calls `join` for each connection, and breaks all of them after the test. */
async function listening(join: (near: Socket) => void): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    near.on('error', () => {});
    sockets.add(near);
    join(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** What Postgres says to a connection that it ends. */
function fatal(): Buffer {
  const fields = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0';
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

/** `ReadyForQuery`, idle: the end of each answer. */
const ready = Buffer.from('Z\0\0\0\u0005I');

/** How a connection to Postgres ends: in place of the answer to LISTEN, in the same read as it, or in the same read as the greeting. */
const ends = ['unanswered', 'answered', 'greeted'] as const;

test('a server survives Postgres connections that are lost while it starts to listen', async (context) => {
  needsPostgres(context);
  const postgres = await PostgresServer.start();
  onTestFinished(() => postgres.stop());
  const left: (typeof ends)[number][] = [...ends];
  const open = new Set<Socket>();
  const listens = gate();
  const proxy = await listening((near) => {
    const far = connect(postgres.port, '127.0.0.1');
    let end: (typeof ends)[number] | undefined = left[0] === 'greeted' ? left[0] : undefined;
    let isGreeted = false;
    open.add(near);
    near.on('data', (chunk) => {
      // A command: the one that begins to listen says nothing before its next turn.
      if (isGreeted && end === 'greeted') end = undefined;
      if (chunk.includes('LISTEN')) {
        end = left.shift();
        if (!end) listens.release();
        if (end === 'unanswered') return void near.destroy();
      }
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (!end || !chunk.includes(ready)) return void near.write(chunk);
      isGreeted = true;
      near.end(Buffer.concat([chunk, fatal()]));
      // The next connections are new ones.
      if (left[0] === 'greeted') for (const other of open) if (other !== near) other.destroy();
    });
    far.on('error', () => {});
    near.on('close', () => {
      if (end === 'greeted' && isGreeted && left[0] === 'greeted') left.shift();
      open.delete(near);
      far.destroy();
    });
    far.on('close', () => near.destroy());
  });
  const url = `postgres://postgres@127.0.0.1:${portOf(proxy)}/postgres`;
  const server = launch([...program('test/e2e/durable-server.ts'), url]);
  const outcome = await Promise.race([listens.pass(), server.exit]);
  expect(outcome).toBeUndefined();
  server.send(enveloped(1, 'tools/call', { name: 'say' }, {}));
  expect(await server.answer(1)).toMatchObject({ result: { content: [{ text: 'said' }] } });
});

test('closes a Redis connection that was established after its store closed', async (context) => {
  needsRedis(context);
  const redis = await RedisServer.start();
  onTestFinished(() => redis.stop());
  const sockets: Socket[] = [];
  const come = gate();
  const proxy = await listening((near) => {
    const far = connect(redis.port, '127.0.0.1');
    near.pipe(far).pipe(near);
    far.on('error', () => {});
    if (sockets.push(near) > 1) come.release();
  });
  const asked = gate();
  const door = gate();
  const lookup: LookupFunction = (_, __, found) => {
    if (sockets.length === 0) return found(null, [{ address: '127.0.0.1', family: 4 }]);
    asked.release();
    void door.pass().then(() => found(null, [{ address: '127.0.0.1', family: 4 }]));
  };
  const url = `redis://redis.test:${portOf(proxy)}`;
  const settings = { socket: { lookup } } as never;
  const store = await redisTaskStore({ url, client: settings, commandTimeoutMs: 60_000 });
  sockets[0]?.destroy();
  await asked.pass();
  await store.close();
  door.release();
  await come.pass();
  const late = sockets[1] as Socket;
  if (!late.closed) await once(late, 'close');
  expect(late.closed).toBe(true);
});

test('adds an error listener to a redis client without one', async (context) => {
  needsRedis(context);
  const redis = await RedisServer.start();
  onTestFinished(() => redis.stop());
  const client = await createClient({ url: redis.url }).connect();
  onTestFinished(() => client.destroy());
  const store = await redisTaskStore({ client });
  onTestFinished(() => store.close());
  const lost = new Promise((resolve) => client.once('reconnecting', resolve));
  await redis.kill();
  await lost;
  await expect(store.lease('a')).rejects.toMatchObject({ fault: expect.any(String) });
});
