/** A supervisor between a real host and real processes that are killed: the built command, and a script that supervises itself. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectModern, modern, textOf } from '../../../../test/e2e/both-eras-client.ts';
import { closeClients, connect as connectSdk } from '../../../../test/e2e/sdk-client.ts';
import { command, gone, launch, reapServers } from '../../../../test/e2e/server-process.ts';
import type { Line, ServerProcess } from '../../../../test/e2e/server-process.ts';

const file = fileURLToPath(new URL('../../../../test/e2e/supervised-server.mjs', import.meta.url));

/** Environment of the processes of one test. */
interface Setup {
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  /** Number of processes started. */
  begun(): number;
}

/** @param points where each process in turn ends itself */
function setUp(points: readonly string[] = [], way: 'command' | 'script' = 'command'): Setup {
  const folder = mkdtempSync(join(tmpdir(), 'supervised-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const count = join(folder, 'count');
  const env = { COUNT: count, POINTS: points.join(',') };
  const begun = () => readFileSync(count).length;
  return way === 'command'
    ? { args: [...command, 'serve', file, '--durable', join(folder, 'state')], env, begun }
    : { args: [file], env: { ...env, SUPERVISE: '1' }, begun };
}

function start(setup: Setup): ServerProcess {
  return launch(setup.args, { env: setup.env });
}

/** The text of a call's result. */
async function call(
  server: ServerProcess,
  id: number,
  name: string,
  args: object = {},
): Promise<string> {
  const answer = await server.request(id, 'tools/call', { name, arguments: args });
  return textIn(answer);
}

function textIn({ result, error }: Line): string {
  const { content } = (result ?? {}) as { readonly content?: readonly { readonly text: string }[] };
  return content?.[0]?.text ?? JSON.stringify(error);
}

/** The processes below this one. */
function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

/** Hides every SQLite module from a process. */
const hideSqlite = `export async function resolve(name, context, next) {
  if (!/sqlite$/.test(name)) return next(name, context);
  throw Object.assign(new Error('Cannot find ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
}`;
const withoutSqlite = `--import ${dataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hideSqlite))});`,
)}`;

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

const lost = { code: -32000, data: { reason: 'process-ended', retryable: true } };

afterEach(reapServers);
afterEach(closeClients);

describe.each(['command', 'script'] as const)(
  'a supervisor that is a %s',
  { timeout: 180_000 },
  (way) => {
    test('keeps the host connected when the server is killed, and answers the lost call', async () => {
      const setup = setUp([], way);
      const server = start(setup);
      await server.initialize();
      const pid = await call(server, 1, 'pid');
      expect(Number(pid)).not.toBe(server.child.pid);
      expect(await server.request(2, 'tools/call', { name: 'kill' })).toMatchObject({
        error: lost,
      });
      const next = await call(server, 3, 'pid');
      expect(next).not.toBe(pid);
      expect(setup.begun()).toBe(2);
      expect(await server.log.find(({ event }) => event === 'server.restarting')).toMatchObject({
        level: 'warning',
        details: { code: null, signal: 'SIGKILL' },
      });
      server.end();
      expect(await server.exit).toEqual({ code: 0, signal: null });
      await gone(Number(next));
    });

    test('restarts a server that exits with a code other than 0', async () => {
      const setup = setUp([], way);
      const server = start(setup);
      await server.initialize();
      expect(await server.request(1, 'tools/call', { name: 'crash' })).toMatchObject({
        error: lost,
      });
      await call(server, 2, 'pid');
      expect(setup.begun()).toBe(2);
    });

    test('ends when the server exits with 0 and answers pending requests', async () => {
      const setup = setUp([], way);
      const server = start(setup);
      await server.initialize();
      server.send({ id: 1, method: 'tools/call', params: { name: 'wait' } });
      server.send({ id: 2, method: 'tools/call', params: { name: 'finish' } });
      expect(await server.answer(1)).toMatchObject({ error: { code: -32000 } });
      expect(await server.answer(2)).toMatchObject({ error: { code: -32000 } });
      expect(await server.exit).toEqual({ code: 0, signal: null });
      expect(setup.begun()).toBe(1);
    });
  },
);

describe('a restarted server', { timeout: 180_000 }, () => {
  test("gets the session's log level, subscriptions and roots", async () => {
    const server = start(setUp());
    const [one, two] = ['/', tmpdir()].map((path) => pathToFileURL(path).href);
    server.answers.set('roots/list', () => ({ roots: [{ uri: one }] }));
    await server.initialize({ roots: { listChanged: true } });
    await server.request(1, 'tools/list');
    await server.request(2, 'logging/setLevel', { level: 'debug' });
    await server.request(3, 'resources/subscribe', { uri: 'note://one' });
    expect(await call(server, 4, 'roots')).toBe(one);
    server.answers.set('roots/list', () => ({ roots: [{ uri: two }] }));
    await server.request(5, 'tools/call', { name: 'kill' });
    expect(await call(server, 6, 'roots')).toBe(two);
    await call(server, 7, 'log');
    expect(await server.heard('notifications/message')).toMatchObject({
      params: { data: 'debugged' },
    });
    await call(server, 8, 'touch');
    expect(await server.heard('notifications/resources/updated')).toMatchObject({
      params: { uri: 'note://one' },
    });
    // The host asked for the tools alone.
    const changes = server.messages.all.map(({ method }) => method);
    expect(changes).toContain('notifications/tools/list_changed');
    expect(changes).not.toContain('notifications/resources/list_changed');
    const answered = server.messages.all.filter(({ id, method }) => id !== undefined && !method);
    expect(answered.map(({ id }) => id)).toEqual(['init', 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('is not resubscribed to unsubscribed resources', async () => {
    const server = start(setUp());
    await server.initialize();
    await server.request(1, 'resources/subscribe', { uri: 'note://one' });
    await server.request(2, 'resources/unsubscribe', { uri: 'note://one' });
    await server.request(3, 'tools/call', { name: 'kill' });
    await call(server, 4, 'touch');
    await call(server, 5, 'pid');
    const methods = server.messages.all.map(({ method }) => method);
    expect(methods).not.toContain('notifications/resources/updated');
  });

  test("repeats its question and cancels the previous process's", async () => {
    const server = start(setUp());
    await server.initialize({ elicitation: {} });
    server.send({ id: 1, method: 'tools/call', params: { name: 'ask' } });
    const { id: first } = await server.heard('elicitation/create');
    await server.request(2, 'tools/call', { name: 'kill' });
    expect(await server.answer(1)).toMatchObject({ error: lost });
    expect(await server.heard('notifications/cancelled')).toMatchObject({
      params: { requestId: first },
    });
    // The late answer harms nobody.
    server.send({ id: first, result: { action: 'accept', content: {} } });
    server.send({ id: 3, method: 'tools/call', params: { name: 'ask' } });
    const { id: second } = await server.messages.find(
      ({ method, id }) => method === 'elicitation/create' && id !== first,
    );
    server.send({ id: second, result: { action: 'decline' } });
    expect(textIn(await server.answer(3))).toBe('decline');
  });

  test('gets repeatable requests except cancelled ones', async () => {
    const setup = setUp(['stdout.called:2']);
    const server = start(setup);
    await server.initialize();
    server.send({ id: 1, method: 'tools/call', params: { name: 'wait' } });
    server.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    // The first process ends before it has written this answer.
    const { result } = await server.request(2, 'tools/list');
    expect((result as { readonly tools: readonly unknown[] }).tools.length).toBeGreaterThan(5);
    expect(setup.begun()).toBe(2);
    await call(server, 3, 'pid');
    expect(server.messages.all.filter(({ id }) => id === 1)).toEqual([]);
  });

  test('answers an initialize received before earlier processes were killed', async () => {
    const setup = setUp(['load:1', 'load:1']);
    const server = start(setup);
    await server.initialize();
    expect(Number(await call(server, 1, 'pid'))).toBeGreaterThan(0);
    expect(setup.begun()).toBe(3);
  });

  test('serves a host whose handshake was interrupted twice', async () => {
    const setup = setUp(['never', 'load:1', 'stdout.called:1']);
    const server = start(setup);
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    };
    await server.request('init', 'initialize', params);
    const [pid] = childrenOf(server.child.pid as number).filter((each) => each !== 0);
    process.kill(pid as number, 'SIGKILL');
    await server.log.find(({ event }) => event === 'server.restarting');
    server.send({ method: 'notifications/initialized' });
    const { result } = await server.request(1, 'tools/list');
    expect(result).toBeDefined();
    expect(setup.begun()).toBe(4);
    const initialized = server.messages.all.filter(({ id }) => id === 'init');
    expect(initialized).toHaveLength(1);
  });

  test('gets a 10 MiB line that began before the kill', async () => {
    const server = start(setUp());
    await server.initialize();
    const pid = Number(await call(server, 1, 'pid'));
    const text = 'x'.repeat(10 * 1024 ** 2);
    const params = { name: 'length', arguments: { text } };
    const line = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    await server.write(line.slice(0, 5 * 1024 ** 2));
    process.kill(pid, 'SIGKILL');
    await server.log.find(({ event }) => event === 'server.restarting');
    await server.write(`${line.slice(5 * 1024 ** 2)}\n`);
    expect(textIn(await server.answer(2))).toBe(String(text.length));
  });

  test('drops the 10 MiB line that the killed process was writing', async () => {
    const server = start(setUp());
    await server.initialize();
    expect(await server.request(1, 'tools/call', { name: 'tear' })).toMatchObject({ error: lost });
    await call(server, 2, 'pid');
    expect(server.violations).toEqual([]);
    expect(server.messages.all.map(({ id }) => id)).toEqual(['init', 1, 2]);
  });

  test('ends the descendants of the killed process', async () => {
    const server = start(setUp());
    await server.initialize();
    const child = Number(await call(server, 1, 'child'));
    await server.request(2, 'tools/call', { name: 'kill' });
    await call(server, 3, 'pid');
    await gone(child);
  });
});

describe('the end of a supervisor', { timeout: 180_000 }, () => {
  test('follows repeated exits without an answer, with one error', async () => {
    const setup = setUp(['never', ...Array.from({ length: 30 }, () => 'load:1')]);
    const server = start(setup);
    await server.initialize();
    server.send({ id: 1, method: 'tools/list' });
    await server.request(2, 'tools/call', { name: 'kill' });
    const abandoned = await server.log.find(({ event }) => event === 'server.abandoned');
    expect(abandoned).toMatchObject({ level: 'error' });
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(setup.begun()).toBe(9);
    expect(server.log.all.filter(({ event }) => event === 'server.abandoned')).toHaveLength(1);
  });

  test('follows immediately with the exit code if the server cannot start', async () => {
    const setup = setUp(['exit:7']);
    const server = start(setup);
    server.send({ id: 1, method: 'initialize', params: {} });
    expect(await server.exit).toEqual({ code: 7, signal: null });
    expect(setup.begun()).toBe(1);
  });

  test('names a missing package on one line of stderr and in the error for the host', async () => {
    const setup = setUp();
    const server = launch(setup.args, { env: { ...setup.env, NODE_OPTIONS: withoutSqlite } });
    const problem =
      /^mcp-actors: .* need.* the package @photostructure\/sqlite: run npm install \S+$/;
    const { error } = await server.request(1, 'initialize', {});
    const { message } = error as { readonly message: string };
    expect(message).toMatch(/the package @photostructure\/sqlite: run npm install/);
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(server.stderr.trim()).toMatch(problem);
  });

  test('reports command-line errors like the command', async () => {
    const server = launch([...command, 'serve', '--durable', './state']);
    expect(await server.exit).toEqual({ code: 2, signal: null });
    expect(server.stderr).toContain('serve needs a module: mcp-actors serve FILE');
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'by %s lets a running call finish',
    async (signal) => {
      const server = start(setUp());
      await server.initialize();
      server.send({ id: 1, method: 'tools/call', params: { name: 'drain' } });
      await server.heard('notifications/message');
      server.child.kill(signal);
      expect(textIn(await server.answer(1))).toBe('drained');
      expect(await server.exit).toEqual({ code: 0, signal: null });
    },
  );

  test('by a second signal ends a server that hangs', async () => {
    const server = start(setUp());
    await server.initialize();
    const pid = Number(await call(server, 1, 'pid'));
    process.kill(pid, 'SIGSTOP');
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    expect(await server.exit).toEqual({ code: 137, signal: null });
    await gone(pid);
  });

  test('by SIGKILL ends the server and its descendants', async () => {
    const server = start(setUp());
    await server.initialize();
    const pid = Number(await call(server, 1, 'pid'));
    const child = Number(await call(server, 2, 'child'));
    expect(childrenOf(server.child.pid as number)).toContain(pid);
    server.child.kill('SIGKILL');
    await server.exit;
    await gone(pid);
    await gone(child);
  });

  test('forwards all lines that arrive with the end of stdin, without a last line feed', async () => {
    const server = start(setUp());
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const lines = [
      { jsonrpc: '2.0', id: 'init', method: 'initialize', params },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pid' } },
    ];
    server.end(`\ufeff${lines.map((line) => JSON.stringify(line)).join('\r\n')}`);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.messages.all.map(({ id }) => id)).toEqual(['init', 1]);
  });

  test('follows when the host closes its output', async () => {
    const { args, env } = setUp();
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
    const exited = new Promise((resolve) => child.on('exit', resolve));
    child.stdin.on('error', () => {});
    child.stdout.destroy();
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    expect(await exited).toBe(0);
  });
});

describe('official clients', { timeout: 300_000 }, () => {
  /** Where processes end, in turn: between and within lines of the handshake and of calls. */
  const points = Array.from({ length: 20 }, (_, at) => {
    const [what] = ['stdout.answered', 'stdout.called'].slice(at % 2);
    return `${what}:${1 + (at % 5)}`;
  });

  test('1.x stays connected through 20 kills', async () => {
    const { args, env, begun } = setUp(points);
    const { client } = await connectSdk(args, { env });
    const outcomes: string[] = [];
    while (begun() <= points.length) {
      const outcome = client.callTool({ name: 'pid' }).then(
        (result) => textOf(result as CallToolResult),
        (error: { readonly data?: { readonly reason?: unknown } }) => String(error.data?.reason),
      );
      outcomes.push(await outcome);
      await client.listTools();
    }
    expect(outcomes.filter((each) => !/^(?:\d+|process-ended)$/.test(each))).toEqual([]);
    expect(
      Number(textOf((await client.callTool({ name: 'pid' })) as CallToolResult)),
    ).toBeGreaterThan(0);
  });

  test.each([undefined, modern])('2.x stays connected through 20 kills (%o)', async (mode) => {
    const { args, env, begun } = setUp(points);
    const client = await connectModern(args, { env, ...(mode ? { mode } : {}) });
    const outcomes: string[] = [];
    while (begun() <= points.length) {
      const outcome = client.callTool({ name: 'pid' }).then(
        (result) => textOf(result as CallToolResult),
        (error: { readonly data?: { readonly reason?: unknown } }) => String(error.data?.reason),
      );
      outcomes.push(await outcome);
      await client.listTools();
    }
    expect(outcomes.filter((each) => !/^(?:\d+|process-ended)$/.test(each))).toEqual([]);
  });
});
