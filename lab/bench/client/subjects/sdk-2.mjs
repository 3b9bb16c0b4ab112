import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const modes = { legacy: 'legacy', modern: { pin: '2026-07-28' } };

/** Opens a connection. The era is fixed, so that all clients send the same. */
export async function open({ command, args, url }, { era }) {
  const client = new Client(
    { name: 'bench', version: '1.0.0' },
    { versionNegotiation: { mode: modes[era] } },
  );
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args });
  await client.connect(transport);
  let listed;
  return {
    list: async () => (await client.listTools()).tools,
    // Validates results of listed tools.
    checked: async (name, text) => {
      await (listed ??= client.listTools());
      return client.callTool({ name, arguments: { text } });
    },
    call: (name, text) => client.callTool({ name, arguments: { text } }, { timeout: 600_000 }),
    close: () => client.close(),
  };
}
