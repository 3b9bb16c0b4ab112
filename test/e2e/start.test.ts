/** What the command loads before it answers its first message. A host waits for each of these. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command, repository } from './server-process.ts';

const [cli = ''] = command;

/** Writes the modules of Node that a process has loaded to its stderr when it ends. */
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

/** The modules of Node that a program has loaded by its end, which comes after the first answer. */
async function modulesOf(...program: readonly string[]): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['--import', tellingModules, ...program]);
  child.stdin.end(`${JSON.stringify(initialize)}\n`);
  const [, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const list = stderr.split('\n').find((line) => line.startsWith('['));
  return JSON.parse(list ?? '[]') as readonly string[];
}

/** A built file and all files that it imports at once, by their paths: their code. */
function codeOf(file: string, code = new Map<string, string>()): Map<string, string> {
  if (code.has(file)) return code;
  const text = readFileSync(file, 'utf8');
  code.set(file, text);
  for (const [, path = ''] of text.matchAll(/\b(?:from|import)\s*"(\.[^"]+\.js)"/g)) {
    codeOf(join(dirname(file), path), code);
  }
  return code;
}

/** What the command reads to serve: what it reads at once, and the lazy part that serves. */
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
    // Node 24's own `node:util` comes with one of them.
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
    // A tool's name, an option of ripgrep, the line of a git head.
    const parts = ['find_files', '--dfa-size-limit', 'ref: '];
    expect(parts.filter((part) => code.join('\n').includes(part))).toEqual(['find_files']);
  });

  test('evaluates no CommonJS package', () => {
    // esbuild wraps each in a function, and an import calls that at once: `name=helper(wrapped(),1)`.
    const code = serving().join('\n');
    expect(code.match(/=[\w$]+\(\s*[\w$]+\(\),\s*1\)/g) ?? []).toEqual([]);
    // The grammar of URI templates is called with the first template.
    expect(code).toMatch(/=>\s*[\w$]+\(\)\.parse\(/);
  });
});
