/** A host refuses what leads elsewhere, before anything is sent there. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { assertTrusted } from '../../src/auth/guarded-fetch.ts';
import { hostAuthorization } from '../../src/auth/host-authorization.ts';
import { authWith, loginTimeFor } from '../../src/auth/options.ts';
import type { AuthOption } from '../../src/auth/options.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { authorize, query, refusal } from './authorizing.ts';
import { authorizeBy, ways, without as withoutToken } from './login-ways.ts';
import { agree, call, challengeNaming, startProtected } from './protected-server.ts';
import type { Called } from './protected-server.ts';

describe('an answer that is not as it should be is refused [LOGIN-03] [LOGIN-07]:', () => {
  test.each<[string, (url: URL) => URL, RegExp]>([
    ['another state', query((q) => q.set('state', 'x')), /its "state" does not match$/],
    ['no state', query((q) => q.delete('state')), /its "state" does not match$/],
    [
      'another issuer',
      query((q) => q.set('iss', 'https://evil.example.com')),
      /^refused: Untrusted authorization server/,
    ],
    [
      'no issuer where there must be one',
      query((q) => q.delete('iss')),
      /^refused: Untrusted authorization server/,
    ],
    [
      'an error without an issuer where there must be one',
      query((q) => {
        q.set('error', 'access_denied');
        q.delete('iss');
      }),
      /^refused: Untrusted authorization server/,
    ],
    ['no code', query((q) => q.delete('code')), /returned no code$/],
    [
      'another place',
      (url) => new URL(url.href.replace('/callback', '/elsewhere')),
      /The redirect must go to/,
    ],
    [
      'an error of another issuer',
      query((q) => {
        q.set('error', 'access_denied');
        q.set('iss', 'https://evil.example.com');
      }),
      /^refused: Untrusted authorization server/,
    ],
  ])('%s', async (_, sendBack, message) => {
    const { issuer, url } = await startProtected();
    issuer.sendBack = sendBack;
    const authorization = authorize(url, { visit: agree });
    expect(refusal(await call(authorization, url, 'read'))).toMatch(message);
    expect(issuer.count('/token')).toBe(0);
  });
});

describe('an authorization server is not trusted [LOGIN-02] [LOGIN-04]', () => {
  const without =
    (name: string) =>
    (own: object): object =>
      Object.fromEntries(Object.entries(own).filter(([key]) => key !== name));

  test.each<[string, (own: object) => object, RegExp]>([
    [
      'without PKCE',
      without('code_challenge_methods_supported'),
      /does not announce PKCE with S256/,
    ],
    [
      'with plain PKCE alone',
      (own) => ({ ...own, code_challenge_methods_supported: ['plain'] }),
      /does not announce PKCE with S256/,
    ],
    [
      'whose metadata name another issuer',
      (own) => ({ ...own, issuer: 'https://evil.example.com' }),
      /Untrusted authorization server/,
    ],
    [
      'that leads to an address without https',
      (own) => ({ ...own, token_endpoint: 'http://evil.example.com/token' }),
      /The token endpoint must use .*, got http:\/\/evil\.example\.com: secrets/,
    ],
    [
      'that leads out of the web',
      (own) => ({ ...own, authorization_endpoint: 'file:///etc/passwd' }),
      /The authorization endpoint must use .*, got file:/,
    ],
    [
      'that registers nobody',
      without('registration_endpoint'),
      /does not support dynamic client registration/,
    ],
    ['that answers with something else', () => ({ hello: 'world' }), /sent a malformed response/],
  ])('%s', async (_, metadata, message) => {
    const { issuer, url } = await startProtected();
    issuer.metadata = metadata;
    const authorization = authorize(url, { visit: agree });
    expect(refusal(await call(authorization, url, 'read'))).toMatch(message);
    expect([issuer.count('/register'), issuer.count('/authorize'), issuer.count('/token')]).toEqual(
      [0, 0, 0],
    );
  });

  test('that sends more than a host reads', async () => {
    const { issuer, url } = await startProtected();
    const lengthy = { path: '' };
    issuer.fault = (request, response) => {
      if (request.url !== lengthy.path) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ filler: 'x'.repeat(300_000) }));
      return true;
    };
    for (const way of ways) {
      for (const path of ['/.well-known/oauth-authorization-server', '/register', '/token']) {
        if (way === 'a host itself' && path === '/register') continue;
        lengthy.path = path;
        const called = await call(authorizeBy(way, issuer, url), url, 'read');
        expect(refusal(called), `${way} ${path}`).toBe(
          `refused: The response of ${issuer.issuer} exceeds 262144 bytes`,
        );
      }
    }
  });

  test.each<[number, string | undefined, string]>([
    [
      400,
      '{"error":"invalid_redirect_uri"}',
      'refused: The authorization server rejected the client registration (HTTP 400): register a client there and set "clientId"',
    ],
    [
      503,
      'later',
      'unreachable: The authorization server rejected the client registration (HTTP 503): register a client there and set "clientId"',
    ],
    [204, undefined, 'refused: The authorization server sent a malformed response'],
  ])('that answers a client that registers itself with %i', async (status, body, message) => {
    const { issuer, url } = await startProtected();
    issuer.fault = (request, response) => {
      if (request.url !== '/register') return false;
      response.writeHead(status).end(body);
      return true;
    };
    expect(refusal(await call(authorize(url, { visit: agree }), url, 'read'))).toBe(message);
  });

  test('whose port cannot be used is said to be so', async () => {
    const { issuer, url } = await startProtected();
    issuer.metadata = (own) => ({ ...own, registration_endpoint: 'http://127.0.0.1:1/register' });
    expect(refusal(await call(authorize(url, { visit: agree }), url, 'read'))).toBe(
      'unreachable: The login failed: Error: bad port',
    );
  });

  test.each(ways)(
    'that is named at another address than https is asked nothing (%s)',
    async (way) => {
      const { issuer, url } = await startProtected();
      const elsewhere = issuer.issuer.replace('127.0.0.1', '0.0.0.0');
      const challenge = await challengeNaming(url, { issuer: elsewhere });
      const outcome = await authorizeBy(way, issuer, url).challenged(withoutToken(url, challenge));
      expect(refusal(outcome as Called)).toContain(`got ${elsewhere}: secrets are not sent there`);
      expect(issuer.asked).toEqual([]);
    },
  );

  test.each(ways)('that is not named at all (%s)', async (way) => {
    const issuer = await AuthorizationServer.start();
    onTestFinished(() => issuer.close());
    issuer.fault = (_, response) => {
      response.writeHead(404).end();
      return true;
    };
    const server = new URL(`${issuer.issuer}/mcp`);
    const outcome = await authorizeBy(way, issuer, server).challenged(withoutToken(server));
    expect(refusal(outcome as Called)).toBe(
      'refused: The server requires a token but names no authorization server: get a token from its operator and send it as a header',
    );
  });

  test('that is named and has no metadata', async () => {
    const { issuer, url } = await startProtected();
    issuer.fault = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false;
      response.writeHead(404).end();
      return true;
    };
    expect(refusal(await call(authorize(url, { visit: agree }), url, 'read'))).toBe(
      `refused: The authorization server ${issuer.issuer} has no metadata: the login code could be stolen`,
    );
  });
});

/** The metadata of a resource, somewhere else. */
async function startMetadata(metadata: object): Promise<URL> {
  const http = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(metadata));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`);
}

describe.each(ways)('a server that names [LOGIN-06] (%s)', (way) => {
  test.each<[string, (url: URL) => string, RegExp]>([
    ['another resource', () => 'https://evil.example.com/mcp', /are for https:\/\/evil/],
    ['a resource beside it', (url) => `${url.origin}/other`, /are for http:.*\/other: tokens/],
  ])('%s gets no token', async (_, resourceOf, message) => {
    const { issuer, url } = await startProtected();
    const metadata = { resource: resourceOf(url), authorization_servers: [issuer.issuer] };
    const where = await startMetadata(metadata);
    const challenge = `Bearer resource_metadata="${where.href}"`;
    const outcome = await authorizeBy(way, issuer, url).challenged(withoutToken(url, challenge));
    expect(refusal(outcome as Called)).toMatch(message);
    expect(issuer.asked.filter((one) => !one.includes('/.well-known/'))).toEqual([]);
  });

  test('itself is asked for by that name, at either end', async () => {
    const { issuer, url } = await startProtected();
    await call(authorizeBy(way, issuer, url), url, 'read');
    const named = issuer.received.filter((one) => /\/(?:authorize|device|token)[ ?]/.test(one));
    expect(named).toHaveLength(way === 'a host itself' ? 1 : 2);
    for (const one of named) expect(one).toContain(`resource=${encodeURIComponent(url.href)}`);
  });
});

test('nothing is asked for unless the host allows it [LOGIN-09]', () => {
  for (const option of [undefined, false]) {
    expect(hostAuthorization('https://mcp.example.com/mcp', option)).toBeUndefined();
  }
});

test.each<[string, string, AuthOption]>([
  [
    'the server URL must use https:// (or http:// on loopback), got http://mcp.example.com',
    'http://mcp.example.com/mcp',
    true,
  ],
  ['"clientSecret" requires "clientId"', 'https://a.example.com', { clientSecret: 's' }],
  ['"visitTimeoutMs" must be from 1', 'https://a.example.com', { visitTimeoutMs: 0 }],
  [
    '"visitTimeoutMs" must be from 1 to 2147483647, got 2147483648',
    'https://a.example.com',
    { visitTimeoutMs: 2 ** 31 },
  ],
  [
    '"clientMetadataUrl" must be an https://',
    'https://a.example.com',
    { clientMetadataUrl: 'http://a/b' },
  ],
  [
    '"clientMetadataUrl" must be an https:// URL with a path, got "x"',
    'https://a.example.com',
    { clientMetadataUrl: 'x' },
  ],
  ['"redirectUrl" must be a URL, got "x"', 'https://a.example.com', { redirectUrl: 'x' }],
  [
    '"redirectUrl" must be http:// on loopback, got https://h.example.com',
    'https://a.example.com',
    { redirectUrl: 'https://h.example.com/back' },
  ],
  [
    '"redirectUrl" must be http:// on loopback, got https://127.0.0.1',
    'https://a.example.com',
    { redirectUrl: 'https://127.0.0.1/back' },
  ],
  [
    '"redirectUrl" must be http:// on loopback, got http://h.example.com',
    'https://a.example.com',
    { redirectUrl: 'http://h.example.com/back' },
  ],
  ['"issuer" must be a URL, got "x"', 'https://a.example.com', { issuer: 'x' }],
  ['"clientId" is missing', 'https://a.example.com', { kind: 'client-credentials', clientId: '' }],
  [
    'set either "clientSecret" or "privateKey"',
    'https://a.example.com',
    { kind: 'client-credentials', clientId: 'c' },
  ],
  ['"token" must not be empty', 'https://a.example.com', { kind: 'bearer', token: '' }],
])('%s: an option that cannot be used is named', (message, url, option) => {
  expect(() => hostAuthorization(url, option)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`auth: ${message}`),
    }),
  );
});

test.each<AuthOption>([
  true,
  { visitTimeoutMs: 2 ** 31 - 1 },
  { redirectUrl: 'http://127.0.0.1:1/back' },
  { visit: agree, redirectUrl: 'https://h.example.com/back' },
  { kind: 'stored', clientId: 'c' },
])('%j can be used', (option) => {
  expect(hostAuthorization('https://mcp.example.com', option)).toBeTypeOf('function');
});

test('a login has the time of its visit, and 30 s', () => {
  const auth = { visitTimeoutMs: 60_000 };
  expect(loginTimeFor(auth, undefined)).toBe(90_000);
  expect(loginTimeFor({ visitTimeoutMs: 2 ** 31 - 1 }, undefined)).toBe(2 ** 31 - 1);
  expect(loginTimeFor(auth, 60_000)).toBe(60_000);
  expect(() => loginTimeFor(auth, 59_999)).toThrow('limits.loginTimeoutMs');
});

test("the client of a server's entry is added to a login that a host allows", () => {
  const registered = { clientId: 'c', clientSecret: 's' };
  const client = { ...registered, callbackPort: 9 };
  const redirectUrl = 'http://127.0.0.1:9/callback';
  expect(authWith(true, client)).toEqual({ ...registered, redirectUrl });
  expect(authWith({ device: true }, client)).toEqual({ device: true, ...registered });
  expect(authWith({ kind: 'stored' }, client)).toEqual({ kind: 'stored', ...registered });
  for (const auth of [undefined, false, { kind: 'bearer', token: 't' }] as const) {
    expect(authWith(auth, client)).toBe(auth);
  }
  expect(authWith(true, undefined)).toBe(true);
});

test.each<[string, string, boolean]>([
  ['https://login.example.com/token', 'https://mcp.example.com', true],
  ['http://127.0.0.1:9/token', 'http://localhost:8/mcp', true],
  ['http://127.0.0.1:9/token', 'https://mcp.example.com', false],
  ['http://login.example.com/token', 'http://localhost:8/mcp', false],
  ['ftp://127.0.0.1/token', 'http://127.0.0.1/mcp', false],
])('a secret may go to %s for %s: %s', (url, server, isTrusted) => {
  const send = () => assertTrusted(new URL(url), new URL(server), 'The token endpoint');
  if (isTrusted) expect(send).not.toThrow();
  else expect(send).toThrow(/secrets are not sent there/);
});
