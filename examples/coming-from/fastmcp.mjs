/**
 * Ten common tasks with fastmcp 4, compared in docs/coming-from.md. fastmcp is installed with the
 * benchmark: `npm ci` in lab/bench/.
 */
// #region serving
import { FastMCP, UserError } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'notes', version: '1.0.0' });
// #endregion

const notes = new Map([['first', 'Buy milk']]);

// #region tool
server.addTool({
  name: 'add_note',
  description: 'Adds a note.',
  parameters: z.object({ id: z.string(), text: z.string().default('') }),
  execute: async ({ id, text }) => {
    notes.set(id, text);
    return `Added ${id}`;
  },
});
// #endregion

// #region structured
server.addTool({
  name: 'count_words',
  description: 'Counts the words of a note.',
  parameters: z.object({ id: z.string() }),
  outputSchema: z.object({ words: z.int() }),
  execute: async ({ id }) => {
    const structuredContent = { words: (notes.get(id) ?? '').split(' ').length };
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    };
  },
});
// #endregion

// #region failure
server.addTool({
  name: 'read_note',
  description: 'Reads a note.',
  parameters: z.object({ id: z.string() }),
  execute: async ({ id }) => {
    const text = notes.get(id);
    if (text === undefined) throw new UserError(`There is no note "${id}"`);
    return text;
  },
});
// #endregion

// #region resource
server.addResource({
  uri: 'notes://welcome',
  name: 'welcome',
  mimeType: 'text/plain',
  load: async () => ({ text: 'One thought each.' }),
});
// #endregion

// #region template
server.addResourceTemplate({
  uriTemplate: 'notes://all/{id}',
  name: 'note',
  arguments: [
    {
      name: 'id',
      required: true,
      complete: async (typed) => ({
        values: [...notes.keys()].filter((id) => id.startsWith(typed)),
      }),
    },
  ],
  load: async ({ id }) => {
    const text = notes.get(id);
    if (text === undefined) throw new Error(`There is no note "${id}"`);
    return { text };
  },
});
// #endregion

// #region prompt
server.addPrompt({
  name: 'summary',
  description: 'Sums up a note.',
  arguments: [{ name: 'id', required: true }],
  load: async ({ id }) => `Sum up: ${notes.get(id)}`,
});
// #endregion

// #region progress
server.addTool({
  name: 'export_notes',
  description: 'Exports all notes.',
  execute: async (_args, { log, reportProgress, signal }) => {
    let progress = 0;
    for (const id of notes.keys()) {
      signal.throwIfAborted();
      log.info(`Exporting ${id}`);
      await reportProgress({ progress: ++progress, total: notes.size });
    }
    return `Exported ${progress}`;
  },
});
// #endregion

// #region asking
server.addTool({
  name: 'clear_notes',
  description: 'Deletes all notes, if the user agrees.',
  execute: async (_args, { elicit }) => {
    const answer = await elicit({
      message: 'Delete all notes?',
      requestedSchema: {
        type: 'object',
        properties: { sure: { type: 'boolean' } },
        required: ['sure'],
      },
    });
    if (answer.action !== 'accept' || answer.content?.sure !== true) return 'Nothing is deleted';
    notes.clear();
    return 'Deleted';
  },
});
// #endregion

// #region roots
const connected = new Promise((resolve) =>
  server.once('connect', ({ session }) => resolve(session)),
);

server.addTool({
  name: 'where',
  description: 'Says in which folders the client works.',
  execute: async () => {
    const { roots } = await connected;
    return roots.map(({ uri }) => uri).join(' ');
  },
});
// #endregion

// #region serving
await server.start({ transportType: 'stdio' });
// #endregion
