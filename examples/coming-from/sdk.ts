/**
 * Ten common tasks with the official SDK, compared in docs/coming-from.md.
 *
 * npx tsx examples/coming-from/sdk.ts
 */
// #region serving
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer(
  { name: 'notes', version: '1.0.0' },
  { capabilities: { logging: {} } },
);
// #endregion

const notes = new Map([['first', 'Buy milk']]);

// #region tool
server.registerTool(
  'add_note',
  {
    description: 'Adds a note.',
    inputSchema: { id: z.string(), text: z.string().default('') },
  },
  ({ id, text }) => {
    notes.set(id, text);
    return { content: [{ type: 'text', text: `Added ${id}` }] };
  },
);
// #endregion

// #region structured
server.registerTool(
  'count_words',
  {
    description: 'Counts the words of a note.',
    inputSchema: { id: z.string() },
    outputSchema: { words: z.int() },
  },
  ({ id }) => {
    const structuredContent = { words: (notes.get(id) ?? '').split(' ').length };
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    };
  },
);
// #endregion

// #region failure
server.registerTool(
  'read_note',
  { description: 'Reads a note.', inputSchema: { id: z.string() } },
  ({ id }) => {
    const text = notes.get(id);
    if (text === undefined) throw new Error(`There is no note "${id}"`);
    return { content: [{ type: 'text', text }] };
  },
);
// #endregion

// #region resource
server.registerResource('welcome', 'notes://welcome', { mimeType: 'text/plain' }, (uri) => ({
  contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'One thought each.' }],
}));
// #endregion

// #region template
server.registerResource(
  'note',
  new ResourceTemplate('notes://all/{id}', {
    list: () => ({
      resources: [...notes.keys()].map((id) => ({ uri: `notes://all/${id}`, name: id })),
    }),
    complete: { id: (typed) => [...notes.keys()].filter((id) => id.startsWith(typed)) },
  }),
  {},
  (uri, { id }) => {
    const text = notes.get(String(id));
    if (text === undefined) throw new Error(`There is no note "${String(id)}"`);
    return { contents: [{ uri: uri.href, text }] };
  },
);
// #endregion

// #region prompt
server.registerPrompt(
  'summary',
  { description: 'Sums up a note.', argsSchema: { id: z.string() } },
  ({ id }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Sum up: ${notes.get(id)}` } }],
  }),
);
// #endregion

// #region progress
server.registerTool(
  'export_notes',
  { description: 'Exports all notes.' },
  async ({ signal, sendNotification, _meta }) => {
    let progress = 0;
    for (const id of notes.keys()) {
      signal.throwIfAborted();
      await server.sendLoggingMessage({ level: 'info', data: `Exporting ${id}` });
      progress++;
      if (_meta?.progressToken !== undefined) {
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken: _meta.progressToken, progress, total: notes.size },
        });
      }
    }
    return { content: [{ type: 'text', text: `Exported ${progress}` }] };
  },
);
// #endregion

// #region asking
server.registerTool(
  'clear_notes',
  { description: 'Deletes all notes, if the user agrees.' },
  async () => {
    const answer = await server.server.elicitInput({
      message: 'Delete all notes?',
      requestedSchema: {
        type: 'object',
        properties: { sure: { type: 'boolean' } },
        required: ['sure'],
      },
    });
    const isSure = answer.action === 'accept' && answer.content?.['sure'] === true;
    if (isSure) notes.clear();
    return { content: [{ type: 'text', text: isSure ? 'Deleted' : 'Nothing is deleted' }] };
  },
);
// #endregion

// #region roots
server.registerTool(
  'where',
  { description: 'Says in which folders the client works.' },
  async () => {
    const { roots } = await server.server.listRoots();
    return { content: [{ type: 'text', text: roots.map(({ uri }) => uri).join(' ') }] };
  },
);
// #endregion

// #region serving
await server.connect(new StdioServerTransport());
// #endregion
