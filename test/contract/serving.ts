/** Sessions under test: every frame of theirs is checked, their time is simulated, and nothing of them outlives the test. */
import { createMcpServer, defaultLimits, defineTool, memory } from 'mcp-actors';
import type {
  HandlerContext,
  JsonObject,
  McpServer,
  ServerDefinition,
  Tool,
  ToolOutput,
} from 'mcp-actors';
import { initialize as initializeAs, scriptedConversation, flush } from 'mcp-actors/testing';
import type { Conversation, ConversationOptions } from 'mcp-actors/testing';
import type { TransportPair } from '../../packages/testing/src/conversation.ts';
import type { Introduction } from '../../packages/testing/src/messages.ts';
import type { Message } from '../../packages/testing/src/messages.ts';
import { expect, onTestFinished } from 'vitest';
import { combinationUnderTest, noteServed } from './everywhere.ts';
import type { TransportName } from './everywhere.ts';
import type { Channel } from './channel-wire.ts';
import { officialSchemas } from './official-schemas.ts';
import { converseOverHttp } from './http-wire.ts';
import type { HttpClientOptions } from './http-wire.ts';
import { sdkMemory } from './sdk-memory-wire.ts';
import { sdkStreams, streams } from './stream-wire.ts';
import type { TestWire } from './stream-wire.ts';
import { TestClock } from './test-clock.ts';

const transports: {
  readonly [name in Exclude<TransportName, 'HTTP'>]: () => TransportPair<TestWire>;
} = {
  memory,
  stdio: streams,
  'SDK memory': sdkMemory,
  'SDK stdio': sdkStreams,
};

export interface Serving extends Conversation<TestWire> {
  readonly server: McpServer;
  readonly clock: TestClock;
  /** Over HTTP: the client's stream for what belongs to no request. */
  readonly channel?: Channel;
}

export interface ServingOptions
  extends Omit<ConversationOptions, 'check' | 'clock'>, HttpClientOptions {
  readonly transport?: TransportName;
  /** A connection of the test's own, instead of that transport's. */
  readonly connection?: TransportPair<TestWire>;
}

/** Starts a session of a server that has these features; it is checked and ended when the test is. */
export function serve(features: Partial<ServerDefinition>, options?: ServingOptions): Serving {
  return connect(createMcpServer({ name: 'under-test', version: '1.0.0', ...features }), options);
}

/** Does the same for a server that there is already. */
export function connect(
  server: McpServer,
  {
    transport = combinationUnderTest()?.transport ?? 'memory',
    connection = transport === 'HTTP' ? undefined : transports[transport](),
    ...options
  }: ServingOptions = {},
): Serving {
  const clock = new TestClock();
  const settings = {
    ...revisionUnderTest(),
    wallClock: () => new Date(clock.now()),
    ...options,
    clock,
    check: officialSchemas,
  };
  const conversation = connection
    ? converseOver(connection, server, settings)
    : converseOverHttp(server, settings);
  const { peer, wire } = conversation;
  onTestFinished(async () => {
    wire.resumeReading();
    const closed = conversation.close();
    await flush();
    const { begun } = conversation;
    // A handler that the test has left hanging holds the session until its deadline.
    if (begun?.actor.getSnapshot().status === 'active') {
      clock.increment(options.limits?.drainTimeoutMs ?? defaultLimits.drainTimeoutMs);
    }
    await closed;
    expect(peer.violations).toEqual([]);
    expect(clock.liveTimers).toBe(0);
    const negotiated = begun?.actor.getSnapshot().context.client?.dialect.version;
    noteServed(transport, peer.isStateless ? peer.revision : negotiated);
  });
  // Not spread: over HTTP the session begins later.
  return Object.assign(conversation, { server, clock });
}

function converseOver(
  connection: TransportPair<TestWire>,
  server: McpServer,
  options: ConversationOptions,
) {
  const conversation = scriptedConversation(server, options, connection);
  const { session } = conversation;
  return {
    ...conversation,
    begun: session,
    close: async () => {
      if (session.actor.getSnapshot().status === 'active') session.shutdown('the test has ended');
      await session.closed;
    },
  };
}

/** `initialize`, of a client of the revision under test where the test does not say another. */
export function initialize(id: unknown, introduction: Introduction = {}): Message {
  const protocolVersion = combinationUnderTest()?.revision;
  return initializeAs(id, protocolVersion ? { protocolVersion, ...introduction } : introduction);
}

/** The revision that a client speaks where the test does not say another. */
function revisionUnderTest(): { readonly revision?: string } {
  const revision = combinationUnderTest()?.revision;
  return revision ? { revision } : {};
}

/** Starts a session and brings it into operation. */
export async function operate(
  features: Partial<ServerDefinition>,
  options?: ServingOptions,
): Promise<Serving> {
  const serving = serve(features, options);
  await serving.peer.handshake();
  // A POST takes some promises: without this the session could be told of time before it is in operation.
  if (combinationUnderTest()?.transport === 'HTTP') await flush();
  return serving;
}

/** A tool that takes any arguments. */
export function tool(
  name: string,
  handler: (args: JsonObject, context: HandlerContext) => unknown,
): Tool {
  return defineTool({
    name,
    description: `The ${name} tool`,
    inputSchema: { type: 'object' },
    // What the types forbid is tested as well: a handler may be written in JavaScript.
    handler: handler as (args: unknown, context: HandlerContext) => ToolOutput,
  });
}

/** Answers with its own arguments as text. */
export const echo: Tool = tool('echo', (args) => JSON.stringify(args));

/** A session that has been called once: tests of what runs when begin after that. */
export async function operateWarm(
  features: Partial<ServerDefinition>,
  options?: ServingOptions,
): Promise<Serving> {
  const serving = await operate({ ...features, tools: [echo, ...(features.tools ?? [])] }, options);
  await serving.peer.call(echo.name);
  return serving;
}

/** The text of a tool's result. */
export function textOf(result: JsonObject | undefined): string {
  const [block] = (result?.['content'] ?? []) as readonly { readonly text?: string }[];
  return block?.text ?? '';
}
