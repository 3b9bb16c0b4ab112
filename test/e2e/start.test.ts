/** What the command loads before it answers its first message. A host waits for each of these. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command } from './server-process.ts';

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

/** The code of a built file and of all files that it imports at once. */
function codeOf(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return '';
  seen.add(file);
  const code = readFileSync(file, 'utf8');
  const imports = [...code.matchAll(/\b(?:from|import)\s*"(\.[^"]+\.js)"/g)];
  return [code, ...imports.map(([, path = '']) => codeOf(join(dirname(file), path), seen))].join(
    '\n',
  );
}

describe('until its first answer the command', () => {
  test('loads none of the modules of Node that it can do without', async () => {
    const echo = `process.stdin.on('data', (chunk) => process.stdout.write(chunk))`;
    const [bare, started] = await Promise.all([modulesOf('-e', echo), modulesOf(cli)]);
    expect(bare).not.toEqual([]);
    expect(started.length).toBeGreaterThan(bare.length);
    const more = new Set(started.filter((module) => !bare.includes(module)));
    // Node 24's own `node:util` comes with one of them.
    const dear = /\b(perf(?!\/event_loop_utilization)|perf_hooks|crypto|child_process|http)\b/;
    expect([...more].filter((module) => dear.test(module))).toEqual([]);
  });

  test('reads no code that only a call needs', () => {
    const code = codeOf(join(dirname(cli), 'main.js'));
    // A tool's name, an option of ripgrep, the line of a git head.
    const parts = ['find_files', '--dfa-size-limit', 'ref: '];
    expect(parts.filter((part) => code.includes(part))).toEqual(['find_files']);
  });

  test('evaluates no CommonJS package', () => {
    // esbuild wraps each in a function, which an import of it calls at once.
    const code = codeOf(join(dirname(cli), 'main.js'));
    expect(code.match(/\w+=__toESM\(require_\w+/g) ?? []).toEqual([]);
  });
});
