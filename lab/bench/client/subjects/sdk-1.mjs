import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';

/** Opens a connection in the legacy era, the only one it supports. */
export async function open({ command, args, url }) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args });
  await client.connect(transport);
  let listed;
  return {
    // Validates results of listed tools.
    checked: async (name, text) => {
      await (listed ??= client.listTools());
      return client.callTool({ name, arguments: { text } });
    },
    task: async (name, text) => {
      const params = { name, arguments: { text } };
      const request = { method: 'tools/call', params };
      const { task } = await client.request(request, CreateTaskResultSchema, {
        task: { ttl: 60_000 },
      });
      return client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
    },
    call: (name, text) =>
      client.callTool({ name, arguments: { text } }, undefined, { timeout: 600_000 }),
    close: () => client.close(),
  };
}
