/**
 * Minimal hand-written MCP endpoint: parses, dispatches, responds. It trusts its clients, without
 * validation, limits, resumption or cancellation. `floor-http.mjs` serves it with `node:http`,
 * `hono-http.mjs` with hono.
 */
import { randomUUID } from 'node:crypto';
import { askAll, numberOfRoots, numberOfSample, sampling, textResult } from './asking.mjs';
import { listChanged, logMessage, sessionIdleMs } from './http-listening.mjs';

const modern = '2026-07-28';
const key = 'io.modelcontextprotocol/';
const identity = { name: 'floor', version: '0.0.0' };
const json = { 'content-type': 'application/json' };

const object = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const tools = [
  {
    name: 'echo',
    description: 'Gives the text back.',
    inputSchema: object({ text: { type: 'string' } }),
  },
  {
    name: 'roots',
    description: 'Asks the client for its roots so many times.',
    inputSchema: object({ count: { type: 'integer' }, concurrent: { type: 'boolean' } }),
  },
  {
    name: 'sample',
    description: 'Asks the client for a message so many times, one after the other.',
    inputSchema: object({ count: { type: 'integer' } }),
  },
  {
    name: 'notify',
    description: 'Notifies every session that has an open stream so many times.',
    inputSchema: object({ count: { type: 'integer' } }),
  },
];

/** Sessions by id. A session has at most one GET stream. */
const sessions = new Map();

if (sessionIdleMs > 0) {
  setInterval(() => {
    const now = Date.now();
    for (const [id, { usedAt, sink }] of sessions) {
      if (sink === undefined && now - usedAt > sessionIdleMs) sessions.delete(id);
    }
  }, sessionIdleMs / 2).unref();
}

const refused = (status) => ({ status, headers: {}, text: '' });
const accepted = refused(202);

function answered(id, result, status = 200, headers = json) {
  return { status, headers, text: JSON.stringify({ jsonrpc: '2.0', id, result }) };
}

const eventOf = (message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/**
 * Handles a POST; returns `{status, headers, text}`, or `{open(sink)}` for a stream. `header`
 * returns a field by its lower-case name.
 */
export function post(header, text) {
  const message = JSON.parse(text);
  const id = header('mcp-session-id');
  if (id === undefined) {
    if (message.method === 'initialize') return initialize(message);
    return header('mcp-protocol-version') === modern ? postModern(header, message) : refused(400);
  }
  const session = sessions.get(id);
  if (session === undefined) return refused(404);
  if (header('mcp-protocol-version') !== session.revision) return refused(400);
  session.usedAt = Date.now();
  if (message.method === undefined) return settle(session, message);
  if (message.id === undefined) return accepted;
  if (message.method === 'tools/call') return call(session, message);
  return answered(message.id, resultOf(message.method));
}

/** True if a request is for this process: it begins a session, or belongs to one begun here. */
export function has(header) {
  const id = header('mcp-session-id');
  return id === undefined || sessions.has(id);
}

/** Handles a GET; returns `open(sink)`, or undefined for an unknown session. */
export function get(header) {
  const session = sessions.get(header('mcp-session-id'));
  if (session === undefined) return undefined;
  return (sink) => {
    session.sink = sink;
    sink.write(': open\n\n');
  };
}

/** Handles a DELETE; returns the status. */
export function remove(header) {
  const id = header('mcp-session-id');
  sessions.get(id)?.sink?.end();
  return sessions.delete(id) ? 204 : 404;
}

function initialize({ id, params: { protocolVersion } }) {
  const session = randomUUID();
  sessions.set(session, {
    revision: protocolVersion,
    pending: new Map(),
    asked: 0,
    usedAt: Date.now(),
    sink: undefined,
  });
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: identity };
  return answered(id, result, 200, { ...json, 'mcp-session-id': session });
}

function settle(session, { id, result }) {
  const resolve = session.pending.get(id);
  session.pending.delete(id);
  resolve(result);
  return accepted;
}

function resultOf(method) {
  return method === 'tools/list' ? { tools } : {};
}

function call(session, { id, params: { name, arguments: args } }) {
  switch (name) {
    case 'echo':
      return answered(id, textResult(args.text));
    case 'notify':
      notify(args.count, args.bytes);
      return answered(id, textResult('done'));
    case 'roots':
      return {
        open: (sink) =>
          finish(sink, id, () =>
            askAll(args.count, args.concurrent, async () =>
              numberOfRoots(await ask(session, sink, 'roots/list')),
            ),
          ),
      };
    case 'sample':
      return {
        open: (sink) =>
          finish(sink, id, () =>
            askAll(args.count, false, async () =>
              numberOfSample(await ask(session, sink, 'sampling/createMessage', sampling)),
            ),
          ),
      };
  }
}

async function finish(sink, id, run) {
  const text = await run();
  sink.write(eventOf({ jsonrpc: '2.0', id, result: textResult(text) }));
  sink.end();
}

function ask(session, sink, method, params) {
  return new Promise((resolve) => {
    const id = ++session.asked;
    session.pending.set(id, resolve);
    sink.write(eventOf({ jsonrpc: '2.0', id, method, params }));
  });
}

function notify(count, bytes) {
  const message = bytes === undefined ? listChanged : logMessage(bytes);
  for (const { sink } of sessions.values()) {
    if (sink === undefined) continue;
    for (let sent = 0; sent < count; sent++) sink.write(eventOf(message));
  }
}

function postModern(header, { id, method, params }) {
  const { name, arguments: args, _meta: meta } = params;
  const isConsistent =
    meta[`${key}protocolVersion`] === modern &&
    header('mcp-method') === method &&
    (name === undefined || header('mcp-name') === name);
  if (!isConsistent) {
    const error = { code: -32020, message: 'The headers say something else than the body' };
    return { status: 400, headers: json, text: JSON.stringify({ jsonrpc: '2.0', id, error }) };
  }
  const complete = (result) =>
    answered(id, { resultType: 'complete', ...result, _meta: { [`${key}serverInfo`]: identity } });
  if (method === 'server/discover') {
    return complete({ supportedVersions: [modern], capabilities: { tools: {} } });
  }
  return complete(method === 'tools/call' ? textResult(args.text) : resultOf(method));
}
