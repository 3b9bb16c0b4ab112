/**
 * A server of the legacy era that dies, or stops answering, at a point of its conversation. Its arguments: what it does, `exit` or
 * `hang`; at which message, or at `start`; in how many of its first runs; and a folder, where it notes each run and each message.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [how, where, times = 'Infinity', folder = '.'] = process.argv.slice(2);
const runsFile = join(folder, 'runs');
/** @type {number[]} */
const runs = JSON.parse(readFileSync(runsFile, { encoding: 'utf8', flag: 'a+' }) || '[]');

for (const pid of runs) {
  try {
    process.kill(pid, 0);
    appendFileSync(join(folder, 'overlaps'), `${pid} and ${process.pid}\n`);
  } catch {
    // It has ended, as it should have.
  }
}
runs.push(process.pid);
writeFileSync(runsFile, JSON.stringify(runs));

/** @param {string | undefined} point */
function reach(point) {
  if (point !== where || runs.length > Number(times)) return false;
  if (how === 'exit') {
    process.stderr.write(`ended at ${point}\n`, () => process.exit(9));
  }
  // It hangs, deaf to everything but SIGKILL.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {});
  setInterval(() => {}, 1000);
  return true;
}

const serverInfo = { name: 'crashing', version: '1.0.0' };
const capabilities = { tools: {} };
const tool = { name: 'act', inputSchema: { type: 'object' } };

/** @param {string} method @param {string} version */
function resultOf(method, version) {
  if (method === 'initialize') return { protocolVersion: version, capabilities, serverInfo };
  if (method === 'tools/list') return { tools: [tool] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: `run ${runs.length}` }] };
  return method === 'ping' ? {} : undefined;
}

if (!reach('start')) {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    appendFileSync(join(folder, 'messages'), `${method}\n`);
    if (reach(method)) return void lines.removeAllListeners('line');
    if (id === undefined) return;
    const result = resultOf(method, params?.protocolVersion);
    const error = { code: -32601, message: 'Method not found' };
    const answer = { jsonrpc: '2.0', id, ...(result ? { result } : { error }) };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    if (reach(`after ${method}`)) lines.removeAllListeners('line');
  });
}
