/**
 * The floor: the minimum cost of a server that splits chunks, parses, dispatches, stringifies and
 * writes once per chunk. A request that identifies its client is read accordingly and answered in
 * the form of 2026-07-28. Makes no guarantees: no validation, lifecycle, timeouts, cancellation or
 * limits.
 */
import { askAll, filling, numberOfRoots, numberOfSample, sampling, textResult } from './asking.mjs';

const pending = new Map();
let asked = 0;
let rest = [];
let output = '';

const tools = ['echo', 'fill', 'roots', 'sample'].map((name) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
}));

function send(message) {
  if (output === '') queueMicrotask(flush);
  output += `${JSON.stringify(message)}\n`;
}

function flush() {
  process.stdout.write(output);
  output = '';
}

function ask(method, params) {
  return new Promise((resolve) => {
    const id = ++asked;
    pending.set(id, resolve);
    send({ jsonrpc: '2.0', id, method, params });
  });
}

const key = 'io.modelcontextprotocol/';
const identity = { [`${key}serverInfo`]: { name: 'floor', version: '0.0.0' } };

/** Client identified by a request; undefined if it does not identify one. */
function clientOf(meta) {
  const version = meta?.[`${key}protocolVersion`];
  if (version !== '2026-07-28') return undefined;
  return { info: meta[`${key}clientInfo`], capabilities: meta[`${key}clientCapabilities`] };
}

const complete = (result) => ({ resultType: 'complete', ...result, _meta: identity });

function call(id, { name, arguments: args, _meta }) {
  const client = clientOf(_meta);
  const answer = (text) =>
    send({ jsonrpc: '2.0', id, result: client ? complete(textResult(text)) : textResult(text) });
  switch (name) {
    case 'echo':
      return answer(args.text);
    case 'fill':
      return answer(filling(args.bytes));
    case 'roots':
      return askAll(args.count, args.concurrent, async () =>
        numberOfRoots(await ask('roots/list')),
      ).then(answer);
    case 'sample':
      return askAll(args.count, false, async () =>
        numberOfSample(await ask('sampling/createMessage', sampling)),
      ).then(answer);
  }
}

function receive(line) {
  const { id, method, params, result } = JSON.parse(line);
  switch (method) {
    case undefined: {
      const settle = pending.get(id);
      pending.delete(id);
      return settle(result);
    }
    case 'initialize':
      return send({
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'floor', version: '0.0.0' },
        },
      });
    case 'ping':
      return send({ jsonrpc: '2.0', id, result: {} });
    case 'tools/list':
      return send({ jsonrpc: '2.0', id, result: { tools } });
    case 'server/discover':
      return send({
        jsonrpc: '2.0',
        id,
        result: complete({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
      });
    case 'tools/call':
      return call(id, params);
  }
}

process.stdin.on('data', (chunk) => {
  const last = chunk.lastIndexOf(10);
  if (last === -1) {
    rest.push(chunk);
    return;
  }
  rest.push(chunk.subarray(0, last));
  const lines = (rest.length === 1 ? rest[0] : Buffer.concat(rest)).toString().split('\n');
  rest = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
  for (const line of lines) receive(line);
});
