/** A server with tasks stored in a directory. */
import { createMcpServer } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { taskTools } from './task-tools.ts';

const [, , directory] = process.argv;

const server = createMcpServer({ name: 'durable', version: '1.0.0', tools: taskTools('optional') });

await serve(server, directory === undefined ? {} : { durable: directory });
