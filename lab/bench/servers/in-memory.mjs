/**
 * The official SDKs' servers over their own in-memory transport. One server per session, because
 * theirs only serve one.
 */
import { InMemoryTransport as Transport1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  InMemoryTransport as Transport2,
  McpServer as Server2,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const clientInfo = { name: 'micro', version: '0.0.0' };
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

function opener(McpServer, InMemoryTransport, inputSchema) {
  return async () => {
    const server = new McpServer({ name: 'micro', version: '0.0.0' });
    for (let at = 0; at < 10; at++) {
      server.registerTool(
        `echo-${at}`,
        { description: 'Gives the text back.', inputSchema },
        async ({ text }) => ({ content: [{ type: 'text', text }] }),
      );
    }
    const [client, transport] = InMemoryTransport.createLinkedPair();
    const answered = new Promise((resolve) => {
      client.onmessage = resolve;
    });
    await client.start();
    await server.connect(transport);
    await client.send(initialize);
    await answered;
    await client.send(initialized);
    return () => server.close();
  };
}

export const openSdk1 = () => opener(Server1, Transport1, { text: z.string() });
export const openSdk2 = () => opener(Server2, Transport2, z.object({ text: z.string() }));
