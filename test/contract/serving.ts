/**
 * Sessions under test: all frames are checked, time is simulated, and nothing outlives the test.
 */
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
  /** Over HTTP: the client's GET stream. */
  readonly channel?: Channel;
}

export interface ServingOptions
  extends Omit<ConversationOptions, 'check' | 'clock'>, HttpClientOptions {
  readonly transport?: TransportName;
  /** A custom connection instead of the transport's. */
  readonly connection?: TransportPair<TestWire>;
}

/** Starts a session of a server with these features. It is checked and ended with the test. */
export function serve(features: Partial<ServerDefinition>, options?: ServingOptions): Serving {
  return connect(createMcpServer({ name: 'under-test', version: '1.0.0', ...features }), options);
}

/** Starts a session of an existing server. */
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
    // A hanging handler keeps the session until its deadline.
    if (begun?.actor.getSnapshot().status === 'active') {
      clock.increment(options.limits?.drainTimeoutMs ?? defaultLimits.drainTimeoutMs);
    }
    await closed;
    expect(peer.violations).toEqual([]);
    expect(clock.liveTimers).toBe(0);
    const negotiated = begun?.actor.getSnapshot().context.client?.dialect.version;
    noteServed(transport, peer.isStateless ? peer.revision : negotiated);
  });
  // Not spread, because over HTTP the session starts later.
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

/** Params of `initialize`. Default: the revision under test. */
export function initialize(id: unknown, introduction: Introduction = {}): Message {
  const protocolVersion = combinationUnderTest()?.revision;
  return initializeAs(id, protocolVersion ? { protocolVersion, ...introduction } : introduction);
}

/** The client's revision. Default: the one under test. */
function revisionUnderTest(): { readonly revision?: string } {
  const revision = combinationUnderTest()?.revision;
  return revision ? { revision } : {};
}

/** Starts and initializes a session. */
export async function operate(
  features: Partial<ServerDefinition>,
  options?: ServingOptions,
): Promise<Serving> {
  const serving = serve(features, options);
  await serving.peer.handshake();
  // A POST takes several promises; without waiting, the clock could advance before the session is
  // initialized.
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
    // Also tests values that the types forbid, because handlers may be JavaScript.
    handler: handler as (args: unknown, context: HandlerContext) => ToolOutput,
  });
}

/** Returns its arguments as text. */
export const echo: Tool = tool('echo', (args) => JSON.stringify(args));

/** A session with one completed call, for tests about running calls. */
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
