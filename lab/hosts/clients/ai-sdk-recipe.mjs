/**
 * AI SDK with our tools, as docs/client.md shows. A test model requests a call, and the result it
 * receives is reported.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dynamicTool, generateText, isStepCount, jsonSchema } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
export async function connect({ command, args, cwd }) {
  // The package under test is installed in the folder where hosts start.
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

/** A model that requests one call and then finishes. */
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
