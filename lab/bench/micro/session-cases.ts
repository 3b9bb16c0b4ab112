/**
 * A complete session in one process without pipes: the cost of a message from its bytes to those of
 * its response.
 */
import { createMcpServer } from '../../../src/server/create-server.ts';
import { memory } from '../../../src/transports/memory.ts';
import { defineTool } from '../../../src/server/define/tool.ts';
import type { MicroCase } from './micro-case.ts';

const perChunk = 500;

/** An echo server after its handshake and first call. */
export async function sessionCases(): Promise<readonly MicroCase[]> {
  const { transport, peer } = memory();
  createMcpServer({
    name: 'micro',
    version: '0.0.0',
    tools: [
      defineTool({
        name: 'echo',
        description: 'Gives the text back.',
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          required: ['text'],
        },
        handler: ({ text }) => text,
      }),
    ],
  }).listen(transport);
  let answers = 0;
  const first = new Promise<void>((resolve) => {
    peer.received$.subscribe((message) => {
      answers++;
      if (typeof message === 'object' && message && 'id' in message && message.id === 1) resolve();
    });
  });
  const clientInfo = { name: 'micro', version: '0.0.0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  peer.send(
    { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    callOf(1),
  );
  await first;

  const chunkOf = (message: (id: number) => object) =>
    Array.from({ length: perChunk }, (_, id) => `${JSON.stringify(message(id))}\n`).join('');
  const calls = chunkOf(callOf);
  const pings = chunkOf((id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
  const exchange = (chunk: string) => async () => {
    peer.sendRaw(chunk);
    // Responses are sent in microtasks.
    await Promise.resolve();
    return answers;
  };
  return [
    { name: 'session: a ping, from bytes to bytes', messages: perChunk, run: exchange(pings) },
    { name: 'session: a call with a validated input', messages: perChunk, run: exchange(calls) },
  ];
}

function callOf(id: number): object {
  return {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: `text number ${id}` } },
  };
}
