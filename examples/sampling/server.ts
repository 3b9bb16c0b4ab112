import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const summarize = defineTool({
  name: 'summarize',
  description: 'Summarizes a text, with the language model of the client.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' }, words: { type: 'integer', minimum: 1, default: 50 } },
    required: ['text'],
  },
  handler: async ({ text, words }, context) => {
    // #region sample
    const sample = await context.sample({
      systemPrompt: 'You summarize. You add nothing.',
      messages: [{ role: 'user', content: `In at most ${words} words:\n\n${text}` }],
      maxTokens: 500,
    });
    return sample.text;
    // #endregion
  },
});

const server = createMcpServer({ name: 'summarizer', version: '1.0.0', tools: [summarize] });

await serve(server);
