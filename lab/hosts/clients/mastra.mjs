/**
 * Mastra: the model receives the result of a tool's `execute` as JSON, or the text of a thrown
 * error.
 */
import { MCPClient } from '@mastra/mcp';

export async function connect(launch) {
  const client = new MCPClient({
    servers: { tried: { ...launch, enableServerLogs: false } },
  });
  const tools = await client.listTools();
  return {
    tools: () => Object.keys(tools).map((name) => name.replace('tried_', '')),
    call: (name, args) => tools[`tried_${name}`].execute(args).catch((error) => error.message),
    close: () => client.disconnect(),
  };
}
