import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { expect, test } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import { ask, callTool, request } from './modern-client.ts';
import type { ModernRequestOptions } from './modern-client.ts';
import { messagesOf, post } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';

const version = { 'mcp-protocol-version': '2026-07-28' };
const versionKey = 'io.modelcontextprotocol/protocolVersion';

test.each<[string, number, number, string, ModernRequestOptions]>([
  [
    'without its capabilities',
    400,
    -32602,
    'Invalid params: "_meta" of a request must have "io.modelcontextprotocol/clientCapabilities"',
    { capabilities: undefined },
  ],
  [
    'with an invalid log level',
    400,
    -32602,
    'Invalid params: "io.modelcontextprotocol/logLevel" in "_meta" must be one of debug, info, notice, warning, error, critical, alert, emergency, got "loud"',
    { logLevel: 'loud' },
  ],
  [
    'of an unknown revision',
    400,
    -32022,
    'Unsupported protocol version "2099-01-01": a request must name one of 2026-07-28',
    { protocolVersion: '2099-01-01' },
  ],
])('answers a request %s with %i and %i [HMOD-05]', async (_, status, code, message, asking) => {
  const url = await serveHttp(laboratory);
  const answer = await ask(url, 'tools/list', {}, asking);
  expect([answer.status, answer.error?.code, answer.error?.message]).toEqual([
    status,
    code,
    message,
  ]);
});

test('rejects a request without a client description with 400 [HMOD-05]', async () => {
  const url = await serveHttp(laboratory);
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
  const response = await post(url, message, { ...version, 'mcp-method': 'tools/list' });
  const [frame] = await messagesOf(response);
  expect([response.status, frame]).toEqual([
    400,
    {
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32602,
        message: `Invalid params: "_meta" of a request must have "${versionKey}" and "io.modelcontextprotocol/clientCapabilities"`,
      },
    },
  ]);
});

test('rejects a call that needs a missing client capability with 400 [HMOD-05]', async () => {
  const url = await serveHttp(laboratory);
  const { status, error } = await callTool(url, 'ask', { kind: 'sampling', count: 1 });
  expect([status, error?.code, error?.data]).toEqual([
    400,
    -32021,
    { requiredCapabilities: { sampling: {} } },
  ]);
});

test.each([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'tasks/list',
  'no/method',
  '__proto__',
])('answers the unknown method %s with 404 and the error [HMOD-06]', async (method) => {
  const url = await serveHttp(laboratory);
  const { status, error } = await ask(url, method);
  expect([status, error]).toEqual([
    404,
    { code: -32601, message: `Method not found: "${method}" is not offered by this server` },
  ]);
});

test.each<[string, unknown, number | undefined]>([
  ['a response', { jsonrpc: '2.0', id: 1, result: {} }, -32600],
  ['an error', { jsonrpc: '2.0', error: { code: -32603, message: 'no' } }, -32600],
  ['a batch', [enveloped(1, 'tools/list')], -32600],
  ['an invalid message', { id: 1 }, -32600],
])('rejects %s with 400 [HMOD-07]', async (_, message, code) => {
  const url = await serveHttp(laboratory);
  const response = await post(url, message, version);
  const [frame] = await messagesOf(response);
  expect([response.status, frame?.error?.code]).toEqual([400, code]);
});

test('accepts a notification with 202 and no body [HMOD-07]', async () => {
  const url = await serveHttp(laboratory);
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const response = await post(url, message, version);
  expect([response.status, await response.text()]).toEqual([202, '']);
});

test.each(['GET', 'DELETE', 'PUT'])('rejects %s with 405 [HMOD-01]', async (method) => {
  const url = await serveHttp(laboratory);
  const headers = { ...version, accept: 'text/event-stream', 'mcp-session-id': 'mine' };
  const response = await fetch(url, { method, headers });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
});

test('ignores a session header and creates no session [HMOD-01]', async () => {
  const url = await serveHttp(laboratory);
  const headers = { 'mcp-session-id': 'nobody', 'last-event-id': '1-1' };
  const answer = await ask(url, 'tools/list', {}, { headers });
  expect([answer.status, answer.headers.get('mcp-session-id')]).toEqual([200, null]);
});

test('answers with JSON if nothing precedes the response, even of a failed tool [HMOD-08]', async () => {
  const url = await serveHttp(laboratory);
  const answers = await Promise.all([
    callTool(url, 'echo', { message: 'hi' }),
    callTool(url, 'echo', {}),
    callTool(url, 'nothing'),
  ]);
  expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
    [200, 'application/json'],
    [200, 'application/json'],
    [200, 'application/json'],
  ]);
});

test('rejects a page of another origin with 403 [HMOD-10]', async () => {
  const url = await serveHttp(laboratory);
  const refused = await request(url, 'tools/list', {}, { headers: { origin: 'http://evil.test' } });
  const own = await ask(url, 'tools/list', {}, { headers: { origin: url.origin } });
  expect([refused.status, own.status]).toEqual([403, 200]);
});
