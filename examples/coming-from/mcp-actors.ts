/**
 * Ten common tasks, compared in docs/coming-from.md. sdk.ts does the same with the official SDK,
 * fastmcp.mjs with fastmcp.
 *
 * npx tsx examples/coming-from/mcp-actors.ts
 */
// #region serving
import {
  createMcpServer,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  ToolError,
} from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { z } from 'zod';
// #endregion

const notes = new Map([['first', 'Buy milk']]);

// #region tool
const addNote = defineTool({
  name: 'add_note',
  description: 'Adds a note.',
  inputSchema: z.object({ id: z.string(), text: z.string().default('') }),
  handler: ({ id, text }) => {
    notes.set(id, text);
    return `Added ${id}`;
  },
});
// #endregion

// #region structured
const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a note.',
  inputSchema: z.object({ id: z.string() }),
  outputSchema: z.object({ words: z.int() }),
  handler: ({ id }) => ({ structured: { words: (notes.get(id) ?? '').split(' ').length } }),
});
// #endregion

// #region failure
const readNote = defineTool({
  name: 'read_note',
  description: 'Reads a note.',
  inputSchema: z.object({ id: z.string() }),
  handler: ({ id }) => {
    const text = notes.get(id);
    if (text === undefined) throw new ToolError(`There is no note "${id}"`, { code: 'NO_NOTE' });
    return text;
  },
});
// #endregion

// #region resource
const welcome = defineResource({
  uri: 'notes://welcome',
  name: 'welcome',
  mimeType: 'text/plain',
  read: () => 'One thought each.',
});
// #endregion

// #region template
const note = defineResourceTemplate({
  uriTemplate: 'notes://all/{id}',
  name: 'note',
  list: () => [...notes.keys()].map((id) => ({ uri: `notes://all/${id}`, name: id })),
  complete: { id: (typed) => [...notes.keys()].filter((id) => id.startsWith(typed)) },
  read: (_uri, { id }) => notes.get(id),
});
// #endregion

// #region prompt
const summary = definePrompt({
  name: 'summary',
  description: 'Sums up a note.',
  arguments: z.object({ id: z.string() }),
  get: ({ id }) => `Sum up: ${notes.get(id)}`,
});
// #endregion

// #region progress
const exportNotes = defineTool({
  name: 'export_notes',
  description: 'Exports all notes.',
  handler: (_args, context) => {
    let done = 0;
    for (const id of notes.keys()) {
      context.signal.throwIfAborted();
      context.log.info(`Exporting ${id}`);
      context.progress(++done, { total: notes.size });
    }
    return `Exported ${done}`;
  },
});
// #endregion

// #region asking
const clearNotes = defineTool({
  name: 'clear_notes',
  description: 'Deletes all notes, if the user agrees.',
  handler: async (_args, context) => {
    const answer = await context.elicit({
      message: 'Delete all notes?',
      schema: z.object({ sure: z.boolean() }),
    });
    if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing is deleted';
    notes.clear();
    return 'Deleted';
  },
});
// #endregion

// #region roots
const where = defineTool({
  name: 'where',
  description: 'Says in which folders the client works.',
  handler: async (_args, context) => {
    const { roots } = await context.roots();
    return roots.map(({ uri }) => uri).join(' ');
  },
});
// #endregion

// #region serving
const server = createMcpServer({
  name: 'notes',
  version: '1.0.0',
  logging: {},
  tools: [addNote, countWords, readNote, exportNotes, clearNotes, where],
  resources: [welcome],
  resourceTemplates: [note],
  prompts: [summary],
});

await serve(server);
// #endregion
