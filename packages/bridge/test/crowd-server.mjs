/**
 * One of many servers behind a bridge, without a library, so that twenty of them start quickly.
 * Its name is the first argument, how it behaves the second.
 */
import { createInterface } from 'node:readline';
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const [name, behaviour = 'good', ...own] = process.argv.slice(2);
const started = own.find((word) => word.startsWith('started='));
if (started) appendFileSync(started.slice('started='.length), `${name} ${process.pid}\n`);
const after = own.find((word) => word.startsWith('after='))?.slice('after='.length);
while (after && !existsSync(after)) await setTimeout(10);
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const told = (method, params) => send({ method, ...(params ? { params } : {}) });

if (behaviour === 'crash') process.exit(3);
if (behaviour === 'garbage') setInterval(() => process.stdout.write('{"a":\u0000 garbage\n'), 20);
if (behaviour === 'flood') setInterval(() => process.stderr.write(`${'noise '.repeat(2000)}\n`), 1);

const tool = (of, more = {}) => ({
  name: of,
  description: `${of} of ${name}`,
  inputSchema: { type: 'object' },
  ...more,
});
const tools = [
  tool('who'),
  tool('grow'),
  tool('link'),
  tool('touch'),
  tool('quit'),
  ...own.filter((word) => word.startsWith('tool=')).map((word) => tool(word.slice(5))),
];
// A lock does not look at the environment.
for (const [called, to] of Object.entries(JSON.parse(process.env.CROWD_TOOLS ?? '{}'))) {
  const known = tools.find((each) => each.name === called);
  if (known) Object.assign(known, to);
  else tools.push(tool(called, to));
}
const text = (said) => ({ content: [{ type: 'text', text: said }] });

const calls = {
  who: () => text(name),
  grow: ({ called = 'grown' }) => {
    tools.push(tool(called));
    told('notifications/tools/list_changed');
    return text('grew');
  },
  /** One of its tools becomes another, with or without a word. */
  change: ({ called, to, silently }) => {
    const [changed] = tools.filter((each) => each.name === called);
    Object.assign(changed, to);
    if (!silently) told('notifications/tools/list_changed');
    return text('changed');
  },
  link: () => ({ content: [{ type: 'resource_link', uri: `hidden://${name}`, name: 'hidden' }] }),
  touch: ({ uri }) => {
    told('notifications/resources/updated', { uri });
    told('notifications/message', { level: 'info', logger: 'toucher', data: uri });
    return text('touched');
  },
  /** What has arrived. */
  seen: (_args, params) => text(JSON.stringify(params)),
  quit: () => process.exit(0),
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: { listChanged: true },
      ...(behaviour === 'tools'
        ? {}
        : {
            resources: { subscribe: true, listChanged: true },
            prompts: {},
            completions: {},
            logging: {},
          }),
    },
    serverInfo: { name: `server ${name}`, version: '1' },
    instructions: `Ask ${name}.`,
  }),
  'tools/list': ({ cursor }) =>
    cursor === undefined
      ? { tools: tools.slice(0, 3), nextCursor: 'rest' }
      : { tools: tools.slice(3) },
  'tools/call': ({ name: called, arguments: args = {}, ...rest }) =>
    calls[called]?.(args, { name: called, arguments: args, ...rest }) ??
    (process.env.CROWD_UNKNOWN === 'result'
      ? { ...text(`Tool ${called} not found`), isError: true }
      : text(`${called} of ${name}`)),
  'resources/list': () => ({
    resources: [
      { uri: 'both://x', name: 'x' },
      { uri: `${name}://own`, name: 'own' },
    ],
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [
      { uriTemplate: `${name}://item/{id}`, name: 'item' },
      { uriTemplate: 'both://item/{id}', name: 'item' },
    ],
  }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${uri} of ${name}` }] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'prompts/list': () => ({ prompts: [{ name: 'greet', arguments: [{ name: 'whom' }] }] }),
  'prompts/get': ({ name: prompt }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `${prompt} of ${name}` } }],
  }),
  'completion/complete': ({ ref }) => ({
    completion: { values: [`${ref.name ?? ref.uri} of ${name}`] },
  }),
  'logging/setLevel': ({ level }) => {
    told('notifications/message', { level: 'error', data: `${name} logs ${level}` });
    return {};
  },
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  if (behaviour === 'hang' || behaviour === 'garbage') return;
  const isUnknown = method === 'tools/call' && !tools.some((each) => each.name === params.name);
  if (isUnknown && process.env.CROWD_UNKNOWN === 'error')
    return send({ id, error: { code: -32602, message: `Unknown tool: ${params.name}` } });
  const answer = answers[method];
  if (answer) send({ id, result: answer(params) });
  else send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
});
