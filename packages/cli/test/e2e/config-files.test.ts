import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { command } from '../../../../test/e2e/server-process.ts';
import { atTerminal, hasTerminals, key } from './terminal.ts';

let home: string;
let project: string;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-')));
  project = join(home, 'project');
  mkdirSync(project);
});
afterEach(() => rmSync(home, { recursive: true }));

/** Runs `mcp-actors config` without a terminal, on a machine where nothing is installed. */
function config(...args: readonly string[]) {
  const unset = { APPDATA: undefined, CLAUDE_CONFIG_DIR: undefined, CODEX_HOME: undefined };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, 'config', ...args], {
    cwd: project,
    env: { ...process.env, ...unset, HOME: home, XDG_CONFIG_HOME: join(home, 'xdg') },
    encoding: 'utf8',
    input: '',
    // Only for a command that hangs.
    timeout: 100_000,
  });
  return { status, stdout, stderr };
}

/** Puts a file into the home. */
function put(path: string, text: string, mode = 0o644): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

const mine = '{\n  // mine\n  "mcpServers": {\n    "other": {} // theirs\n  }\n}\n';

describe('mcp-actors config --write', () => {
  test('refuses to write without a question, and changes nothing', () => {
    const file = put('.cursor/mcp.json', mine);
    const { status, stdout, stderr } = config('--write', 'cursor');
    expect(status).toBe(2);
    expect(stdout).toMatch(/^\S+mcp\.json\n[^]*^\+ {5}"project-files": \{$/m);
    expect(stderr).toMatch(/mcp\.json: not changed, because there is no terminal .* --yes/);
    expect(readFileSync(file, 'utf8')).toBe(mine);
    expect(readdirSync(dirname(file))).toEqual(['mcp.json']);
  });

  test('writes the file behind a link, with its rights, and leaves a copy; --remove undoes it', () => {
    const file = put('dotfiles/claude.json', mine, 0o600);
    const link = join(home, '.claude.json');
    symlinkSync(file, link);
    const { status, stdout } = config('--write', 'claude-code', '--yes', '--follow-roots');
    expect(status).toBe(0);
    const copy = /Backup: (\S+\.bak)\./.exec(stdout)?.[1] as string;
    expect([readFileSync(copy, 'utf8'), statSync(copy).mode % 0o1000]).toEqual([mine, 0o600]);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('// mine');
    expect(text).toContain('"other": {}, // theirs');
    expect(text).toContain(JSON.stringify(project));
    expect(text).toContain('"--follow-roots"');
    expect(statSync(file).mode % 0o1000).toBe(0o600);
    expect(realpathSync(link)).toBe(file);
    expect(config('--write', 'claude-code', '--yes', '--follow-roots').stdout).toMatch(
      /^Already configured in Claude Code/,
    );
    expect(config('--remove', 'claude-code', '-y').status).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(mine);
    expect(config('--remove', 'claude-code').stdout).toMatch(/^Not configured in Claude Code/);
  });

  test.each([
    [
      'a file that is no JSON',
      () => put('.cursor/mcp.json', '{\n  "a": }'),
      /: line 2, column 8: /,
    ],
    ['a read-only file', () => put('.cursor/mcp.json', mine, 0o444), /: it is read-only/],
    [
      'a directory',
      () => dirname(put('.cursor/mcp.json/file', mine)),
      /: it is a directory, not a file/,
    ],
    [
      'bytes that are no text',
      () => {
        const file = put('.cursor/mcp.json', '');
        writeFileSync(file, Buffer.from([0xff, 0xfe, 0x7b]));
        return file;
      },
      /: it must be UTF-8/,
    ],
  ])('refuses %s by its name', (_, make, why) => {
    const file = make();
    const before = readdirSync(dirname(file));
    const { status, stderr } = config('--write', 'cursor', '--yes');
    expect(status).toBe(2);
    expect(stderr).toContain(`mcp-actors: ${file}: `);
    expect(stderr).toMatch(why);
    expect(readdirSync(dirname(file))).toEqual(before);
  });

  test.each([
    [['--write'], /--write: a host is required\. Hosts: claude-code, .*zed/],
    [
      ['--write', 'mcpServers'],
      /mcpServers is a format shared by several hosts, .*Hosts: claude-code, .*zed/,
    ],
    [['--write', 'cursor', '--remove'], /--write and --remove exclude each other/],
    [['cursor', '--yes'], /--yes needs --write or --remove/],
  ])('refuses %j', (args, why) => {
    const { status, stderr } = config(...args);
    expect([status, stderr]).toEqual([2, expect.stringMatching(why)]);
  });

  test.runIf(hasTerminals)('asks at a terminal, and takes only a yes', async () => {
    const file = put('.cursor/mcp.json', mine);
    const refusing = atTerminal(['config', '--write', 'cursor'], home);
    await refusing.shows('Write this file? [y/N] ');
    refusing.press(key.enter);
    expect(await refusing.ended).toMatchObject({ code: 1 });
    expect(readFileSync(file, 'utf8')).toBe(mine);
    const agreeing = atTerminal(['config', '--write', 'cursor'], home);
    await agreeing.shows('Write this file? [y/N] ');
    agreeing.press(`y${key.enter}`);
    expect(await agreeing.ended).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toContain('project-files');
  });
});

test('mcp-actors config --check starts what the hosts have, and says what does not start', () => {
  expect(config('--write', 'codex', '--yes').status).toBe(0);
  expect(config('--write', 'opencode', '--yes').status).toBe(0);
  put('.cursor/mcp.json', '{"mcpServers":{"project-files":{"command":"/no/such/program"}}}');
  put('.gemini/settings.json', '{');
  const all = config('--check');
  expect(all.stdout).toMatch(
    /^Codex +configured, and it starts: mcp-actors-workspace \S+, revision/m,
  );
  expect(all.stdout).toMatch(/^opencode +configured, and it starts/m);
  expect(all.stdout).toMatch(/^Zed +no configuration file$/m);
  expect(all.stdout).toMatch(/^Cursor +configured, but it does not start: .*\/no\/such\/program/m);
  expect(all.stdout).toMatch(/^Gemini CLI +its file cannot be read: line 1/m);
  expect(all.status).toBe(1);
  expect(config('--check', 'codex').status).toBe(0);
});
