/** Connects the official SDK's client to one of our servers in one process. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { memory, toSdkTransport } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';

export async function connectInProcess(server: McpServer): Promise<Client> {
  const { transport, peer } = memory();
  server.listen(transport);
  const client = new Client({ name: 'host', version: '1.0.0' });
  await client.connect(toSdkTransport(peer));
  return client;
}
