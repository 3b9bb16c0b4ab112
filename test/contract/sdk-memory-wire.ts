/** The official SDK's in-memory transport pair for our session, and the client's end of it. */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { fromSdkTransport } from 'mcp-actors';
import type { TransportPair } from '../../packages/testing/src/conversation.ts';
import { gate } from 'mcp-actors/testing';
import type { TestWire } from './stream-wire.ts';

export function sdkMemory(): TransportPair<TestWire> {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const send = server.send.bind(server);
  const deliver: typeof send = (message, options) => send(message, options);
  server.send = deliver;
  let reading = gate();
  const listeners: ((frame: unknown) => void)[] = [];
  client.onmessage = (message) => {
    for (const listener of listeners) listener(message);
  };
  return {
    transport: fromSdkTransport(server),
    peer: {
      sendRaw: (chunk) => {
        const text = typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk);
        for (const line of text.split('\n')) {
          if (line !== '') void client.send(JSON.parse(line) as JSONRPCMessage);
        }
      },
      received$: { subscribe: (listener) => listeners.push(listener) },
      end: () => void client.close(),
      stopReading: () => {
        const held = (reading = gate());
        server.send = async (message, options) => {
          await held.pass();
          await send(message, options);
        };
      },
      resumeReading: () => {
        server.send = deliver;
        reading.release();
      },
      breakOutput: (error) => {
        server.send = () => Promise.reject(error as Error);
      },
      // Cannot be paused.
      paused: false,
    },
  };
}
