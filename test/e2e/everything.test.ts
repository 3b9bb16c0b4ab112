/** The everything server, with the official clients over HTTP on loopback, and over stdio. */
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js';
import { RecordedFacts, initialize, toolCall } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { serveHttp } from '../../examples/transports/sdk-http.ts';
import type { HttpServing } from '../../examples/transports/sdk-http.ts';
import { everything } from '../../examples/everything/server.ts';
import { program } from '../tooling/programs.ts';
import { closeClients, connect as connectOverStdio, textOf } from './sdk-client.ts';

let serving: HttpServing;
let facts: RecordedFacts;

beforeEach(async () => {
  facts = new RecordedFacts();
  serving = await serveHttp(everything, 0, { report: facts.report });
});

afterEach(async () => {
  await serving[Symbol.asyncDispose]();
  await closeClients();
});

async function connect() {
  const client = new Client(
    { name: 'e2e', version: '1' },
    { capabilities: { sampling: {}, elicitation: { form: {} } } },
  );
  const transport = new StreamableHTTPClientTransport(serving.url);
  const asked: ElicitRequestFormParams[] = [];
  const logged: unknown[] = [];
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: `an answer to ${JSON.stringify(params.messages)}` },
  }));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params as ElicitRequestFormParams);
    return {
      action: 'accept',
      content: { response: 'yes', name: 'Jane', untitledMulti: ['option1'] },
    };
  });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    logged.push(params.data);
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, args: { [name: string]: unknown } = {}) =>
    (await client.callTool({ name, arguments: args })) as CallToolResult;
  return { client, transport, call, asked, logged };
}

describe('the everything server over the SDK’s HTTP transport', () => {
  test('gives each client a session of its own [STREAM-04] [STREAM-05]', async () => {
    const [one, other] = [await connect(), await connect()];
    expect(one.transport.sessionId).not.toBe(other.transport.sessionId);
    expect(new Set(serving.sessions.keys())).toEqual(
      new Set([one.transport.sessionId, other.transport.sessionId]),
    );
    expect(textOf(await one.call('test_simple_text'))).toContain('simple text');
    expect((await other.call('test_error_handling')).isError).toBe(true);
  });

  test('ends a session on DELETE by its client, and forgets it [STREAM-04]', async () => {
    const { client, transport } = await connect();
    const session = serving.sessions.get(transport.sessionId as string);
    await transport.terminateSession();
    expect(await session?.closed).toEqual({ kind: 'input-ended' });
    expect(serving.sessions.size).toBe(0);
    await client.close();
    const { status } = await post({ 'mcp-session-id': transport.sessionId ?? 'gone' });
    expect(status).toBe(404);
  });

  test("sends requests of a call on the call's stream [STREAM-01]", async () => {
    const { call, asked } = await connect();
    expect(textOf(await call('test_sampling', { prompt: 'how many?' }))).toContain('how many?');
    expect(textOf(await call('test_elicitation', { message: 'well?' }))).toContain('"yes"');
    expect(textOf(await call('test_elicitation_sep1034_defaults'))).toContain('"Jane"');
    expect(textOf(await call('test_elicitation_sep1330_enums'))).toContain('["option1"]');
    expect(asked.map(({ message }) => message)).toHaveLength(3);
    expect(facts.of('output.lost')).toEqual([]);
  });

  test("sends progress and logs of a call on the call's stream [STREAM-01]", async () => {
    const { client, call, logged } = await connect();
    const heard: number[] = [];
    await client.callTool({ name: 'test_tool_with_progress' }, undefined, {
      onprogress: ({ progress }) => heard.push(progress),
    });
    expect(heard).toEqual([0, 50, 100]);
    await client.setLoggingLevel('info');
    await call('test_tool_with_logging');
    expect(logged).toHaveLength(3);
    await client.setLoggingLevel('error');
    await call('test_tool_with_logging');
    expect(logged).toHaveLength(3);
  });

  test('needs no other stream for messages of a call [STREAM-01]', async () => {
    const opened = await open({}).response;
    opened.resume();
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const { response } = open(session, toolCall('logs', 'test_tool_with_logging'));
    const text = (await (await response).toArray()).join('');
    const messages = [...text.matchAll(/^data: (\{.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as { method?: string; id?: string },
    );
    expect(messages.map(({ method, id }) => method ?? id)).toEqual([
      'notifications/message',
      'notifications/message',
      'notifications/message',
      'logs',
    ]);
  });

  test('serves resources, prompts and completion', async () => {
    const { client } = await connect();
    const { contents } = await client.readResource({ uri: 'test://template/a%20b/data' });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ id: 'a b' });
    await client.subscribeResource({ uri: 'test://watched-resource' });
    const { messages } = await client.getPrompt({
      name: 'test_prompt_with_arguments',
      arguments: { arg1: 'Paris', arg2: 'two' },
    });
    expect(messages[0]?.content).toMatchObject({
      text: expect.stringContaining('Paris') as string,
    });
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    });
    expect(completion.values).toEqual(['Paris', 'Park', 'Party']);
  });

  test('serves the SDK 2 client in the legacy era [STREAM-05]', async () => {
    const client = new Client2(
      { name: 'e2e', version: '2' },
      { versionNegotiation: { mode: 'legacy' } },
    );
    await client.connect(new Http2(serving.url));
    onTestFinished(() => client.close());
    const { content } = await client.callTool({ name: 'test_multiple_content_types' });
    expect((content as { type: string }[]).map(({ type }) => type)).toEqual([
      'text',
      'image',
      'resource',
    ]);
  });

  test("continues when a client closes a call's stream, losing only the answer", async () => {
    const { transport, call } = await connect();
    const { response, sent } = open(
      { 'mcp-session-id': transport.sessionId ?? '' },
      {
        jsonrpc: '2.0',
        id: 'left',
        method: 'tools/call',
        params: { name: 'test_tool_with_progress', arguments: {} },
      },
    );
    (await response).destroy();
    sent.destroy();
    expect((await facts.next('output.lost')).message).toContain(
      'The response to left was not sent',
    );
    expect(textOf(await call('test_simple_text'))).toContain('simple text');
  });

  test.each<{ headers: Headers }>([
    { headers: { host: 'evil.example.com' } },
    { headers: { origin: 'http://evil.example.com' } },
  ])('rejects $headers with 403, and creates no session [STREAM-03]', async ({ headers }) => {
    expect((await post(headers)).status).toBe(403);
    expect((await facts.next('session.closed')).message).toBe('shutdown');
    expect(serving.sessions.size).toBe(0);
  });

  test('answers a missing handshake with an error, and creates no session [STREAM-04]', async () => {
    const { status } = await post({}, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(status).toBe(400);
    await facts.next('session.closed');
    expect(serving.sessions.size).toBe(0);
    expect((await post({ 'mcp-session-id': 'unheard-of' })).status).toBe(404);
  });
});

describe('the everything server over stdio', () => {
  test('serves the official client from its own process', async () => {
    const sdk = await connectOverStdio(program('examples/everything/stdio.ts'));
    expect(textOf(await sdk.callRaw('test_simple_text'))).toContain('simple text');
    expect((await sdk.client.listPrompts()).prompts).toHaveLength(5);
  });
});

type Headers = { readonly [name: string]: string };

/** A POST like a client's, with these headers. `fetch` would not send a foreign Host. */
function open(headers: Headers, message: object = initialize(1)) {
  const sent = request(serving.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve);
    sent.on('error', reject);
  });
  sent.end(JSON.stringify(message));
  return { sent, response };
}

async function post(headers: Headers, message?: object) {
  const response = await open(headers, message).response;
  response.resume();
  return { status: response.statusCode };
}
