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
import { converse, turn } from 'mcp-actors/testing';
import type { Conversation, ConversationOptions, Introduction } from 'mcp-actors/testing';
import { expect, onTestFinished } from 'vitest';
import { officialSchemas } from './official-schemas.ts';
import { sdkMemory } from './sdk-memory-wire.ts';
import { sdkStreams, streams } from './stream-wire.ts';
import type { TestWire } from './stream-wire.ts';
import { TestClock } from './test-clock.ts';

/** The revisions of the legacy era, oldest first. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

const transports = {
  memory,
  stdio: streams,
  'SDK memory': sdkMemory,
  'SDK stdio': sdkStreams,
} as const;

export type TransportName = keyof typeof transports;

/** Our own transports: they read bytes, answer what is no message, and know the end of the input from the end of the output. */
const byteTransports = ['memory', 'stdio'] as const;

/** Every revision over every transport. */
export const combinations = everyRevision([...byteTransports, 'SDK memory', 'SDK stdio']);

/** Every revision over our own transports. */
export const byteCombinations = everyRevision(byteTransports);

function everyRevision(names: readonly TransportName[]) {
  return revisions.flatMap((revision) => names.map((transport) => ({ revision, transport })));
}

export interface Serving extends Conversation<TestWire> {
  readonly server: McpServer;
  readonly clock: TestClock;
}

export interface ServingOptions extends Omit<ConversationOptions, 'check' | 'clock'> {
  readonly transport?: TransportName;
}

/** Starts a session of a server that has these features; it is checked and ended when the test is. */
export function serve(features: Partial<ServerDefinition>, options?: ServingOptions): Serving {
  return connect(createMcpServer({ name: 'under-test', version: '1.0.0', ...features }), options);
}

/** Does the same for a server that there is already. */
export function connect(
  server: McpServer,
  { transport = 'memory', ...options }: ServingOptions = {},
): Serving {
  const clock = new TestClock();
  const connection = transports[transport]();
  const conversation = converse(
    server,
    { wallClock: () => new Date(clock.now()), ...options, clock, check: officialSchemas },
    connection,
  );
  onTestFinished(async () => {
    const { session, peer, wire } = conversation;
    const isOpen = () => session.actor.getSnapshot().status === 'active';
    wire.resumeReading();
    if (isOpen()) session.shutdown('the test has ended');
    await turn();
    // A handler that the test has left hanging holds the session until its deadline.
    if (isOpen()) clock.increment(options.limits?.drainTimeoutMs ?? defaultLimits.drainTimeoutMs);
    await session.closed;
    expect(peer.violations).toEqual([]);
    expect(clock.liveTimers).toBe(0);
  });
  return { ...conversation, server, clock };
}

export interface OperationOptions extends ServingOptions {
  readonly revision?: string;
  readonly capabilities?: Introduction['capabilities'];
}

/** Starts a session and brings it into operation. */
export async function operate(
  features: Partial<ServerDefinition>,
  { revision = '2025-11-25', capabilities = {}, ...options }: OperationOptions = {},
): Promise<Serving> {
  const serving = serve(features, options);
  await serving.peer.handshake({ protocolVersion: revision, capabilities });
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

/** The first call of a session waits for the validator to be loaded, and others with it; tests of what runs when begin after that. */
export async function operateWarm(
  features: Partial<ServerDefinition>,
  options?: OperationOptions,
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
