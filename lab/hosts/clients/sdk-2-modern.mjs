/** The client of the official SDK, version 2, that speaks 2026-07-28 and nothing else. */
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
