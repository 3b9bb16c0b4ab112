/** What becomes of a connection when its process ends, in each phase. The process table is looked at afterwards. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { filter, firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startDriver } from '../../../test/e2e/driver-process.ts';
import { emptied, expectEmpty, membersOf } from '../../processes/test/process-table.ts';

const server = fileURLToPath(new URL('crashing-server.mjs', import.meta.url));

let folder = '';
const open: Connection[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crashing-'));
});
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
  // Nobody is left of any group, and no two ever were there at once.
  for (const pid of await runs()) expectEmpty(pid);
  expect(existsSync(join(folder, 'overlaps'))).toBe(false);
  await rm(folder, { recursive: true });
});

const noted = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '');
const runs = async () => JSON.parse((await noted('runs')) || '[]') as number[];

/** Soon, so that a test does not wait. */
const restart = { initialMs: 1, maxMs: 1, maxAttempts: 3 };

function start(how: 'exit' | 'hang', where: string, times: number, options: ConnectOptions = {}) {
  const args = [server, how, where, String(times), folder];
  const connection = openConnection(
    { command: process.execPath, args },
    { restart, limits: { probeMs: 60_000 }, report: () => {}, ...options },
  );
  open.push(connection);
  return connection;
}

const reached = (connection: Connection, value: Connection['state']['value']) =>
  firstValueFrom(connection.state$.pipe(filter((state) => state.value === value)));

const exit = (at: string) => ({ code: 9, signal: null, stderr: `ended at ${at}` });

describe('a process that always ends', () => {
  const greeting = ['start', 'initialize', 'after initialize'];

  test.each(greeting)('at %s is started again only so many times', async (where) => {
    const connection = start('exit', where, Infinity);
    await reached(connection, 'failed');
    await expect(connection.ready()).rejects.toMatchObject({
      code: 'NOT_READY',
      exit: exit(where),
      message: expect.stringContaining(`ended at ${where}`) as string,
    });
    expect(await runs()).toHaveLength(4);
  });

  test('at its start is launched once more if there are no attempts: the probe may be why', async () => {
    const connection = start('exit', 'start', Infinity, { restart: 'none' });
    await reached(connection, 'failed');
    expect(await runs()).toHaveLength(2);
  });

  test('at notifications/initialized is started again only so many times, though it was ready', async () => {
    const connection = start('exit', 'notifications/initialized', Infinity);
    await reached(connection, 'failed');
    expect(await runs()).toHaveLength(4);
  });
});

describe('a process that ends once', () => {
  test('because it is asked for its era is of the legacy one, and that counts as no loss', async () => {
    const connection = start('exit', 'server/discover', Infinity, { restart: 'none' });
    expect(await connection.ready()).toMatchObject({ era: 'legacy', info: { name: 'crashing' } });
    expect(await runs()).toHaveLength(2);
  });

  test.each(['start', 'initialize', 'notifications/initialized', 'tools/list'])(
    'at %s is started again, and serves',
    async (where) => {
      const connection = start('exit', where, 1);
      await connection.ready();
      await connection.listTools().catch(() => {});
      await connection.ready();
      const { content } = await connection.callTool('act').catch(async () => {
        await connection.ready();
        return connection.callTool('act');
      });
      expect(content).toEqual([{ type: 'text', text: 'run 2' }]);
      expect(connection.launches).toBe(2);
    },
  );

  test('in a call settles it at once, with the last words, and it is not sent again', async () => {
    const connection = start('exit', 'tools/call', 1);
    await connection.ready();
    await expect(connection.callTool('act')).rejects.toMatchObject({
      code: 'CLOSED',
      exit: exit('tools/call'),
    });
    await connection.ready();
    expect((await noted('messages')).match(/tools\/call/g)).toHaveLength(1);
    expect(await connection.callTool('act')).toMatchObject({ content: [{ text: 'run 2' }] });
  });
});

describe('a connection to a process that hangs', () => {
  const stop = { inputMs: 1, terminateMs: 1 };

  test.each(['start', 'server/discover', 'initialize', 'after initialize', 'tools/list'])(
    'at %s is closed, by whatever it takes',
    async (where) => {
      const connection = start('hang', where, Infinity, { stop });
      const listed = connection.listTools().catch((error: unknown) => error);
      await expect.poll(runs).toHaveLength(1);
      await Promise.all([connection.close(), connection.close(), connection.close()]);
      expect(connection.state.value).toBe('closed');
      expect(await listed).toMatchObject({ code: 'CLOSED' });
      for (const pid of await runs()) expectEmpty(pid);
    },
  );

  test('is closed before anything was launched', async () => {
    const connection = start('hang', 'start', Infinity, { stop });
    await connection.close();
    expect(await runs()).toEqual([]);
  });

  test('and does not get ready in time is ended, and started again', async () => {
    const clock = new TestClock();
    const connection = start('hang', 'initialize', 1, { stop, clock, limits: { probeMs: 1 } });
    const ticking = (look: () => unknown) =>
      expect.poll(() => {
        clock.increment(1);
        return look();
      });
    await ticking(() => noted('messages')).toContain('initialize');
    clock.increment(30_000);
    await ticking(() => connection.state.value).toBe('ready');
    expect(await connection.callTool('act')).toMatchObject({ content: [{ text: 'run 2' }] });
    const closed = connection.close();
    await ticking(() => connection.state.value).toBe('closed');
    await closed;
  });
});

test('a helper that holds its output keeps no call waiting, and is ended before the next launch', async () => {
  const wrapped = '(trap "" TERM; exec sleep 1000) & exec "$@"';
  const command = [process.execPath, server, 'exit', 'tools/call', '1', folder];
  const connection = openConnection(
    { command: 'sh', args: ['-c', wrapped, 'sh', ...command, 'workspace'] },
    { restart, stop: { inputMs: 1, terminateMs: 1 }, era: 'legacy', report: () => {} },
  );
  open.push(connection);
  await connection.ready();
  const [group = 0] = await runs();
  const commands = () => membersOf(group).map((member) => member.command);
  await expect.poll(commands).toContain('sleep 1000');
  await expect(connection.callTool('act')).rejects.toMatchObject({
    code: 'CLOSED',
    exit: exit('tools/call'),
  });
  expect(await connection.callTool('act')).toMatchObject({ content: [{ text: 'run 2' }] });
  expectEmpty(group);
});

test('a host that is killed leaves none of its servers', async () => {
  const driver = startDriver();
  const args = [server, 'exit', 'never', '0', folder];
  const entry = { command: process.execPath, args };
  await driver.run({ op: 'connect', name: 'a', server: entry, options: { era: 'legacy' } });
  const [group = 0] = await runs();
  expect(membersOf(group)).not.toEqual([]);
  driver.signal('SIGKILL');
  await driver.exited;
  await emptied(group);
});

test('a command that cannot be started is not tried again', async () => {
  const entry = { command: 'no-such-server' };
  await expect(connect(entry, { restart, report: () => {} })).rejects.toMatchObject({
    code: 'SPAWN_FAILED',
    message: expect.stringContaining('Command "no-such-server" not found in PATH') as string,
  });
  const connection = openConnection(entry, { restart, report: () => {} });
  open.push(connection);
  expect((await reached(connection, 'failed')).loss).toMatchObject({ kind: 'spawn-failed' });
  await expect(connection.callTool('act')).rejects.toMatchObject({ code: 'NOT_READY' });
});
