/**
 * The published command: packed, installed alone in an empty folder, and every feature of it run
 * once. A wrong bundle fails on loading, so every chunk must have been loaded at the end.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import { outOfReach } from '../../scripts/npm.ts';
import { startProtected } from '../../packages/client/test/auth/protected-server.ts';
import { launchHttp } from '../e2e/http-process.ts';
import { launch, reapServers } from '../e2e/server-process.ts';
import type { Line, ServerProcess } from '../e2e/server-process.ts';
import { AuthorizationServer } from '../../packages/http/test/authorization-server.ts';
import { freePort } from '../tooling/free-port.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Chunks that no run here can load, by the prefix of their names. */
const unreachable: { readonly [name: string]: string } = {
  redis: 'needs the package redis, which a user installs beside it',
  forward: 'forwards requests to other nodes, which takes the package redis',
  'process-tree': 'ends processes on Windows',
  'standing-pipe': 'answers doctors on Windows',
  'open-task-worker': 'durable tasks of a server: the command serves none',
  'task-resumer': 'the same',
  'open-stores': 'durable sessions over HTTP: the command serves a module over stdio alone',
  'sqlite-stores': 'the same',
  tasks: 'the same; the command `tasks` is run below',
  supervise: 'its process writes no coverage; `serve own.mjs --durable` below fails without it',
  'machine-run': 'a tool that is a machine: the command serves none',
};

/** The text of a `SKILL.md`. */
const skill = (name: string, description = 'Does it') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`;

const files: { readonly [path: string]: string } = {
  'package.json': '{"name":"shop","scripts":{"test":"true"}}',
  'src/main.js': 'console.log("needle");\n',
  '.claude/skills/release/SKILL.md': skill('release'),
  '.claude/skills/broken/SKILL.md': 'no frontmatter',
  '.claude/skills/review/SKILL.md': skill('review', 'of claude'),
  '.agents/skills/review/SKILL.md': skill('review', 'of agents'),
  'api.yaml': `openapi: 3.1.0
info: { title: shop, version: '1' }
paths:
  /items:
    get:
      operationId: listItems
      responses: { '200': { description: All } }
`,
};

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe('the packed command, alone in an empty folder', { timeout: 600_000 }, () => {
  let folder: string;
  let project: string;
  let script: string;
  let coverage: string;
  /** Reason why the installation is impossible, if not the package's fault. */
  let missing: string | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'command-'));
    const app = join(folder, 'app');
    [project, coverage] = [join(folder, 'project'), join(folder, 'coverage')];
    script = join(app, 'node_modules', '@mcp-actors', 'cli', 'dist', 'cli.js');
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(project, path)), { recursive: true });
      await writeFile(join(project, path), text);
    }
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"private":true}');
    const npm = (args: readonly string[], cwd: string) =>
      run('npm', [...args, '--no-audit', '--no-fund'], {
        cwd,
        shell: process.platform === 'win32',
      });
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await npm([...pack, join(root, 'packages', 'cli')], root);
    const [{ filename }] = JSON.parse(stdout) as [{ readonly filename: string }];
    try {
      await npm(['install', '--prefer-offline', join(folder, filename)], app);
    } catch (error) {
      if (!outOfReach.test(String(error))) throw error;
      missing = String(error);
    }
  }, 600_000);

  afterEach(reapServers);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const env = () => ({
    HOME: folder,
    XDG_CACHE_HOME: folder,
    XDG_STATE_HOME: folder,
    XDG_CONFIG_HOME: folder,
    NODE_V8_COVERAGE: coverage,
    BROWSER: '/nowhere/browser',
  });

  /** Runs the command to its end. */
  const ended = async (args: readonly string[], input = ''): Promise<Ended> => {
    const child = spawn(process.execPath, [script, ...args], {
      cwd: project,
      env: { ...process.env, ...env() },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    expect(`${stdout}${stderr}`).not.toContain('Dynamic require');
    return { code, stdout, stderr };
  };

  const options = () => ({ cwd: project, env: env() });
  const start = (...args: readonly string[]) => launch([script, ...args], options());
  const startHttp = (...args: readonly string[]) =>
    launchHttp([script, ...args, '--log-level=info'], options());

  /** Ends a server like its host, and lets it write the list of loaded chunks. */
  const close = async (server: ServerProcess): Promise<void> => {
    server.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.stderr).not.toContain('Dynamic require');
  };
  const stop = async (server: ServerProcess): Promise<void> => {
    server.child.kill('SIGTERM');
    await server.exit;
    expect(server.stderr).not.toContain('Dynamic require');
  };

  const textsOf = (line: Line): string => JSON.stringify(line['result'] ?? line);
  /** Calls a tool of an initialized server. */
  const called = async (server: ServerProcess, name: string, args: object = {}) =>
    textsOf(await server.request(`${name}-1`, 'tools/call', { name, arguments: args }));

  const skillsOf = async (server: ServerProcess) => {
    const { result } = await server.request('skills', 'skills/list');
    // The official schemas lack this extension.
    server.violations.splice(0);
    return result;
  };

  const feature = (title: string, body: () => Promise<void>) =>
    it(title, async (context) => {
      context.skip(missing !== undefined, 'The registry is out of reach');
      await body();
    });

  feature('serves its tools, its resource and the skills of a project', async () => {
    const server = start('workspace', '.');
    await server.initialize();
    expect(await called(server, 'workspace_info')).toContain('npm run');
    expect(await called(server, 'list_directory', { path: 'src' })).toContain('main.js');
    expect(await called(server, 'find_files', { globs: ['*.js'] })).toContain('main.js');
    expect(await called(server, 'search_text', { pattern: 'needle' })).toContain('main.js');
    expect(await called(server, 'read_file', { paths: ['src/main.js'] })).toContain('needle');
    const read = await server.request(2, 'resources/read', { uri: 'workspace://roots' });
    expect(textsOf(read)).toContain('project');
    expect(await skillsOf(server)).toMatchObject({
      skills: [
        { uri: 'skill://release/SKILL.md' },
        { uri: 'skill://review/SKILL.md', frontmatter: { description: 'of agents' } },
      ],
    });
    await close(server);
    const skipped = server.log.all.filter(({ event }) => event === 'skill.skipped');
    expect(skipped.map(({ level }) => level)).toEqual(['warning', 'warning']);
    expect(skipped.map(({ message }) => message)).toEqual([
      expect.stringContaining('broken is skipped: The file must begin with a line ---'),
      expect.stringContaining('"review" in .claude/skills is skipped: .agents/skills has a skill'),
    ]);
  });

  feature('seals what it asks a client of 2026-07-28', async () => {
    const server = start('workspace');
    const ask = (id: number, more: object = {}) => {
      const params = { name: 'workspace_info', arguments: {}, ...more };
      const info = { capabilities: { roots: {} } };
      server.send(enveloped(id, 'tools/call', params, info) as object);
      return server.answer(id);
    };
    const { requestState, inputRequests } = (await ask(1))['result'] as {
      readonly requestState: string;
      readonly inputRequests: object;
    };
    const [key = ''] = Object.keys(inputRequests);
    const roots = { roots: [{ uri: new URL(`file://${project}`).href }] };
    const answered = await ask(2, { requestState, inputResponses: { [key]: roots } });
    expect(textsOf(answered)).toContain('npm run');
    await close(server);
  });

  feature('serves over HTTP, to holders of a token of the issuer alone', async () => {
    const issuer = await AuthorizationServer.start();
    onTestFinished(() => issuer.close());
    const port = await freePort();
    const audience = `http://127.0.0.1:${port}/mcp`;
    const auth = ['--auth-issuer', issuer.issuer, '--auth-audience', audience];
    const { server, url } = await startHttp(
      'workspace',
      '--http',
      String(port),
      '--sse',
      '--health',
      ...auth,
      '.',
    );
    const request = enveloped(1, 'tools/call', { name: 'workspace_info', arguments: {} }) as object;
    const post = (headers: object) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'workspace_info',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...request }),
      });
    expect((await post({})).status).toBe(401);
    const token = await issuer.issue({ aud: audience });
    const answer = await post({ authorization: `Bearer ${token}` });
    expect(await answer.text()).toContain('npm run');
    expect((await fetch(new URL('/healthz', url))).status).toBe(200);
    await stop(server);
  });

  feature('records, replays and inspects a session', async () => {
    // Outside the project, whose listing must stay as recorded.
    const session = join(folder, 'session.jsonl');
    const server = start('workspace', '--record', session, '--inspect', '.');
    await server.initialize();
    await vi.waitFor(() => expect(server.stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+/), {
      timeout: 60_000,
    });
    const [page = ''] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(server.stderr) ?? [];
    expect(await (await fetch(page)).text()).toContain('<script');
    await called(server, 'list_directory');
    await close(server);
    const replayed = await ended(['replay', session]);
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining('as recorded') });
    const live = await ended(['replay', '--live-handlers', session, '.']);
    expect(live).toMatchObject({ code: 0 });
  });

  feature('tells what a running server waits for', async () => {
    const server = start('workspace', '--roots-timeout=10min');
    await server.initialize({ roots: {} });
    server.send({ id: 7, method: 'tools/call', params: { name: 'workspace_info', arguments: {} } });
    await server.heard('roots/list');
    const { stdout } = await ended(['doctor', '--timeout=60s', String(server.child.pid)]);
    expect(stdout).toContain('has not answered roots/list');
    await stop(server);
  });

  feature('serves an OpenAPI document', async () => {
    const api = createServer((_, response) => response.end('two items'));
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void api.close());
    const { port } = api.address() as AddressInfo;
    const where = `http://127.0.0.1:${port}`;
    const server = start('serve', '--openapi', 'api.yaml', '--openapi-server', where);
    await server.initialize();
    expect(await called(server, 'listItems')).toContain('two items');
    await close(server);
  });

  feature('bridges one server, many, and a remote one, and locks their tools', async () => {
    const own = [process.execPath, script, 'workspace', '.'];
    const one = start('bridge', '--', ...own);
    await one.initialize();
    expect(await called(one, 'search_text', { pattern: 'needle' })).toContain('main.js');
    expect(JSON.stringify(await skillsOf(one))).toContain('skill://release');
    await close(one);

    const [command, ...args] = own;
    const servers = { one: { command, args }, two: { command, args } };
    await writeFile(
      join(project, 'mcp.jsonc'),
      `// two\n${JSON.stringify({ mcpServers: servers })}`,
    );
    const many = start('bridge', '--search', 'mcp.jsonc');
    await many.initialize();
    expect(textsOf(await many.request('list', 'tools/list'))).toContain('tool');
    await close(many);

    const { server: remote, url } = await startHttp('workspace', '--http', '0', '.');
    const { server: bridge, url: there } = await startHttp('bridge', '--http', '0', url.href);
    const listed = await ended(['call', there.href, '--list']);
    expect(listed.stdout).toContain('search_text');
    await stop(bridge);
    await stop(remote);

    expect(await ended(['bridge', 'lock', '--', ...own])).toMatchObject({ code: 0 });
    expect(existsSync(join(project, 'mcp-lock.json'))).toBe(true);
    const locked = start('bridge', '--', ...own);
    await locked.initialize();
    expect(await called(locked, 'find_files', { globs: ['*.js'] })).toContain('main.js');
    await close(locked);
  });

  feature('calls, records and checks a server, and has a shell for it', async () => {
    const target = ['--', process.execPath, script, 'workspace', '.'];
    const searched = await ended(['call', '--tool', 'find_files', 'globs=*.js', ...target]);
    expect(searched).toMatchObject({ code: 0, stdout: expect.stringContaining('main.js') });
    const args = ['--record', 'calls.jsonl', '--tool', 'list_directory', ...target];
    expect(await ended(['call', ...args])).toMatchObject({ code: 0 });
    const calls = (await readdir(project)).find((name) => /^calls.*\.jsonl$/.test(name)) ?? '';
    expect(await ended(['replay', calls])).toMatchObject({ code: 0 });
    const shell = await ended(['shell', ...target], 'list\n');
    expect(shell).toMatchObject({ code: 0, stdout: expect.stringContaining('find_files') });
    const checked = await ended(['check', '--play', 'initialize wait initialized wait', ...target]);
    expect(checked).toMatchObject({ code: 0 });
  });

  feature('logs in and out', async () => {
    const { issuer, url } = await startProtected();
    issuer.device = { interval: 1, expires_in: 600 };
    issuer.meanwhile = (path) => {
      if (path.endsWith('/token')) issuer.decide('CODE-1', 'agreed');
    };
    expect(await ended(['login', '--device', url.href])).toMatchObject({ code: 0 });
    expect((await ended(['logins'])).stdout).toContain(url.href);
    expect((await ended(['call', '--login', url.href, 'read'])).stdout).toBe('read\n');
    expect(await ended(['logout', url.href])).toMatchObject({ code: 0 });
  });

  feature('prints help, versions, configurations and charts', async () => {
    for (const topic of ['', 'limits', 'http', 'auth', 'serve', 'bridge', 'call']) {
      const { code, stdout } = await ended(['help', ...(topic === '' ? [] : [topic])]);
      expect([code, stdout.length > 500]).toEqual([0, true]);
    }
    expect((await ended(['version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await ended(['config'])).stdout).toContain('mcpServers');
    for (const host of ['cursor', 'codex', 'opencode', 'zed']) {
      const written = await ended(['config', '--write', '--yes', host, '.']);
      expect(written).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Error') });
    }
    expect((await ended(['config', '--check'])).stdout).toContain('cursor');
    for (const format of ['mermaid', 'svg', 'json']) {
      const drawn = await ended(['diagram', 'session', '--format', format]);
      expect(drawn).toMatchObject({ code: 0, stdout: expect.stringContaining('initialized') });
    }
  });

  feature('names the package that is missing for another store', async () => {
    const shared = await ended(['workspace', '--http', '0', '--redis', 'redis://127.0.0.1:1', '.']);
    expect(shared).toMatchObject({ code: 2, stderr: expect.stringContaining('"redis"') });
    const stored = (where: string) => ended(['tasks', '--durable', where]);
    expect((await stored('postgres://127.0.0.1:1/tasks')).stderr).toContain('npm install pg');
    expect((await stored('redis://127.0.0.1:1')).stderr).toContain('npm install redis');
    const { code, stderr } = await stored('state');
    expect(code === 0 || stderr.includes('@photostructure/sqlite')).toBe(true);
  });

  feature('writes a server, and serves its newest code', async () => {
    expect(await ended(['init', 'mine'])).toMatchObject({ code: 0 });
    const modules = join(project, 'node_modules');
    await mkdir(modules, { recursive: true });
    // The packages that init tells users to install.
    await symlink(root, join(modules, 'mcp-actors'), 'junction');
    for (const name of ['xstate', 'rxjs', 'zod']) {
      await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
    }
    const source = `import { createMcpServer, defineTool } from 'mcp-actors';
export default createMcpServer({ name: 'mine', version: '1', tools: [
  defineTool({ name: 'say', description: 'Says', handler: () => 'said' }) ] });`;
    await writeFile(join(project, 'own.mjs'), source);
    for (const args of [
      ['dev', 'own.mjs'],
      ['serve', '--watch', 'own.mjs'],
      ['serve', 'own.mjs', '--durable', 'state'],
    ]) {
      const server = start(...args);
      await server.initialize();
      expect(await called(server, 'say')).toContain('said');
      await close(server);
    }
  });

  it('has loaded each chunk that is loaded on demand', async (context) => {
    context.skip(missing !== undefined, 'The registry is out of reach');
    const chunks = await readdir(join(dirname(script), 'chunks'));
    const loaded = new Set<string>();
    for (const name of await readdir(coverage)) {
      const report = JSON.parse(await readFile(join(coverage, name), 'utf8')) as {
        readonly result: readonly { readonly url: string }[];
      };
      for (const { url } of report.result) loaded.add(basename(url));
    }
    const left = chunks.filter(
      (name) =>
        !name.startsWith('chunk-') &&
        !loaded.has(name) &&
        !Object.keys(unreachable).some((known) => name.startsWith(known)),
    );
    expect(left).toEqual([]);
  });
});
