/**
 * A lab: the runtime over stdio without the workspace, for experiments, tests and the documentation.
 *
 *     npx tsx examples/lab/server.ts
 */
import { createMcpServer, describeDump, stdio } from 'mcp-actors';
import { ask } from './ask.ts';
import { echo, listRoots, slow } from './tools.ts';

const session = createMcpServer({
  name: 'lab',
  title: 'Laboratory',
  version: '1.0.0',
  instructions: 'Tools for trying out a session: roots, cancellation, requests to the client.',
  tools: [listRoots, slow, echo, ask],
}).listen(stdio());

process.once('SIGINT', () => session.shutdown('SIGINT'));
process.once('SIGTERM', () => session.shutdown('SIGTERM'));
// Why does it not go on? kill -USR2 PID
process.on('SIGUSR2', () => console.error(describeDump(session.dump())));

const { kind } = await session.closed;
process.exit(kind === 'failure' ? 1 : 0);
