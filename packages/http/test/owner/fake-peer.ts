/** A fake node that owns a session and answers forwarded requests as the test says. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { forwardHeader, probeMethod } from '../../src/nodes/forwarding-protocol.ts';
import { keysFrom, verify } from '../../src/forward/index.ts';
import { newNodeName } from '../../src/nodes/stores.ts';
import type { NodeAddress } from '../../src/nodes/stores.ts';
import type { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { stateKey } from './nodes.ts';

export const served = { [forwardHeader]: 'served' } as const;

/** A received request and its response. */
export interface Forwarded {
  readonly request: IncomingMessage;
  readonly body: string;
  readonly response: ServerResponse;
}

export interface FakePeer {
  readonly node: string;
  readonly url: URL;
  /** Forwarded requests, without probes. */
  readonly forwarded: readonly Forwarded[];
  /** Headers of a session it owns. */
  session(id: string): Promise<{ [name: string]: string }>;
  /** Stops accepting connections. */
  refuse(): void;
}

/** @param answer answers each request; probes only on request */
export async function fakePeer(
  shared: MemoryNodes,
  answer: (forwarded: Forwarded) => void,
  {
    protocol = 1,
    probes = 'answered',
  }: { readonly protocol?: number; readonly probes?: 'answered' | 'silent' } = {},
): Promise<FakePeer> {
  const node = newNodeName();
  const forwarded: Forwarded[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const verified = verify(String(request.headers[forwardHeader]), keysFrom([stateKey]));
    if (verified.kind === 'signed' && verified.head.method === probeMethod) {
      if (probes === 'answered') response.writeHead(204, served).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const taken = { request, response, body: Buffer.concat(chunks).toString() };
    forwarded.push(taken);
    answer(taken);
  };
  const http = createServer((request, response) => void take(request, response));
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const refuse = () => {
    http.close();
    http.closeAllConnections();
  };
  onTestFinished(refuse);
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const { directory } = shared.start();
  const address: NodeAddress = { url: url.href, protocol };
  await directory.lease(node, 'new', { address, removedSinceMs: 0 });
  return {
    node,
    url,
    forwarded,
    refuse,
    session: async (id) => {
      const facts = { initialize: '{}' };
      const record = { id, principal: undefined, owner: node, fence: 1, revision: 1, facts };
      await directory.put(record, Infinity);
      return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
    },
  };
}
