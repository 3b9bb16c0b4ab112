/** Redis for state shared by several processes. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { cpuMsOf } from '../accounting.ts';

/** Reason why Redis is unavailable; undefined if available. */
export function missingRedis(): string | undefined {
  const { status } = spawnSync('redis-server', ['--version']);
  return status === 0 ? undefined : 'there is no redis-server';
}

export interface RunningRedis {
  readonly url: string;
  /** CPU time, ms. */
  readonly cpuMs: number;
}

/** Runs a Redis without persistence on a free port for the duration of `body`. */
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

/** A port of 127.0.0.1 that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
