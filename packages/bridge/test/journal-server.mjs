/**
 * A server of the legacy era that writes down what arrives, in a file that outlives it, and does what a call's arguments say:
 * `steps`, one after another, each with the call's `mark` in it.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';

const [journal, how] = process.argv.slice(2);
const note = (what) => appendFileSync(journal, `${process.pid} ${what}\n`);
const send = (message) =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const notify = (method, params) => send({ method, params });
/** The questions that have no answer yet. */
const asked = new Map();
const watched = new Set();

const ask = (mark) => {
  const id = `q${asked.size}-${mark}`;
  const content = { type: 'text', text: mark };
  send({
    id,
    method: 'sampling/createMessage',
    params: { maxTokens: 9, messages: [{ role: 'user', content }] },
  });
  return new Promise((resolve) => asked.set(id, resolve));
};

const steps = {
  pause: () => {},
  progress: ({ mark, progressToken }) =>
    progressToken !== undefined &&
    notify('notifications/progress', { progressToken, progress: 1, message: mark }),
  log: ({ mark }) => notify('notifications/message', { level: 'error', data: mark }),
  ask: ({ mark }) => ask(mark),
  // Without waiting: the answer to the call comes first.
  'ask-late': ({ mark }) => void ask(mark),
  change: () => notify('notifications/tools/list_changed'),
  update: () => [...watched].forEach((uri) => notify('notifications/resources/updated', { uri })),
  /** In the first life it never ends. */
  once: () => (isFirst ? new Promise(() => {}) : undefined),
  stay: () => new Promise(() => {}),
  // What was written until then has arrived.
  exit: () => process.exit(9),
};

const tools = [
  { name: 'act', inputSchema: { type: 'object' } },
  { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
];

const methods = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'journal', version: '1' },
    capabilities: {
      tools: { listChanged: true },
      logging: {},
      tasks: {},
      resources: { subscribe: true, listChanged: true },
    },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'logging/setLevel': () => ({}),
  'resources/list': () => ({ resources: [{ uri: 'test://watched', name: 'watched' }] }),
  'resources/subscribe': ({ uri }) => (watched.add(uri), {}),
  'resources/unsubscribe': ({ uri }) => (watched.delete(uri), {}),
  'tools/call': async ({ arguments: { mark, steps: wanted = [] }, _meta = {} }) => {
    const answers = [];
    for (const step of wanted) {
      await setImmediate();
      answers.push(await steps[step]({ mark, progressToken: _meta.progressToken }));
    }
    return {
      content: [{ type: 'text', text: JSON.stringify({ mark, pid: process.pid, answers }) }],
    };
  },
};

const isFirst = !existsSync(`${journal}.pid`);
writeFileSync(`${journal}.pid`, JSON.stringify({ pid: process.pid }));
note('start');
if (how === 'broken') process.exit(9);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {}, result, error } = JSON.parse(line);
  if (method === undefined) {
    asked.get(id)?.(error ?? result);
    continue;
  }
  note(params.arguments ? `${method} ${params.arguments.mark}` : method);
  if (id === undefined || (how === 'silent' && method === 'initialize')) continue;
  const run = methods[method];
  if (run) void Promise.resolve(run(params)).then((done) => send({ id, result: done }));
  else send({ id, error: { code: -32601, message: `No ${method}` } });
}
