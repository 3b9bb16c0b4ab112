/** A server with every feature the public conformance suite tests, except transports. */
import { createMcpServer } from 'mcp-actors';
import { askingTools } from './asking-tools.ts';
import { contentTools } from './content-tools.ts';
import { prompts } from './prompts.ts';
import { reportingTools, triggersOf } from './reporting-tools.ts';
import { resourceTemplates, resources } from './resources.ts';
import { roundTools } from './round-tools.ts';
import { skills } from './skills.ts';
import { taskTools } from './task-tools.ts';

export const everything = createMcpServer({
  name: 'everything',
  title: 'Everything',
  version: '1.0.0',
  instructions: 'Each feature of a server, for trying out clients.',
  tools: [...contentTools, ...reportingTools, ...askingTools, ...roundTools, ...taskTools],
  resources,
  resourceTemplates,
  prompts,
  skills,
  logging: {},
});

for (const tool of triggersOf(everything)) everything.tools.add(tool);
