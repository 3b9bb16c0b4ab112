/** AI SDK: the model receives the output of `toModelOutput`. */
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';

export async function connect(launch) {
  const client = await createMCPClient({ transport: new StdioTransport(launch) });
  const tools = await client.tools();
  return {
    tools: () => Object.keys(tools),
    call: async (name, args) => {
      const output = await tools[name].execute(args, { toolCallId: '1', messages: [] });
      return tools[name].toModelOutput({ toolCallId: '1', input: args, output });
    },
    close: () => client.close(),
  };
}
