/** Two networks of this machine's kernel, each with an address of the other, whose packets can be lost on the way. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const run = promisify(execFile);

/** Where a server listens, and from where clients reach it. */
const near = '10.9.8.1';
const far = ['10.9.8.2', '10.9.8.3'] as const;

export interface Networks {
  /** The server's address. */
  readonly near: string;
  /** The clients' addresses. */
  readonly far: typeof far;
  /** Starts node in one of the two, until the test is over. */
  startNode(where: 'near' | 'far', args: readonly string[]): ChildProcess;
  /** Loses all packets from the server to a client from now on. Neither hears of it. */
  lose(client: string): Promise<unknown>;
  /** The clients that the server's system has a connection with. */
  readonly connected: readonly string[];
}

/** @throws {Error} they cannot be had here: that takes Linux, and a user who may do it */
export async function networks(): Promise<Networks> {
  // They are gone with the last process in them, and these end if this one does.
  const start = async () => {
    const holder = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void holder.stdin.end());
    holder.stdin.on('error', () => {});
    holder.stdin.write('there');
    const ended = once(holder, 'close').then(() => Promise.reject(new Error('unshare has ended')));
    await Promise.race([once(holder.stdout, 'data'), ended]);
    ended.catch(() => {});
    return String(holder.pid);
  };
  const [here, there] = [await start(), await start()];
  const ip = (where: string, words: string) =>
    run('nsenter', ['-t', where, '-n', 'ip', ...words.split(' ')]);
  await ip(here, `link add near type veth peer name far netns ${there}`);
  await ip(here, `address add ${near}/24 dev near`);
  for (const address of far) await ip(there, `address add ${address}/24 dev far`);
  await ip(here, 'link set near up');
  await ip(there, 'link set far up');
  return {
    ...{ near, far },
    startNode: (where, args) => {
      const inside = ['-t', where === 'near' ? here : there, '-n', process.execPath, ...args];
      const child = spawn('nsenter', inside, { stdio: ['ignore', 'pipe', 'pipe'] });
      onTestFinished(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await once(child, 'exit');
      });
      return child;
    },
    // What is sent to a card that nobody has is received by nobody.
    lose: (client) =>
      ip(here, `neighbour replace ${client} lladdr 02:00:00:00:00:99 dev near nud permanent`),
    get connected() {
      const rows = readFileSync(`/proc/${here}/net/tcp`, 'utf8').split('\n');
      return rows.flatMap((row) => {
        const [, , remote = '', state] = row.trim().split(/ +/);
        const bytes = Buffer.from(remote.slice(0, 8), 'hex');
        return state === '01' ? [bytes.swap32().join('.')] : [];
      });
    },
  };
}
