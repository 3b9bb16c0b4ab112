/**
 * A real Postgres for tests: the programs of the folder that `POSTGRES_BIN` names, of the PATH, or of Debian's package. Where there are
 * none, the tests that need it are skipped and counted; a Postgres that is there and does not start is a failure.
 */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'vitest';
import { certificate, certificateKey } from '../../../nodes/test/loopback-certificate.ts';
import { findProgram } from '../../../nodes/test/redis-server.ts';
import { freePort } from '../../../../test/tooling/free-port.ts';

/** Postgres refuses to run as root: nobody runs it then. */
const nobody = 65_534;
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

const debian = '/usr/lib/postgresql';

/** Where a program of Postgres is, if it is anywhere. */
function findIn(name: string): string | undefined {
  const { POSTGRES_BIN: named } = process.env;
  if (named !== undefined && named !== '') return join(named, name);
  const found = findProgram(name);
  if (found !== undefined) return found;
  try {
    const newest = readdirSync(debian).toSorted((a, b) => Number(b) - Number(a))[0];
    return newest === undefined ? undefined : join(debian, newest, 'bin', name);
  } catch {
    return undefined;
  }
}

export const hasPostgres = (): boolean =>
  process.platform === 'linux' &&
  findIn('initdb') !== undefined &&
  findIn('postgres') !== undefined;

/** Skips the test if there is no Postgres here. */
export function needsPostgres(context: TestContext): void {
  context.skip(
    !hasPostgres(),
    'no initdb and postgres on the PATH, and POSTGRES_BIN names no folder',
  );
}

/** What makes a server small, and quick to start. What it has written outlives its process, not the machine's. */
const settings = [
  ...['shared_buffers=16MB', 'max_connections=100', 'unix_socket_directories='],
  ...['fsync=off', 'autovacuum=off', 'log_checkpoints=off'],
];

/** One Postgres. Everybody on this machine may log in as `postgres`, by TLS or without. */
export class PostgresServer {
  readonly #folder: string;
  readonly #settings: readonly string[];
  readonly port: number;
  readonly url: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, more: readonly string[]) {
    this.#folder = folder;
    this.#settings = [...settings, ...more].flatMap((setting) => ['-c', setting]);
    this.port = port;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  /** With an empty database, `postgres`. @param more settings, in place of those for tests */
  static async start(more: readonly string[] = []): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
    const { uid, gid } = user;
    if (uid !== undefined) chownSync(folder, uid, gid);
    const data = join(folder, 'data');
    const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
    execFileSync(findIn('initdb') ?? '', flags, { ...user, stdio: 'pipe', cwd: folder });
    for (const [name, text] of [
      ['server.crt', certificate],
      ['server.key', certificateKey],
    ] as const) {
      const path = join(data, name);
      writeFileSync(path, text);
      chmodSync(path, 0o600);
      if (uid !== undefined) chownSync(path, uid, gid);
    }
    for (let attempt = 1; ; attempt++) {
      const server = new PostgresServer(folder, await freePort(), more);
      try {
        await server.start();
        return server;
      } catch (error) {
        // Somebody else may have taken the port since it was free.
        if (attempt === 3) throw error;
      }
    }
  }

  /** Once more on the same port, with what it has. */
  async start(): Promise<void> {
    const place = ['-D', join(this.#folder, 'data'), '-p', String(this.port)];
    const child = spawn(
      findIn('postgres') ?? '',
      [...place, '-c', 'listen_addresses=127.0.0.1', '-c', 'ssl=on', ...this.#settings],
      { ...user, cwd: this.#folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process = child;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      lines.push(line);
      if (!line.includes('is ready to accept connections')) continue;
      // It would wait for somebody who reads what it has to say.
      child.stderr.resume();
      return;
    }
    throw new Error(`postgres did not start:\n${lines.join('\n')}`);
  }

  /** The process that the others come from. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** At once: connections break, and what was not committed is gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGQUIT');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
