/**
 * A server over stdio that does one odd thing, by the name that it is given. It knows nothing of
 * this project.
 */
import { createInterface } from 'node:readline';

const odd = process.argv[2];
const say = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const refuse = (id, code, message, data) => say({ id, error: { code, message, data } });
const serverInfo = { name: 'odd', version: '1' };
const listed = [
  { name: 'crash', inputSchema: { type: 'object' } },
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
];

/** The ids of calls that are not answered until they are cancelled. */
const held = new Set();

/** The id of the probe, kept until `initialize` has come. */
let probe;

const answers = {
  'server/discover': ({ id }) => {
    if (odd === 'dies-on-probe') process.exit(3);
    if (odd === 'silent') return void process.stderr.write('waiting for a database\n');
    if (odd === 'ignores-probe') return;
    if (odd === 'late-modern') return (probe = id);
    if (odd === 'other-revision') {
      return refuse(id, -32022, 'Unsupported', { supported: ['2099-01-01'], requested: '' });
    }
    if (odd === 'older-revision') {
      return refuse(id, -32022, 'Unsupported', { supported: ['2025-06-18'], requested: '' });
    }
    refuse(id, -32601, 'No such method');
  },
  initialize: ({ id, params }) => {
    if (odd === 'silent') return;
    if (odd === 'late-modern') {
      refuse(id, -32601, 'No such method');
      const result = {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      };
      return say({ id: probe, result });
    }
    if (odd === 'refuses') return refuse(id, -32603, 'not today');
    const protocolVersion = odd === 'old' ? '1999-01-01' : params.protocolVersion;
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  },
  'tools/list': ({ id }) =>
    say({ id, result: { tools: odd === 'reads' ? [...listed].reverse() : listed } }),
  'tools/call': ({ id, params }) => {
    if (params.name === 'hold') return void held.add(id);
    if (params.name === 'crash' || (params.name === 'read' && odd === 'crashes-once')) {
      process.stderr.write('the disk is full\n', () => process.exit(7));
      return;
    }
    say({ id, result: { content: [{ type: 'text', text: `by ${process.pid}` }] } });
  },
  'notifications/cancelled': ({ params }) => void held.delete(params.requestId),
  ping: ({ id }) => say({ id, result: {} }),
};

if (odd === 'dies') {
  process.stderr.write('no configuration\n', () => process.exit(5));
} else {
  const lines = createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line);
    answers[message.method]?.(message);
  });
  // As a server that lets its calls finish, if it takes a day.
  lines.on('close', () => {
    if (held.size > 0 || odd === 'endless') setTimeout(() => {}, 86_400_000);
  });
}
