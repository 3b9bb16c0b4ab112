/**
 * A server whose only tool runs a child process until cancelled, and then waits for its end. The
 * argument is the drain time, ms.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createMcpServer, defineTool, stdio } from 'mcp-actors';

const run = defineTool({
  name: 'run',
  description: 'Runs a process that never ends by itself',
  inputSchema: { type: 'object' },
  handler: async (_, { signal }) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      stdio: 'ignore',
    });
    console.error(JSON.stringify({ event: 'child', message: child.pid }));
    signal.addEventListener('abort', () => child.kill('SIGKILL'));
    await once(child, 'close');
    return 'gone';
  },
});

const server = createMcpServer({ name: 'spawning', version: '1.0.0', tools: [run] });
await server.listen(stdio(), { limits: { drainTimeoutMs: Number(process.argv[2]) } }).closed;
process.exit(0);
