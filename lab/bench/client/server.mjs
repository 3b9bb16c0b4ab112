/**
 * Server for measuring clients over stdio in both eras, as small as possible. `hold` is never
 * answered.
 */
const modern = '2026-07-28';
const key = 'io.modelcontextprotocol/';
const identity = { name: 'bench', version: '1.0.0' };
let rest = '';
let output = '';

function send(message) {
  if (output === '') queueMicrotask(flush);
  output += `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
}

function flush() {
  process.stdout.write(output);
  output = '';
}

const inputSchema = { type: 'object' };
const outputSchema = {
  type: 'object',
  properties: { text: { type: 'string' }, length: { type: 'integer', minimum: 0 } },
  required: ['text', 'length'],
};
const tools = [
  { name: 'echo', inputSchema },
  { name: 'hold', inputSchema },
  { name: 'measure', inputSchema, outputSchema },
  { name: 'later', inputSchema, execution: { taskSupport: 'optional' } },
];
const texts = new Map();
let lastTask = 0;

function resultOf({ name, arguments: { text }, task }) {
  const content = [{ type: 'text', text }];
  if (name === 'measure') return { content, structuredContent: { text, length: text.length } };
  if (!task) return { content };
  const taskId = `t-${++lastTask}`;
  texts.set(taskId, text);
  const at = new Date().toISOString();
  const { ttl } = task;
  return { task: { taskId, status: 'completed', ttl, createdAt: at, lastUpdatedAt: at } };
}

function resultOfTask({ taskId }) {
  const content = [{ type: 'text', text: texts.get(taskId) }];
  texts.delete(taskId);
  return { content, _meta: { [`${key}related-task`]: { taskId } } };
}

function answer({ id, method, params }) {
  if (id === undefined) return;
  const resultType = params?._meta?.[`${key}protocolVersion`] === modern ? 'complete' : undefined;
  if (method === 'server/discover') {
    const result = { resultType, supportedVersions: [modern], capabilities: { tools: {} } };
    send({ id, result: { ...result, _meta: { [`${key}serverInfo`]: identity } } });
  } else if (method === 'initialize') {
    const { protocolVersion } = params;
    const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
    send({ id, result: { protocolVersion, capabilities, serverInfo: identity } });
  } else if (method === 'tools/list') {
    send({ id, result: { resultType, tools, ttlMs: 3_600_000, cacheScope: 'private' } });
  } else if (method === 'tools/call') {
    if (params.name === 'hold') return;
    send({ id, result: { resultType, ...resultOf(params) } });
  } else if (method === 'tasks/result') {
    send({ id, result: resultOfTask(params) });
  } else {
    send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  }
}

process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) answer(JSON.parse(line));
});
