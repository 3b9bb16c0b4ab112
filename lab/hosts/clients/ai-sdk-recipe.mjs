/** The AI SDK with tools of ours, as docs/client.md shows: a model of the test kind asks for a call, and what it is handed then is told. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dynamicTool, generateText, isStepCount, jsonSchema } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
export async function connect({ command, args, cwd }) {
  // The package that is tried is installed in the folder where hosts are started.
  const { resolve } = createRequire(join(process.cwd(), 'package.json'));
  const { connectAll, toolsForAiSdk } = await import(
    pathToFileURL(resolve('mcp-actors/client')).href
  );
  const servers = await connectAll({ mcpServers: { tried: { command, args, cwd } } });
  const tools = await toolsForAiSdk(servers, { dynamicTool, jsonSchema });
  return {
    tools: () => Object.keys(tools).map((name) => name.replace('tried__', '')),
    call: async (name, input) => {
      const model = modelThatCalls(`tried__${name}`, input);
      await generateText({ model, tools, prompt: 'Use the tool.', stopWhen: isStepCount(2) });
      return model.doGenerateCalls[1].prompt.at(-1).content;
    },
    close: () => servers.close(),
  };
}

/** Asks for one call, and then says that it is done. */
function modelThatCalls(toolName, input) {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const answer = (content, unified) => ({
    content: [content],
    finishReason: { unified, raw: undefined },
    usage,
    warnings: [],
  });
  const call = { type: 'tool-call', toolCallId: '1', toolName, input: JSON.stringify(input) };
  const doGenerate = [answer(call, 'tool-calls'), answer({ type: 'text', text: 'Done' }, 'stop')];
  return new MockLanguageModelV4({ doGenerate });
}
