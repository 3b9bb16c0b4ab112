/** A server whose tool `echo` returns the text of its arguments as it has arrived. */
import { createInterface } from 'node:readline';

const number = { type: 'integer' };
const properties = { n: number, ids: { type: 'array', items: number }, text: { type: 'string' } };
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object', properties } }] }),
  'tools/call': (_, line) => ({
    content: [{ type: 'text', text: /"arguments":(\{.*?\})[,}]/.exec(line)[1] }],
  }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = results[method]?.(params, line);
  if (id !== undefined && result) {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  } else if (id !== undefined) {
    const error = { code: -32601, message: 'Method not found' };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }
});
