import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export async function open(command, args) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command, args }));
  return {
    call: (name, text) =>
      client.callTool({ name, arguments: { text } }, undefined, { timeout: 600_000 }),
    close: () => client.close(),
  };
}
