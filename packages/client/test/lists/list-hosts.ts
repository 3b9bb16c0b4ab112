/** The lists of a host before real servers: one of the official SDK's, and one of ours of 2026-07-28. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import type { OwnRequest } from '../../src/lists/ask-list.actor.ts';
import { Lists, defaultListLimits } from '../../src/lists/lists.ts';
import type { KeptListLimits, ListsHost } from '../../src/lists/lists.ts';
import { ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject, WireError } from '../../../../src/protocol/frames.ts';
import { createMcpServer } from '../../../../src/index.ts';
import type { ServerDefinition } from '../../../../src/index.ts';
import { unobserved } from '../../../../src/actors/transitions.ts';
import { TestClock, enveloped } from '../../../testing/src/index.ts';
import { memory } from '../../../../src/transports/memory.ts';

export interface HostOptions {
  readonly limits?: Partial<KeptListLimits>;
  readonly listens?: ListsHost['listens'];
}

/** Lists, what the server was told to have done wrong, and the requests that were sent. */
export function listsBy(request: OwnRequest, { limits, listens }: HostOptions = {}) {
  const clock = new TestClock();
  const problems: string[] = [];
  const sent: string[] = [];
  const facts: string[] = [];
  const lists = new Lists({
    clock,
    listens,
    limits: { ...defaultListLimits, ...limits },
    report: ({ name }) => facts.push(name),
    observed: unobserved,
    request: (method, params, options) => {
      sent.push(method);
      return request(method, params, options);
    },
    problem: (name, message) => problems.push(`${name} ${message}`),
  });
  onTestFinished(() => lists.end(new RuntimeError('CLOSED', 'The test is over')));
  const wait = { timeoutMs: 60_000 };
  return { clock, problems, sent, facts, lists, wait };
}

/** Before a server of the official SDK 1.x that answers as `answer` says. */
export async function beforeSdk(
  answer: (method: string, params: JsonObject) => JsonObject | Promise<JsonObject>,
  options: HostOptions & { readonly capabilities?: JsonObject } = {},
) {
  const offered = { listChanged: true };
  const { capabilities = { tools: offered, prompts: offered, resources: offered } } = options;
  const server = new Server({ name: 'sdk', version: '1' }, { capabilities });
  server.fallbackRequestHandler = async ({ method, params }) =>
    answer(method, (params ?? {}) as JsonObject);
  const client = new Client({ name: 'host', version: '1' });
  const host = listsBy(async (method, params, { signal }) => {
    try {
      const sent = { method, ...(params ? { params } : {}) };
      return await client.request(sent, ResultSchema, signal ? { signal } : {});
    } catch (error) {
      throw error instanceof McpError ? new ProtocolError(error.code, error.message) : error;
    }
  }, options);
  client.fallbackNotificationHandler = async ({ method, params }) =>
    host.lists.heard(method, params as JsonObject | undefined);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  onTestFinished(() => client.close());
  const declared = (client.getServerCapabilities() ?? {}) as JsonObject;
  host.lists.opened({ capabilities: declared, era: 'legacy' });
  return { ...host, server, capabilities: declared };
}

/** Before a server of ours that speaks 2026-07-28. */
export function beforeModern(definition: Partial<ServerDefinition>, options: HostOptions = {}) {
  const server = createMcpServer({ name: 'modern', version: '1', ...definition });
  const { transport, peer } = memory();
  const session = server.listen(transport, { report: () => {} });
  onTestFinished(() => session.shutdown('the test is over'));
  const pending = new Map<number, (answer: JsonObject) => void>();
  const received: JsonObject[] = [];
  let ids = 0;
  const host = listsBy(
    (method, params, { signal, sent }) =>
      new Promise((resolve, reject) => {
        const id = ++ids;
        pending.set(id, ({ result, error }) => {
          const { code, message } = (error ?? {}) as WireError;
          if (isJsonObject(result)) resolve(result);
          else reject(new ProtocolError(code, message));
        });
        signal?.addEventListener('abort', () => {
          const params = { requestId: id };
          peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
          reject(new RuntimeError('CANCELLED', 'cancelled'));
        });
        sent?.(id);
        peer.send(enveloped(id, method, params));
      }),
    options,
  );
  peer.received$.subscribe((frame) => {
    const message = frame as JsonObject & { readonly id?: number; readonly method?: string };
    received.push(message);
    if (message.method !== undefined && message.id === undefined) {
      host.lists.heard(message.method, message['params'] as JsonObject | undefined);
    } else if (message.id !== undefined) {
      pending.get(message.id)?.(message);
    }
  });
  /** As after `server/discover`. */
  const open = (capabilities: JsonObject) => host.lists.opened({ capabilities, era: 'modern' });
  return { ...host, server, session, received, open };
}
