/** Redis, for what several processes share. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { cpuMsOf } from '../accounting.ts';

/** Why there is no Redis on this machine; undefined if there is. */
export function missingRedis(): string | undefined {
  const { status } = spawnSync('redis-server', ['--version']);
  return status === 0 ? undefined : 'there is no redis-server';
}

export interface RunningRedis {
  readonly url: string;
  /** What it has used, milliseconds. */
  readonly cpuMs: number;
}

/** Runs a Redis that keeps nothing, at a free port, while `body` does something with it. */
export async function withRedis<T>(body: (redis: RunningRedis) => Promise<T>): Promise<T> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', args, {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    await ready(child.stdout);
    return await body({
      url: `redis://127.0.0.1:${port}`,
      get cpuMs() {
        return cpuMsOf(child.pid ?? 0) ?? Number.NaN;
      },
    });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function ready(stdout: NodeJS.ReadableStream): Promise<void> {
  let said = '';
  for await (const text of stdout) {
    said += String(text);
    if (said.includes('Ready to accept connections')) break;
  }
  if (!said.includes('Ready')) throw new Error(`redis-server does not start: ${said.slice(-300)}`);
}

/** A port of 127.0.0.1 that was free just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
