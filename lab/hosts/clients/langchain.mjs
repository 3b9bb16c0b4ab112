/**
 * LangChain's adapters: the model receives the content of a tool message, or the text of a thrown
 * error.
 */
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

export async function connect(launch) {
  const client = new MultiServerMCPClient({
    mcpServers: { tried: { transport: 'stdio', ...launch } },
  });
  const tools = await client.getTools();
  return {
    tools: () => tools.map(({ name }) => name),
    call: async (name, args) => {
      const tool = tools.find((each) => each.name === name);
      try {
        const message = await tool.invoke({ type: 'tool_call', id: '1', name, args });
        return message.content;
      } catch (error) {
        return error.message;
      }
    },
    close: () => client.close(),
  };
}
