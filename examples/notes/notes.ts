/** A notes server with every server feature that changes while it runs. */
import {
  createMcpServer,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
} from 'mcp-actors';
import type { McpServer } from 'mcp-actors';

const notes = new Map([
  ['ann/2025/plan', 'Write it down'],
  ['ann/2025/report', 'It is written'],
  ['bob/ideas', 'Sleep on it'],
]);

const users = () => [...new Set([...notes.keys()].map((key) => key.split('/')[0] ?? ''))];

// #region tool
const writeNote = defineTool({
  name: 'write_note',
  description: 'Writes a note, or writes it anew.',
  inputSchema: {
    type: 'object',
    properties: { user: { type: 'string' }, path: { type: 'string' }, text: { type: 'string' } },
    required: ['user', 'path', 'text'],
  },
  handler: ({ user, path, text }) => {
    const key = `${user}/${path}`;
    const isNew = !notes.has(key);
    notes.set(key, text);
    // Notifies subscribed clients.
    server.resourceUpdated(`notes://${key}`);
    // Notifies all clients if the list has grown.
    if (isNew) server.resourceTemplates.announce();
    return `Written: notes://${key}`;
  },
});
// #endregion

// #region resource
const welcome = defineResource({
  uri: 'notes://welcome',
  name: 'welcome',
  title: 'How to take notes',
  mimeType: 'text/markdown',
  annotations: { audience: ['user'], priority: 0.8 },
  read: () => '# Notes\n\nOne thought each.',
});
// #endregion

// #region template
const note = defineResourceTemplate({
  uriTemplate: 'notes://{user}/{+path}',
  name: 'note',
  description: "A user's note",
  mimeType: 'text/plain',
  list: () =>
    [...notes].map(([key, text]) => ({ uri: `notes://${key}`, name: key, size: text.length })),
  complete: {
    user: (value) => users().filter((user) => user.startsWith(value)),
    path: (value, { user }) =>
      [...notes.keys()]
        .filter((key) => key.startsWith(`${user}/${value}`))
        .map((key) => key.slice(`${user}/`.length)),
  },
  // The template makes `user` and `path` strings; returning undefined means "not found".
  read: (_uri, { user, path }) => notes.get(`${user}/${path}`),
});
// #endregion

// #region prompt
const summary = definePrompt({
  name: 'summary',
  title: "Sum up somebody's notes",
  arguments: {
    user: { description: 'Whose', required: true, complete: note.complete?.['user'] },
    length: { description: 'In how many words' },
  },
  get: ({ user, length = '50' }) => [
    {
      role: 'user',
      content: { type: 'text', text: `Sum up these notes in ${length} words at most.` },
    },
    ...[...notes]
      .filter(([key]) => key.startsWith(`${user}/`))
      .map(([key, text]) => ({
        role: 'user' as const,
        content: { type: 'resource' as const, resource: { uri: `notes://${key}`, text } },
      })),
  ],
});
// #endregion

// #region server
export const server: McpServer = createMcpServer({
  name: 'notes',
  version: '1.0.0',
  tools: [writeNote],
  resources: [welcome],
  resourceTemplates: [note],
  prompts: [summary],
});
// #endregion

// #region changing
const forgetAll = defineTool({
  name: 'forget_all',
  description: 'Forgets every note.',
  annotations: { destructiveHint: true },
  handler: () => {
    notes.clear();
    server.resourceTemplates.announce();
    return 'Forgotten';
  },
});

/** Adds or removes a tool that cannot be undone. All connected clients are notified. */
export function allowForgetting(isAllowed: boolean): void {
  if (isAllowed) server.tools.add(forgetAll);
  else server.tools.remove(forgetAll.name);
}
// #endregion
