/** `mcp-actors bridge` as a process: official clients of both eras before servers of both, over stdio and HTTP. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, test } from 'vitest';
import { connect as connectModern, modern, textOf } from '../../../../test/e2e/both-eras-client.ts';
import { closeClients, connect as connectLegacy } from '../../../../test/e2e/sdk-client.ts';
import { launchHttp } from '../../../../test/e2e/http-process.ts';
import {
  command,
  launch,
  reapServers,
  repository,
  workspaceCommand,
} from '../../../../test/e2e/server-process.ts';
import { greeted, scriptedServer } from '../../../client/test/http/scripted-server.ts';
import { processTable } from '../../../processes/test/process-table.ts';
import { smallServer, startCommand, temporaryFolder } from './client-command.ts';

afterEach(async () => {
  await closeClients();
  await reapServers();
});

const serverOf = (era: string) => [
  process.execPath,
  `${repository}/packages/bridge/test/${era}-server.mjs`,
];
const bridgeTo = (...args: readonly string[]) => [...command, 'bridge', ...args];

/** The processes of a server that this test has caused, by a mark in their arguments. */
const running = (server: string | readonly string[], mark: string) => {
  const command = typeof server === 'string' ? serverOf(server) : server;
  const line = [...command, mark].join(' ');
  return processTable().filter((entry) => entry.command === line);
};

/** Nothing is left, not even of those that look after it. */
const nothingLeft = (mark: string) =>
  expect.poll(() => processTable().filter(({ command }) => command.includes(mark))).toEqual([]);

describe.each(['legacy', 'modern'])('before a server of the %s era', (server) => {
  test('over stdio, hosts of both eras call it; its process ends with the session', async () => {
    const mark = crypto.randomUUID();
    const args = bridgeTo('--', ...serverOf(server), mark);
    const { client } = await connectLegacy(args, { capabilities: { sampling: {} } });
    expect(client.getServerVersion()).toMatchObject({ name: server });
    expect(await client.callTool({ name: 'echo', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'said' }],
    });
    const newer = await connectModern(args, { mode: modern });
    expect(textOf(await newer.callTool({ name: 'echo', arguments: {} }))).toBe('said');
    expect(running(server, mark)).toHaveLength(2);
    await newer.close();
    await closeClients();
    await nothingLeft(mark);
  });
});

describe('over stdio, the server', () => {
  test('has each line of its stderr on a line of its own', async () => {
    const server = [process.execPath, ...workspaceCommand, '--log-level=debug', '.'];
    const bridge = launch(bridgeTo('--', ...server));
    await bridge.initialize();
    bridge.end();
    await bridge.exit;
    // A line that is not one log record is a violation.
    expect(bridge.log.all.length).toBeGreaterThan(2);
  });

  test('is started before the host has said anything, and it is the one that answers', async () => {
    const mark = crypto.randomUUID();
    const bridge = launch(bridgeTo('--', ...smallServer, mark));
    await expect.poll(() => running(smallServer, mark)).toHaveLength(1);
    const ahead = running(smallServer, mark);
    expect(await bridge.initialize()).toMatchObject({ result: { serverInfo: { name: 'small' } } });
    expect(running(smallServer, mark)).toEqual(ahead);
    bridge.end();
    await bridge.exit;
    await nothingLeft(mark);
  });

  test('gets 256 calls at once, as it would from the host', async () => {
    // It answers none before the last has come.
    const program = `
      const calls = [];
      const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      require('node:readline').createInterface(process.stdin).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (method === 'initialize') {
          const { protocolVersion } = params;
          const serverInfo = { name: 'patient', version: '1' };
          say(id, { protocolVersion, capabilities: { tools: {} }, serverInfo });
        }
        if (method !== 'tools/call' || calls.push(id) < 256) return;
        for (const call of calls) say(call, { content: [] });
      });`;
    const bridge = launch(bridgeTo('--', process.execPath, '-e', program));
    await bridge.initialize();
    bridge.send({ method: 'notifications/initialized' });
    const ids = Array.from({ length: 256 }, (_, at) => `call ${at}`);
    const params = { name: 'wait', arguments: {} };
    bridge.send(...ids.map((id) => ({ id, method: 'tools/call', params })));
    const answers = await Promise.all(ids.map((id) => bridge.answer(id)));
    expect(answers.every(({ result }) => result !== undefined)).toBe(true);
    bridge.end();
    await bridge.exit;
  });

  test('hears nothing of a call that its host has cancelled in the same breath', async () => {
    // It says what it was asked to do.
    const program = `
      const asked = [];
      const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      require('node:readline').createInterface(process.stdin).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (method === 'initialize') {
          const { protocolVersion } = params;
          const serverInfo = { name: 'telling', version: '1' };
          say(id, { protocolVersion, capabilities: { tools: {} }, serverInfo });
        }
        if (method !== 'tools/call') return;
        asked.push(params.name);
        if (params.name === 'tell') say(id, { content: [], structuredContent: { asked } });
      });`;
    const bridge = launch(bridgeTo('--', process.execPath, '-e', program));
    await bridge.initialize();
    bridge.send({ method: 'notifications/initialized' });
    const call = (name: string) => ({
      id: name,
      method: 'tools/call',
      params: { name, arguments: {} },
    });
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'withdrawn' } };
    bridge.send(call('kept'), call('withdrawn'), cancelled, call('tell'));
    expect(await bridge.answer('tell')).toMatchObject({
      result: { structuredContent: { asked: ['kept', 'tell'] } },
    });
    bridge.end();
    await bridge.exit;
  });

  test('is started anew if it has ended before', async () => {
    const mark = crypto.randomUUID();
    const bridge = launch(bridgeTo('--', ...smallServer, mark));
    await expect.poll(() => running(smallServer, mark)).toHaveLength(1);
    const [first] = running(smallServer, mark);
    process.kill(first?.pid as number, 'SIGKILL');
    await expect.poll(() => running(smallServer, mark)).toEqual([]);
    expect(await bridge.initialize()).toMatchObject({ result: { serverInfo: { name: 'small' } } });
    expect(running(smallServer, mark)).toHaveLength(1);
    bridge.end();
    await bridge.exit;
    await nothingLeft(mark);
  });

  test.each(['end', 'SIGKILL'])('is gone after a host that said nothing: %s', async (how) => {
    const mark = crypto.randomUUID();
    const bridge = launch(bridgeTo('--', ...smallServer, mark));
    await expect.poll(() => running(smallServer, mark)).toHaveLength(1);
    if (how === 'end') bridge.end();
    else bridge.child.kill('SIGKILL');
    await bridge.exit;
    await nothingLeft(mark);
  });

  test('is not started if the lock has another', async () => {
    const cwd = temporaryFolder();
    const other = { command: 'other', args: [], name: 'other', version: '1', tools: {} };
    const lock = { lockVersion: 1, servers: { other } };
    writeFileSync(join(cwd, 'mcp-lock.json'), JSON.stringify(lock));
    const proof = join(cwd, 'started');
    const program = `require('node:fs').writeFileSync(${JSON.stringify(proof)}, '')`;
    const bridge = launch(bridgeTo('--', process.execPath, '-e', program), { cwd });
    const answer = await bridge.initialize();
    expect(JSON.stringify(answer['error'])).toContain('lock');
    await bridge.exit;
    expect(existsSync(proof)).toBe(false);
  });
});

describe('over HTTP', () => {
  test('each session has a process, and hosts of 2026-07-28 share one', async () => {
    const mark = crypto.randomUUID();
    const args = ['--http', '0', '--log-level', 'info', '--', ...serverOf('legacy'), mark];
    const { url, server } = await launchHttp(bridgeTo(...args));
    const connected = async () => {
      const client = new Client({ name: 'over HTTP', version: '1' }, { capabilities: {} });
      const transport = new StreamableHTTPClientTransport(url);
      await client.connect(transport as never);
      return { client, transport };
    };
    const [one, other] = [await connected(), await connected()];
    expect(running('legacy', mark)).toHaveLength(2);
    await expect(one.client.callTool({ name: 'echo', arguments: {} })).resolves.toBeDefined();
    await one.transport.terminateSession();
    await one.client.close();
    await expect.poll(() => running('legacy', mark)).toHaveLength(1);
    for (let times = 0; times < 2; times++) {
      const client = new ModernClient(
        { name: 'newer', version: '1' },
        { capabilities: {}, versionNegotiation: { mode: modern } },
      );
      await client.connect(new ModernHttp(url));
      expect(textOf(await client.callTool({ name: 'echo', arguments: {} }))).toBe('said');
      await client.close();
    }
    expect(running('legacy', mark)).toHaveLength(2);
    await other.client.close();
    server.child.kill('SIGTERM');
    await server.exit;
    await nothingLeft(mark);
  });

  test('a remote server is reached for a host that launches commands', async () => {
    const { url } = await launchHttp(
      bridgeTo('--http', '0', '--log-level', 'info', '--', ...serverOf('modern')),
    );
    const { client } = await connectLegacy(bridgeTo(url.href));
    expect(client.getServerVersion()).toMatchObject({ name: 'modern' });
    expect(await client.callTool({ name: 'echo', arguments: {} })).toBeDefined();
  });

  const fetched = { 'sec-fetch-mode': 'cors', 'accept-language': '*' };
  test.each([
    ['an agent of its own', {}, undefined],
    ['fetch, which alone reads the proxies', { NODE_USE_ENV_PROXY: '1' }, fetched],
  ])('a remote server is asked by %s', async (_, env, marks) => {
    const server = await scriptedServer(greeted);
    const { client } = await connectLegacy(bridgeTo(server.url.href), { env });
    expect(client.getServerVersion()).toMatchObject({ name: 'scripted' });
    const { headers } = await server.next(({ message }) => message?.method === 'initialize');
    if (marks) expect(headers).toMatchObject(marks);
    else for (const name of Object.keys(fetched)) expect(headers).not.toHaveProperty(name);
  });
});

describe('the servers of a file', () => {
  const crowd = `${repository}/packages/bridge/test/crowd-server.mjs`;
  const mark = crypto.randomUUID();
  const entry = (name: string, ...behaviour: readonly string[]) => ({
    command: process.execPath,
    args: [crowd, name, behaviour[0] ?? 'tools', mark, ...behaviour.slice(1)],
  });
  const write = (file: string, mcpServers: object, more = '') =>
    writeFileSync(file, JSON.stringify({ mcpServers }, undefined, 2) + more);
  /** The processes of each server, by its name. */
  const pids = () => {
    const found: { [name: string]: number[] } = {};
    for (const { pid, command: line } of processTable()) {
      if (!line.startsWith(`${process.execPath} ${crowd}`) || !line.includes(mark)) continue;
      (found[line.split(' ')[2] ?? ''] ??= []).push(pid);
    }
    return found;
  };

  test('begin, end and begin anew as the file changes, and sessions stay; a fault changes nothing', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    const [a, b] = [entry('a'), entry('b')];
    write(file, { a, b, loud: entry('loud', 'flood') });
    const { url, server } = await launchHttp(bridgeTo('--http', '0', '--log-level', 'info', file));
    const client = new Client({ name: 'over HTTP', version: '1' }, { capabilities: {} });
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
    await client.connect(new StreamableHTTPClientTransport(url) as never);
    const listed = async () => {
      const { tools } = await client.listTools();
      return [...new Set(tools.map(({ name }) => name.split('__')[0]))].join(' ');
    };
    const polled = (names: string) => expect.poll(listed).toBe(names);
    await polled('a b loud');
    const newer = new ModernClient(
      { name: 'newer', version: '1' },
      { capabilities: {}, versionNegotiation: { mode: modern } },
    );
    await newer.connect(new ModernHttp(url));
    const who = (name: string) => newer.callTool({ name: `${name}__who`, arguments: {} });
    expect(textOf(await who('b'))).toBe('b');
    const before = pids();

    write(file, { a, b: entry('b', 'tools', 'tool=changed'), c: entry('c') });
    await polled('a b c');
    expect(changes).toBeGreaterThan(0);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('b__changed');
    expect(textOf(await who('c'))).toBe('c');
    await expect.poll(pids).not.toHaveProperty('loud');
    expect(pids()['a']).toEqual(before['a']);
    expect(pids()['b']).not.toEqual(before['b']);

    const kept = pids();
    write(file, { a, b: { command: 'x', args: ['y', 3] } });
    await expect
      .poll(() => server.stderr)
      .toMatch(/line 1\d, server \\"b\\", key \\"args\[1\]\\": 3 is not/);
    expect(await listed()).toBe('a b c');
    expect(pids()).toEqual(kept);
    // A server that floods stderr has had its lines, and no more of them.
    const noise = server.stderr.match(/^\[loud\] noise/gm) ?? [];
    expect(noise.length).toBeGreaterThan(0);
    expect(server.stderr).toMatch(/\[loud\] … \d+ more lines in this second/);
    await newer.close();
    await client.close();
    server.child.kill('SIGTERM');
    await server.exit;
    await nothingLeft(mark);
  });

  test('are held to the policies of the flags, beside those of the file', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    write(file, { a: { ...entry('a'), policies: { deny: ['grow'] } }, b: entry('b') });
    const flags = ['--deny', 'b__*', '--allow', '*', '--ask', 'a__link', '--rate', 'a__who=1/day'];
    const { client } = await connectLegacy(bridgeTo(...flags, file), { capabilities: {} });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['a__who', 'a__link', 'a__touch', 'a__quit']);
    const call = (name: string) => client.callTool({ name });
    expect(await call('a__who')).toMatchObject({ content: [{ text: 'a' }] });
    await expect(call('a__who')).rejects.toThrow('Too many calls of who of a');
    expect(await call('a__link')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"elicitation"') as string }],
    });
    await closeClients();
    await nothingLeft(mark);
  });

  test('that is the only one begins anew as its entry changes, and the session stays', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    write(file, { a: entry('a') });
    const { client } = await connectLegacy(bridgeTo(file));
    const who = async () => textOf((await client.callTool({ name: 'who' })) as never);
    expect(await who()).toBe('a');
    const changed = new Promise((resolve) => {
      client.setNotificationHandler(ToolListChangedNotificationSchema, resolve);
    });
    const before = pids();
    write(file, { a: { ...entry('other'), tools: { deny: ['link'] } } });
    await changed;
    expect(await who()).toBe('other');
    await expect(client.callTool({ name: 'link' })).rejects.toThrow('There is no tool');
    await expect.poll(pids).not.toHaveProperty('a');
    expect(before).toHaveProperty('a');

    write(file, { b: entry('b') });
    const removed = () => who().catch((error: unknown) => String(error));
    await expect.poll(removed).toContain('Server a is unavailable: it was removed');
    write(file, { a: entry('back'), b: entry('b') });
    await expect.poll(removed).toBe('back');
    await closeClients();
    await nothingLeft(mark);
  });

  test('over stdio, with three tools in place of all if the host is launched so', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    write(file, { a: entry('a'), b: entry('b') });
    const { client } = await connectLegacy(bridgeTo('--search', file));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['find_tools', 'describe_tool', 'call_tool']);
    const call = { name: 'call_tool', arguments: { name: 'b__who' } };
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'b' }] });
    const only = await connectLegacy(bridgeTo('--server', 'a', file));
    expect(await only.client.callTool({ name: 'who' })).toMatchObject({ content: [{ text: 'a' }] });
    await closeClients();
    await nothingLeft(mark);
  });
});

describe('a failure', () => {
  test('of a remote server names what the network says', async () => {
    const remote = await scriptedServer(greeted);
    await remote.stop();
    const server = launch(bridgeTo(remote.url.href));
    const { error } = await server.initialize();
    expect(error).toMatchObject({ code: -32000, data: { reason: 'upstream-failed' } });
    expect(JSON.stringify(error)).toContain('ECONNREFUSED');
  });

  test('of the command is told in the answer to initialize and on stderr; the exit code is 1', async () => {
    const server = launch(bridgeTo('--', '/no/such/program'));
    const answer = await server.initialize();
    expect(answer['error']).toMatchObject({ code: -32000, data: { reason: 'upstream-failed' } });
    expect(JSON.stringify(answer['error'])).toContain('/no/such/program');
    expect(await server.exit).toMatchObject({ code: 1 });
  });

  test.each([
    [['bridge'], /needs a file of servers, a URL, or a server's command/],
    [
      ['bridge', '--', 'https://a.example'],
      /needs a command after --, got a URL\. Omit the --, as in mcp-actors bridge https:\/\/a\.example/,
    ],
    [['bridge', '--allow-host', 'a', '--', 'node'], /--allow-host needs --http PORT/],
    [['bridge', 'https://a.example/mcp', 'more'], /takes one file or one server/],
    [
      ['bridge', '--rate', 'who', '--', 'node'],
      /--rate must be PATTERN=N\/TIME, such as .*, got "who"/,
    ],
    [['bridge', '--rate', 'who=2', '--', 'node'], /--rate\.who: "2" is not a number of calls/],
    [
      ['bridge', '--ask', '@safe', '--', 'node'],
      /--ask\[0\]: "@safe" is not a name .* or one of @read/,
    ],
    [['bridge', '--htpp', '1', '--', 'node'], /--http/],
  ])('of the arguments %j is said in a sentence', async (args, said) => {
    const { code, stderr } = await startCommand(args, temporaryFolder()).ended;
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  });
});
