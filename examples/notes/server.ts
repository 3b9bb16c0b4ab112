/**
 * The notes over stdio.
 *
 *     npx tsx examples/notes/server.ts
 */
import { stdio } from 'mcp-actors';
import { server } from './notes.ts';

await server.listen(stdio()).closed;
