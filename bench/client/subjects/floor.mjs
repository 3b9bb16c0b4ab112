import { spawn } from 'node:child_process';

const modern = '2026-07-28';
const key = 'io.modelcontextprotocol/';
const clientInfo = { name: 'bench', version: '1.0.0' };
const envelope = {
  [`${key}protocolVersion`]: modern,
  [`${key}clientInfo`]: clientInfo,
  [`${key}clientCapabilities`]: {},
};

const handshake = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };

/**
 * What a client costs at least: it has no deadlines, no cancellation and no checks. Over stdio it writes what one turn asks in one go, keeps
 * who waits in a map, and parses each line. Over HTTP it is `fetch`.
 */
export function open(server, { era }) {
  return 'url' in server ? openUrl(server, era) : launch(server, era);
}

const paramsOf = (era, name, text) => ({
  name,
  arguments: { text },
  ...(era === 'modern' ? { _meta: envelope } : {}),
});

async function openUrl({ url }, era) {
  let lastId = 0;
  let headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const post = (body, more) =>
    fetch(url, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  if (era === 'modern') {
    headers = { ...headers, 'mcp-protocol-version': modern, 'mcp-method': 'tools/call' };
  } else {
    const greeted = await post({ id: ++lastId, method: 'initialize', params: handshake });
    await greeted.text();
    headers = {
      ...headers,
      'mcp-protocol-version': handshake.protocolVersion,
      'mcp-session-id': greeted.headers.get('mcp-session-id'),
    };
    await post({ method: 'notifications/initialized' });
  }
  return {
    call: async (name, text) => {
      const body = { id: ++lastId, method: 'tools/call', params: paramsOf(era, name, text) };
      const response = await post(body, era === 'modern' ? { 'mcp-name': name } : {});
      return JSON.parse(await response.text()).result;
    },
    close: () => Promise.resolve(),
  };
}

async function launch({ command, args }, era) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  let lastId = 0;
  let output = '';
  let rest = '';
  const flush = () => {
    child.stdin.write(output);
    output = '';
  };
  const send = (message) => {
    if (output === '') void Promise.resolve().then(flush);
    output += `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  };
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = ++lastId;
      waiting.set(id, resolve);
      send({ id, method, params });
    });
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, result } = JSON.parse(line);
      const resolve = waiting.get(id);
      waiting.delete(id);
      resolve(result);
    }
  });
  if (era === 'modern') {
    await request('server/discover', { _meta: envelope });
  } else {
    await request('initialize', handshake);
    send({ method: 'notifications/initialized' });
  }
  return {
    call: (name, text) => request('tools/call', paramsOf(era, name, text)),
    close: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.stdin.end();
      }),
  };
}
