/** Scopes apply equally to every way of calling a tool. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { initialize, request as requestOf } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../src/index.ts';
import { EventReader, initializeRequest, post } from '../raw-client.ts';
import { request } from '../modern/modern-client.ts';
import { serveHttp } from '../serving.ts';

const as = (token: string) => ({ authorization: `Bearer ${token}` });

const authorization = {
  verifyToken: (token: string) => ({
    subject: token,
    scopes: token === 'writer' ? ['notes:write'] : [],
  }),
};

const write = defineTool({
  name: 'write',
  description: 'Writes',
  scopes: ['notes:write'],
  handler: (_, { principal }) => `written by ${principal?.id}`,
});

const notes = () => createMcpServer({ name: 'notes', version: '1', tools: [write] });
const call = requestOf(2, 'tools/call', { name: 'write', arguments: {} });
const batched = { 'mcp-protocol-version': '2025-03-26' };

/**
 * Opens an HTTP+SSE stream.
 *
 * @returns the URL for its messages, and its events
 */
async function opened(url: URL, token: string) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { accept: 'text/event-stream', ...as(token) };
  const response = await fetch(new URL('/sse', url), { headers, signal: abort.signal });
  const events = new EventReader(response);
  const messages = new URL(String((await events.next())?.data), new URL('/sse', url));
  await post(messages, initializeRequest('2024-11-05'), as(token));
  await events.message();
  return { messages, events };
}

test.each<[string, HttpOptions, (url: URL, token: string) => Promise<Response>]>([
  [
    'in a session',
    {},
    async (url, token) => {
      const begun = await post(url, initialize(1), as(token));
      const id = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
      return post(url, call, { ...as(token), ...id });
    },
  ],
  [
    'of 2026-07-28',
    {},
    (url, token) =>
      request(url, 'tools/call', { name: 'write', arguments: {} }, { headers: as(token) }),
  ],
  ['without a session', { stateless: true }, (url, token) => post(url, call, as(token))],
  [
    'without a session, in a batch',
    { stateless: true },
    (url, token) => post(url, [call], { ...as(token), ...batched }),
  ],
])('requires the scopes of a tool for a call %s', async (_, options, send) => {
  const url = await serveHttp(notes(), { ...options, authorization });
  const refused = await send(url, 'reader');
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope');
  const served = await send(url, 'writer');
  expect([served.status, await served.text()]).toEqual([
    200,
    expect.stringMatching(/written by .*writer/),
  ]);
});

test('requires the scopes of a tool over HTTP+SSE, and binds the session to its principal [HTTP-17]', async () => {
  const url = await serveHttp(notes(), { sse: true, authorization });
  const reader = await opened(url, 'reader');
  expect((await post(reader.messages, call, as('reader'))).status).toBe(403);
  const writer = await opened(url, 'writer');
  expect((await post(writer.messages, call, as('reader'))).status).toBe(404);
  expect((await post(writer.messages, call, as('writer'))).status).toBe(202);
  expect(JSON.stringify((await writer.events.message()).data)).toMatch(/written by .*writer/);
});
