/**
 * A real Redis for tests: `REDIS_SERVER`, or `redis-server` on the PATH. Without one, tests that
 * need it are skipped; one that does not start fails them.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient } from 'redis';
import type { TestContext } from 'vitest';
import { freePort } from '../../../test/tooling/free-port.ts';
import { certificate, certificateKey } from './loopback-certificate.ts';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Path of the executable, if any. `REDIS_SERVER` is used as is. */
function findRedis(environment = process.env): string | undefined {
  const { REDIS_SERVER: named } = environment;
  if (named !== undefined && named !== '') return named;
  return findProgram('redis-server');
}

/** Finds a program on the PATH or in Debian's server directories. */
export function findProgram(name: string): string | undefined {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

export const hasRedis = (): boolean => findRedis() !== undefined;

/** Skips the test if there is no Redis. */
export function needsRedis(context: TestContext): void {
  context.skip(!hasRedis(), 'no redis-server on the PATH, and REDIS_SERVER names none');
}

/** Persistence: none, or every write before its reply. */
export type Durability = 'nothing' | 'everything';

const flagsOf = {
  nothing: ['--save', '', '--appendonly', 'no'],
  everything: ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'],
} as const;

const tlsFlags = (folder: string, port: number): readonly string[] => [
  ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
  ...['--tls-cert-file', '--tls-key-file', '--tls-ca-cert-file'].flatMap((flag) => [
    flag,
    join(folder, 'redis.pem'),
  ]),
];

export interface RedisServerOptions {
  /** Default: nothing. */
  readonly durability?: Durability;
  /** Configuration file, for settings without a flag. */
  readonly configuration?: string;
  readonly flags?: readonly string[];
  /** `rediss`: TLS only, with the certificate of `loopback-certificate.ts`. */
  readonly scheme?: 'redis' | 'rediss';
}

/** Log line of a ready server, or of a Sentinel that monitors its primary. */
const isReady = (line: string): boolean =>
  line.includes('Ready to accept connections') || line.includes('+monitor master');

/** Template for command clients: `createClient` would rebuild all command methods each time. */
const asking = createClient({ RESP: 2 });

/** One Redis server. */
export class RedisServer {
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly port: number;
  readonly url: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, options: RedisServerOptions) {
    const { durability = 'nothing', flags = [], scheme = 'redis' } = options;
    this.#folder = folder;
    this.port = port;
    this.url = `${scheme}://127.0.0.1:${port}`;
    const place = scheme === 'redis' ? ['--port', String(port)] : tlsFlags(folder, port);
    this.#flags = [...place, ...flagsOf[durability], ...flags];
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-'));
    await writeFile(join(folder, 'redis.conf'), options.configuration ?? '');
    await writeFile(join(folder, 'redis.pem'), certificate + certificateKey);
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(folder, await freePort(), options);
      try {
        await server.start();
        return server;
      } catch (error) {
        // Another process may have taken the free port meanwhile.
        if (attempt === 3) throw error;
      }
    }
  }

  /** Process id. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Path of its data on disk. */
  get #data(): string {
    return join(this.#folder, 'appendonlydir');
  }

  /** Restarts on the same port with the data on disk. */
  async start(): Promise<void> {
    const child = spawn(findRedis() ?? 'redis-server', [
      join(this.#folder, 'redis.conf'),
      ...['--bind', '127.0.0.1', '--dir', this.#folder],
      ...this.#flags,
    ]);
    this.#process = child;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (!isReady(line)) continue;
      // Drains stdout, so that the server does not block on it.
      child.stdout.resume();
      return;
    }
    throw new Error(`redis-server did not start:\n${lines.join('\n')}`);
  }

  /** Sends one command on its own connection. */
  async ask(...command: string[]): Promise<unknown> {
    const client = asking.duplicate({ url: this.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return await client.sendCommand(command);
    } finally {
      client.destroy();
    }
  }

  /** Kills the process without saving. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Saves a copy of its data. */
  async remember(): Promise<void> {
    await cp(this.#data, `${this.#data}-older`, { recursive: true });
  }

  /** Restores the saved data, or none, while stopped. */
  async forget(): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    await rename(`${this.#data}-older`, this.#data).catch(() => {});
  }

  /** Stops the process, leaving its connections open. */
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
