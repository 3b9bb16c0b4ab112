/**
 * `mcp-lite`, whose own transports are for HTTP. This stdio transport does the minimum documented
 * for custom ones: split, parse, `_dispatch`, stringify, one write per turn, and its own adapter
 * for requests to the client.
 */
import { InMemoryClientRequestAdapter, McpServer } from 'mcp-lite';
import { z } from 'zod';
import {
  askAll,
  filling,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
  textResult,
} from './asking.mjs';

const server = new McpServer({
  name: 'mcp-lite',
  version: '0.0.0',
  schemaAdapter: (schema) => z.toJSONSchema(schema),
});
const requests = new InMemoryClientRequestAdapter();
let asked = 0;
let output = '';
let rest = [];

function send(message) {
  if (output === '') queueMicrotask(flush);
  output += `${JSON.stringify(message)}\n`;
}

function flush() {
  process.stdout.write(output);
  output = '';
}

async function ask(method, params) {
  const id = ++asked;
  const { promise } = requests.createPending(undefined, id, { timeout_ms: patienceMs });
  send({ jsonrpc: '2.0', id, method, params });
  const { result } = await promise;
  return result;
}

server
  .tool('echo', {
    description: 'Gives the text back.',
    inputSchema: z.object({ text: z.string() }),
    handler: async ({ text }) => textResult(text),
  })
  .tool('fill', {
    description: 'Gives a text of so many bytes.',
    inputSchema: z.object({ bytes: z.int().min(0) }),
    handler: async ({ bytes }) => textResult(filling(bytes)),
  })
  .tool('roots', {
    description: 'Asks the client for its roots so many times.',
    inputSchema: z.object({ count: z.int().min(0), concurrent: z.boolean() }),
    handler: async ({ count, concurrent }) =>
      textResult(
        await askAll(count, concurrent, async () => numberOfRoots(await ask('roots/list'))),
      ),
  })
  .tool('sample', {
    description: 'Asks the client for a message so many times, one after the other.',
    inputSchema: z.object({ count: z.int().min(0) }),
    handler: async ({ count }) =>
      textResult(
        await askAll(count, false, async () =>
          numberOfSample(await ask('sampling/createMessage', sampling)),
        ),
      ),
  });

async function receive(line) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    requests.resolvePending(undefined, message.id, message);
    return;
  }
  const response = await server._dispatch(message);
  if (response !== null) send(response);
}

process.stdin.on('data', (chunk) => {
  const last = chunk.lastIndexOf(10);
  if (last === -1) {
    rest.push(chunk);
    return;
  }
  rest.push(chunk.subarray(0, last));
  const lines = Buffer.concat(rest).toString().split('\n');
  rest = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
  for (const line of lines) void receive(line);
});
