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
 * Minimum cost of a client, without timeouts, cancellation or validation. Over stdio it writes once
 * per turn, keeps pending requests in a map, and parses each line. Over HTTP it is what `fetch` is
 * built on.
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
  const { origin, pathname: path } = new URL(url);
  // Node creates its dispatcher when a class of its fetch is first used.
  void Headers;
  const dispatcher = globalThis[Symbol.for('undici.globalDispatcher.1')];
  const post = (body, more) =>
    new Promise((resolve, reject) => {
      const pieces = [];
      let head;
      const request = {
        ...{ origin, path, method: 'POST', headers: { ...headers, ...more } },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      };
      dispatcher.dispatch(request, {
        onConnect: () => {},
        onHeaders: (_status, given) => {
          head = given.map((each) => each.toString('latin1'));
          return true;
        },
        onData: (piece) => pieces.push(piece) > 0,
        onComplete: () => resolve({ head, text: Buffer.concat(pieces).toString() }),
        onError: reject,
      });
    });
  if (era === 'modern') {
    headers = { ...headers, 'mcp-protocol-version': modern, 'mcp-method': 'tools/call' };
  } else {
    const greeted = await post({ id: ++lastId, method: 'initialize', params: handshake });
    headers = {
      ...headers,
      'mcp-protocol-version': handshake.protocolVersion,
      'mcp-session-id': greeted.head[greeted.head.indexOf('mcp-session-id') + 1],
    };
    await post({ method: 'notifications/initialized' });
  }
  return {
    call: async (name, text) => {
      const body = { id: ++lastId, method: 'tools/call', params: paramsOf(era, name, text) };
      const { text: answer } = await post(body, era === 'modern' ? { 'mcp-name': name } : {});
      return JSON.parse(answer).result;
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
  let listed;
  const call = (name, text) => request('tools/call', paramsOf(era, name, text));
  return {
    call,
    list: async () => {
      const params = era === 'modern' ? { _meta: envelope } : {};
      return (await (listed ??= request('tools/list', params))).tools;
    },
    checked: call,
    task: async (name, text) => {
      const params = { ...paramsOf(era, name, text), task: { ttl: 60_000 } };
      const { task } = await request('tools/call', params);
      return request('tasks/result', { taskId: task.taskId });
    },
    close: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.stdin.end();
      }),
  };
}
