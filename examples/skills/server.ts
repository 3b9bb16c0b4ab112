/**
 * A server that explains the use of its tool in skills, which hosts show to a model when needed.
 */
import { fileURLToPath } from 'node:url';
import { createMcpServer, defineSkill, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { skillsFrom } from 'mcp-actors/skills';

const listRefunds = defineTool({
  name: 'list_refunds',
  description: 'Lists the refunds of a month.',
  inputSchema: { type: 'object', properties: { month: { type: 'string' } }, required: ['month'] },
  annotations: { readOnlyHint: true },
  handler: ({ month }) => `There are no refunds in ${month}`,
});

// #region define
const refunds = defineSkill({
  name: 'refunds',
  directory: 'acme/billing',
  description: 'Handles a refund as the company wants it. For when a customer wants money back.',
  frontmatter: { license: 'MIT', metadata: { owner: 'billing' } },
  instructions: `# Refunds

Up to 50 € are paid back at once. For more, write [the letter](letters/asking.md).`,
  files: { 'letters/asking.md': 'Dear colleague,\n\nmay I pay back AMOUNT to CUSTOMER?\n' },
});
// #endregion

// #region directory
const inDirectory = skillsFrom(fileURLToPath(new URL('skills', import.meta.url)));

export const server = createMcpServer({
  name: 'shop',
  version: '1.0.0',
  tools: [listRefunds],
  skills: async (context) => [refunds, ...(await inDirectory(context))],
});
// #endregion

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(server);
