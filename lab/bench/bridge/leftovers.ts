/** Counts processes that bridges leave running. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processesWith } from '../../soak/vitals.ts';
import { accepting } from '../http/http-client.ts';
import type { Task } from '../run.ts';
import { bridgesOf, floors, startOf } from './bridges.ts';
import { withFloor } from './costs.ts';

/**
 * Processes alive after this time count as left over: a bridge may give its server some seconds to
 * exit.
 */
const graceMs = 10_000;

/** A server that does not exit when its input ends, like many with a timer or socket. */
const staying = ['--import', 'data:text/javascript,setInterval(()=>{},60000)', floors.stdio];

const host = fileURLToPath(new URL('host.mjs', import.meta.url));

const left = (key: string, title: string, atMost?: number) => ({
  ...({ key: `left.${key}`, title, unit: 'count', isRatio: false } as const),
  ...(atMost === undefined ? {} : { atMost }),
});

/** Runs `body` with marked processes; kills the remaining ones afterwards. */
async function counted<T>(
  body: (start: (args: readonly string[]) => ChildProcess, mark: string) => Promise<T>,
): Promise<T> {
  const mark = randomUUID();
  const start = (args: readonly string[]) =>
    spawn(process.execPath, args, {
      cwd: tmpdir(),
      env: { ...process.env, NODE_OPTIONS: '', MCP_ACTORS_BENCH: mark },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  try {
    return await body(start, mark);
  } finally {
    for (const pid of processesWith(mark) ?? []) process.kill(pid, 'SIGKILL');
  }
}

/** Number of processes with a mark after the grace period, expecting at least this many. */
async function leftOf(mark: string, expected = 0): Promise<number> {
  const endsAt = performance.now() + graceMs;
  for (;;) {
    const now = (processesWith(mark) ?? []).length;
    if (now <= expected || performance.now() > endsAt) return now - expected;
    await delay(50);
  }
}

async function answered(process: ChildProcess): Promise<void> {
  if (!process.stdout) throw new Error('a host has no stdout');
  const ended = once(process, 'exit').then(([code]) => {
    throw new Error(`a host ended with ${code} before it was answered`);
  });
  await Promise.race([once(process.stdout, 'data'), ended]);
}

/** The host over stdio is killed: bridge and server must exit. */
const hostKilled: Task = {
  name: 'hosts',
  only: [...new Set([...bridgesOf('stdio'), ...bridgesOf('remote')])],
  metrics: [left('host', 'processes left when its host on stdio was killed', 0)],
  runOn: async (bridge) => {
    const killed = (args: readonly string[]) =>
      counted(async (start, mark) => {
        const launching = start([host, 'stdio', ...args]);
        await answered(launching);
        launching.kill('SIGKILL');
        return leftOf(mark);
      });
    if (bridgesOf('stdio').includes(bridge.name)) {
      return { 'left.host': await killed((await startOf('stdio', bridge, staying)).args) };
    }
    const remote = async (url: string) => killed((await startOf('remote', bridge, [url])).args);
    return { 'left.host': await withFloor(remote) };
  },
};

/**
 * The same over HTTP, where a dead host leaves its sessions; and the bridge is killed while it has
 * sessions.
 */
const overHttp: Task = {
  name: 'hosts over HTTP',
  only: bridgesOf('http'),
  metrics: [
    left('sessions', 'processes left of 3 sessions over HTTP when their host was killed'),
    left('bridge', 'processes left of 3 sessions over HTTP when the bridge was killed', 0),
  ],
  runOn: (bridge) =>
    counted(async (start, mark) => {
      const { args, url } = await startOf('http', bridge, staying);
      const bridging = start(args);
      bridging.stdout?.resume();
      await accepting(new URL(url));
      const own = (processesWith(mark) ?? []).length;
      const killed = start([host, 'http', url]);
      await answered(killed);
      killed.kill('SIGKILL');
      const sessions = await leftOf(mark, own);
      bridging.kill('SIGKILL');
      return { 'left.sessions': sessions, 'left.bridge': await leftOf(mark) };
    }),
};

export const leftovers: readonly Task[] = [hostKilled, overHttp];
