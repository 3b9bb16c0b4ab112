import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** Opens a connection. It knows the older era alone. */
export async function open({ command, args, url }) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args });
  await client.connect(transport);
  return {
    call: (name, text) =>
      client.callTool({ name, arguments: { text } }, undefined, { timeout: 600_000 }),
    close: () => client.close(),
  };
}
