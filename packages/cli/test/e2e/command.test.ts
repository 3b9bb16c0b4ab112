import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeNamedPipe } from '../../../roots/test/named-pipe.ts';
import { preload } from '../../../../test/e2e/preload.ts';
import {
  command,
  launch,
  reapServers,
  repository,
  workspaceCommand,
} from '../../../../test/e2e/server-process.ts';
import type { Line } from '../../../../test/e2e/server-process.ts';

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
  writeFileSync(join(base, 'file'), '');
  makeNamedPipe(join(base, 'pipe'));
});
afterAll(() => rmSync(base, { recursive: true }));
afterEach(reapServers);

/** Runs the command to its end, with nothing on stdin. */
function run(args: readonly string[], env: { readonly [name: string]: string } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, ...args], {
    cwd: base,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    input: '',
    // Only for a command that hangs.
    timeout: 100_000,
  });
  return { status, stdout, stderr };
}

describe('the command', () => {
  test('--version prints the version of the package', () => {
    const manifest = readFileSync(join(repository, 'package.json'), 'utf8');
    const { version } = JSON.parse(manifest) as { readonly version: string };
    expect(run(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('names itself once before what is wrong', () => {
    expect(run(['call'])).toEqual({
      status: 2,
      stdout: '',
      stderr:
        "mcp-actors call needs a file of servers, a URL, or a server's command after --, as in mcp-actors call mcp.json\n",
    });
  });

  test('help and version work as words', () => {
    expect(run(['version'])).toEqual(run(['--version']));
    expect(run(['help'])).toEqual(run(['--help']));
    expect(run(['help', 'doctor'])).toEqual(run(['doctor', '--help']));
  });

  test('--help prints one screen on stdout, help TOPIC what stands behind it', () => {
    const { status, stdout, stderr } = run(['--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Usage: mcp-actors COMMAND/);
    // A host would read help on stdout as messages.
    expect(run([])).toEqual({ status: 2, stdout: '', stderr: stdout });
    expect(stdout).not.toContain('--roots-timeout');
    expect(stderr).toBe('');
    expect(run(['help', 'limits']).stdout).toContain('  rootsTimeoutMs=TIME');
    expect(run(['help', 'http']).stdout).toContain('--max-sessions N');
    expect(run(['help', 'auth']).stdout).toContain('--auth-issuer URL');
    expect(run(['help', 'serve']).stdout).toContain('--roots-timeout TIME');
  });

  test.each<[readonly string[], { readonly [name: string]: string }, RegExp]>([
    [['workspace', './gone'], {}, /^mcp-actors: ".\/gone" does not exist \(looked for .*gone\)/],
    [['dctor'], {}, /^mcp-actors: There is no command "dctor"\. Did you mean doctor\?/],
    [['.'], {}, /^mcp-actors: There is no command "\."\. .*mcp-actors workspace \./],
    [['--chdir'], {}, /^mcp-actors: A command must come first\. .*mcp-actors workspace --chdir/],
    [['serve'], {}, /^mcp-actors: serve needs a module/],
    [['serve', '.'], {}, /^mcp-actors: "\." is a directory, and serve needs a module/],
    [['serve', 'a.ts', '--unsupervised'], {}, /^mcp-actors: --unsupervised needs --durable/],
    [['workspace', '--durable', 'state'], {}, /^mcp-actors: --durable: only a module/],
    [['workspace', '--openapi', 'a.json'], {}, /^mcp-actors: One thing is served/],
    [['config', 'vscod'], {}, /^mcp-actors: "vscod" is neither a host .* Did you mean vscode\?/],
    [
      ['workspace', 'gone', 'file'],
      {},
      /^mcp-actors: "gone" does not .*\n"file" is not a directory/,
    ],
    [['workspace', 'file'], {}, /^mcp-actors: "file" is not a directory/],
    [['--nonsense'], {}, /^mcp-actors: Unknown option --nonsense/],
    [
      ['workspace', '--roots-timeout=soon'],
      {},
      /^mcp-actors: --roots-timeout must be a duration such as .*, got "soon"/,
    ],
    [
      ['workspace', '--log-file', '/'],
      {},
      /^mcp-actors: --log-file: "\/" cannot be written: EISDIR/,
    ],
    [
      ['workspace', '--log-file', 'pipe'],
      {},
      /^mcp-actors: --log-file: "pipe" must be a file or a character device/,
    ],
    [
      ['workspace'],
      { MCP_ACTORS_LOG_LEVEL: 'loud' },
      /^mcp-actors: MCP_ACTORS_LOG_LEVEL must be one of debug, .*, got "loud"/,
    ],
  ])('%j with %j exits with 2 and a line for each fault', (args, env, message) => {
    const { status, stdout, stderr } = run(args, env);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(message.source.split(String.raw`\n`).length);
  });

  test('refuses to log into its own stdout', () => {
    const file = join(base, 'stdout');
    const stdout = openSync(file, 'w');
    const { status, stderr } = spawnSync(
      process.execPath,
      [...workspaceCommand, '--log-file', file],
      {
        stdio: ['ignore', stdout, 'pipe'],
        encoding: 'utf8',
      },
    );
    closeSync(stdout);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^mcp-actors: --log-file: .* carries the protocol/);
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  test('says so where the directory that it was started in is gone', () => {
    const vanish = preload(`import { mkdirSync, rmdirSync } from 'node:fs';
      mkdirSync('gone-soon');
      process.chdir('gone-soon');
      rmdirSync('../gone-soon');`);
    const args = [...vanish, ...workspaceCommand];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: base, encoding: 'utf8' });
    expect([status, stderr.split('\n').length]).toEqual([2, 2]);
    expect(stderr).toMatch(/^mcp-actors: The working directory cannot be used \(ENOENT/);
  });

  test('runs through a symbolic link, as package managers install it', () => {
    const link = join(base, 'mcp-actors');
    symlinkSync(command[0] as string, link);
    const { status, stdout } = spawnSync(link, ['--version'], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, run(['--version']).stdout]);
  });

  test('is the same from the source tree', () => {
    const args = ['--import', 'tsx', 'packages/cli/src/cli.ts', '--version'];
    const { stdout } = spawnSync(process.execPath, args, { cwd: repository, encoding: 'utf8' });
    expect(stdout).toBe(run(['--version']).stdout);
  });

  test('says that it needs a host if stdin closes before any message, and exits with 0', () => {
    expect(run(['workspace'])).toEqual({
      status: 0,
      stdout: '',
      stderr: expect.stringMatching(/^\{.*"input\.unused".*\}\n$/),
    });
  });

  test('in a terminal says what it waits for, and how a host launches it', async () => {
    const terminal = preload('process.stdin.isTTY = true');
    const server = launch([...terminal, ...workspaceCommand, '--chdir', base]);
    server.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.stderr).toMatch(/^mcp-actors is waiting for an MCP client on stdin/);
    const args = [expect.stringMatching(/cli\.[jt]s$/) as string, 'workspace', '--chdir', base];
    expect(documentIn(server.stderr)).toEqual({
      mcpServers: { 'project-files': { command: process.execPath, args } },
    });
    expect(server.messages.all).toEqual([]);
  });
});

/** The first JSON document in a text. */
const documentIn = (text: string) =>
  JSON.parse(/^\{\n[\s\S]*?^\}$/m.exec(text)?.[0] as string) as object;
const url = 'http://127.0.0.1:3000/mcp';
const npxForm = (...args: readonly string[]) => ({
  mcpServers: {
    'project-files': { command: 'npx', args: ['-y', '@mcp-actors/cli', 'workspace', ...args] },
  },
});

describe('mcp-actors config', () => {
  test('launches this copy from a checkout, and says how npx would', () => {
    const { status, stdout, stderr } = run(['config']);
    expect([status, stderr]).toEqual([0, '']);
    const args = [expect.stringMatching(/cli\.[jt]s$/) as string, 'workspace', realpathSync(base)];
    expect(documentIn(stdout)).toEqual({
      mcpServers: { 'project-files': { command: process.execPath, args } },
    });
    expect(stdout).toContain('mcp-actors config --npx');
    expect(run(['config', 'cursor']).stdout).toBe(run(['config', 'cursor', '--local']).stdout);
  });

  test.each([
    ['claude-code', 'claude mcp add --transport http project-files http://127.0.0.1:3000/mcp\n'],
    ['vscode', { servers: { 'project-files': { type: 'http', url } } }],
    ['cursor', { mcpServers: { 'project-files': { url } } }],
    ['gemini', { mcpServers: { 'project-files': { httpUrl: url } } }],
    ['windsurf', { mcpServers: { 'project-files': { serverUrl: url } } }],
    ['mcpServers', { mcpServers: { 'project-files': { type: 'http', url } } }],
    [
      'claude-desktop',
      { mcpServers: { 'project-files': { command: 'npx', args: ['-y', 'mcp-remote', url] } } },
    ],
    ['codex', `[mcp_servers.project-files]\nurl = "${url}"\n`],
  ])('with --http gives %s the URL, and says on stderr what starts the server', (host, wanted) => {
    const { status, stdout, stderr } = run(['config', host, '--http', '3000']);
    expect(status).toBe(0);
    expect(typeof wanted === 'string' ? stdout : JSON.parse(stdout)).toEqual(wanted);
    expect(stderr).toMatch(
      /^mcp-actors: Hosts do not start an HTTP server\. Start it with: .* --http=3000 \//,
    );
  });

  test('with --http names the URL that clients know, and wants a port', () => {
    const auth = ['--auth-issuer=https://issuer.example', '--auth-audience=https://a.example/mcp'];
    const { stdout } = run(['config', 'cursor', '--http', '3000', ...auth]);
    expect(JSON.parse(stdout)).toMatchObject({
      mcpServers: { 'project-files': { url: 'https://a.example/mcp' } },
    });
    const { status, stderr } = run(['config', 'cursor', '--http', '0']);
    expect([status, stderr]).toEqual([
      2,
      'mcp-actors: --http must name a fixed port for hosts, got 0\n',
    ]);
  });

  test('names the directory that it is started in, and serves nothing', () => {
    const { status, stdout, stderr } = run(['config', '--npx']);
    expect([status, stderr]).toEqual([0, '']);
    expect(documentIn(stdout)).toEqual(npxForm(realpathSync(base)));
    expect(stdout).toMatch(
      /^claude mcp add project-files -- npx -y @mcp-actors\/cli workspace \//m,
    );
    expect(stdout).toMatch(/^\[mcp_servers\.project-files\]$/m);
  });

  test('prints what is pasted for one host and nothing else, with MCP_PROJECT_PATH', () => {
    const { stdout } = run(['config', 'cursor', '--npx'], { MCP_PROJECT_PATH: repository });
    expect(JSON.parse(stdout)).toEqual(npxForm(realpathSync(repository)));
  });

  test('keeps the options, with paths that hold wherever the host starts it', () => {
    const args = [
      'config',
      'cursor',
      '--npx',
      '--record',
      'new',
      '--log-file=log',
      '--follow-roots',
      '.',
    ];
    const real = realpathSync(base);
    expect(JSON.parse(run(args).stdout)).toEqual(
      npxForm(`--log-file=${join(real, 'log')}`, '--follow-roots', `--record=${real}`, real),
    );
  });

  test('--local gives a command line that serves the directory from anywhere', async () => {
    const { stdout } = run(['config', 'vscode', '--local']);
    const { servers } = JSON.parse(stdout) as {
      readonly servers: { readonly [name: string]: { command: string; args: readonly string[] } };
    };
    const entry = servers['project-files'];
    expect(entry?.command).toBe(process.execPath);
    const server = launch(entry?.args ?? [], { cwd: '/' });
    await server.initialize();
    const params = { name: 'workspace_info', arguments: {} };
    expect(await server.request(1, 'tools/call', params)).toMatchObject({
      result: { structuredContent: { project: { path: realpathSync(base), source: 'argument' } } },
    });
  });

  test('names no directory that a silent fallback would not use, and says so', () => {
    const { status, stdout, stderr } = run(['config', 'cursor', '--npx'], { HOME: base });
    expect([status, JSON.parse(stdout)]).toEqual([0, npxForm()]);
    expect(stderr).toMatch(/^mcp-actors: No directory is configured.* is the home directory/);
  });

  test('tells a host that it does not know from a directory', () => {
    const { status, stderr } = run(['config', 'notepad']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/"notepad" is neither a host nor a directory .*claude-code, .*vscode/);
  });
});

describe('the log', () => {
  test('follows the session on stderr, in JSON lines with its state', async () => {
    const server = launch([...workspaceCommand, '--log-level', 'debug', base]);
    await server.initialize();
    await server.log.find(({ message }) => message === 'rootsKnown');
    server.end();
    await server.exit;
    const states = server.log.all.filter(({ event }) => event === 'session.state');
    // Of a client that declares no roots, nothing has to be learned: the session does not rest in `initialized`.
    expect(states.map(({ message }) => message)).toEqual([
      'uninitialized',
      'negotiated',
      'rootsKnown',
      'draining',
      'closed',
    ]);
    for (const line of server.log.all) {
      expect(Object.keys(line).slice(0, 4)).toEqual(['time', 'level', 'event', 'message']);
    }
  });

  test('says nothing of an ordinary session by default', async () => {
    const server = launch([...workspaceCommand, base]);
    await server.initialize();
    await server.request(1, 'tools/list');
    server.end();
    await server.exit;
    expect(server.stderr).toBe('');
  });

  test('goes to the file instead, where one is named', async () => {
    const file = join(base, 'log');
    const env = { MCP_ACTORS_LOG_LEVEL: 'info' };
    const server = launch([...workspaceCommand, '--log-file', file, base], { env });
    await server.initialize();
    server.end();
    await server.exit;
    expect(server.stderr).toBe('');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const events = lines.map((line) => (JSON.parse(line) as Line)['event']);
    expect(events).toContain('session.closed');
    expect(events).not.toContain('session.state');
  });
});
