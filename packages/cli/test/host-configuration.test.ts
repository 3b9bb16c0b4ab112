import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import {
  greeting,
  hostBlock,
  hostConfiguration,
  hostNames,
  isHostName,
  launchOf,
  npxLaunch,
} from '../src/host-configuration.ts';

/** The JSON documents in a text, in order. */
function documentsIn(text: string): readonly unknown[] {
  return [...text.matchAll(/^\{\n[\s\S]*?^\}$/gm)].map(
    ([document]) => JSON.parse(document) as unknown,
  );
}

test('the built command is launched by Node, with absolute paths and the directories', () => {
  const launch = launchOf('file:///opt/with%20space/dist/cli.js', ['/work space']);
  const args = ['/opt/with space/dist/cli.js', '/work space'];
  expect(launch).toEqual({ name: 'project-files', command: process.execPath, args });
  expect(isAbsolute(launch.command)).toBe(true);
});

test('from the source tree it is launched through tsx, wherever the host runs it', () => {
  const script = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
  const { args } = launchOf(pathToFileURL(script).href, []);
  expect(args[0]).toBe('--import');
  expect(existsSync(new URL(args[1] as string))).toBe(true);
  expect(args.slice(2)).toEqual([script]);
});

const launch = npxLaunch(['--chdir', 'C:\\with "quotes"', "/it's here"], 'linux');
const args = ['-y', '@mcp-actors/cli', '--chdir', 'C:\\with "quotes"', "/it's here"];

test('the forms in JSON can be pasted, under a name that no host reserves', () => {
  expect(documentsIn(hostConfiguration(launch))).toEqual([
    { mcpServers: { 'project-files': { command: 'npx', args } } },
    { servers: { 'project-files': { type: 'stdio', command: 'npx', args } } },
  ]);
});

test('the line for Claude Code gives a shell the same arguments', () => {
  const line = hostBlock('claude-code', launch);
  const shell = spawnSync('sh', ['-c', `claude() { printf '%s\\n' "$@"; }; ${line}`], {
    encoding: 'utf8',
  });
  expect(shell.stdout.trimEnd().split('\n')).toEqual([
    ...['mcp', 'add', 'project-files', '--', 'npx'],
    ...args,
  ]);
});

test('the table for Codex is TOML', () => {
  expect(hostBlock('codex', npxLaunch(['a "b" \\ \u007F'], 'linux'))).toBe(
    String.raw`[mcp_servers.project-files]
command = "npx"
args = ["-y", "@mcp-actors/cli", "a \"b\" \\ \u007F"]
`,
  );
});

test('every host has a block, none of which runs npm: it writes to stdout', () => {
  for (const host of hostNames.filter(isHostName)) {
    const block = hostBlock(host, launch);
    expect(block).toMatch(/project-files[\s\S]*npx/);
    expect(block).not.toMatch(/\bnpm\b/);
  }
});

test('on Windows, where npx is a batch file, cmd starts it', () => {
  expect(npxLaunch(['C:\\work'], 'win32')).toEqual({
    name: 'project-files',
    command: 'cmd',
    args: ['/c', 'npx', '-y', '@mcp-actors/cli', 'C:\\work'],
  });
});

test('the greeting says what is waited for', () => {
  expect(greeting('blocks')).toMatch(/^mcp-actors is waiting for an MCP client on stdin.*blocks$/s);
});
