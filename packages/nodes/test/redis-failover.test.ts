/** Sessions during Redis failovers. */
import { createCluster, createSentinel } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { newNodeName } from '../../http/src/nodes/stores.ts';
import type { StoreUnavailable } from '../../http/src/nodes/stores.ts';
import { redisStores } from '../src/redis.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { gate } from '../../testing/src/index.ts';
import { EventReader, RawSession, begin } from '../../http/test/raw-client.ts';
import type { Message } from '../../http/test/raw-client.ts';
import { BusySession } from './busy-session.ts';
import { RedisClusterServers, SentinelServers } from './redis-cluster.ts';
import { leaseRequest, startRedisNodes, stateKeys } from './redis-nodes.ts';
import { hasRedis, needsRedis } from './redis-server.ts';

const prefix = 'shared:';

/** Much longer than a failover. */
const leaseMs = 30_000;

/** A ready client that closes with the test. */
async function ready<
  C extends {
    connect(): Promise<unknown>;
    destroy(): unknown;
    on(name: 'error', listener: () => void): unknown;
  },
>(client: C): Promise<{ client: C }> {
  // Broken connections are expected.
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => void client.destroy());
  return { client };
}

const echo = defineTool({ name: 'echo', description: 'Echoes', handler: () => 'echo' });

const stepsOf = (held: ReturnType<typeof gate>) =>
  defineTool({
    name: 'steps',
    description: 'Says something, and more once it may',
    handler: async (_, { notify }) => {
      for (let n = 0; n < 3; n++) notify('test/step', { n });
      await held.pass();
      for (let n = 3; n < 6; n++) notify('test/step', { n });
      return 'done';
    },
  });

/** Reads a stream up to its response, resuming elsewhere if it breaks. */
async function readAll(response: Response, elsewhere: RawSession): Promise<readonly Message[]> {
  const messages: Message[] = [];
  let reader = new EventReader(response);
  let last = '';
  for (;;) {
    const event = await reader.next();
    if (event?.id) last = event.id;
    if (event?.data) messages.push(event.data as Message);
    if (messages.at(-1)?.id === 'steps') return messages;
    if (event) continue;
    do reader = await elsewhere.get(last);
    while (reader.response.status === 503);
  }
}

/** Nodes with busy sessions, and a call streamed through another node than its own. */
async function busyNodes(stores: () => Promise<RedisStoresOptions>) {
  const held = gate();
  const nodes = await startRedisNodes({
    count: 3,
    stores: async () => ({ prefix, leaseMs, ...(await stores()) }),
    server: () =>
      createMcpServer({ name: 'failover', version: '1', tools: [echo, stepsOf(held)], stateKeys }),
    http: { report: () => {} },
  });
  const sessions: BusySession[] = [];
  for (let n = 0; n < 9; n++) {
    const begun = await begin(nodes[n % nodes.length]!);
    sessions.push(new BusySession(nodes, begun, 'echo'));
  }
  const here = await begin(nodes[0]!);
  const [there, elsewhere] = [1, 2].map((n) => new RawSession(nodes[n]!, here.headers));
  const stream = readAll(await there!.call('steps', {}, 'steps'), elsewhere!);
  return {
    /** Waits until every node serves every session. */
    async allServed() {
      for (const session of sessions) {
        await expect.poll(() => session.statuses()).toEqual([200, 200, 200]);
      }
    },
    /** Asserts that nothing was lost or repeated and every answer was correct. */
    async judge() {
      held.release();
      const steps = (await stream).flatMap(({ params }) => params?.['n'] ?? []);
      expect(steps).toEqual([0, 1, 2, 3, 4, 5]);
      for (const session of sessions) {
        await session.rest();
        expect(session.wrong).toEqual([]);
        expect(session.served).toBeGreaterThan(0);
      }
    },
  };
}

beforeEach(needsRedis);

describe('nodes that share a cluster', () => {
  let cluster: RedisClusterServers;
  beforeAll(async () => {
    if (hasRedis()) cluster = await RedisClusterServers.start();
  });
  afterAll(() => cluster?.stop());

  const client = () =>
    ready(
      createCluster({
        rootNodes: cluster.rootNodes,
        // Faster than the default, because commands to a dead master wait for it.
        topologyRefreshOnReconnectionAttemptStrategy: 500,
      }),
    );

  test('keep all keys of a session in one slot', async () => {
    const [a, b] = await Promise.all(
      [1, 2].map(async () => {
        const stores = await redisStores({ prefix, leaseMs, ...(await client()) });
        onTestFinished(() => stores.close());
        const name = newNodeName();
        const texts: string[] = [];
        const received = (text: string) => void texts.push(text);
        await stores.broadcasts.subscribe({ received, missed: () => {} });
        const { untilMs } = await stores.directory.lease(name, 'new', leaseRequest);
        return { ...stores, name, texts, untilMs };
      }),
    );
    const masters = await cluster.masters();
    for (const master of masters) {
      const id = await cluster.idAt(master, (each) => `${prefix}{${each}}:record`);
      const record = { id, principal: 'anna', owner: a!.name, fence: 1, revision: 1, facts: {} };
      expect(await a!.directory.put(record, a!.untilMs)).toBe(true);
      const at = { id, fence: 1, revision: 2 };
      const change = { slot: 'logLevel', text: '"error"' };
      expect(await a!.directory.write(at, change)).toBe('written');
      expect(await a!.log.append(at, [{ stream: '1', number: 1, text: '1' }])).toBe('written');
      const { address, store } = await b!.directory.find(id);
      expect(address).toEqual(leaseRequest.address);
      const read = { fence: 1, store: store.name };
      const claimed = await b!.directory.claim(id, b!.name, read);
      expect(claimed).toMatchObject({ owner: b!.name, facts: { logLevel: '"error"' } });
      expect(await b!.log.read(id)).toMatchObject([{ text: '1' }]);
      await b!.directory.remove(id, claimed!.fence);
      expect((await a!.directory.find(id)).record).toBeUndefined();
      await a!.broadcasts.publish(id);
      for (const { texts } of [a!, b!]) await expect.poll(() => texts).toContain(id);
    }
    expect(masters).toHaveLength(3);
  });

  test('answer or return 503 and keep every session while masters swap or die', async () => {
    const { allServed, judge } = await busyNodes(client);
    const leases = `${prefix}{leases}:store`;
    await cluster.handOver(leases);
    await allServed();
    const dead = await cluster.killMasterOf(leases);
    await allServed();
    await cluster.revive(dead);
    await judge();
  });

  test('know the data of each master, so that one that is ahead is not trusted', async () => {
    const stores = await redisStores({ prefix, ...(await client()) });
    onTestFinished(() => stores.close());
    const leases = await cluster.masterOf(`${prefix}{leases}:store`);
    const others = (await cluster.masters()).filter((master) => master !== leases);
    // Increments the epoch, which is ahead until all masters know it.
    let n = 0;
    await expect
      .poll(async () => {
        const master = others[n++ % others.length]!;
        const id = await cluster.idAt(master, (each) => `${prefix}{${each}}:record`);
        await master.ask('CLUSTER', 'BUMPEPOCH');
        return stores.directory.find(id).then(
          () => 'unknown',
          (error: StoreUnavailable) => error.fault,
        );
      })
      .toBe('away');
    await expect
      .poll(() => stores.directory.find('nobody').catch(String))
      .toMatchObject({ record: undefined });
  });
});

describe('nodes that share a Redis under Sentinel', () => {
  test('answer or return 503 and keep every session while the primary dies', async () => {
    const servers = await SentinelServers.start();
    onTestFinished(() => servers.stop());
    const { allServed, judge } = await busyNodes(() =>
      ready(createSentinel({ name: servers.name, sentinelRootNodes: [...servers.roots] })),
    );
    await servers.killPrimary();
    await allServed();
    await judge();
  });
});
