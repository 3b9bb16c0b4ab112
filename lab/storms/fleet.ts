/** Three nodes with one Redis, and the faults that can be injected. */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { RedisServer } from '../../packages/nodes/test/redis-server.ts';
import type { Durability } from '../../packages/nodes/test/redis-server.ts';
import { program } from '../../test/tooling/programs.ts';
import { StoreProxy } from '../../test/tooling/store-proxy.ts';

/** Lease of a node without a heartbeat, and command timeout, ms. */
const times = {
  /** Never times out unless the machine is extremely slow. */
  patient: { LEASE_MS: '60000', COMMAND_TIMEOUT_MS: '30000' },
  /** Silent nodes expire quickly. Redis is never late. */
  mortal: { LEASE_MS: '3000', COMMAND_TIMEOUT_MS: '30000' },
  impatient: { LEASE_MS: '3000', COMMAND_TIMEOUT_MS: '1000' },
} as const;

export interface FleetOptions {
  /** Clock offset of each node, ms. */
  readonly clocksMs?: readonly number[];
  /** Durability of Redis writes, at the cost of disk time. */
  readonly durability: Durability;
  readonly nodes: keyof typeof times;
  /** Called with each mark a node writes. */
  onMark(mark: string): void;
}

/** A process from start to exit. */
interface Launched {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly url: URL;
  readonly exit: Promise<unknown>;
}

/** Slot of a node, occupied by one process after another. */
export class NodePlace {
  readonly name: string;
  /** Proxy to Redis. */
  readonly proxy: StoreProxy;
  /** Proxy through which other nodes reach this one. */
  readonly way: StoreProxy;
  /** Intervals in which the process was stopped. */
  #stops: { readonly since: number; until: number }[] = [];
  readonly #env: { readonly [name: string]: string };
  readonly #onMark: (mark: string) => void;
  #launched: Launched | undefined;
  /** Stderr of the processes in this slot. */
  stderr = '';

  constructor(
    name: string,
    { proxy, way }: { readonly proxy: StoreProxy; readonly way: StoreProxy },
    env: { readonly [name: string]: string },
    onMark: (mark: string) => void,
  ) {
    this.name = name;
    this.proxy = proxy;
    this.way = way;
    this.#env = env;
    this.#onMark = onMark;
  }

  /** URL of the node; undefined without a process. */
  get url(): URL | undefined {
    return this.#launched?.url;
  }

  async launch(): Promise<void> {
    const child = spawn(process.execPath, program('lab/storms/node.ts'), {
      env: {
        ...process.env,
        ...this.#env,
        REDIS_URL: this.proxy.url,
        NODE_URL: `http://127.0.0.1:${this.way.port}/mcp`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit');
    createInterface({ input: child.stdout }).on('line', this.#onMark);
    const url = new Promise<URL>((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.stderr += `${line}\n`;
        if (!line.includes('"http.listening"')) return;
        const { details } = JSON.parse(line) as { details: { url: string } };
        resolve(new URL(details.url));
      });
      exit.then(() => reject(new Error(`${this.name} did not start:\n${this.stderr}`)), reject);
    });
    this.#launched = { child, url: await url, exit };
    this.way.leadTo(Number(this.#launched.url.port));
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const launched = this.#launched;
    if (!launched) return;
    this.#launched = undefined;
    launched.child.kill(signal);
    await launched.exit;
  }

  /** Suspends the process, whose connections stay open. */
  stop(): void {
    this.#stops.push({ since: performance.now(), until: Infinity });
    this.#launched?.child.kill('SIGSTOP');
  }

  wake(): void {
    for (const stop of this.#stops) stop.until = Math.min(stop.until, performance.now());
    this.#launched?.child.kill('SIGCONT');
  }

  /** True if it was stopped at any time since then, on the `performance.now()` clock. */
  wasStopped(since: number): boolean {
    return this.#stops.some(({ until }) => until >= since);
  }
}

export class Fleet {
  readonly redis: RedisServer;
  readonly nodes: readonly NodePlace[];

  private constructor(redis: RedisServer, nodes: readonly NodePlace[]) {
    this.redis = redis;
    this.nodes = nodes;
  }

  static async launch(options: FleetOptions): Promise<Fleet> {
    const { clocksMs = [], durability, onMark } = options;
    const redis = await RedisServer.start({ durability });
    const key = randomBytes(32).toString('base64');
    const nodes = await Promise.all(
      ['a', 'b', 'c'].map(async (name, index) => {
        const offset = String(clocksMs[index] ?? 0);
        const env = { STATE_KEY: key, CLOCK_OFFSET_MS: offset, ...times[options.nodes] };
        const ways = { proxy: await StoreProxy.to(redis.port), way: await StoreProxy.to(0) };
        return new NodePlace(name, ways, env, onMark);
      }),
    );
    const fleet = new Fleet(redis, nodes);
    await Promise.all(nodes.map((node) => node.launch()));
    return fleet;
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end('SIGKILL')));
    for (const { proxy, way } of this.nodes) {
      proxy.close();
      way.close();
    }
    await this.redis.stop();
  }
}
