/**
 * The notes server over stdio.
 *
 * npx tsx examples/notes/server.ts
 */
import { serve } from 'mcp-actors/serve';
import { server } from './notes.ts';

await serve(server);
