/** The lab server without a transport. */
import { createMcpServer, defineResource } from 'mcp-actors';
import { ask } from './ask.ts';
import { changeOf, echo, headers, listRoots, log } from './tools.ts';
import { countRunning, job, slow } from './work.ts';

const resources = ['a', 'b'].map((name) =>
  defineResource({
    uri: `lab://${name}`,
    name,
    title: `Resource ${name}`,
    description: 'A text that never changes, but may be said to: see the tool change',
    mimeType: 'text/plain',
    read: () => `This is the resource ${name}.`,
  }),
);

/** Offers each feature of a session separately. */
export const laboratory = createMcpServer({
  name: 'lab',
  title: 'Laboratory',
  version: '1.0.0',
  instructions:
    'Tools for trying out a session: roots, cancellation, questions to the client, log messages, changes, tasks.',
  tools: [listRoots, slow, countRunning, echo, ask, log, headers, job],
  resources,
  // No prompts, but clients can be notified of changes to the list.
  prompts: [],
  logging: { level: 'debug' },
});

laboratory.tools.add(changeOf(laboratory));
