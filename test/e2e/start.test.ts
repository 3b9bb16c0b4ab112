/** Modules that the command loads before its first answer. Hosts wait for each of them. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command, repository } from './server-process.ts';

const [cli = ''] = command;

/** Writes the Node modules that a process has loaded to its stderr on exit. */
const tellingModules = `data:text/javascript,process.on('exit', () => process._rawDebug(JSON.stringify(process.moduleLoadList)))`;

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'client', version: '1' },
  },
};

/** Node modules loaded by a program at its exit, after the first answer. */
async function modulesOf(...program: readonly string[]): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['--import', tellingModules, ...program]);
  child.stdin.end(`${JSON.stringify(initialize)}\n`);
  const [, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const list = stderr.split('\n').find((line) => line.startsWith('['));
  return JSON.parse(list ?? '[]') as readonly string[];
}

/** The code of a built file and its static imports, by path. */
function codeOf(file: string, code = new Map<string, string>()): Map<string, string> {
  if (code.has(file)) return code;
  const text = readFileSync(file, 'utf8');
  code.set(file, text);
  for (const [, path = ''] of text.matchAll(/\b(?:from|import)\s*"(\.[^"]+\.js)"/g)) {
    codeOf(join(dirname(file), path), code);
  }
  return code;
}

/** Code that the command reads to serve: its static imports, and the lazy part that serves. */
function serving(): readonly string[] {
  const code = codeOf(join(dirname(cli), 'main.js'));
  const lazy = /import\(\s*"(?:\.\/|\.\/chunks\/)(serve-\w+\.js)"/;
  const [, path = ''] = lazy.exec([...code.values()].join('\n')) ?? [];
  return [...codeOf(join(dirname(cli), 'chunks', path), code).values()];
}

describe('the command until its first answer', () => {
  test('loads no Node module that it can do without', async () => {
    const echo = `process.stdin.on('data', (chunk) => process.stdout.write(chunk))`;
    const [bare, started] = await Promise.all([modulesOf('-e', echo), modulesOf(cli)]);
    expect(bare).not.toEqual([]);
    expect(started.length).toBeGreaterThan(bare.length);
    const more = new Set(started.filter((module) => !bare.includes(module)));
    // Node 24's own `node:util` loads one of them.
    const dear = /\b(perf(?!\/event_loop_utilization)|perf_hooks|crypto|child_process|http)\b/;
    expect([...more].filter((module) => dear.test(module))).toEqual([]);
  });

  test('loads equally few modules before a bridge, besides those that start its server', async () => {
    const echo = `process.stdin.on('data', (chunk) => process.stdout.write(chunk))`;
    const server = join(repository, 'packages/bridge/test/legacy-server.mjs');
    const [bare, started] = await Promise.all([
      modulesOf('-e', echo),
      modulesOf(cli, 'bridge', '--', process.execPath, server),
    ]);
    const more = started.filter((module) => !bare.includes(module));
    expect(more).toContain('NativeModule child_process');
    expect(
      more.filter((module) => /^NativeModule (?:https?|readline(?:\/promises)?)$/.test(module)),
    ).toEqual([]);
  });

  test('reads no code needed only by calls', () => {
    const code = serving();
    // Texts that identify features: a tool name, a ripgrep option, a line of a git head.
    const parts = ['find_files', '--dfa-size-limit', 'ref: '];
    expect(parts.filter((part) => code.join('\n').includes(part))).toEqual(['find_files']);
  });

  test('evaluates no CommonJS package', () => {
    // esbuild wraps each module in a function, which an import calls: `name=helper(wrapped(),1)`.
    const code = serving().join('\n');
    expect(code.match(/=[\w$]+\(\s*[\w$]+\(\),\s*1\)/g) ?? []).toEqual([]);
    // The grammar of URI templates is loaded with the first template.
    expect(code).toMatch(/=>\s*[\w$]+\(\)\.parse\(/);
  });
});
