/** The server that all clients are measured before: it does as little as a server can. `hold` is never answered. */
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
  if (method === 'initialize') {
    const serverInfo = { name: 'bench', version: '1.0.0' };
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === 'tools/list') {
    send({ id, result: { tools } });
  } else if (method === 'tools/call') {
    if (params.name === 'hold') return;
    send({ id, result: { content: [{ type: 'text', text: params.arguments.text }] } });
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
