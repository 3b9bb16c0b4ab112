/** What a host leaves when it ends in a way that it does not choose: nothing. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { program } from '../../../test/tooling/programs.ts';
import { emptied, killMembers, membersOf, processTable } from './process-table.ts';

const hosts: ChildProcess[] = [];
const left: number[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL');
  for (const group of left.splice(0)) {
    killMembers(group);
    await emptied(group);
  }
});

/** A host that leads a process group, as one that a shell has started, and the groups of its servers. */
async function startHost(...args: readonly string[]) {
  const host = spawn(process.execPath, [...program('packages/processes/test/host.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  hosts.push(host);
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value as string;
  const groups = JSON.parse(await line()) as number[];
  left.push(...groups);
  return { host, groups, line };
}

test('ends servers and helpers when the host is killed [PROC-05]', async () => {
  const { host, groups } = await startHost();
  for (const group of groups) expect(membersOf(group)).not.toEqual([]);
  host.kill('SIGKILL');
  await once(host, 'exit');
  for (const group of groups) await emptied(group);
});

test('gives servers time to exit when the host is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'host-'));
  const lastWords = join(folder, 'last-words');
  const { host, groups } = await startHost('watched', 'lives', lastWords);
  host.kill('SIGKILL');
  for (const group of groups) await emptied(group);
  expect(await readFile(lastWords, 'utf8')).toBe('ended\n');
  await rm(folder, { recursive: true });
});

test('ends servers when the host exits without closing them [PROC-05]', async () => {
  const { host, groups } = await startHost('watched', 'exit');
  if (host.exitCode === null) await once(host, 'exit');
  for (const group of groups) await emptied(group);
});

test('ends servers on host exit even without watchers [PROC-05]', async () => {
  const { host, groups } = await startHost('unwatched', 'exit');
  if (host.exitCode === null) await once(host, 'exit');
  for (const group of groups) await emptied(group);
});

test('starts no watchers as pid 1 of a container', async (context) => {
  const unshare = (...command: readonly string[]) =>
    promisify(execFile)('unshare', ['--pid', '--fork', '--mount-proc', ...command]);
  await unshare('true').catch(() => context.skip('unshare is not allowed here'));
  const { stdout } = await unshare(
    process.execPath,
    ...program('packages/processes/test/first-process.ts'),
  );
  expect(JSON.parse(stdout)).toEqual({ during: ['cat', 'node'], after: ['node'], facts: [] });
});

test("shields servers from Ctrl-C in the host's terminal [PROC-08]", async () => {
  const { host, groups, line } = await startHost();
  const before = groups.map((group) => membersOf(group).map(({ pid }) => pid));
  process.kill(-(host.pid as number), 'SIGINT');
  expect(await line()).toBe('interrupted');
  const after = groups.map((group) => membersOf(group).map(({ pid }) => pid));
  // One that was starting may have come.
  expect(after).toEqual(before.map((pids) => expect.arrayContaining(pids)));
  const [hostEntry] = processTable().filter(({ pid }) => pid === host.pid);
  for (const group of groups) expect(group).not.toBe(hostEntry?.group);
});
