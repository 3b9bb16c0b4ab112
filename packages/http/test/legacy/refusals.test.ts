import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { httpError, checkHeaders } from '../../src/checks.ts';
import type { RequestHead } from '../../src/http-exchange.ts';
import { begin, initializeRequest, jsonOf } from '../raw-client.ts';
import type { RawSession } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

const echo = defineTool({ name: 'echo', description: 'Says hi', handler: () => 'hi' });
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const batch = [ping];

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  /** Raw body instead of JSON. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: { readonly [name: string]: string | undefined };
}

test.each([
  [400, -32_600],
  [404, -32_600],
  [500, -32_000],
  [501, -32_600],
  [503, -32_000],
])('blames the right side in an error with status %i', (status, code) => {
  const { body, headers } = httpError(status, 'It is so', { allow: 'GET' });
  expect(JSON.parse(String(body))).toMatchObject({ error: { code, message: 'It is so' } });
  expect(headers).toEqual({ allow: 'GET', 'content-type': 'application/json' });
});

test('checks the headers of each request, whatever was valid before', () => {
  const types = ['application/json', 'text/event-stream'];
  const fit = {
    contentType: 'application/json',
    contentEncoding: undefined,
    accept: 'application/json, text/event-stream',
  };
  const statusOf = (head: object, taken = types) =>
    checkHeaders({ ...fit, ...head } as RequestHead, taken)?.status;
  const others: readonly (readonly [object, number])[] = [
    [{ contentType: 'text/plain' }, 415],
    [{ contentType: undefined }, 415],
    [{ contentEncoding: 'gzip' }, 415],
    [{ accept: 'application/json' }, 406],
  ];
  for (const [head, status] of others) {
    expect([statusOf({}), statusOf(head)]).toEqual([undefined, status]);
  }
  const json = { accept: 'application/json' };
  expect([statusOf(json, []), statusOf(json)]).toEqual([undefined, 406]);
});

/** Sends a session request with the given deviations. */
function send(session: RawSession, { method = 'POST', body = ping, text, headers }: Sent) {
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...session.headers,
    ...headers,
  };
  const given = Object.entries(all).filter(
    (each): each is [string, string] => each[1] !== undefined,
  );
  const hasBody = method === 'POST' || method === 'PUT';
  return fetch(session.url, {
    method,
    headers: given,
    ...(hasBody ? { body: text ?? JSON.stringify(body) } : {}),
  });
}

const refusals: readonly (readonly [what: string, sent: Sent, status: number, names: string])[] = [
  [
    'a request without a session',
    { headers: { 'mcp-session-id': undefined } },
    400,
    'Mcp-Session-Id header is missing',
  ],
  [
    'an empty session id',
    { headers: { 'mcp-session-id': '' } },
    400,
    'Mcp-Session-Id header is missing',
  ],
  ['an unknown session', { headers: { 'mcp-session-id': 'nobody' } }, 404, '"nobody"'],
  ['a session id with spaces', { headers: { 'mcp-session-id': 'a b' } }, 404, '"a b"'],
  ['a session id beyond ASCII', { headers: { 'mcp-session-id': 'caf\u00e9' } }, 404, 'no session'],
  [
    'a notification for no session',
    { body: { jsonrpc: '2.0', method: 'x' }, headers: { 'mcp-session-id': 'nobody' } },
    404,
    '"nobody"',
  ],
  [
    'a response for no session',
    { body: { jsonrpc: '2.0', id: 1, result: {} }, headers: { 'mcp-session-id': 'nobody' } },
    404,
    '"nobody"',
  ],
  [
    'a GET for no session',
    { method: 'GET', headers: { 'mcp-session-id': 'nobody' } },
    404,
    '"nobody"',
  ],
  [
    'a DELETE for no session',
    { method: 'DELETE', headers: { 'mcp-session-id': 'nobody' } },
    404,
    '"nobody"',
  ],
  [
    "initialize under an id of the client's own",
    { body: initializeRequest(), headers: { 'mcp-session-id': 'mine' } },
    404,
    '"mine"',
  ],
  [
    'an unknown revision',
    { headers: { 'mcp-protocol-version': '1999-01-01' } },
    400,
    '"1999-01-01"',
  ],
  [
    'another revision than the negotiated one',
    { headers: { 'mcp-protocol-version': '2025-03-26' } },
    400,
    '2025-11-25',
  ],
  [
    'two revisions',
    { headers: { 'mcp-protocol-version': '2025-11-25, 2025-11-25' } },
    400,
    '2025-11-25, 2025-11-25',
  ],
  ['an empty revision', { headers: { 'mcp-protocol-version': '' } }, 400, '""'],
  [
    'an unknown revision on GET',
    { method: 'GET', headers: { 'mcp-protocol-version': 'x' } },
    400,
    '"x"',
  ],
  [
    'an unknown revision on DELETE',
    { method: 'DELETE', headers: { 'mcp-protocol-version': 'x' } },
    400,
    '"x"',
  ],
  [
    'a client that takes no stream',
    { headers: { accept: 'application/json' } },
    406,
    'text/event-stream',
  ],
  [
    'a client that takes no JSON',
    { headers: { accept: 'text/event-stream' } },
    406,
    'application/json',
  ],
  [
    'a client that refuses JSON',
    { headers: { accept: 'application/json;q=0, */*' } },
    406,
    'application/json',
  ],
  [
    'a GET that takes no stream',
    { method: 'GET', headers: { accept: 'application/json' } },
    406,
    'text/event-stream',
  ],
  ['text', { headers: { 'content-type': 'text/plain' } }, 415, '"text/plain"'],
  [
    'something that only begins like JSON',
    { headers: { 'content-type': 'application/jsonp' } },
    415,
    '"application/jsonp"',
  ],
  ['a compressed body', { headers: { 'content-encoding': 'gzip' } }, 415, '"gzip"'],
  ['a body that is too long', { text: `"${'x'.repeat(2000)}"` }, 413, '1000 bytes'],
  ['a body that is no UTF-8', { text: new Uint8Array([0x22, 0xff, 0x22]) }, 400, 'UTF-8'],
  ['PUT', { method: 'PUT' }, 405, 'PUT'],
  ['PATCH', { method: 'PATCH' }, 405, 'PATCH'],
  [
    'a foreign origin',
    { headers: { origin: 'https://evil.example' } },
    403,
    '"https://evil.example"',
  ],
  ['the origin of a sandbox', { headers: { origin: 'null' } }, 403, '"null"'],
  [
    'a foreign origin on GET',
    { method: 'GET', headers: { origin: 'https://evil.example' } },
    403,
    'evil',
  ],
  [
    'a foreign origin on DELETE',
    { method: 'DELETE', headers: { origin: 'https://evil.example' } },
    403,
    'evil',
  ],
];

describe('a rejected request gets an error without an id', () => {
  test.each(refusals)('for %s [HTTP-01]', async (_, sent, status, names) => {
    const { url } = await serveTools([echo], { limits: { maxBodyBytes: 1000 } });
    const response = await send(await begin(url), sent);
    const { error, ...rest } = await jsonOf(response);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/json',
    ]);
    expect(error?.message).toContain(names);
    expect(rest).toEqual({ jsonrpc: '2.0' });
  });

  test('for an unsupported method, with the supported ones [HTTP-01]', async () => {
    const { url } = await serveTools([echo]);
    const response = await fetch(url, { method: 'PUT' });
    expect(response.headers.get('allow')).toBe('GET, POST, DELETE');
  });

  test('for a repeated session id [HTTP-01]', async () => {
    const { url } = await serveTools([echo]);
    const session = await begin(url);
    const response = await send(session, { headers: { 'Mcp-Session-Id': session.id } });
    expect(response.status).toBe(400);
    expect((await jsonOf(response)).error?.message).toContain('more than once');
  });
});

const invalid: readonly (readonly [what: string, text: string, code: number])[] = [
  ['no JSON', '{', -32_700],
  ['nothing', '', -32_700],
  ['no message', '7', -32_600],
  ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32_600],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
  ['an empty batch', '[]', -32_600],
  ['a batch', JSON.stringify(batch), -32_600],
  ['what nests too deep', '['.repeat(1000) + ']'.repeat(1000), -32_600],
];

describe('an invalid body gets a 400', () => {
  test.each(invalid)('for %s [HTTP-02]', async (_, text, code) => {
    const { url } = await serveTools([echo]);
    const response = await send(await begin(url), { text });
    expect([response.status, (await jsonOf(response)).error?.code]).toEqual([400, code]);
  });

  test('before there is a session, too [HTTP-02]', async () => {
    const { url } = await serveTools([echo]);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: '{' });
    expect([response.status, (await jsonOf(response)).error?.code]).toEqual([400, -32_700]);
  });
});
