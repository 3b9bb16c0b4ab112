/**
 * Real Redis setups for tests: a cluster of three masters with replicas, and a primary with a
 * replica under Sentinel.
 */
import { vi } from 'vitest';
import { RedisServer } from './redis-server.ts';

/** Silence after which a replica is promoted, ms. With less, a busy machine would look dead. */
const nodeTimeoutMs = 1500;

const memberFlags = [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
  // Replicas may always take over and start replicating at once.
  ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
];

const slots = 16_384;

/** Usable outside of tests. */
const until = (isSo: () => Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(() => isSo().catch(() => false), { timeout: 100_000, interval: 20 });

const infoOf = async (server: RedisServer, section: string): Promise<ReadonlyMap<string, string>> =>
  fieldsOf(await server.ask('INFO', section));

const fieldsOf = (text: unknown): ReadonlyMap<string, string> =>
  new Map(
    String(text)
      .split('\r\n')
      .map((line) => line.split(':', 2) as [string, string]),
  );

/** Waits until a replica is in sync. */
const copied = (server: RedisServer): Promise<unknown> =>
  until(async () => (await infoOf(server, 'replication')).get('master_link_status') === 'up');

const isPrimary = async (server: RedisServer): Promise<boolean> =>
  (await infoOf(server, 'replication')).get('role') === 'master';

export class RedisClusterServers {
  readonly members: readonly RedisServer[];
  readonly #dead = new Set<RedisServer>();

  private constructor(members: readonly RedisServer[]) {
    this.members = members;
  }

  static async start(): Promise<RedisClusterServers> {
    const members = await Promise.all(
      Array.from({ length: 6 }, () => RedisServer.start({ flags: memberFlags })),
    );
    const cluster = new RedisClusterServers(members);
    await cluster.#meet();
    return cluster;
  }

  get rootNodes(): { readonly url: string }[] {
    return this.members.map(({ url }) => ({ url }));
  }

  /** The master of a key. */
  async masterOf(key: string): Promise<RedisServer> {
    const shards = await this.#shards();
    const slot = Number(await this.#living[0]?.ask('CLUSTER', 'KEYSLOT', key));
    const shard = shards.find(({ from, to }) => from <= slot && slot <= to);
    if (!shard?.master) throw new Error(`Nobody has slot ${slot}`);
    return shard.master;
  }

  async masters(): Promise<readonly RedisServer[]> {
    const shards = await this.#shards();
    return shards.flatMap(({ master }) => master ?? []);
  }

  /** An id whose key belongs to this master. */
  async idAt(master: RedisServer, keyOf: (id: string) => string): Promise<string> {
    for (;;) {
      const id = crypto.randomUUID();
      if ((await this.masterOf(keyOf(id))) === master) return id;
    }
  }

  /** Promotes the replica of a key's master without data loss. */
  async handOver(key: string): Promise<void> {
    const master = await this.masterOf(key);
    const replica = await this.#replicaOf(master);
    await copied(replica);
    await replica.ask('CLUSTER', 'FAILOVER');
    await this.#settled(key, master);
  }

  /**
   * Kills the master of a key.
   *
   * @returns once its replica was promoted
   */
  async killMasterOf(key: string): Promise<RedisServer> {
    const master = await this.masterOf(key);
    this.#dead.add(master);
    await master.kill();
    await this.#settled(key, master);
    return master;
  }

  /** Restarts a server as a replica. */
  async revive(member: RedisServer): Promise<void> {
    await member.start();
    this.#dead.delete(member);
    await copied(member);
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  async #shards() {
    const slots = await this.#living[0]?.ask('CLUSTER', 'SLOTS');
    return (slots as [number, number, [string, number]][]).map(([from, to, [, port]]) => {
      const master = this.members.find((member) => member.port === port);
      return { from, to, master };
    });
  }

  get #living(): readonly RedisServer[] {
    return this.members.filter((member) => !this.#dead.has(member));
  }

  async #meet(): Promise<void> {
    const [first, ...others] = this.members as [RedisServer, ...RedisServer[]];
    const masters = this.members.slice(0, 3);
    await Promise.all(
      this.members.map((member, n) => member.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1))),
    );
    await Promise.all(
      masters.map((master, n) => {
        const [from, to] = [n, n + 1].map((part) => Math.ceil((part * slots) / 3));
        return master.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1));
      }),
    );
    await Promise.all(
      others.map(({ port }) => first.ask('CLUSTER', 'MEET', '127.0.0.1', String(port))),
    );
    await this.#allSay('cluster_known_nodes', '6');
    await Promise.all(
      this.members.slice(3).map(async (replica, n) => {
        const id = String(await masters[n]?.ask('CLUSTER', 'MYID'));
        await replica.ask('CLUSTER', 'REPLICATE', id);
        await copied(replica);
      }),
    );
    await this.#allSay('cluster_state', 'ok');
  }

  #allSay(field: string, value: string): Promise<unknown> {
    return Promise.all(
      this.#living.map((member) =>
        until(async () => fieldsOf(await member.ask('CLUSTER', 'INFO')).get(field) === value),
      ),
    );
  }

  async #replicaOf(master: RedisServer): Promise<RedisServer> {
    for (const member of this.#living) {
      const replication = await infoOf(member, 'replication');
      if (replication.get('master_port') === String(master.port)) return member;
    }
    throw new Error('It has no replica');
  }

  /** Waits until all servers know the new master of a key. */
  async #settled(key: string, before: RedisServer): Promise<void> {
    await until(async () => (await this.masterOf(key)) !== before);
    await this.#allSay('cluster_state', 'ok');
  }
}

export class SentinelServers {
  readonly sentinel: RedisServer;
  readonly members: readonly RedisServer[];

  private constructor(sentinel: RedisServer, members: readonly RedisServer[]) {
    this.sentinel = sentinel;
    this.members = members;
  }

  /** Name of the monitored primary. */
  readonly name = 'shared';

  static async start(): Promise<SentinelServers> {
    const flags = ['--repl-diskless-sync-delay', '0'];
    const primary = await RedisServer.start({ flags });
    const replica = await RedisServer.start({
      flags: [...flags, '--replicaof', '127.0.0.1', String(primary.port)],
    });
    await copied(replica);
    const sentinel = await RedisServer.start({
      configuration: [
        `sentinel monitor shared 127.0.0.1 ${primary.port} 1`,
        `sentinel down-after-milliseconds shared ${nodeTimeoutMs}`,
        'sentinel failover-timeout shared 5000',
      ].join('\n'),
      flags: ['--sentinel'],
    });
    const servers = new SentinelServers(sentinel, [primary, replica]);
    // Waits until Sentinel knows the replica.
    await until(async () => {
      const replicas = (await sentinel.ask('SENTINEL', 'REPLICAS', 'shared')) as unknown[];
      return replicas.length === 1;
    });
    return servers;
  }

  get roots(): { readonly host: string; readonly port: number }[] {
    return [{ host: '127.0.0.1', port: this.sentinel.port }];
  }

  /**
   * Kills the primary.
   *
   * @returns once the replica was promoted
   */
  async killPrimary(): Promise<void> {
    const [primary, replica] = this.members as [RedisServer, RedisServer];
    await primary.kill();
    await until(() => isPrimary(replica));
  }

  async stop(): Promise<void> {
    await Promise.all([this.sentinel, ...this.members].map((server) => server.stop()));
  }
}
