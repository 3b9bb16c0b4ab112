/**
 * A server of the era that is the first argument. Its tool `flood` sends log messages and progress
 * of 1,000 characters as fast as its output is read, and then answers. After a call of `stall` it
 * reads nothing until the file named there exists.
 */
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

const [era = 'legacy', count = '4000'] = process.argv.slice(2);
const text = 'x'.repeat(1000);
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const shared = {
  serverInfo: { name: 'flooding', version: '1' },
  capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
};
const common = era === 'modern' ? { resultType: 'complete' } : {};

async function flood({ progressToken }) {
  for (let n = 1; n <= Number(count); n++) {
    const message = { data: `${n} ${text}`, level: 'error' };
    let hasRoom = send({ method: 'notifications/message', params: message });
    if (progressToken !== undefined) {
      const params = { progressToken, progress: n, message: text };
      hasRoom = send({ method: 'notifications/progress', params });
    }
    if (!hasRoom) await once(process.stdout, 'drain');
  }
  return 'flooded';
}

const methods = {
  initialize: () => era === 'legacy' && { ...shared, protocolVersion: '2025-11-25' },
  'server/discover': () =>
    era === 'modern' && {
      ...common,
      ...shared,
      supportedVersions: ['2026-07-28'],
      ttlMs: 0,
      cacheScope: 'private',
    },
  'tools/list': () => ({
    ...common,
    ttlMs: 0,
    cacheScope: 'private',
    tools: [
      { name: 'flood', inputSchema: { type: 'object' } },
      { name: 'big', inputSchema: { type: 'object' } },
      { name: 'stall', inputSchema: { type: 'object' } },
    ],
  }),
  'resources/subscribe': () => ({}),
  'logging/setLevel': () => ({}),
  ping: () => ({}),
  'tools/call': async ({ name, arguments: { bytes = 9 } = {}, _meta = {} }) => ({
    ...common,
    content: [{ type: 'text', text: name === 'flood' ? await flood(_meta) : 'y'.repeat(bytes) }],
  }),
};

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (params?.name === 'stall') {
    const { until } = params.arguments;
    while (!existsSync(until)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
  if (id === undefined || method === undefined) return;
  const run = methods[method]?.(params ?? {});
  if (run) void Promise.resolve(run).then((result) => send({ id, result }));
  else send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
});
