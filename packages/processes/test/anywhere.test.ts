/** Processes of Node under the machine of processes, on whichever system this runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, test, vi } from 'vitest';
import { program } from '../../../test/tooling/programs.ts';
import { start } from './started.ts';
import type { Started } from './started.ts';
import { deafServer } from './anywhere-host.ts';

const family: number[] = [];
afterEach(async () => {
  for (const pid of family.splice(0)) await gone(pid);
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const gone = (pid: number): Promise<void> =>
  vi.waitFor(() => expect(isThere(pid)).toBe(false), { timeout: 100_000, interval: 20 });

/** A server with a helper, both deaf to everything; the pids of both are its first line. */
async function startDeaf(end?: 'crashes'): Promise<Started> {
  const times = { inputMs: 1, terminateMs: 1, killMs: 60_000 };
  const server = start(process.execPath, deafServer(end), { times });
  family.push(...(JSON.parse(await server.line()) as number[]));
  expect(family.map(isThere)).toEqual([true, true]);
  return server;
}

test('kills an unresponsive server and its helper', async () => {
  const server = await startDeaf();
  server.stop();
  expect(await server.gone).toMatchObject({ group: 'empty' });
});

test('ends the helper of a crashed server', async () => {
  const server = await startDeaf('crashes');
  server.stdin?.write('\n');
  expect(await server.told('process.exited')).toMatchObject({ code: 7 });
  expect(await server.gone).toMatchObject({ group: 'empty' });
});

test('ends servers and helpers when the host is killed', async () => {
  const host = spawn(process.execPath, program('packages/processes/test/anywhere-host.ts'), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  family.push(...(JSON.parse((await lines.next()).value as string) as number[]));
  host.kill('SIGKILL');
  await once(host, 'exit');
  for (const pid of family) await gone(pid);
});
