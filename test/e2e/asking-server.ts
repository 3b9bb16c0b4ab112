/**
 * A server with one tool that sends all kinds of requests to its client: elicitation, sampling and
 * roots, one by one or at once.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const askEverything = defineTool({
  name: 'ask_everything',
  description: 'Asks a person, the model, and for the roots.',
  inputSchema: {
    type: 'object',
    properties: { atOnce: { type: 'boolean' } },
    required: ['atOnce'],
  },
  handler: async ({ atOnce }, context) => {
    const person = () =>
      context.elicit({
        message: 'Who are you?',
        schema: { type: 'object', properties: { name: { type: 'string' } } },
      });
    const model = () =>
      context.sample({ messages: [{ role: 'user', content: 'Say hello' }], maxTokens: 9 });
    const roots = () => context.roots();
    const [form, sample, report] = atOnce
      ? await Promise.all([person(), model(), roots()])
      : [await person(), await model(), await roots()];
    const name = form.action === 'accept' ? form.content.name : 'nobody';
    return `${name}: ${sample.text} ${report.roots.map(({ uri }) => uri).join(' ')}`;
  },
});

await serve(createMcpServer({ name: 'asking', version: '1.0.0', tools: [askEverything] }));
