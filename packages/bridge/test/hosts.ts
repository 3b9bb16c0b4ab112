/** Hosts of both eras, of the official SDKs, before a bridge: each answers what it is asked, and notes it. */
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject, McpServer, McpSession } from 'mcp-actors';
import { memory, toSdkTransport } from 'mcp-actors';

export type Era = 'legacy' | 'modern';

export interface Note {
  readonly method: string;
  readonly params: JsonObject;
}

/** What both official clients have, as the tests use it. */
export interface Host {
  readonly era: Era;
  /** The other side. */
  readonly session: McpSession;
  /** Sends a request, and gives its result. */
  request(method: string, params?: JsonObject, options?: HostOptions): Promise<JsonObject>;
  callTool(name: string, options?: HostOptions): Promise<string>;
  notify(method: string): Promise<void>;
  /** What the server has asked, in order. */
  readonly asked: Note[];
  /** How many of the questions were withdrawn. */
  readonly withdrawn: number;
  /** Listens for changes, since 2026-07-28. */
  listen(filter: JsonObject): Promise<void>;
  /** What it has told. */
  readonly told: Note[];
  /** Resolves with the next notification of this method. */
  next(method: string): Promise<JsonObject>;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  readonly info: JsonObject;
  close(): Promise<void>;
}

export interface HostOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: JsonObject) => void;
  readonly _meta?: JsonObject;
}

/** All that a host may declare. */
export const everything = (era: Era): JsonObject => ({
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: era === 'legacy' ? { listChanged: true } : {},
});

interface Answers {
  readonly [method: string]: (params: JsonObject, signal: AbortSignal) => unknown;
}

const answers: Answers = {
  'elicitation/create': ({ mode }) =>
    mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': ({ maxTokens, tools }, signal) =>
    maxTokens === 1
      ? new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('withdrawn')));
        })
      : {
          role: 'assistant',
          model: tools ? 'with tools' : 'm',
          content: { type: 'text', text: 'Hi' },
        },
  'roots/list': () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
};

/**
 * Connects a host to a server in this process.
 *
 * @param own what it answers otherwise than the others
 */
export async function hostOf(
  era: Era,
  server: McpServer,
  capabilities: JsonObject = everything(era),
  own: Answers = {},
): Promise<Host> {
  const { transport, peer } = memory();
  const session = server.listen(transport, { report: () => {} });
  const asked: Note[] = [];
  const told: Note[] = [];
  let withdrawn = 0;
  const waiting: { method: string; resolve: (params: JsonObject) => void }[] = [];
  const heard = (note: Note) => {
    told.push(note);
    const at = waiting.findIndex(({ method }) => method === note.method);
    if (at >= 0) waiting.splice(at, 1)[0]?.resolve(note.params);
  };
  const answer = (method: string, params: JsonObject = {}, signal: AbortSignal) => {
    asked.push({ method, params });
    signal.addEventListener('abort', () => withdrawn++);
    return { ...answers, ...own }[method]?.(params, signal) as never;
  };
  const info = { name: `${era} host`, version: '1' };
  const client = (era === 'legacy'
    ? new LegacyClient(info, { capabilities })
    : new ModernClient(info, {
        capabilities,
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      })) as unknown as LegacyClient;
  const declared = {
    'elicitation/create': ['elicitation', ElicitRequestSchema],
    'sampling/createMessage': ['sampling', CreateMessageRequestSchema],
    'roots/list': ['roots', ListRootsRequestSchema],
  } as const;
  for (const [method, [capability, schema]] of Object.entries(declared)) {
    if (capabilities[capability] === undefined) continue;
    const of = (era === 'legacy' ? schema : method) as typeof ElicitRequestSchema;
    client.setRequestHandler(of, ({ params }, extra) => {
      const signal =
        era === 'legacy'
          ? extra.signal
          : (extra as unknown as { mcpReq: { signal: AbortSignal } }).mcpReq.signal;
      return answer(method, params as JsonObject, signal);
    });
  }
  client.fallbackNotificationHandler = async ({ method, params }) =>
    heard({ method, params: (params ?? {}) as JsonObject });
  await client.connect(toSdkTransport(peer) as never);
  const anything = {
    parse: (value: unknown) => value,
    safeParse: (data: unknown) => ({ success: true, data }),
  };
  const request: Host['request'] = async (method, params = {}, { _meta, ...options } = {}) =>
    (await client.request(
      { method, params: _meta ? { ...params, _meta } : params } as never,
      ...((era === 'legacy' ? [anything, options] : [options]) as [never]),
    )) as unknown as JsonObject;
  return {
    era,
    session,
    request,
    callTool: async (name, options) => {
      const { content } = (await request('tools/call', { name, arguments: {} }, options)) as {
        content: { text: string }[];
      };
      return content.map((block) => block.text).join('\n');
    },
    notify: (method) => client.notification({ method } as never),
    asked,
    told,
    get withdrawn() {
      return withdrawn;
    },
    listen: async (filter) => {
      const { listen } = client as unknown as { listen(filter: JsonObject): Promise<unknown> };
      await listen.call(client, filter);
    },
    next: (method) => new Promise((resolve) => waiting.push({ method, resolve })),
    capabilities: client.getServerCapabilities() as JsonObject,
    instructions: client.getInstructions(),
    info: client.getServerVersion() as unknown as JsonObject,
    close: async () => {
      await client.close();
      await session.closed;
    },
  };
}
