import { stdio } from 'mcp-actors';
import { server } from './server.ts';

await server.listen(stdio()).closed;
