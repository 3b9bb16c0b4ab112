/**
 * The test kit outside of Vitest, whose workers never become idle: in a plain script, and in
 * node:test.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serverContract } from 'mcp-actors/testing';
import { program } from '../tooling/programs.ts';

function node(args: readonly string[]) {
  // Node marks the processes of its test runner by a variable.
  const env = { ...process.env };
  delete env['NODE_TEST_CONTEXT'];
  return spawnSync(process.execPath, args, { encoding: 'utf8', env, timeout: 100_000 });
}

test.each([
  ['a keepalive', 0, 'ping'],
  ['a deadline', 0, 'REQUEST_TIMEOUT'],
  ['nothing, with a session left open', 0, 'nothing'],
])('lets a plain script wait for %s', (what, code, came) => {
  const { status, stderr } = node([...program('test/e2e/kit-script.ts'), what]);
  expect({ status, stderr }).toEqual({ status: code, stderr: `${JSON.stringify({ came })}\n` });
});

test('ends a plain script that waits in vain, as Node does', () => {
  const { status, signal } = node([...program('test/e2e/kit-script.ts'), 'what cannot come']);
  expect({ status, signal }).toEqual({ status: 13, signal: null });
});

test('runs under node:test', () => {
  const args = ['--test', '--test-reporter=tap', ...program('test/e2e/kit-tests.ts')];
  const { status, stdout } = node(args);
  expect(stdout).not.toMatch(/^ *not ok/m);
  expect(stdout).toMatch(new RegExp(`^# pass ${4 + serverContract.length}$`, 'm'));
  expect(status).toBe(0);
});

test('passes the tests of the JavaScript example', () => {
  const file = join(import.meta.dirname, '../..', 'examples/javascript/server.test.mjs');
  const { status, stdout } = node(['--test', '--test-reporter=tap', file]);
  expect(stdout).toMatch(/^# pass 1$/m);
  expect(status).toBe(0);
});
