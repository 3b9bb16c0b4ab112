import { expect, test } from 'vitest';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import { post } from './raw-client.ts';
import { serveHttp } from './serving.ts';

const page = 'https://app.example';
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

const corsOf = ({ headers }: Response) =>
  Object.fromEntries(
    [...headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-')),
  );

const ask = (url: URL, origin: string, headers = {}) =>
  fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', ...headers },
  });

test('lets a page of an allowed origin send any header and read those it needs', async () => {
  const url = await serveHttp(laboratory, { allowedOrigins: [page] });
  const asked = await ask(url, page, {
    'access-control-request-headers': 'content-type,mcp-param-text, mcp-session-id',
    'access-control-request-private-network': 'true',
  });
  expect(asked.status).toBe(204);
  expect(corsOf(asked)).toEqual({
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Private-Network',
    'access-control-allow-origin': page,
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': 'content-type, mcp-param-text, mcp-session-id',
    'access-control-allow-private-network': 'true',
    'access-control-expose-headers': expect.stringContaining('Mcp-Session-Id'),
    'access-control-max-age': '7200',
  });
  const sent = await post(url, ping, { origin: page });
  expect(sent.status).toBe(400);
  expect(corsOf(sent)).toEqual({
    vary: 'Origin',
    'access-control-allow-origin': page,
    'access-control-expose-headers': expect.stringContaining('WWW-Authenticate'),
  });
});

test('permits a page only what its preflight requests', async () => {
  const url = await serveHttp(laboratory, { allowedOrigins: [page] });
  const asked = await ask(url, page);
  expect(asked.status).toBe(204);
  expect(asked.headers.has('access-control-allow-headers')).toBe(false);
  expect(asked.headers.has('access-control-allow-private-network')).toBe(false);
  const headers = { origin: page, accept: 'text/event-stream' };
  expect((await fetch(url, { method: 'OPTIONS', headers })).status).toBe(405);
  const got = await fetch(url, { headers: { ...headers, 'access-control-request-method': 'GET' } });
  expect(got.status).toBe(400);
});

test('rejects a page of another origin without CORS headers', async () => {
  const url = await serveHttp(laboratory, { allowedOrigins: [page] });
  for (const origin of ['https://evil.example', 'null', `${page}.evil.example`]) {
    const answers = [await ask(url, origin), await post(url, ping, { origin })];
    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    for (const answer of answers) {
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    }
  }
});

test('sends no CORS headers without allowedOrigins', async () => {
  const url = await serveHttp(laboratory);
  expect(corsOf(await post(url, ping))).toEqual({});
  const asked = await ask(url, url.origin);
  expect([asked.status, asked.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
});

test('omits requested header names that no browser could send', async () => {
  const url = await serveHttp(laboratory, { allowedOrigins: 'any' });
  const asked = await ask(url, page, { 'access-control-request-headers': 'a b, good, "x"' });
  expect(asked.headers.get('access-control-allow-headers')).toBe('good');
});
