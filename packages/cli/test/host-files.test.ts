import { describe, expect, test } from 'vitest';
import { hostEntry } from '../src/host-configuration.ts';
import { hostFile, hostsWithFiles } from '../src/host-files/host-files.ts';
import { jsoncFile } from '../src/host-files/jsonc-file.ts';
import { tomlFile } from '../src/host-files/toml-file.ts';

const launch = { name: 'project-files', command: 'npx', args: ['-y', '@mcp-actors/cli', '/p'] };
const url = 'http://127.0.0.1:3000/mcp';

const nothing = () => false;

describe("a host's file", () => {
  const linux = { home: '/home/me', environment: {}, platform: 'linux' } as const;
  const mac = { home: '/Users/me', environment: {}, platform: 'darwin' } as const;
  const windows = { home: 'C:\\Users\\me', environment: {}, platform: 'win32' } as const;
  const support = '/Users/me/Library/Application Support';
  const roaming = 'C:\\Users\\me\\AppData\\Roaming';

  test.each([
    ['claude-code', '.claude.json', '.claude.json', '.claude.json'],
    [
      'claude-desktop',
      '.config/Claude/claude_desktop_config.json',
      `${support}/Claude/claude_desktop_config.json`,
      `${roaming}\\Claude\\claude_desktop_config.json`,
    ],
    ['codex', '.codex/config.toml', '.codex/config.toml', '.codex\\config.toml'],
    ['cursor', '.cursor/mcp.json', '.cursor/mcp.json', '.cursor\\mcp.json'],
    ['gemini', '.gemini/settings.json', '.gemini/settings.json', '.gemini\\settings.json'],
    [
      'opencode',
      '.config/opencode/opencode.json',
      '.config/opencode/opencode.json',
      '.config\\opencode\\opencode.json',
    ],
    [
      'vscode',
      '.config/Code/User/mcp.json',
      `${support}/Code/User/mcp.json`,
      `${roaming}\\Code\\User\\mcp.json`,
    ],
    [
      'windsurf',
      '.codeium/windsurf/mcp_config.json',
      '.codeium/windsurf/mcp_config.json',
      '.codeium\\windsurf\\mcp_config.json',
    ],
    [
      'zed',
      '.config/zed/settings.json',
      '.config/zed/settings.json',
      `${roaming}\\Zed\\settings.json`,
    ],
  ] as const)('of %s on Linux, macOS and Windows', (host, onLinux, onMac, onWindows) => {
    expect(hostFile(host, linux, nothing).path).toBe(`/home/me/${onLinux}`);
    expect(hostFile(host, mac, nothing).path).toBe(
      onMac.startsWith('/') ? onMac : `/Users/me/${onMac}`,
    );
    expect(hostFile(host, windows, nothing).path).toBe(
      onWindows.startsWith('C:') ? onWindows : `C:\\Users\\me\\${onWindows}`,
    );
  });

  test.each([
    ['claude-code', linux, { CLAUDE_CONFIG_DIR: '/c' }, '/c/.claude.json'],
    ['codex', mac, { CODEX_HOME: '/c' }, '/c/config.toml'],
    ['zed', linux, { XDG_CONFIG_HOME: '/x' }, '/x/zed/settings.json'],
    ['zed', mac, { XDG_CONFIG_HOME: '/x' }, '/Users/me/.config/zed/settings.json'],
    ['opencode', mac, { XDG_CONFIG_HOME: '/x' }, '/x/opencode/opencode.json'],
    ['vscode', windows, { APPDATA: 'D:\\a' }, 'D:\\a\\Code\\User\\mcp.json'],
    ['vscode', linux, { XDG_CONFIG_HOME: '' }, '/home/me/.config/Code/User/mcp.json'],
  ] as const)('of %s follows the variables of its host', (host, machine, environment, path) => {
    expect(hostFile(host, { ...machine, environment }, nothing).path).toBe(path);
  });

  test('of opencode is the one with comments, if that is there', () => {
    const exists = (path: string) => path.endsWith('.jsonc');
    expect(hostFile('opencode', linux, exists).path).toMatch(/opencode\.jsonc$/);
  });

  test.each(hostsWithFiles)('of %s gets the entry, and loses it again', (host) => {
    const { format } = hostFile(host, linux, nothing);
    for (const server of [launch, { name: launch.name, url }]) {
      const { path, entry } = hostEntry(host, server);
      const text = format.write('', path, entry);
      expect(format.read(text, path)).toEqual(entry);
      expect(JSON.stringify(entry)).toContain('url' in server ? url : '/p');
      expect(format.write(text, path, entry)).toBe(text);
      expect(format.read(format.remove(text, path), path)).toBeUndefined();
    }
  });

  test('in the forms of Zed and opencode', () => {
    const { command, args } = launch;
    expect(hostEntry('zed', launch)).toEqual({
      path: ['context_servers', launch.name],
      entry: { command, args },
    });
    expect(hostEntry('opencode', launch)).toEqual({
      path: ['mcp', launch.name],
      entry: { type: 'local', command: [command, ...args] },
    });
    expect(hostEntry('opencode', { name: launch.name, url }).entry).toEqual({
      type: 'remote',
      url,
    });
  });
});

const jsonPath = ['mcpServers', 'project-files'] as const;
const small = { command: 'npx', args: ['a'] };
const member = (indent: string, eol = '\n') =>
  JSON.stringify({ 'project-files': small }, undefined, indent)
    .slice(2, -2)
    .split('\n')
    .map((line) => indent + line)
    .join(eol);

describe('JSON with comments', () => {
  test.each([
    [
      'a comment behind the last member',
      `{\n  // top\n  "mcpServers": {\n    "a": {} // of a\n    /* end */\n  }, // servers\n  "b": [1,2]\n}\n`,
      `{\n  // top\n  "mcpServers": {\n    "a": {}, // of a\n    /* end */\n${member('  ')}\n  }, // servers\n  "b": [1,2]\n}\n`,
    ],
    [
      'trailing commas and tabs',
      `{\n\t"mcpServers": {\n\t\t"a": {},\n\t},\n}`,
      `{\n\t"mcpServers": {\n\t\t"a": {},\n${member('\t')},\n\t},\n}`,
    ],
    [
      'lines of Windows',
      `{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n`,
      `{\r\n  "mcpServers": {\r\n    "a": {},\r\n${member('  ', '\r\n')}\r\n  }\r\n}\r\n`,
    ],
    [
      'an object on one line',
      `{ "mcpServers": {} }`,
      `{ "mcpServers": {\n${member('  ').replaceAll(/^ {2}/gm, '')}\n} }`,
    ],
  ])('%s stays as it is, and again once the entry is removed', (_, before, after) => {
    expect(jsoncFile.write(before, jsonPath, small)).toBe(after);
    const removed = jsoncFile.remove(after, jsonPath);
    if (before.includes('\n')) expect(removed).toBe(before);
    else expect(JSON.parse(removed)).toEqual({ mcpServers: {} });
  });

  test('a member between others is removed with one comma, without their comments', () => {
    const text = `{"mcpServers": {\n  "a": 1, // of a\n  "project-files": {} /* own */, // after\n  // of b\n  "b": 2\n}}`;
    const removed = jsoncFile.remove(text, jsonPath);
    expect(removed).toMatch(
      /"a": 1, \/\/ of a\n.*\/\* own \*\/.*\/\/ after\n {2}\/\/ of b\n {2}"b": 2/,
    );
    expect(jsoncFile.read(removed, ['mcpServers', 'b'])).toBe(2);
  });

  test('an entry that is there keeps what is not about its launch', () => {
    const text = `{"mcpServers": {"project-files": {\n  // mine\n  "env": {"A": "1"},\n  "url": "http://old",\n  "args": ["a"] }}}`;
    const written = jsoncFile.write(text, jsonPath, small);
    expect(jsoncFile.read(written, jsonPath)).toEqual({ env: { A: '1' }, ...small });
    expect(written).toContain('// mine\n  "env": {"A": "1"},');
    expect(written).toContain('"args": ["a"]');
  });

  test.each([
    ['{\n  "a": 1\n  "b": 2\n}', /^line 3, column 3: /],
    ['[]', /^line 1: must be a JSON object/],
    ['{\n  "mcpServers": 3 }', /^line 2: "mcpServers" must be an object/],
    ['{ "mcpServers": {}, \n "mcpServers": {} }', /^line 1: "mcpServers" appears twice/],
  ])('%j is refused with its line', (text, fault) => {
    expect(() => jsoncFile.write(text, jsonPath, small)).toThrow(fault);
  });
});

const tomlPath = ['mcp_servers', 'project-files'] as const;
const table = '[mcp_servers.project-files]\ncommand = "npx"\nargs = ["a"]\n';

describe('TOML', () => {
  const others = `model = "m" # mine\ntext = """\n[mcp_servers.project-files]\n"""\n\n[mcp_servers.other]\nargs = [\n  "[x]", # why\n]\nsince = 2026-01-01\n`;

  test('a table is put behind the rest, which stays as it is, and is removed again', () => {
    const written = tomlFile.write(others, tomlPath, small);
    expect(written).toBe(`${others}\n${table}`);
    expect(tomlFile.remove(written, tomlPath)).toBe(others);
  });

  test('only the keys of the launch change in a table that is there', () => {
    const text = `${others}\n[mcp_servers."project-files"] # own\n# kept\nurl = "http://old"\nargs = [\n  "old",\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.project-files.env]\nA = "1"\n\n# of the tools\n[tools]\nweb = true\n`;
    const written = tomlFile.write(text, tomlPath, small);
    expect(written).toBe(
      `${others}\n[mcp_servers."project-files"] # own\ncommand = "npx"\nargs = ["a"]\n# kept\nstartup_timeout_sec = 20\n\n[mcp_servers.project-files.env]\nA = "1"\n\n# of the tools\n[tools]\nweb = true\n`,
    );
    expect(tomlFile.remove(written, tomlPath)).toBe(
      `${others}\n# of the tools\n[tools]\nweb = true\n`,
    );
  });

  test.each([
    ['a = 1\nb = [1\nc = 2\n', /^line \d+, column \d+: /],
    ['mcp_servers = { other = { command = "x" } }\n', /edit the file by hand/],
    ['[mcp_servers]\nproject-files.command = "old"\n', /edit the file by hand/],
  ])('%j is refused', (text, fault) => {
    expect(() => tomlFile.write(text, tomlPath, small)).toThrow(fault);
  });
});
