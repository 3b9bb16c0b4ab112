/**
 * The six traced messages, each with real peers: raw lines and requests for a server, a server in
 * its own process for a host.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawn } from 'node:child_process';
import { connect } from '../../packages/client/src/index.ts';
import type { Connection } from '../../packages/client/src/index.ts';
import { createMcpServer, defineTool, stdio } from '../../src/index.ts';
import type { JsonObject } from '../../src/index.ts';
import { nodeHandler } from '../../packages/http/src/node/index.ts';
import { forwardHeader } from '../../packages/http/src/nodes/forwarding-protocol.ts';
import { newNodeName } from '../../packages/http/src/nodes/stores.ts';
import { MemoryNodes } from '../../packages/nodes/test/memory-stores.ts';
import { freePort } from '../../test/tooling/free-port.ts';
import { arrive, depart } from './trail.ts';
import type { Entry, Length } from './trail.ts';

/** A way with its maximum length. */
export interface Way {
  readonly name: string;
  /**
   * Length after the last shortening. Lower it when the way gets shorter; raise it only with a
   * reason in the commit.
   */
  readonly ceiling: Length;
  /** Sends the message after everything lazily loaded is present. */
  readonly travel: () => Promise<readonly Entry[]>;
}

/** Repetitions of each message before measuring. */
const warmUp = 20;

/** Number of measurements; the shortest counts, because timers may add entries. */
const looks = 5;

const shortest = (trails: readonly (readonly Entry[])[]): readonly Entry[] =>
  trails.slice(-looks).reduce((one, other) => (other.length < one.length ? other : one));

const server = createMcpServer({
  name: 'way',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'echo',
      description: 'Says it again.',
      inputSchema: {
        type: 'object',
        properties: { message: { type: 'string' } },
        required: ['message'],
      },
      handler: async ({ message }) => message,
    }),
    defineTool({
      name: 'ask',
      description: 'Asks which.',
      inputSchema: { type: 'object' },
      handler: async (_, context) => {
        depart();
        await context.elicit({
          message: 'Which?',
          schema: { type: 'object', properties: { which: { type: 'string' } } },
        });
        asked.push(arrive());
        return 'asked';
      },
    }),
  ],
});

/** Ways of requests to the client, recorded by their handler. */
const asked: (readonly Entry[])[] = [];

const revision = '2025-11-25';
const echo = { name: 'echo', arguments: { message: 'hi' } };
const greeting = {
  protocolVersion: revision,
  capabilities: {},
  clientInfo: { name: 'way', version: '1' },
};

interface Answer {
  readonly id: number;
  readonly result: JsonObject;
}

/** Sends a request as a line and reads the response. */
function lines() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers = createInterface({ input: output })[Symbol.asyncIterator]();
  const session = server.listen(stdio({ input, output }));
  let id = 0;
  return {
    ask: async (method: string, params: JsonObject): Promise<Answer> => {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
      const { value } = await answers.next();
      return JSON.parse(String(value)) as Answer;
    },
    notify: (method: string) => input.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`),
    end: async () => {
      input.end();
      await session.closed;
    },
  };
}

async function repeatedly(send: () => Promise<unknown>): Promise<readonly Entry[]> {
  const trails: (readonly Entry[])[] = [];
  for (let count = 0; count < warmUp + looks; count++) {
    depart();
    await send();
    trails.push(arrive());
  }
  return shortest(trails);
}

async function callOverStdio() {
  const client = lines();
  await client.ask('initialize', greeting);
  client.notify('notifications/initialized');
  const trail = await repeatedly(() => client.ask('tools/call', echo));
  await client.end();
  return trail;
}

async function questionOfModernEra() {
  const client = lines();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  for (let count = 0; count < warmUp + looks; count++) {
    const { result } = await client.ask('tools/call', { name: 'ask', arguments: {}, _meta });
    const { inputRequests, requestState } = result as {
      inputRequests: JsonObject;
      requestState: string;
    };
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { which: 'a' } }]),
    );
    const retry = { name: 'ask', arguments: {}, inputResponses, requestState, _meta };
    await client.ask('tools/call', retry);
  }
  await client.end();
  return shortest(asked);
}

/** Posts to a local port. */
function poster(port: number) {
  const agent = new Agent({ keepAlive: true });
  const post = async (message: JsonObject, session?: string) => {
    const sent = request({
      agent,
      port,
      path: '/mcp',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': revision } : {}),
      },
    });
    sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response;
  };
  return { post, end: () => agent.destroy() };
}

async function callAsPost() {
  const handler = nodeHandler(server);
  const serving = createServer(handler);
  await once(serving.listen(0, '127.0.0.1'), 'listening');
  const { post, end } = poster((serving.address() as AddressInfo).port);
  const begun = await post({ id: 0, method: 'initialize', params: greeting });
  const session = String(begun.headers['mcp-session-id']);
  await post({ method: 'notifications/initialized' }, session);
  let id = 0;
  const trail = await repeatedly(() =>
    post({ id: ++id, method: 'tools/call', params: echo }, session),
  );
  end();
  await handler.close();
  serving.close();
  return trail;
}

/** The session's owner is a foreign process: only the way at the forwarding node counts. */
async function callThroughAnotherNode() {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
  const owner = createServer((incoming, response) => {
    incoming.resume();
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': answer.length,
      [forwardHeader]: 'served',
    });
    response.end(answer);
  });
  await once(owner.listen(0, '127.0.0.1'), 'listening');
  const shared = new MemoryNodes();
  const { directory } = shared.start();
  const node = newNodeName();
  const url = `http://127.0.0.1:${(owner.address() as AddressInfo).port}/mcp`;
  await directory.lease(node, 'new', { address: { url, protocol: 1 }, removedSinceMs: 0 });
  const record = { principal: undefined, owner: node, fence: 1, revision: 1, facts: {} };
  await directory.put({ ...record, id: 'session' }, Infinity);
  const handler = nodeHandler(server, { stores: shared.start(), node: { url }, report: () => {} });
  const serving = createServer(handler);
  await once(serving.listen(0, '127.0.0.1'), 'listening');
  const { post, end } = poster((serving.address() as AddressInfo).port);
  const trail = await repeatedly(() =>
    post({ id: 1, method: 'tools/call', params: echo }, 'session'),
  );
  end();
  await handler.close(0);
  serving.close();
  owner.close();
  owner.closeAllConnections();
  return trail;
}

const lab = (file: string) => [
  createRequire(import.meta.url).resolve('tsx/cli'),
  fileURLToPath(new URL(`../../examples/lab/${file}`, import.meta.url)),
];

async function hostCall(connection: Connection) {
  const trail = await repeatedly(() => connection.callTool('echo', { message: 'hi' }));
  await connection.close();
  return trail;
}

async function hostCallOverStdio() {
  return hostCall(
    await connect({ command: process.execPath, args: lab('server.ts') }, { era: 'legacy' }),
  );
}

/** Resolves once the port accepts a connection. */
async function listening(port: number): Promise<void> {
  const attempt = createConnection({ port, host: '127.0.0.1' });
  const isOpen = await once(attempt, 'connect').then(
    () => true,
    () => false,
  );
  attempt.destroy();
  if (isOpen) return;
  await setTimeout(50);
  await listening(port);
}

async function hostCallOverHttp() {
  const port = await freePort();
  const child = spawn(process.execPath, lab('http.ts'), {
    env: { ...process.env, PORT: `${port}` },
    stdio: 'ignore',
  });
  try {
    await listening(port);
    return await hostCall(
      await connect({ type: 'http', url: `http://127.0.0.1:${port}/mcp` }, { era: 'legacy' }),
    );
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

export const ways: readonly Way[] = [
  {
    name: 'a tools/call over stdio',
    ceiling: { files: 23, stays: 49 },
    travel: callOverStdio,
  },
  {
    name: 'a tools/call as a POST in a session',
    ceiling: { files: 28, stays: 66 },
    travel: callAsPost,
  },
  {
    name: 'a tools/call as a POST through another node, at that node',
    ceiling: { files: 12, stays: 40 },
    travel: callThroughAnotherNode,
  },
  {
    name: 'context.elicit in 2026-07-28, from the call to its resolution',
    ceiling: { files: 38, stays: 133 },
    travel: questionOfModernEra,
  },
  {
    name: "a host's callTool over stdio",
    ceiling: { files: 20, stays: 50 },
    travel: hostCallOverStdio,
  },
  {
    name: "a host's callTool over HTTP",
    ceiling: { files: 21, stays: 71 },
    travel: hostCallOverHttp,
  },
];
