/** A host's answers before a server of the official SDK that asks. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { Answers } from '../../src/asked/answers.ts';
import type { Providers } from '../../src/asked/providers.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** A server of the SDK, and a host that answers it. */
export async function asking(providers: Providers, given?: JsonObject) {
  const heard: string[] = [];
  const facts: string[] = [];
  const answers = new Answers(
    providers,
    {
      report: ({ level, message }) => facts.push(`${level} ${message}`),
      asked: (method) => heard.push(`asked ${method}`),
      withdrawn: (method) => heard.push(`withdrawn ${method}`),
    },
    given,
  );
  const capabilities = answers.capabilities('told');
  const client = new Client({ name: 'host', version: '1' }, { capabilities });
  client.fallbackRequestHandler = ({ method, params }, { signal }) =>
    answers.answer(method, params as JsonObject | undefined, signal);
  client.fallbackNotificationHandler = async ({ params }) =>
    answers.completed(params as JsonObject | undefined);
  const server = new Server({ name: 'sdk', version: '1' }, { capabilities: {} });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  onTestFinished(() => client.close());
  const ask = (method: string, params?: JsonObject, signal?: AbortSignal) =>
    server.request({ method, ...(params ? { params } : {}) }, ResultSchema, signal && { signal });
  return { answers, server, ask, heard, facts };
}
