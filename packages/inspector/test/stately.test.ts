/** `--inspect=stately` with the official inspector's own server and receiver. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { inspectStately } from '@mcp-actors/inspector';
import { connect as connectTo } from 'mcp-actors/client';
import { testClient, gate } from 'mcp-actors/testing';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { smallServer, startCommand, temporaryFolder } from '../../cli/test/e2e/client-command.ts';
import { freePort } from '../../../test/tooling/free-port.ts';
import { receive } from './inspector-receiver.ts';
import {
  launch,
  reapServers,
  repository,
  workspaceCommand,
} from '../../../test/e2e/server-process.ts';

afterEach(reapServers);

const inspected = (port: number) => [...workspaceCommand, `--inspect=stately:${port}`];

type Told = StatelyInspectionEvent & {
  readonly snapshot?: { readonly value?: unknown; readonly context?: unknown };
  readonly event?: { readonly type: string };
  readonly name?: string;
};

/** True for a state and its ancestors. */
const isIn = (value: unknown, state: string): boolean =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).some(([name, inner]) => name === state || isIn(inner, state))
    : value === state;

/** Matches a message that shows the session machine in this state. */
const sessionAt = (state: string) => (event: StatelyInspectionEvent) => {
  const { type, name, snapshot } = event as Told;
  return type === '@xstate.actor' && name === 'session' && isIn(snapshot?.value, state);
};
/** Matches a message that shows any machine entering this state. */
const reached = (state: string) => (event: StatelyInspectionEvent) =>
  event.type === '@xstate.snapshot' && isIn((event as Told).snapshot?.value, state);

describe('official inspector', () => {
  test('sends the machines with their states and events, without secrets', async () => {
    const port = await freePort();
    const { events } = await receive(port);
    const server = launch(inspected(port));
    await events.find(sessionAt('uninitialized'));
    await server.initialize({
      roots: {},
      experimental: { gateway: { apiKey: 'hunter2', note: 'Bearer abcdef0123456789' } },
    });
    const known = (await events.find(reached('initialized'))) as Told;
    expect(known.event).toEqual({ type: 'initialized.received' });
    expect(known.snapshot?.context).toMatchObject({
      client: { capabilities: { experimental: { gateway: { apiKey: '[redacted]' } } } },
    });
    server.child.stdin.end();
    await events.find(reached('closed'));
    expect(await server.exit).toEqual({ code: 0, signal: null });

    const actors = events.all.filter(({ type }) => type === '@xstate.actor') as Told[];
    expect(actors.map(({ name }) => name)).toEqual(['session', 'roots']);
    const [session, roots] = actors as [Told, Told];
    const { definition } = session as { readonly definition?: string };
    expect(JSON.parse(definition ?? '')).toMatchObject({
      id: 'session',
      initial: 'open',
      states: {
        open: { states: { lifecycle: { states: { rootsKnown: {} } } } },
      },
    });
    expect(roots).toMatchObject({ parentId: session.sessionId, rootId: session.sessionId });
    expect(events.all.every(({ rootId }) => rootId === session.sessionId)).toBe(true);
    const initialize = events.all.find(
      (event) => event.type === '@xstate.event' && event.event.type === 'initialize.received',
    );
    expect(initialize).toMatchObject({ sessionId: session.sessionId });
    expect(JSON.stringify(events.all)).not.toMatch(/hunter2|abcdef0123456789/);
    expect(server.stderr).toMatch(
      /^mcp-actors: the session is sent to the inspector at ws:\/\/127\.0\.0\.1:\d+ while one is listening there\n$/,
    );
  });

  test('reconnects to a late or restarted receiver and sends the current state', async () => {
    const port = await freePort();
    const server = launch(inspected(port));
    await server.initialize();
    const first = await receive(port);
    await first.events.find(sessionAt('rootsKnown'));
    await first.kill();
    await server.request('between', 'ping');
    const second = await receive(port);
    await second.events.find(sessionAt('rootsKnown'));
    server.child.stdin.end();
    await second.events.find(reached('closed'));
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('does not affect the session if the receiver never starts', async () => {
    const server = launch(inspected(await freePort()));
    await server.initialize();
    await server.request('ping', 'ping');
    server.child.stdin.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('delays neither the session nor its end if the receiver hangs', async () => {
    const port = await freePort();
    const { events, stop } = await receive(port);
    const server = launch(inspected(port));
    await events.find(sessionAt('uninitialized'));
    stop();
    await server.initialize();
    await server.request('ping', 'ping');
    server.child.stdin.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('sends several sessions of one process separately, and nothing after close', async () => {
    const port = await freePort();
    const { events } = await receive(port);
    const stately = await inspectStately({ url: `ws://127.0.0.1:${port}` });
    const server = createMcpServer({ name: 'embedded', version: '1' });
    const sessions = [1, 2].map(() =>
      server.listen(memory().transport, { watchers: [stately.watcher] }),
    );
    for (const { id } of sessions) {
      await events.find(
        (event) => sessionAt('uninitialized')(event) && event.sessionId.startsWith(id),
      );
    }
    await stately.close();
    const before = events.all.length;
    for (const session of sessions) await session[Symbol.asyncDispose]();
    expect(events.all).toHaveLength(before);
  });
});

describe("a host's connection in the official inspector", () => {
  test('sends a connection with its process and lists under its server’s name, without contexts', async () => {
    const port = await freePort();
    const { events } = await receive(port);
    await using stately = await inspectStately({ url: `ws://127.0.0.1:${port}` });
    const [program, script] = smallServer;
    const entry = {
      command: program,
      args: [script, 'one', 'die'],
      env: { PLACE: 'hidden-place' },
    };
    const connection = await connectTo(entry, { name: 'files', watchers: [stately.watcher] });
    onTestFinished(() => connection.close());
    await connection.listTools();
    const named = (name: string) => (event: StatelyInspectionEvent) =>
      (event as Told).name === name;
    const root = await events.find(named('connection of files'));
    await connection.reconnect();
    const { event } = (await events.find(
      (each) => each.sessionId === root.sessionId && reached('clearing')(each),
    )) as Told;
    expect(event).toMatchObject({ type: 'connection.reopen' });
    for (const machine of ['process', 'catalog']) {
      expect(await events.find(named(`${machine} of files`))).toMatchObject({
        parentId: root.sessionId,
        rootId: root.sessionId,
      });
    }
    await events.find((each) => each.sessionId === root.sessionId && reached('ready')(each));
    const contexts = (events.all as readonly Told[]).map(({ snapshot }) => snapshot?.context ?? {});
    expect(contexts.every((context) => Object.keys(context as object).length === 0)).toBe(true);
    expect(JSON.stringify(events.all)).not.toContain('hidden-place');
  });

  test('sends connections of call and shell with --inspect=stately', async () => {
    const port = await freePort();
    const { events } = await receive(port);
    const line = ['shell', `--inspect=stately:${port}`, '--', ...smallServer, 'one'];
    const { child, ended } = startCommand(line, temporaryFolder());
    // The connection may be ready before its first message is sent.
    await events.find((event) => isIn((event as Told).snapshot?.value, 'ready'));
    child.stdin.end();
    expect(await ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/the connections are sent to the inspector at ws:/) as string,
    });
  });
});

describe('a task in the official inspector', () => {
  test('sends a task in its session before its first transition', async () => {
    const port = await freePort();
    const { events } = await receive(port);
    await using stately = await inspectStately({ url: `ws://127.0.0.1:${port}` });
    const door = gate();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      taskSupport: 'optional',
      handler: async () => {
        await door.pass();
        return 'password: hunter2';
      },
    });
    const server = createMcpServer({ name: 'embedded', version: '1', tools: [wait] });
    const client = await testClient(server, { watchers: [stately.watcher] });
    const session = await events.find((event) => (event as Told).name === 'session');
    const { task } = await client.request('tools/call', { name: 'wait', arguments: {}, task: {} });
    const { taskId } = task as { readonly taskId: string };
    door.release();
    await client.request('tasks/result', { taskId });
    const isOfTask = (event: StatelyInspectionEvent) => (event as Told).name === 'task';
    const announced = await events.find((event) => isOfTask(event));
    const completed = await events.find(
      (event) => event.type === '@xstate.snapshot' && event.sessionId === announced.sessionId,
    );
    expect(announced).toMatchObject({
      type: '@xstate.actor',
      parentId: session.sessionId,
      rootId: session.sessionId,
      snapshot: { value: { kept: { open: 'working' } }, context: { taskId } },
    });
    expect(completed).toMatchObject({
      event: { type: 'run.answered' },
      snapshot: { value: { kept: 'completed' } },
    });
    expect(events.all.find(({ sessionId }) => sessionId === announced.sessionId)).toBe(announced);
    expect(JSON.stringify(events.all)).not.toContain('hunter2');
    await client.close();
  });
});

describe('a receiver of another user', () => {
  // Accepts a WebSocket handshake and prints what follows it.
  const receiver = `
    const { createHash } = require('node:crypto');
    const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
    const server = require('node:http').createServer().listen(0, '127.0.0.1', () =>
      console.log(server.address().port));
    server.on('upgrade', ({ headers }, socket) => {
      const accept = createHash('sha1').update(headers['sec-websocket-key'] + guid).digest('base64');
      socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n' +
        'Connection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
      let bytes = 0;
      socket.on('data', (chunk) => { bytes += chunk.length; });
      socket.on('error', () => {});
      socket.on('end', () => { console.log('closed after', bytes); socket.destroy(); });
    });`;
  const nobody = 65_534;
  const canStart = () =>
    process.platform === 'linux' &&
    spawnSync(process.execPath, ['--version'], { uid: nobody, cwd: '/' }).status === 0;

  test('sends nothing to a receiver of another user and warns once', async (context) => {
    context.skip(!canStart(), 'It takes root on Linux, and a Node that another user can start');
    const child = spawn(process.execPath, ['-e', receiver], { uid: nobody, cwd: '/' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { value: port } = (await lines.next()) as { readonly value: string };
    const url = `ws://127.0.0.1:${port}`;
    const warnings: string[] = [];
    await using stately = await inspectStately({ url, warn: (text) => warnings.push(text) });
    const server = createMcpServer({ name: 'embedded', version: '1' });
    const session = server.listen(memory().transport, { watchers: [stately.watcher] });
    // Refused again on the second attempt.
    for (let tries = 0; tries < 2; tries++) {
      expect((await lines.next()).value).toBe('closed after 0');
    }
    expect(warnings).toEqual([
      `Inspector at ${url} belongs to another user of this machine (uid ${nobody}): nothing is sent to it`,
    ]);
    session.shutdown('done');
    await session.closed;
  });
});

describe('--inspect=stately', () => {
  test('explains how to install the missing package', () => {
    const alone = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
    onTestFinished(() => rmSync(alone, { recursive: true }));
    cpSync(join(repository, 'packages/cli/dist'), alone, { recursive: true });
    // The empty folder stops module resolution: a parent folder may contain the package.
    mkdirSync(join(alone, 'node_modules/@statelyai/inspect'), { recursive: true });
    const args = ['--no-warnings', join(alone, 'cli.js'), 'workspace', '--inspect=stately'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: alone,
      encoding: 'utf8',
      input: '',
    });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^mcp-actors: --inspect=stately: Package @statelyai\/inspect is not installed .*: npm install @statelyai\/inspect@\^0\.7\.0\n$/,
    );
  });

  test.each([
    'ws://example.com:8080',
    'ws://127.0.0.1.example.com:8080',
    'ws://0.0.0.0:8080',
    'ws://192.168.0.1:8080',
    'wss://127.0.0.1:8080',
    'http://127.0.0.1:8080',
  ])('refuses to send to %s', async (url) => {
    await expect(inspectStately({ url })).rejects.toThrow(
      `must be a ws:// URL of 127.0.0.1, [::1] or localhost, got ${JSON.stringify(url)}`,
    );
  });
});
