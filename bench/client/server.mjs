/** The server that all clients are measured before over stdio, in both eras: it does as little as a server can. `hold` is never answered. */
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

const tools = ['echo', 'hold'].map((name) => ({ name, inputSchema: { type: 'object' } }));

function answer({ id, method, params }) {
  if (id === undefined) return;
  const resultType = params?._meta?.[`${key}protocolVersion`] === modern ? 'complete' : undefined;
  if (method === 'server/discover') {
    const result = { resultType, supportedVersions: [modern], capabilities: { tools: {} } };
    send({ id, result: { ...result, _meta: { [`${key}serverInfo`]: identity } } });
  } else if (method === 'initialize') {
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: identity } });
  } else if (method === 'tools/list') {
    send({ id, result: { resultType, tools } });
  } else if (method === 'tools/call') {
    if (params.name === 'hold') return;
    const content = [{ type: 'text', text: params.arguments.text }];
    send({ id, result: { resultType, content } });
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
