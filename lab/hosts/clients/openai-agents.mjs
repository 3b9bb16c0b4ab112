/** OpenAI's Agents SDK: the model receives the results of its function tools. */
import { MCPServerStdio, RunContext, getAllMcpTools } from '@openai/agents';

export async function connect(launch) {
  const server = new MCPServerStdio({ name: 'tried', ...launch });
  await server.connect();
  const tools = await getAllMcpTools([server]);
  return {
    tools: () => tools.map(({ name }) => name),
    call: (name, args) =>
      tools.find((tool) => tool.name === name).invoke(new RunContext(), JSON.stringify(args)),
    close: () => server.close(),
  };
}
