import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { greeting, hostConfiguration, launchOf } from '../../src/cli/host-configuration.ts';

/** The JSON documents in a text, in order. */
function documentsIn(text: string): readonly unknown[] {
  return [...text.matchAll(/^\{\n[\s\S]*?^\}$/gm)].map(
    ([document]) => JSON.parse(document) as unknown,
  );
}

test('the built command is launched by Node, with absolute paths and the directories', () => {
  const launch = launchOf('file:///opt/with%20space/dist/bin/cli.js', ['/work space']);
  const args = ['/opt/with space/dist/bin/cli.js', '/work space'];
  expect(launch).toEqual({ command: process.execPath, args });
  expect(isAbsolute(launch.command)).toBe(true);
});

test('from the source tree it is launched through tsx, wherever the host runs it', () => {
  const script = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
  const { args } = launchOf(pathToFileURL(script).href, []);
  expect(args[0]).toBe('--import');
  expect(existsSync(new URL(args[1] as string))).toBe(true);
  expect(args.slice(2)).toEqual([script]);
});

test('both forms of configuration are JSON that can be pasted', () => {
  const launch = { command: '/usr/bin/node', args: ['/opt/cli.js', 'C:\\with "quotes"'] };
  expect(documentsIn(hostConfiguration(launch))).toEqual([
    { mcpServers: { workspace: launch } },
    { servers: { workspace: { type: 'stdio', ...launch } } },
  ]);
});

test('the greeting says what is waited for', () => {
  const text = greeting({ command: 'node', args: [] });
  expect(text).toMatch(/^mcp-actors is waiting for an MCP client on stdin/);
  expect(documentsIn(text)).toHaveLength(2);
});
