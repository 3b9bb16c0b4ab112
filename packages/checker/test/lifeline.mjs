/**
 * Preloaded into a server. The server and a child process it leaves behind hold connections to the
 * port LIFELINE as long as they live. The server starts once both are connected.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const port = Number(process.env.LIFELINE);
const left = `require('node:net').connect(${port}, () => process.send('connected'));`;
const child = spawn(process.execPath, ['-e', left], {
  stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
});
await once(child, 'message');
child.disconnect();
child.unref();
const line = connect(port);
await once(line, 'connect');
line.unref();
