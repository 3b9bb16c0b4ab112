/**
 * A lab: the runtime over stdio without the workspace, for experiments, tests and the documentation.
 *
 *     npx tsx examples/lab/server.ts
 */
import { describeDump } from 'mcp-actors';
import type { Watcher } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { laboratory } from './laboratory.ts';

// #region dump on a signal
/** Why does it not go on? kill -USR2 PID */
const tellOnSignal: Watcher = ({ dump }) => {
  process.on('SIGUSR2', () => console.error(describeDump(dump())));
};

await serve(laboratory, { watchers: [tellOnSignal] });
// #endregion
