/** A server that requires access tokens, and an additional scope for its second tool. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const { PORT: port = '3000', ISSUER: issuer = 'https://auth.example.com' } = process.env;

const notes = new Map([['first', 'Buy milk']]);

const server = createMcpServer({
  name: 'notes',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'count_notes',
      description: 'Counts the notes, and says for whom.',
      handler: (_args, { principal }) => `${principal?.subject} has ${notes.size}`,
    }),
    defineTool({
      name: 'clear_notes',
      description: 'Deletes all notes.',
      scopes: ['notes:write'],
      handler: () => {
        notes.clear();
        return 'Deleted';
      },
    }),
  ],
});

await serve(server, {
  http: {
    port: Number(port),
    authorization: {
      issuer,
      // Public URL of the endpoint; tokens for another audience are rejected.
      audience: 'https://mcp.example.com/mcp',
      requiredScopes: ['notes:read'],
    },
  },
});
