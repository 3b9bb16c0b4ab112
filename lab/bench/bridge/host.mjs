/**
 * A host to be killed: `node host.mjs stdio ARGS...` launches a bridge, `node host.mjs http URL`
 * begins three sessions with a stream each. Prints a line once it gets a response.
 */
import { spawn } from 'node:child_process';

const [way, ...rest] = process.argv.slice(2);
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '0.0.0' },
  },
});
const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });

async function overStdio() {
  const bridge = spawn(process.execPath, rest, { stdio: ['pipe', 'pipe', 'ignore'] });
  bridge.stdin.write(`${initialize}\n`);
  await new Promise((resolve) => bridge.stdout.once('data', resolve));
  bridge.stdin.write(`${initialized}\n`);
}

async function overHttp() {
  const [url] = rest;
  const both = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  };
  for (let session = 0; session < 3; session++) {
    const greeting = await fetch(url, { method: 'POST', headers: both, body: initialize });
    const id = greeting.headers.get('mcp-session-id');
    await greeting.text();
    const headers = { ...both, 'mcp-session-id': id };
    await fetch(url, { method: 'POST', headers, body: initialized });
    await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } });
  }
}

await (way === 'stdio' ? overStdio() : overHttp());
process.stdout.write('answered\n');
setInterval(() => {}, 60_000);
