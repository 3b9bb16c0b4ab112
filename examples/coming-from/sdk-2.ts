/**
 * Differences in the official SDK 2, compared in docs/coming-from.md.
 *
 * npx tsx examples/coming-from/sdk-2.ts
 */
// #region serving
import { McpServer, acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
// #endregion

const notes = new Map([['first', 'Buy milk']]);

function addTools(server: McpServer): void {
  // #region tool
  server.registerTool(
    'add_note',
    {
      description: 'Adds a note.',
      inputSchema: z.object({ id: z.string(), text: z.string().default('') }),
    },
    ({ id, text }) => {
      notes.set(id, text);
      return { content: [{ type: 'text', text: `Added ${id}` }] };
    },
  );
  // #endregion

  // #region progress
  server.registerTool(
    'export_notes',
    { description: 'Exports all notes.' },
    async ({ mcpReq: { signal, notify, log, _meta } }) => {
      let progress = 0;
      for (const id of notes.keys()) {
        signal.throwIfAborted();
        await log('info', `Exporting ${id}`);
        progress++;
        if (_meta?.progressToken !== undefined) {
          await notify({
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
  const sure = z.object({ sure: z.boolean() });
  server.registerTool(
    'clear_notes',
    { description: 'Deletes all notes, if the user agrees.' },
    ({ mcpReq }) => {
      if (!mcpReq.inputResponses) {
        const ask = inputRequired.elicit({ message: 'Delete all notes?', requestedSchema: sure });
        return inputRequired({ inputRequests: { ask } });
      }
      const answer = acceptedContent(mcpReq.inputResponses, 'ask', sure);
      if (answer?.sure === true) notes.clear();
      const text = answer?.sure === true ? 'Deleted' : 'Nothing is deleted';
      return { content: [{ type: 'text', text }] };
    },
  );
  // #endregion
}

// #region serving
serveStdio(() => {
  const server = new McpServer(
    { name: 'notes', version: '1.0.0' },
    { capabilities: { logging: {} } },
  );
  addTools(server);
  return server;
});
// #endregion
