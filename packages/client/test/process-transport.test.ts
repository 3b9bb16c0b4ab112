/** Both official clients over processes that we launch. The process table is looked at afterwards. */
import { Client } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { sdkTransport } from 'mcp-actors/client';
import type { ProcessTransportOptions } from 'mcp-actors/client';
import type { ProcessTransport } from '../src/stdio/process-transport.ts';
import { gate } from 'mcp-actors/testing';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { defaultLimits } from '../../../src/actors/limits.ts';
import { lab } from '../../../test/e2e/server-process.ts';
import { emptied, expectEmpty, membersOf } from '../../processes/test/process-table.ts';

const introduction = { name: 'official', version: '1' };
const capabilities = { roots: {} };
const roots = () => ({ roots: [{ uri: 'file:///work', name: 'work' }] });

/** What both clients are asked to do here. */
interface OfficialClient {
  connect(transport: ProcessTransport): Promise<void>;
  close(): Promise<void>;
  callTool(call: {
    name: string;
    arguments?: { [name: string]: unknown };
  }): Promise<{ [field: string]: unknown }>;
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

function client2(mode: 'legacy' | 'auto'): OfficialClient {
  const client = new Client(introduction, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('roots/list', roots);
  return client;
}

const clients: { readonly [version: string]: () => OfficialClient } = {
  '@modelcontextprotocol/sdk 1': () => {
    const client = new Client1(introduction, { capabilities });
    client.setRequestHandler(ListRootsRequestSchema, roots);
    return client;
  },
  '@modelcontextprotocol/client 2, legacy': () => client2('legacy'),
  '@modelcontextprotocol/client 2, which asks for the era': () => client2('auto'),
};

const transports: ProcessTransport[] = [];
afterEach(async () => {
  for (const transport of transports.splice(0)) {
    await transport.close();
    if (transport.pid !== undefined) expectEmpty(transport.pid);
  }
});

function launching(
  entry: Parameters<typeof sdkTransport>[0],
  options?: ProcessTransportOptions,
): ProcessTransport {
  const transport = sdkTransport(entry, options);
  transports.push(transport);
  return transport;
}

const shell = (text: string) => ({ command: 'sh', args: ['-c', text] });
const ofNode = (...args: string[]) => ({ command: process.execPath, args });
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

/** Hears everything that a transport tells. */
function listening(transport: ProcessTransport) {
  const heard: unknown[] = [];
  const [closed, answered] = [gate(), gate()];
  transport.onmessage = (message) => {
    heard.push(message);
    if ('id' in message) answered.release();
  };
  transport.onerror = ({ message }) => heard.push(message);
  transport.onclose = () => {
    heard.push('(closed)');
    closed.release();
  };
  return { heard, closed, answered };
}

describe.each(Object.keys(clients))('%s over a process that we launch', (version) => {
  async function connected(entry = ofNode(...lab)) {
    const client = clients[version]?.() as OfficialClient;
    const transport = launching(entry);
    const [closed, errors] = [gate(), [] as string[]];
    client.onerror = ({ message }) => errors.push(message);
    client.onclose = () => closed.release();
    await client.connect(transport);
    onTestFinished(() => client.close());
    return { client, transport, closed, errors };
  }

  test('lists and calls, is asked for its roots, and leaves no process', async () => {
    const { client, transport, errors } = await connected();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    const echoed = await client.callTool({ name: 'echo', arguments: { message: '✓' } });
    expect(echoed).toMatchObject({ structuredContent: { message: '✓' } });
    expect(await client.callTool({ name: 'list_roots' })).toMatchObject({
      structuredContent: { status: 'known', roots: [{ uri: 'file:///work' }] },
    });
    expect(membersOf(transport.pid as number)).not.toEqual([]);
    await client.close();
    expectEmpty(transport.pid as number);
    expect(errors).toEqual([]);
  });

  test('hears that the process was killed, and how, and has nothing pending', async () => {
    const { client, transport, closed, errors } = await connected();
    const held = client.callTool({ name: 'slow', arguments: { ms: 600_000 } });
    held.catch(() => {});
    await client.listTools();
    process.kill(transport.pid as number, 'SIGKILL');
    await closed.pass();
    await expect(held).rejects.toThrow(/closed/i);
    expect(errors).toContain("The server's process was ended by SIGKILL");
    await transport.close();
    expectEmpty(transport.pid as number);
  });
});

describe('a transport to a process', () => {
  test('works as a transport of the official client', async () => {
    const [command, args] = [process.execPath, lab];
    const shown: string[] = [];
    const show = (text: string) => shown.push(text);
    // #region an official client over a process of ours
    const transport = sdkTransport({ command, args }, { onStderr: show });
    const client = new Client({ name: 'my-host', version: '1.0.0' });
    await client.connect(transport);
    show(`The process group ${transport.pid} serves ${client.getServerVersion()?.name}`);
    await client.close();
    // #endregion
    expect(shown).toContain(`The process group ${transport.pid} serves lab`);
    expectEmpty(transport.pid as number);
  });

  test('that is closed while it starts never starts, and leaves nothing', async () => {
    const transport = launching({ command: 'cat' });
    const { heard } = listening(transport);
    const starting = expect(transport.start()).rejects.toMatchObject({ code: 'CLOSED' });
    await transport.close();
    await starting;
    expect(heard).toEqual(['(closed)']);
  });

  test('refuses requests while too much waits for the server, and takes answers', async () => {
    const transport = launching(shell('exec sleep 600'), { stop: { inputMs: 0 } });
    const { heard } = listening(transport);
    await transport.start();
    const params = { text: 'x'.repeat(defaultLimits.maxOutboundBytes) };
    const sent = [1, 2].map((id) => transport.send({ ...ping, id, params }));
    for (const each of sent) each.catch(() => {});
    await expect.poll(() => heard).toHaveLength(1);
    await expect(transport.send({ ...ping, id: 3 })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    });
    await transport.send({ jsonrpc: '2.0', id: 4, result: {} });
    expect(heard).toEqual([expect.stringContaining('The server is not reading')]);
  });

  test('does not start if the command cannot be started, and says why', async () => {
    const transport = launching({ command: 'no-such-server' });
    await expect(transport.start()).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
      message: expect.stringContaining('no-such-server') as string,
    });
    await expect(transport.send(ping)).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('is refused an entry without a command', () => {
    expect(() => sdkTransport({ url: 'https://example.com' } as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });

  test('is started once, and takes nothing before that', async () => {
    const transport = launching({ command: 'cat' });
    await expect(transport.send(ping)).rejects.toMatchObject({
      code: 'NOT_READY',
      message: 'The transport is not started',
    });
    await transport.start();
    await expect(transport.start()).rejects.toThrow('once');
    const closed = transport.close();
    const late = { code: 'CLOSED', message: 'The connection has closed' };
    await expect(transport.send(ping)).rejects.toMatchObject(late);
    await closed;
    await expect(transport.send(ping)).rejects.toMatchObject(late);
  });

  test('that is closed before it starts is closed, and never starts', async () => {
    const transport = launching({ command: 'cat' });
    const { heard } = listening(transport);
    await transport.close();
    await transport.close();
    expect(heard).toEqual(['(closed)']);
    await expect(transport.start()).rejects.toThrow('once');
    await expect(transport.send(ping)).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('rejects what is no JSON, and what was with it when the process died', async () => {
    const transport = launching(shell('exec sleep 600'), { stop: { inputMs: 0 } });
    await transport.start();
    const circular: { self?: object } = {};
    circular.self = circular;
    await expect(transport.send({ ...ping, params: circular })).rejects.toThrow(/circular/i);
    const params = { text: 'x'.repeat(1024 * 1024) };
    const outcomes = Promise.allSettled(
      [1, 2].map((id) => transport.send({ ...ping, id, params })),
    );
    process.kill(transport.pid as number, 'SIGKILL');
    expect((await outcomes).at(-1)).toMatchObject({ status: 'rejected' });
  });

  test('sends what was said before it is closed in the same turn', async () => {
    // What is worth no more than a remark, as that of a variable that no shell hands on, is no error.
    const transport = launching({ command: 'cat', env: { 'odd-name': '1' } });
    const { heard } = listening(transport);
    await transport.start();
    transport.send({ jsonrpc: '2.0', id: 1, result: {} }).catch(() => {});
    await transport.close();
    expect(heard).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }, '(closed)']);
  });

  test('gives what the process said last, then its exit, and is closed once', async () => {
    const last = '{"jsonrpc":"2.0","method":"notifications/message"}';
    const transport = launching(shell(`read line; echo '${last}'; echo 'no room' >&2; exit 3`));
    const { heard, closed } = listening(transport);
    await transport.start();
    await transport.send(ping);
    await closed.pass();
    await transport.close();
    expect(heard).toEqual([
      JSON.parse(last),
      "The server's process has exited with code 3. Last stderr output: no room",
      '(closed)',
    ]);
    expect(transport.stderr.text).toBe('no room\n');
  });

  test('ends what a process that has ended has left running', async () => {
    const transport = launching(shell('sleep 600 & read line; exit 0'));
    const { closed } = listening(transport);
    await transport.start();
    await transport.send(ping);
    await closed.pass();
    await emptied(transport.pid as number);
  });

  test('makes an error of an answer that cannot be read, and tells of what is no message', async () => {
    const batch = '[{"jsonrpc":"2.0","method":"notifications/one"},7]';
    const stray = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"What?"}}';
    const deep = `{"jsonrpc":"2.0","id":2,"result":${'['.repeat(1000)}${']'.repeat(1000)}}`;
    const said = ['oh dear', batch, stray, '{"jsonrpc":"2.0","id":1,"result":7}', deep];
    const lines = said.map((line) => `echo '${line}'`).join(';');
    const transport = launching(shell(`read line; ${lines}; read line`));
    const { heard } = listening(transport);
    await transport.start();
    await transport.send(ping);
    await expect.poll(() => heard.length).toBe(8);
    expect(heard).toEqual([
      expect.stringContaining('The server printed text to stdout'),
      expect.stringContaining('must be a JSON object, got 7'),
      { jsonrpc: '2.0', method: 'notifications/one' },
      'The server could not read a message: What?',
      expect.stringMatching(/^The server's answer cannot be read: .*"result" must be an object/),
      { jsonrpc: '2.0', id: 1, error: { code: -32603, message: expect.any(String) as string } },
      expect.stringContaining('The server sent an invalid message: '),
      { jsonrpc: '2.0', id: 2, error: { code: -32603, message: expect.any(String) as string } },
    ]);
  });

  test('answers a request that no client could read, so that the server does not wait', async () => {
    const [told, answers] = [gate(), [] as unknown[]];
    const bad = '{"jsonrpc":"2.0","id":5,"method":7}';
    const transport = launching(shell(`echo '${bad}'; exec cat >&2`), {
      onStderr: (text) => {
        answers.push(JSON.parse(text));
        told.release();
      },
    });
    const { heard } = listening(transport);
    await transport.start();
    await told.pass();
    expect(answers).toMatchObject([{ id: 5, error: { code: -32600 } }]);
    expect(heard).toEqual([expect.stringContaining('an invalid message')]);
  });

  test('rejects what is not with the process when it is closed', async () => {
    const transport = launching(shell('exec sleep 600'), { stop: { inputMs: 0 } });
    await transport.start();
    const params = { text: 'x'.repeat(1024 * 1024) };
    const sent = [1, 2].map((id) => transport.send({ ...ping, id, params }));
    const outcomes = Promise.allSettled(sent);
    await transport.close();
    expect((await outcomes).at(-1)).toMatchObject({
      status: 'rejected',
      reason: { code: 'CLOSED' },
    });
  });

  test('tells what a listener throws, and goes on', async () => {
    const transport = launching(shell('echo one >&2; read line; exit 3'), {
      onStderr: () => {
        throw new Error('no screen');
      },
    });
    const { heard, closed } = listening(transport);
    await transport.start();
    await expect.poll(() => heard).toEqual(['no screen']);
    await transport.send(ping);
    await closed.pass();
    expect(heard.at(-1)).toBe('(closed)');
  });

  test('gives the process only what it needs of the environment', async () => {
    process.env['SECRET_OF_THE_HOST'] = 'x';
    onTestFinished(() => void delete process.env['SECRET_OF_THE_HOST']);
    const heard: string[] = [];
    const transport = launching(shell('echo "[$SECRET_OF_THE_HOST]" >&2; read line'), {
      onStderr: (text) => heard.push(text),
    });
    const { closed } = listening(transport);
    await transport.start();
    await transport.send(ping);
    await closed.pass();
    expect(heard).toEqual(['[]']);
  });
});
