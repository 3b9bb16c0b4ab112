/** Three nodes with one Redis, and what can happen to them. */
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

/** How long a node counts as alive without a sign of life, and how long a command may take, milliseconds. */
const times = {
  /** Nothing is late unless the machine is. */
  patient: { LEASE_MS: '60000', COMMAND_TIMEOUT_MS: '30000' },
  /** Who is silent is dead. Redis is never late. */
  mortal: { LEASE_MS: '3000', COMMAND_TIMEOUT_MS: '30000' },
  impatient: { LEASE_MS: '3000', COMMAND_TIMEOUT_MS: '1000' },
} as const;

export interface FleetOptions {
  /** How far the clock of each node is off, milliseconds. */
  readonly clocksMs?: readonly number[];
  /** Whether Redis writes everything to its disk before it answers. That takes the disk's time. */
  readonly durability: Durability;
  readonly nodes: keyof typeof times;
  /** Hears each mark that a node has written. */
  onMark(mark: string): void;
}

/** A process, from its start to its end. */
interface Launched {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly url: URL;
  readonly exit: Promise<unknown>;
}

/** The place of a node: one process after another. */
export class NodePlace {
  readonly name: string;
  /** The way to Redis. */
  readonly proxy: StoreProxy;
  /** The way of the other nodes to this one. */
  readonly way: StoreProxy;
  /** When it was stopped last, and until when. */
  #stops: { readonly since: number; until: number }[] = [];
  readonly #env: { readonly [name: string]: string };
  readonly #onMark: (mark: string) => void;
  #launched: Launched | undefined;
  /** What the processes here have written to stderr. */
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

  /** Where it listens; undefined while there is no process. */
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

  /** It does nothing, and keeps its connections. */
  stop(): void {
    this.#stops.push({ since: performance.now(), until: Infinity });
    this.#launched?.child.kill('SIGSTOP');
  }

  wake(): void {
    for (const stop of this.#stops) stop.until = Math.min(stop.until, performance.now());
    this.#launched?.child.kill('SIGCONT');
  }

  /** True if it was stopped at some time since then, by `performance.now()`. */
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
