/**
 * A lab: the runtime over stdio without the workspace, for experiments, tests and the documentation.
 *
 *     npx tsx examples/lab/server.ts
 */
import { serve } from 'mcp-actors/serve';
import { laboratory } from './laboratory.ts';

await serve(laboratory);
