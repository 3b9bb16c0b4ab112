/**
 * A tool shown as a page by hosts with MCP Apps, and as text by others.
 *
 * npx tsx examples/app/server.ts
 */
import { readFile } from 'node:fs/promises';
import { createMcpServer, defineAppResource, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

// #region app
const page = defineAppResource({
  uri: 'ui://dice/view.html',
  name: 'Dice',
  html: () => readFile(new URL('view.html', import.meta.url), 'utf8'),
  ui: { prefersBorder: true },
});

const rollDice = defineTool({
  name: 'roll_dice',
  description: 'Rolls dice.',
  ui: { resourceUri: page.uri },
  inputSchema: {
    type: 'object',
    properties: { dice: { type: 'integer', minimum: 1, maximum: 6, default: 2 } },
  },
  outputSchema: {
    type: 'object',
    properties: { rolled: { type: 'array', items: { type: 'integer' } } },
    required: ['rolled'],
  },
  handler: ({ dice = 2 }, context) => {
    const rolled = Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6));
    const text = context.supportsApps
      ? 'The user sees the dice.'
      : `The dice show ${rolled.join(', ')}.`;
    return { structured: { rolled }, content: [{ type: 'text', text }] };
  },
});
// #endregion

await serve(
  createMcpServer({ name: 'dice', version: '1.0.0', tools: [rollDice], resources: [page] }),
);
