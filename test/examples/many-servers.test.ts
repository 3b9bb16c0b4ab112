/** The example with several servers for a model, as a process with its own file. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../tooling/programs.ts';

const script = join(import.meta.dirname, '../../packages/client/test/hosts/small-server.mjs');

test('gives a model the tools of all running servers, and calls one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'many-servers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const small = (...tools: readonly string[]) => ({
    command: process.execPath,
    args: [script, ...tools],
  });
  const mcpServers = { b: small('two'), a: small('one'), bad: { command: 5 } };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const { stdout, status } = spawnSync(
    process.execPath,
    [...program('examples/client/many-servers.ts'), file],
    { encoding: 'utf8', env: { ...process.env, XDG_CACHE_HOME: folder } },
  );
  expect(stdout).toContain('a: ready\n');
  expect(stdout).toContain('key "command": 5 is not the name or path of a program');
  expect(stdout).toContain('The model has 2 tools: a__one, b__two\n');
  expect(stdout).toContain("{ text: 'one hi', isError: false }");
  expect(status).toBe(0);
});

test('serves a page for the connections of all servers of a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inspected-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const mcpServers = { a: { command: process.execPath, args: [script, 'one'] } };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...program('examples/client/inspected.ts'), file],
    { encoding: 'utf8', env: { ...process.env, XDG_CACHE_HOME: folder } },
  );
  expect(stderr).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/\S+ to see the connections$/m);
  expect(stdout).toBe('a__one\n');
  expect(status).toBe(0);
});
