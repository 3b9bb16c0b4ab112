/**
 * A real Redis for tests: the one that `REDIS_SERVER` names, or else the `redis-server` that is on the PATH. Where there is none,
 * the tests that need it are skipped and counted; a Redis that is there and does not start is a failure.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'vitest';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The executable, if there is one. What `REDIS_SERVER` names is taken as it is. */
function findRedis(environment = process.env): string | undefined {
  const { REDIS_SERVER: named, PATH: path = '' } = environment;
  if (named !== undefined && named !== '') return named;
  return path
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find(isExecutable);
}

export const hasRedis = (): boolean => findRedis() !== undefined;

/** Skips the test if there is no Redis here. */
export function needsRedis(context: TestContext): void {
  context.skip(!hasRedis(), 'no redis-server on the PATH, and REDIS_SERVER names none');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** What a Redis has on disk: nothing, or each write before it is answered. */
export type Durability = 'nothing' | 'everything';

const flagsOf = {
  nothing: ['--save', '', '--appendonly', 'no'],
  everything: ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'],
} as const;

/** One Redis. */
export class RedisServer {
  readonly #folder: string;
  readonly #durability: Durability;
  readonly port: number;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, durability: Durability) {
    this.#folder = folder;
    this.port = port;
    this.#durability = durability;
  }

  static async start(durability: Durability = 'nothing'): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-'));
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(folder, await freePort(), durability);
      try {
        await server.start();
        return server;
      } catch (error) {
        // Somebody else may have taken the port since it was free.
        if (attempt === 3) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Its data on disk. */
  get #data(): string {
    return join(this.#folder, 'appendonlydir');
  }

  /** Once more on the same port, with what it has on disk. */
  async start(): Promise<void> {
    const flags = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder];
    const child = spawn(findRedis() ?? 'redis-server', [...flags, ...flagsOf[this.#durability]]);
    this.#process = child;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line.includes('Ready to accept connections')) return;
    }
    throw new Error(`redis-server did not start:\n${lines.join('\n')}`);
  }

  /** Without a word, with all that it had. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Puts a copy of its data aside. */
  async remember(): Promise<void> {
    await cp(this.#data, `${this.#data}-older`, { recursive: true });
  }

  /** The next start is with the data that were put aside, or with none. It is not running. */
  async forget(): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    await rename(`${this.#data}-older`, this.#data).catch(() => {});
  }

  /** It holds its connections and answers nothing. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
