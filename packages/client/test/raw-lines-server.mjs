/**
 * A server over stdio that writes whatever it is told. `tools/call` with `lines` writes these first, each as
 * it is, with `$ID` for the id of the call, `$PREVIOUS` for the one before, and `\xFF` for a byte that is no UTF-8; then it answers, unless `silent` is true. Its argument: a
 * banner, written before anything else.
 */
import { createInterface } from 'node:readline';

const [banner = ''] = process.argv.slice(2);
if (banner !== '') process.stdout.write(banner);

const say = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const serverInfo = { name: 'raw', version: '1' };
const inputSchema = { type: 'object' };

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo,
  }),
  // One of them has no schema, one is none, and the last page leads to itself.
  'tools/list': ({ cursor = '0' } = {}) => ({
    tools: [{ name: `good-${cursor}`, inputSchema }, { name: 'bad' }, 7],
    nextCursor: String(Number(cursor) + 1),
  }),
  'tools/call': ({ arguments: { lines = [], repeat = 1, silent = false } = {} }, id) => {
    for (let time = 0; time < repeat; time++)
      for (const line of lines) {
        const text = line.replaceAll('$ID', String(id)).replaceAll('$PREVIOUS', String(id - 1));
        const parts = text
          .split('\\xFF')
          .flatMap((part) => [Buffer.from([0xff]), Buffer.from(part)]);
        process.stdout.write(Buffer.concat(parts.slice(1)));
      }
    return silent ? undefined : { content: [{ type: 'text', text: 'answered' }] };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const answer = results[method];
  if (!answer) return say({ id, error: { code: -32601, message: 'Method not found' } });
  const result = answer(params, id);
  if (result) say({ id, result });
});
