/**
 * A lab: the runtime over stdio without the workspace, for experiments, tests and the documentation.
 *
 *     npx tsx examples/lab/server.ts
 */
import { createMcpServer, describeDump } from 'mcp-actors';
import type { Watcher } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { ask } from './ask.ts';
import { echo, listRoots, slow } from './tools.ts';

const server = createMcpServer({
  name: 'lab',
  title: 'Laboratory',
  version: '1.0.0',
  instructions: 'Tools for trying out a session: roots, cancellation, requests to the client.',
  tools: [listRoots, slow, echo, ask],
});

// #region dump on a signal
/** Why does it not go on? kill -USR2 PID */
const tellOnSignal: Watcher = ({ dump }) => {
  process.on('SIGUSR2', () => console.error(describeDump(dump())));
};

await serve(server, { watchers: [tellOnSignal] });
// #endregion
