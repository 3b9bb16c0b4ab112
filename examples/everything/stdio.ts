/**
 * The everything server over stdio.
 *
 *     npx tsx examples/everything/stdio.ts
 */
import { serve } from 'mcp-actors/serve';
import { everything } from './server.ts';

await serve(everything);
