import { spawn } from 'node:child_process';

/** No client: what launching a server and shaking hands with it costs at least. It makes no calls. */
export async function open(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const write = (message) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const answered = new Promise((resolve) => child.stdout.once('data', resolve));
  write({ id: 1, method: 'initialize', params });
  await answered;
  write({ method: 'notifications/initialized' });
  return {
    close: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.stdin.end();
      }),
  };
}
