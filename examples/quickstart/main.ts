import { serve } from 'mcp-actors/serve';
import { server } from './server.ts';

await serve(server);
