/** What a call fails with names who called: in a host, and in a handler that asks its client. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { ServerDefinition } from 'mcp-actors';
import { connect, connectAll } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { expect, onTestFinished, test } from 'vitest';
import { gate } from '../../testing/src/gate.ts';
import { ProtocolError, RuntimeError } from '../../../src/protocol/errors.ts';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { ScriptedTransport } from './scripted-transport.ts';

const never = defineTool({
  name: 'never',
  description: 'Does not answer',
  handler: () => new Promise<string>(() => {}),
});
const looksLikeFrames = defineTool({
  name: 'frames',
  description: 'Has a message like a stack',
  handler: () => {
    throw new ProtocolError(
      -32000,
      'Broken\n    at one (one.ts:1:1)\n    at async two (two.ts:2:2)',
    );
  },
});

async function connected(
  options: ConnectOptions = {},
  tool: NonNullable<ServerDefinition['tools']>[number] = never,
): Promise<Connection> {
  const server = createMcpServer({ name: 's', version: '1', tools: [tool, looksLikeFrames] });
  const transport = () => {
    const { transport: ours, peer } = memory();
    server.listen(ours, { report: () => {} });
    return toSdkTransport(peer);
  };
  const connection = await connect(
    { transport },
    { report: () => {}, restart: 'none', ...options },
  );
  onTestFinished(() => connection.close());
  return connection;
}

/** The error that a call fails with, and its frames. */
async function failureOf(
  call: () => Promise<unknown>,
): Promise<{ error: Error; frames: string[] }> {
  const error = await call().then(
    () => new Error('It has not failed'),
    (reason: unknown) => reason as Error,
  );
  const { stack = '', message } = error;
  expect(stack.startsWith(`${error.name}: ${message}\n`)).toBe(true);
  return { error, frames: stack.slice(stack.indexOf(message) + message.length).split('\n') };
}

const naming = (name: string) =>
  expect.stringMatching(new RegExp(`^ +at (?:async )?${name} `)) as string;

test('an error that the server answers with has the frames of who calls', async () => {
  const connection = await connected();
  async function author() {
    await connection.callTool('nothing');
  }
  const { error, frames } = await failureOf(author);
  expect(error).toMatchObject({ code: -32602 });
  expect(frames).toContainEqual(naming('author'));
});

test('a timeout has them, through functions that hand the promise on', async () => {
  const connection = await connected();
  const handsOn = () =>
    connection.callTool('never', {}, { timeoutMs: 1 }).then(({ content }) => content);
  async function author() {
    return await handsOn();
  }
  const { error, frames } = await failureOf(author);
  expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT' });
  expect(frames).toContainEqual(naming('author'));
  // Where it was noticed is told too, but not the whole loop around it.
  expect(frames.filter((line) => line.includes('/src/')).length).toBeGreaterThan(1);
  expect(frames.filter((line) => line.includes('/src/')).length).toBeLessThan(6);
});

test('a configuration that is none has them, though it is noticed at once', async () => {
  async function author() {
    await connectAll({ mcpServers: 7 });
  }
  const { error, frames } = await failureOf(author);
  expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
  expect(frames).toContainEqual(naming('author'));
});

test('calls of one Promise.all each have them', async () => {
  const connection = await connected();
  async function one() {
    await connection.callTool('never', {}, { timeoutMs: 1 });
  }
  async function other() {
    await connection.callTool('nothing');
  }
  const failures = await Promise.all([failureOf(one), failureOf(other)]);
  expect(failures[0].frames).toContainEqual(naming('one'));
  expect(failures[1].frames).toContainEqual(naming('other'));
});

test('a message that looks like a stack stays whole', async () => {
  const connection = await connected();
  async function author() {
    await connection.callTool('frames');
  }
  const { error, frames } = await failureOf(author);
  expect(error.message).toContain('at async two');
  expect(frames).toContainEqual(naming('author'));
});

test('a call after the end, a subscription and a list that is not there have them', async () => {
  const connection = await connected();
  async function lists() {
    await connection.listPrompts();
  }
  expect((await failureOf(lists)).frames).toContainEqual(naming('lists'));
  await connection.close();
  async function calls() {
    await connection.callTool('never');
  }
  const { error, frames } = await failureOf(calls);
  expect(error).toMatchObject({ code: 'NOT_READY' });
  expect(frames).toContainEqual(naming('calls'));
});

test('who waits for a list has an own error: not the frames of others', async () => {
  const fault = { code: -32603, message: 'No lists today' };
  const transport = () =>
    new ScriptedTransport(({ id, method }, server) => {
      if (method !== 'tools/list') return undefined;
      queueMicrotask(() => server.say({ id, error: fault }));
      return 'never';
    });
  const connection = await connect(
    { transport },
    { report: () => {}, restart: 'none', era: 'legacy' },
  );
  onTestFinished(() => connection.close());
  async function first() {
    await connection.listTools();
  }
  async function second() {
    await connection.listTools();
  }
  const failures = await Promise.all([failureOf(first), failureOf(second)]);
  expect(failures[0].error).not.toBe(failures[1].error);
  expect(failures[0].frames).toContainEqual(naming('first'));
  expect(failures[1].frames).toContainEqual(naming('second'));
  expect(failures[1].frames).not.toContainEqual(naming('first'));
});

test('a connection that does not come about has the frames of who wants it', async () => {
  async function author() {
    await connect({ command: 'no-such-program-anywhere' }, { report: () => {}, restart: 'none' });
  }
  const { error, frames } = await failureOf(author);
  expect(error).toMatchObject({ code: 'SPAWN_FAILED' });
  expect(frames).toContainEqual(naming('author'));
});

test.each(['legacy', 'modern'] as const)(
  'what a handler’s question fails with has the frames of the handler in the %s era',
  async (era) => {
    const stacks: string[] = [];
    const gaveUp = gate();
    const asks = defineTool({
      name: 'asks',
      description: 'Asks, and gives up soon',
      handler: async function handler(_args, context) {
        const schema = { type: 'object', properties: {} } as const;
        const question = context.elicit({ message: 'Well?', schema }, { timeoutMs: 1 });
        try {
          await question;
        } catch (error) {
          stacks.push((error as Error).stack ?? '');
        }
        gaveUp.release();
        return 'unanswered';
      },
    });
    const elicit = async () => {
      await gaveUp.pass();
      return { action: 'decline' as const };
    };
    const connection = await connected({ era, elicit }, asks);
    await connection.callTool('asks');
    expect(stacks).toEqual([expect.stringMatching(/^ +at (?:async )?(?:Object\.)?handler /m)]);
  },
);

test('what Node prints of an error is bounded: what may be long is not shown', () => {
  const long = 'x'.repeat(10_000);
  const exit = { code: 1, signal: null, stderr: long };
  const error = new RuntimeError('CLOSED', 'It has ended', {
    exit,
    remote: { code: 1, message: long },
  });
  expect(error.exit).toEqual(exit);
  expect(error.remote).toEqual({ code: 1, message: long });
  expect(Object.keys(error).sort()).toEqual(['code', 'name']);
  const refusal = new ProtocolError(-32000, 'No', { long });
  expect(refusal.data).toEqual({ long });
  expect(Object.keys(refusal).sort()).toEqual(['code', 'name']);
});
