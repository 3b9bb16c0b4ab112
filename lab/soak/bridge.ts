/**
 * `npm run lab -- soak --bridge`: the built `mcp-actors bridge` with a server that keeps a journal,
 * killed, stopped or disconnected at arbitrary moments. After each round, no process may remain and
 * nothing may have arrived twice. See docs/maintaining/soaking.md.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processesWith } from './vitals.ts';

const command = fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url));
const server = fileURLToPath(
  new URL('../../packages/bridge/test/journal-server.mjs', import.meta.url),
);

/**
 * Processes alive after this time count as left over. On an idle machine the shutdown takes 8 s
 * (drain time, three stop steps and a second); a busy one is slow to start programs that must end.
 */
const patienceMs = 120_000;

/** Events that hit a bridge and its server. */
const acts = {
  'the host goes': ({ bridge }: Round) => bridge.stdin?.end(),
  'the host goes without a word': ({ bridge }: Round) => {
    bridge.stdin?.destroy();
    bridge.stdout?.destroy();
  },
  'the bridge is told to end': ({ bridge }: Round) => bridge.kill('SIGTERM'),
  'the bridge is killed': ({ bridge }: Round) => bridge.kill('SIGKILL'),
  'the server is killed': ({ signal }: Round) => signal('SIGKILL'),
  'the server is killed, and the bridge at once': ({ bridge, signal }: Round) => {
    signal('SIGKILL');
    bridge.kill('SIGKILL');
  },
  'the server is stopped': ({ signal }: Round) => signal('SIGSTOP'),
} as const;

interface Round {
  readonly bridge: ChildProcess;
  /** Sends a signal to the server, if started. */
  signal(name: NodeJS.Signals): void;
}

const names = Object.keys(acts) as (keyof typeof acts)[];
const shares = ['session', 'shared', 'pool'];
const steps = ['pause', 'progress', 'log', 'change', 'stay'];

/** Rounds between progress messages. */
const toldEach = 100;

/** @param random returns a number from 0 to less than 1 */
export async function soakBridge(rounds: number, random: () => number): Promise<readonly string[]> {
  const faults: string[] = [];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  let next = 0;
  const inTurn = async () => {
    while (next < rounds && faults.length === 0) {
      const number = ++next;
      const plan = {
        act: pick(names),
        share: pick(shares),
        afterMs: Math.floor(random() * 800),
        calls: Array.from({ length: Math.floor(random() * 8) }, () => [pick(steps), pick(steps)]),
      };
      const fault = await play(plan);
      if (fault !== undefined) faults.push(`round ${number}, ${JSON.stringify(plan)}: ${fault}`);
      if (number % toldEach === 0) process.stderr.write(`${number} of ${rounds} rounds\n`);
    }
  };
  await Promise.all([inTurn(), inTurn()]);
  process.stdout.write(
    `soaked a bridge: ${next} rounds of ${names.length} acts, by ${shares.length} ways to share; nothing was left after ${longestMs.toFixed(0)} ms at most; ${faults.length} faults\n`,
  );
  return faults;
}

interface Plan {
  readonly act: keyof typeof acts;
  readonly share: string;
  readonly afterMs: number;
  readonly calls: readonly (readonly string[])[];
}

/** Longest time until no process was left. */
let longestMs = 0;

/** @returns the fault */
async function play({ act, share, afterMs, calls }: Plan): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'soak-bridge-'));
  const journal = join(folder, 'journal');
  const mark = randomUUID();
  const args = [command, 'bridge', '--log-level', 'silent', '--share', share, '--'];
  const bridge = spawn(process.execPath, [...args, process.execPath, server, journal], {
    env: { ...process.env, NODE_OPTIONS: '', MCP_ACTORS_SOAK: mark },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(bridge, 'exit');
  bridge.stdin.on('error', () => {});
  bridge.stdout.on('error', () => {}).resume();
  const say = (message: object) =>
    bridge.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'soak', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  say({ id: 0, method: 'initialize', params });
  say({ method: 'notifications/initialized' });
  for (const [at, wanted] of calls.entries()) {
    const called = { name: 'act', arguments: { mark: `call-${at}`, steps: wanted } };
    say({ id: at + 1, method: 'tools/call', params: called });
  }
  const signal = (name: NodeJS.Signals) => {
    if (!existsSync(`${journal}.pid`)) return;
    const { pid } = JSON.parse(readFileSync(`${journal}.pid`, 'utf8') || '{}') as { pid?: number };
    if (pid !== undefined && (processesWith(mark) ?? []).includes(pid)) process.kill(pid, name);
  };
  await sleep(afterMs);
  acts[act]({ bridge, signal });
  if (act.startsWith('the server is') && !act.includes('bridge')) {
    await sleep(afterMs / 2);
    bridge.stdin.end();
  }
  const endedAt = performance.now();
  let left = processesWith(mark) ?? [];
  while (left.length > 0 && performance.now() - endedAt < patienceMs) {
    await sleep(50);
    left = processesWith(mark) ?? [];
  }
  longestMs = Math.max(longestMs, performance.now() - endedAt);
  if (left.length === 0) await ended;
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
  const arrived = lines.flatMap((line) => /call-\d+$/.exec(line) ?? []);
  const who = left.map(commandOf).join('; ');
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true });
  if (left.length > 0)
    return `${left.length} processes are left after ${patienceMs} ms: ${who}; at the server: ${lines.join(', ')}`;
  if (new Set(arrived).size < arrived.length)
    return `${arrived.join(', ')} have arrived: one twice`;
  return undefined;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(-200);
  } catch {
    return 'one that has just ended';
  }
}
