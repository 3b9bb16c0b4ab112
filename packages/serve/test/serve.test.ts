/** What `serve` does for a server of one's own. */
import { spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { exchangeDirectory } from '../src/doctor/exchange.ts';
import { program } from '../../../test/tooling/programs.ts';
import { preload } from '../../../test/e2e/preload.ts';
import { command, launch, reapServers } from '../../../test/e2e/server-process.ts';

afterEach(reapServers);

const clean = { code: 0, signal: null };
const served = program('test/e2e/served.ts');

test('exits after the session and beforeExit despite a pending timer', async () => {
  const server = launch(served);
  await server.initialize();
  server.end();
  expect(await server.exit).toEqual(clean);
  expect(server.log.all).toEqual([{ event: 'flushed' }]);
});

test('a signal lets running calls finish', async () => {
  const server = launch(served);
  await server.initialize();
  server.send({ id: 1, method: 'tools/call', params: { name: 'finish' } });
  await server.heard('notifications/message');
  server.child.kill('SIGTERM');
  expect(await server.answer(1)).toMatchObject({
    result: { content: [{ type: 'text', text: 'drained' }] },
  });
  expect(await server.exit).toEqual(clean);
});

test('exits immediately on a second signal despite a hanging call', async () => {
  const server = launch([...served, 'talk']);
  await server.initialize();
  server.send({ id: 1, method: 'tools/call', params: { name: 'finish' } });
  await server.heard('notifications/message');
  server.child.kill('SIGINT');
  await server.log.find(({ event }) => event === 'process.signalled');
  server.child.kill('SIGINT');
  expect(await server.exit).toEqual({ code: 130, signal: null });
});

test("logs a handler's error to stderr with stack and cause", async () => {
  const server = launch(served);
  await server.initialize();
  expect(await server.request(1, 'tools/call', { name: 'fail' })).toMatchObject({
    result: { isError: true, content: [{ type: 'text', text: 'no such table' }] },
  });
  const line = await server.log.find(({ event }) => event === 'handler.failed');
  expect(line).toMatchObject({
    level: 'error',
    details: {
      id: 1,
      tool: 'fail',
      error: {
        stack: expect.stringContaining('served.js'),
        cause: { message: 'the disk is full' },
      },
    },
  });
  server.end();
  expect(await server.exit).toEqual(clean);
});

test('logs an uncaught exception and exits with code 1', async () => {
  const server = launch(served);
  await server.initialize();
  server.send({ id: 1, method: 'tools/call', params: { name: 'crash' } });
  expect(await server.answer(1)).toHaveProperty('result');
  expect(await server.log.find(({ event }) => event === 'process.failed')).toMatchObject({
    details: { error: { message: 'in no call' } },
  });
  expect((await server.exit).code).toBe(1);
});

test('logs a hanging beforeExit and exits', async () => {
  const server = launch([...served, 'hang']);
  await server.initialize();
  server.end();
  expect(await server.exit).toEqual(clean);
  expect(server.log.all).toMatchObject([
    { event: 'process.failed', message: expect.stringContaining('1000 ms') as string },
  ]);
});

test('explains on one line at a terminal what it waits for and how to try it', async () => {
  const server = launch([...preload('process.stdin.isTTY = true'), ...served]);
  await server.initialize();
  server.end();
  expect(await server.exit).toEqual(clean);
  const [line = ''] = server.stderr.split('\n');
  expect(line).toMatch(
    /^served is waiting for an MCP host on stdin\. .*: npx mcp-actors call --list -- node \S+served\.js$/,
  );
});

const doctor = (pid: number | undefined) =>
  new Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>(
    (resolve) => {
      const child = spawn(process.execPath, [...command, 'doctor', '--timeout=10s', String(pid)]);
      const output = { stdout: '', stderr: '' };
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
      child.on('close', (code) => resolve({ code, ...output }));
    },
  );

/** It announces itself once it serves. */
const announced = (pid: number | undefined) =>
  expect.poll(() => existsSync(join(exchangeDirectory(), `${pid}.serving`))).toBe(true);

test('answers SIGUSR2 and doctor with what its session waits for', async () => {
  const server = launch(served);
  const { pid } = server.child;
  await server.initialize();
  server.send({ id: 1, method: 'tools/call', params: { name: 'finish' } });
  await server.heard('notifications/message');
  await announced(pid);
  const { code, stdout, stderr } = await doctor(pid);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^mcp-actors \S+, process \d+\nSession /);
  expect(stdout).toMatch(/^ {2}tools\/call 1 \(finish\): running, /m);

  server.child.kill('SIGUSR2');
  await expect.poll(() => server.stderr).toMatch(/tools\/call 1 \(finish\): running, /);
  server.child.kill('SIGTERM');
  expect(await server.exit).toEqual(clean);
  expect(existsSync(join(exchangeDirectory(), `${pid}.serving`))).toBe(false);
});

test('answers SIGUSR2 and doctor over HTTP with the endpoint and its sessions', async () => {
  const server = launch([...served, 'http:0']);
  const { pid } = server.child;
  await announced(pid);
  const { code, stdout, stderr } = await doctor(pid);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp: 0 of 10000 sessions open/m);
  server.child.kill('SIGUSR2');
  await expect.poll(() => server.stderr).toMatch(/0 of 10000 sessions open/);
  server.child.kill('SIGTERM');
  expect(await server.exit).toEqual(clean);
});

test('ignores and removes the mark of a killed process', async () => {
  const server = launch(served);
  await announced(server.child.pid);
  server.child.kill('SIGKILL');
  await server.exit;
  const mark = join(exchangeDirectory(), `${server.child.pid}.serving`);
  expect(existsSync(mark)).toBe(true);
  // Of this process, which the signal would end.
  const forged = join(exchangeDirectory(), `${process.pid}.serving`);
  writeFileSync(forged, 'another start');
  onTestFinished(() => rmSync(forged, { force: true }));
  const refused = await doctor(process.pid);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('is not a serving mcp-actors process of yours');

  const other = launch(served);
  await announced(other.child.pid);
  expect((await doctor(other.child.pid)).code).toBe(0);
  expect(existsSync(mark)).toBe(false);
});

test('prints one line and exits with 1 if the port is in use', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const server = launch([...served, `http:${port}`]);
  expect(await server.exit).toEqual({ code: 1, signal: null });
  expect(server.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(server.stderr)).toMatchObject({
    level: 'error',
    event: 'http.unavailable',
    message: `Port ${port} of 127.0.0.1 is in use: stop the program that listens there, or choose another port`,
  });
});
