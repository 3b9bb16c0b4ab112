/** Client of the official SDK 2, restricted to 2026-07-28. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export async function connect(launch) {
  const versionNegotiation = { mode: { pin: '2026-07-28' } };
  const client = new Client({ name: 'sdk-2-modern', version: '1' }, { versionNegotiation });
  await client.connect(new StdioClientTransport(launch));
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}
