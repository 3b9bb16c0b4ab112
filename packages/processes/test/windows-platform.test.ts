/** What Windows takes to launch, watch and end processes, on Linux with stand-ins for its tools. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Platform, WindowsTools } from '../src/platform.ts';
import { orphansOf } from '../src/process-tree.ts';
import { windowsPlatform } from '../src/platforms.ts';
import { program } from '../../../test/tooling/programs.ts';
import { endAll, script } from './started.ts';
import type { StartOptions } from './started.ts';
import { fakeWindowsTools, goneWith, processesWith } from './windows-tools.ts';

/** Its name is in the command line of each tool, and in the environment of each server. */
let folder: string;
let tools: WindowsTools;
let platform: Platform;
const hosts: ChildProcess[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'windows-'));
  tools = fakeWindowsTools(folder);
  platform = windowsPlatform(tools);
});
afterEach(async () => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL');
  await endAll();
  await goneWith(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const start = (text: string, options: StartOptions = {}) =>
  script(text, {
    ...options,
    env: { FOLDER: folder, PATH: process.env['PATH'] as string },
    platform,
  });

/** What remains in the table of Windows when its parent has ended. */
const helper = 'WINDOWS_PARENT=$$ sleep 1000 &';

test('leaves no process when a server exits with its stdin', async () => {
  const server = start('echo up; cat');
  expect(await server.line()).toBe('up');
  await expect.poll(() => processesWith(folder).join()).toContain('cat');
  server.stop();
  expect(await server.gone).toMatchObject({ group: 'empty' });
  expect(server.order).toEqual(['launched', 'exited', 'gone']);
});

test('ends a server that ignores the end of stdin, with its descendants', async () => {
  const server = start(`${helper} echo up; while :; do sleep 1000; done`, {
    times: { inputMs: 1, terminateMs: 1 },
  });
  await server.line();
  server.stop();
  expect(await server.gone).toMatchObject({ group: 'empty' });
});

test('finds and ends the orphans of a crashed server', async () => {
  const server = start(`${helper} echo up; read line; exit 7`, { times: { terminateMs: 1 } });
  await server.line();
  server.stdin?.write('\n');
  expect(await server.told('process.exited')).toMatchObject({ code: 7 });
  expect(await server.gone).toMatchObject({ group: 'empty' });
});

test('relies on the timeout if the process table is unreadable', async () => {
  const broken = windowsPlatform({ ...tools, powershell: '/nowhere/powershell' });
  const server = script('echo up; cat', {
    times: { inputMs: 1, terminateMs: 1, killMs: 1 },
    platform: broken,
  });
  await server.line();
  server.stop();
  expect(await server.gone).toMatchObject({ group: 'unkillable' });
  expect(server.facts).toEqual([]);
});

test.each(['watched', 'unwatched'])(
  'ends everything when the host exits, servers %s',
  async (watched) => {
    const host = await startHost(watched, 'exit');
    if (host.exitCode === null) await once(host, 'exit');
    await goneWith(folder);
  },
);

test('ends descendants of servers when the host is killed', async () => {
  const host = await startHost('watched', 'lives');
  expect(processesWith(folder).join()).toContain('sleep 1000');
  host.kill('SIGKILL');
  await once(host, 'exit');
  await goneWith(folder);
});

test('does not keep the host alive with watchers', async () => {
  const host = await startHost('watched', 'closes');
  if (host.exitCode === null) await once(host, 'exit');
  expect(host.exitCode).toBe(0);
});

async function startHost(...args: readonly string[]): Promise<ChildProcess> {
  const host = spawn(
    process.execPath,
    [...program('packages/processes/test/windows-host.ts'), folder, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  hosts.push(host);
  await createInterface({ input: host.stdout })[Symbol.asyncIterator]().next();
  return host;
}

test('excludes orphans of a later process with the same pid', () => {
  const entry = (pid: number, parent: number, startedMs: number) => ({ pid, parent, startedMs });
  const table = [
    // Older than the process: children of one that had the number before.
    entry(20, 7, 99),
    entry(21, 7, 100),
    entry(22, 21, 150),
    // A number that was used again: its parent is older than it says.
    entry(23, 22, 140),
    // The number of the process belongs to another one since 200.
    entry(7, 1, 200),
    entry(24, 7, 201),
    entry(25, 24, 300),
  ];
  expect(orphansOf(7, 100, table)).toEqual([21, 22]);
  expect(orphansOf(8, 100, table)).toEqual([]);
});

test('shares one new table read among concurrent callers', async () => {
  const readings = join(folder, 'readings');
  const hold = join(folder, 'hold');
  rmSync(readings, { force: true });
  writeFileSync(hold, '');
  const servers = Array.from({ length: 6 }, () => start('echo up; cat'));
  for (const server of servers) await server.line();
  const [first, ...others] = servers;
  first?.stop();
  await vi.waitFor(() => expect(existsSync(readings)).toBe(true), { timeout: 100_000 });
  for (const server of others) server.stop();
  for (const server of servers) await server.told('process.exited');
  rmSync(hold);
  for (const server of servers) expect(await server.gone).toMatchObject({ group: 'empty' });
  expect(readFileSync(readings, 'utf8')).toBe('\n\n');
});

test('passes arguments to a batch file unchanged by cmd.exe', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '-e',
    `Object.defineProperty(process, 'platform', { value: 'win32' });
     const given = ['a b', '%PATH%', '"q" & calc', '^'];
     console.log(JSON.stringify(require('cross-spawn')._parse('C:\\\\tools\\\\npx.cmd', given)));`,
  ]);
  const { command, args } = JSON.parse(stdout) as { command: string; args: string[] };
  expect(command).toMatch(/cmd\.exe$/i);
  expect(args.slice(0, 3)).toEqual(['/d', '/s', '/c']);
  const line = args[3]?.slice(1, -1);
  expect(line).toContain('^"a^ b^"');
  // Whatever cmd.exe reads is behind a caret.
  expect(line?.replaceAll(/\^./g, '')).toMatch(/^[\w:\\. ]*$/);
});
