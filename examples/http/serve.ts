import { serve } from 'mcp-actors/serve';
import { greeter } from './greeter.ts';

await serve(greeter, { http: { port: Number(process.env['PORT'] ?? 3000), health: true } });
