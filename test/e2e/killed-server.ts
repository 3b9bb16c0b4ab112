/**
 * A server with durable tasks, in a directory or at a URL, that kills itself with SIGKILL at a
 * point: see `deadly-store.ts`.
 */
import { createMcpServer } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { openDeadlyStore } from './deadly-store.ts';
import { taskTools } from './task-tools.ts';

const [, , where = '', point = '', name] = process.argv;

const server = createMcpServer({ name: 'killed', version: '1.0.0', tools: taskTools('required') });

await serve(server, { durable: await openDeadlyStore(where, point, name) });
