/**
 * The lab over stdio: the runtime without the workspace, for experiments, tests and documentation.
 *
 * npx tsx examples/lab/server.ts
 */
import { serve } from 'mcp-actors/serve';
import { laboratory } from './laboratory.ts';

await serve(laboratory);
