/** Contracts of servers and transports, as cases for any test runner. */
import type { McpServer } from '../../../src/server/create-server.ts';
import { createMcpServer } from '../../../src/server/create-server.ts';
import { validatorOf } from '../../schema/src/schema-check.ts';
import { defineTool } from '../../../src/server/define/tool.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { ErrorCode } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { handshakeVersions, statelessVersions } from '../../../src/protocol/dialects/registry.ts';
import { scriptedConversation } from './conversation.ts';
import type { TransportPair, Conversation, ConversationOptions } from './conversation.ts';
import { initialize, initialized, request, toolCall } from './messages.ts';
import { ErrorAnswer } from './peer.ts';
import type { Wire } from './peer.ts';
import { testClient } from './test-client.ts';
import type { TestClientOptions, TestClient } from './test-client.ts';

/** One requirement: `test(name, () => check(subject))`. */
export interface ContractCase<TSubject> {
  /** The behaviour, as a test's name. */
  readonly name: string;
  /** Rejects if the subject violates the requirement; the error explains how. */
  check(subject: TSubject): Promise<void>;
}

/**
 * The contract of your server.
 *
 * ```ts
 * describe('my server', () => {
 *   for (const { name, check } of serverContract) test(name, () => check(server));
 * });
 * ```
 */
export const serverContract: readonly ContractCase<McpServer>[] = [
  ...handshakeVersions.map((revision) => ({
    name: `shakes hands in ${revision}, and lists what it declares`,
    check: (server: McpServer) =>
      withClient(server, { revision }, async (client) => {
        equal(client.hello['protocolVersion'], revision, 'the negotiated revision');
        await listAll(client);
      }),
  })),
  ...statelessVersions.map((revision) => ({
    name: `is discovered in ${revision}, and lists what it declares`,
    check: (server: McpServer) =>
      withClient(server, { revision }, async (client) => {
        const supported = client.hello['supportedVersions'] as readonly string[];
        equal(supported.includes(revision), true, `the support of ${revision}`);
        await listAll(client);
      }),
  })),
  {
    name: 'has tools whose schemas compile and describe objects',
    check: (server) =>
      withClient(server, {}, async (client) => {
        const { tools } = client.hello['capabilities'] as JsonObject;
        for (const tool of tools ? await client.listTools() : []) {
          for (const [side, schema] of [
            ['input', tool.inputSchema],
            ['output', tool.outputSchema],
          ] as const) {
            if (!schema) continue;
            equal(schema['type'], 'object', `the type of ${tool.name}'s ${side}Schema`);
            validatorOf(schema, side);
          }
        }
      }),
  },
  ...[...handshakeVersions.slice(0, 1), ...statelessVersions].map((revision) => ({
    name: `refuses in ${revision} what it does not have, and lives on`,
    check: (server: McpServer) =>
      withClient(server, { revision }, async (client) => {
        const { tools, prompts, resources } = client.hello['capabilities'] as JsonObject;
        const { invalidParams, methodNotFound, resourceNotFound } = ErrorCode;
        await refused(client.request('no/such/method'), methodNotFound);
        const name = 'no-such-thing';
        await refused(client.callTool(name), tools ? invalidParams : methodNotFound);
        await refused(client.getPrompt(name), prompts ? invalidParams : methodNotFound);
        const cursor = { cursor: name };
        await refused(client.request('tools/list', cursor), tools ? invalidParams : methodNotFound);
        const { isStateless } = client.peer;
        const missing = isStateless ? invalidParams : resourceNotFound;
        const uri = 'no-such-scheme://nothing';
        await refused(client.readResource(uri), resources ? missing : methodNotFound);
        await client.request(isStateless ? 'server/discover' : 'ping');
      }),
  })),
  {
    name: 'ends when its input does',
    check: async (server) => {
      const client = await testClient(server);
      await client.close();
      const { kind } = await client.session.closed;
      equal(kind, 'input-ended', 'the cause of the end');
    },
  },
];

/** Creates a connection: a transport and the client's end of it. */
export type Connect = () => TransportPair;

/**
 * Contract of your transport: delivery of frames between both ends. Run it like {@link
 * serverContract}.
 */
export const transportContract: readonly ContractCase<Connect>[] = [
  {
    name: 'carries a handshake and a call that come in one chunk, in order',
    check: (make) =>
      withSession(make, {}, async ({ peer }) => {
        peer.send(initialize(1), initialized, toolCall(2, 'echo', { text: 'a' }));
        const { result } = await peer.response(2);
        equal(textIn(result), 'a', 'what came back');
        equal((peer.received[0] as JsonObject)['id'], 1, 'the first answer');
      }),
  },
  ...statelessVersions.map((revision) => ({
    name: `carries calls of ${revision}, which say themselves who asks`,
    check: (make: Connect) =>
      withSession(make, { revision }, async ({ peer }) => {
        equal(textIn(await peer.call('echo', { text: 'a' })), 'a', 'what came back');
        equal((await peer.handshake())['resultType'], 'complete', 'what it is discovered by');
      }),
  })),
  {
    name: 'carries any text as it is',
    check: (make) =>
      withSession(make, {}, async ({ peer }) => {
        await peer.handshake();
        const text = 'ä \u2028\u2029 \0 \ud83e\udd4a "quoted"\n\r\t\\';
        equal(textIn(await peer.call('echo', { text })), text, 'what came back');
      }),
  },
  {
    name: 'carries a message of a megabyte, each way',
    check: (make) =>
      withSession(make, {}, async ({ peer }) => {
        await peer.handshake();
        const text = 'x'.repeat(1024 * 1024);
        equal(textIn(await peer.call('echo', { text })).length, text.length, 'what came back');
      }),
  },
  {
    name: 'carries a thousand messages at once',
    check: (make) =>
      withSession(make, {}, async ({ peer }) => {
        await peer.handshake();
        const ids = Array.from({ length: 1000 }, (_, id) => id);
        peer.send(...ids.map((id) => request(id, 'ping')));
        for (const id of ids) await peer.response(id);
      }),
  },
  {
    name: 'carries requests of the session’s to the client',
    check: (make) =>
      withSession(make, {}, async ({ peer }) => {
        await peer.handshake({ capabilities: { roots: {} } });
        peer.answer(await peer.request('roots/list'), { roots: [] });
        await peer.quiet();
      }),
  },
  {
    name: 'ends when the session is shut down',
    check: (make) =>
      withSession(make, {}, async ({ peer, session }) => {
        await peer.handshake();
        session.shutdown('enough');
        equal((await session.closed).kind, 'shutdown', 'the cause of the end');
      }),
  },
];

/**
 * Additional contract of a transport that distinguishes the end of the client's output from a
 * disconnect. Pipes do; the official SDK's transports do not.
 */
export const endOfInputContract: readonly ContractCase<Connect>[] = [
  {
    name: 'ends the session when the client’s end is closed, after what was asked is answered',
    check: (make) =>
      withSession(make, {}, async ({ peer, session }) => {
        peer.send(initialize(1), initialized, toolCall(2, 'echo', { text: 'last' }));
        peer.end();
        equal((await session.closed).kind, 'input-ended', 'the cause of the end');
        equal(textIn((await peer.response(2)).result), 'last', 'the last answer');
      }),
  },
];

const echo = defineTool({
  name: 'echo',
  description: 'Says what it is told',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  handler: ({ text }) => text,
});

async function withClient(
  server: McpServer,
  options: TestClientOptions,
  check: (client: TestClient) => Promise<void>,
): Promise<void> {
  const client = await testClient(server, options);
  try {
    await check(client);
  } finally {
    await client.close();
  }
}

async function listAll(client: TestClient): Promise<void> {
  const { tools, resources, prompts } = client.hello['capabilities'] as JsonObject;
  if (tools) named(await client.listTools(), 'tool');
  if (resources) named(await client.listResources(), 'resource');
  if (resources) named(await client.listResourceTemplates(), 'resource template');
  if (prompts) named(await client.listPrompts(), 'prompt');
}

async function withSession(
  make: Connect,
  options: ConversationOptions,
  check: (conversation: Conversation<Wire>) => Promise<void>,
): Promise<void> {
  const server = createMcpServer({ name: 'contract', version: '1.0.0', tools: [echo] });
  const conversation = scriptedConversation(server, options, make());
  try {
    await check(conversation);
  } finally {
    const { session } = conversation;
    // Shutting down a stopped actor would be reported.
    if (session.actor.getSnapshot().status === 'active') session.shutdown('the check is over');
    await session.closed;
  }
}

function textIn(result: JsonObject | undefined): string {
  const [block] = (result?.['content'] ?? []) as readonly unknown[];
  return isJsonObject(block) ? String(block['text']) : '';
}

function equal(actual: unknown, expected: unknown, what: string): void {
  if (actual === expected) return;
  const [is, should] = [actual, expected].map((value) => JSON.stringify(value)?.slice(0, 200));
  throw new Error(`${what} is ${is}, it should be ${should}`);
}

function named(items: readonly { readonly name?: unknown }[], what: string): void {
  for (const item of items) {
    if (typeof item.name === 'string' && item.name !== '') continue;
    throw new Error(`A ${what} has no name: ${JSON.stringify(item).slice(0, 200)}`);
  }
}

async function refused(answer: Promise<unknown>, code: number): Promise<void> {
  const outcome = await answer.then(
    () => 'a result',
    (error: unknown) => {
      if (error instanceof ErrorAnswer) return error.error.code;
      throw error;
    },
  );
  equal(outcome, code, 'the answer');
}
