/**
 * A small server that follows the specification except for the selected faults: `node
 * broken-server.mjs FAULT…`. Five words select valid variants: `never-asks`, `logs`,
 * `restarts-query`, `gives-up` and `asks-on-change`. Shares no code with the project, so that they
 * cannot share a bug.
 */
import { fileURLToPath } from 'node:url';

/**
 * @param {readonly string[]} faults
 * @param {import('./broken-server.d.mts').Host} host
 * @returns {{ receive(text: string): void, end(): void }}
 */
export function brokenServer(faults, { write, exit, clock = globalThis }) {
  const has = (fault) => faults.includes(fault);
  const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const result = (id, value) => {
    send({ id, result: value });
    if (has('twice')) send({ id, result: value });
  };
  const refuse = (id, code, message) => send({ id, error: { code, message } });

  const slowMs = 60;
  const rootsTimeoutMs = 1000;
  let state = 'fresh';
  let client = {};
  let roots = [];
  let asked = 0;
  /** Changes that arrived during a query, each of which causes a query of its own. */
  let queued = 0;
  /** Open queries by id, with whether a change has outdated them. */
  const queries = new Map();
  /** Cancel functions of running calls, by id. */
  const running = new Map();
  /** Calls that wait for sampling, by sampling request id. */
  const samplings = new Map();

  function ask() {
    const id = has('reused-id') ? 'same' : has('null-id') ? null : `q${++asked}`;
    queries.set(id, 'fresh');
    send({ id, method: 'roots/list' });
    if (has('gives-up')) clock.setTimeout(() => withdraw(id), rootsTimeoutMs);
  }

  /** Cancels a query or a sampling request. */
  function withdraw(id) {
    const isOpen = queries.has(id) ? queries.get(id) !== 'late' : samplings.has(id);
    if (!isOpen) return;
    send({ method: 'notifications/cancelled', params: { requestId: id } });
    if (has('uses-late-answers')) return queries.has(id) && queries.set(id, 'late');
    queries.delete(id);
    samplings.delete(id);
  }

  function changed() {
    if (has('never-asks') || (!client.roots && !has('undeclared-roots'))) return;
    if (has('restarts-query')) for (const id of queries.keys()) withdraw(id);
    const isAsking = [...queries.values()].some((query) => query !== 'late');
    if (has('floods') || !isAsking) return ask();
    if (has('queues-queries')) return void queued++;
    for (const id of queries.keys()) queries.set(id, 'stale');
  }

  function heardAnswer({ id, result: value }) {
    if (samplings.has(id)) {
      const answer = samplings.get(id);
      samplings.delete(id);
      return answer(value);
    }
    const query = queries.get(id);
    if (query === undefined) {
      if (has('dies-of-stray-answer')) return exit(3);
      if (has('answers-answers')) refuse(id, -32600, 'Unknown id');
      return;
    }
    queries.delete(id);
    if (value) roots = value.roots;
    if (query === 'stale') ask();
    else if (queued > 0) {
      queued--;
      ask();
    }
  }

  const capabilities = {
    ...(has('undeclared-tools') ? {} : { tools: {} }),
    ...(has('undeclared-resources') ? {} : { resources: {} }),
    ...(has('undeclared-prompts') ? {} : { prompts: {} }),
    ...(has('undeclared-logging') ? {} : { logging: {} }),
  };

  const tools = [
    { name: 'slow', inputSchema: has('null-schema') ? null : { type: 'object' } },
    { name: 'roots', inputSchema: { type: 'object' } },
    { name: 'asks', inputSchema: { type: 'object' } },
  ];
  const lists = {
    'tools/list': { tools },
    'resources/list': { resources: [{ uri: 'x://y', name: 'y' }] },
    'resources/templates/list': { resourceTemplates: [] },
    'prompts/list': { prompts: [{ name: 'p' }] },
  };

  function call({ id, params }) {
    const { name, _meta: { progressToken } = {} } = params;
    const text = (value) => result(id, { content: [{ type: 'text', text: value }] });
    if (name === 'roots') return text(JSON.stringify(roots));
    if (name === 'asks' && client.sampling) {
      const sampling = `s${++asked}`;
      samplings.set(sampling, (value) => {
        running.delete(id);
        text(value?.content.text ?? 'refused');
      });
      running.set(id, () => withdraw(sampling));
      const content = { type: 'text', text: 'What?' };
      const params = { messages: [{ role: 'user', content }], maxTokens: 10 };
      return send({ id: sampling, method: 'sampling/createMessage', params });
    }
    if (name !== 'slow') return refuse(id, -32602, 'Unknown tool');
    const progress = (value) =>
      progressToken !== undefined &&
      send({
        method: 'notifications/progress',
        params: { progressToken: has('wrong-token') ? 'nobody' : progressToken, progress: value },
      });
    progress(1);
    progress(has('progress-stands') ? 1 : 2);
    const timer = clock.setTimeout(() => {
      running.delete(id);
      text('done');
      if (has('late-progress')) progress(3);
      if (has('cancels-strangers')) {
        send({ method: 'notifications/cancelled', params: { requestId: 'nobody' } });
      }
    }, slowMs);
    running.set(id, () => clock.clearTimeout(timer));
  }

  function cancel(params) {
    if (has('dies-of-cancel') && params?.requestId !== undefined) return exit(3);
    if (params?.requestId === undefined || !running.has(params.requestId)) {
      if (has('answers-cancel')) refuse(params?.requestId ?? 'none', -32602, 'Unknown request');
      return;
    }
    if (has('deaf-to-cancel') || (has('deaf-to-zero') && !params.requestId)) return;
    running.get(params.requestId)();
    running.delete(params.requestId);
  }

  const requests = {
    initialize: ({ id, params }) => {
      state = 'greeted';
      client = params.capabilities;
      const known = params.protocolVersion >= '2024-11-05' || has('echoes-revision');
      const serverInfo = has('nameless') ? {} : { name: 'broken', version: '1' };
      const protocolVersion = known ? params.protocolVersion : '2025-11-25';
      result(id, { protocolVersion, capabilities, serverInfo });
      if (has('asks-early') && client.roots) ask();
      if (has('logs'))
        send({ method: 'notifications/message', params: { level: 'info', data: 1 } });
    },
    ping: ({ id }) => {
      if (has('full-ping')) return result(id, { pong: true });
      result(id, {});
    },
    'resources/read': ({ id }) =>
      has('lenient') ? result(id, {}) : refuse(id, -32002, 'No such resource'),
    'prompts/get': ({ id }) =>
      has('lenient') ? result(id, {}) : refuse(id, -32602, 'No such prompt'),
    'logging/setLevel': ({ id }) =>
      has('lenient') ? result(id, {}) : refuse(id, -32602, 'No such level'),
    'tools/call': call,
  };

  const notifications = {
    'notifications/initialized': () => {
      state = 'operating';
      if (has('asks-on-change')) return;
      if (has('never-asks')) return;
      if (client.roots || has('undeclared-roots')) ask();
    },
    'notifications/roots/list_changed': changed,
    'notifications/cancelled': cancel,
  };

  function receive(message) {
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      if ('result' in message || 'error' in message) return heardAnswer(message);
      if (has('dies-of-invalid')) return exit(3);
      if (!has('silent-on-invalid')) refuse(id, -32600, 'Invalid request');
      return;
    }
    if (id === undefined) {
      if (has('answers-notifications') && !(method in notifications))
        refuse(null, -32601, 'No such');
      return notifications[method]?.(params);
    }
    const isEarly = state === 'fresh' && method !== 'initialize' && method !== 'ping';
    if (isEarly && !has('serves-early')) return refuse(id, -32000, 'Not initialized');
    const list = lists[method];
    if (list) {
      if (params?.cursor && !has('lenient')) return refuse(id, -32602, 'Invalid cursor');
      return has('no-result') ? send({ id }) : result(id, list);
    }
    const handler = requests[method];
    if (handler) return handler(message);
    if (has('mute-on-unknown')) return;
    if (has('wrong-code')) return refuse(id, -1, 'No such method');
    if (has('text-code')) return refuse(id, '-32601', 'No such method');
    refuse(has('string-ids') ? String(id) : id, -32601, 'No such method');
  }

  function receiveLine(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      if (has('dies-of-malformed')) return exit(3);
      if (!has('silent-on-malformed'))
        send({ id: undefined, error: { code: -32700, message: 'Parse error' } });
      return;
    }
    if (!Array.isArray(message)) return receive(message);
    if (!has('ignores-batches')) for (const one of message) receive(one);
  }

  if (has('prints')) write('listening\n');
  let rest = '';
  return {
    receive: (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      if (has('rush-drops') && chunk.includes('"initialize"')) lines.length = 1;
      for (const line of lines) {
        if (has('handles-later')) clock.setTimeout(() => receiveLine(line), 10);
        else receiveLine(line);
      }
    },
    end: () => {
      for (const stop of running.values()) stop();
      if (!has('stays')) exit(has('ends-badly') ? 4 : 0);
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = brokenServer(process.argv.slice(2), {
    write: (text) => process.stdout.write(text),
    exit: (code) => process.exit(code),
  });
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', server.receive);
  process.stdin.on('end', server.end);
}
