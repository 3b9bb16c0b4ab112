/** A host refuses what leads elsewhere, before anything is sent there. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { assertTrusted } from '../../../src/client/auth/guarded-fetch.ts';
import { hostAuthorization } from '../../../src/client/auth/host-authorization.ts';
import type { AuthOption } from '../../../src/client/auth/options.ts';
import { authorize, query, refusal } from './authorizing.ts';
import { agree, call, startProtected } from './protected-server.ts';
import type { Called } from './protected-server.ts';

describe('an answer that is not as it should be is refused [LOGIN-03] [LOGIN-07]:', () => {
  test.each<[string, (url: URL) => URL, RegExp]>([
    ['another state', query((q) => q.set('state', 'x')), /its "state" is another one$/],
    ['no state', query((q) => q.delete('state')), /its "state" is another one$/],
    [
      'another issuer',
      query((q) => q.set('iss', 'https://evil.example.com')),
      /^refused: The issuer is not/,
    ],
    [
      'no issuer where there must be one',
      query((q) => q.delete('iss')),
      /^refused: The issuer is not/,
    ],
    ['no code', query((q) => q.delete('code')), /has no code$/],
    [
      'another place',
      (url) => new URL(url.href.replace('/callback', '/elsewhere')),
      /sent back to/,
    ],
    [
      'an error of another issuer',
      query((q) => {
        q.set('error', 'access_denied');
        q.set('iss', 'https://evil.example.com');
      }),
      /^refused: The issuer is not/,
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
      /does not say that it supports PKCE with S256/,
    ],
    [
      'with plain PKCE alone',
      (own) => ({ ...own, code_challenge_methods_supported: ['plain'] }),
      /does not say that it supports PKCE with S256/,
    ],
    [
      'whose metadata name another issuer',
      (own) => ({ ...own, issuer: 'https://evil.example.com' }),
      /issuer/,
    ],
    [
      'that leads to an address without https',
      (own) => ({ ...own, token_endpoint: 'http://evil.example.com/token' }),
      /The token endpoint is http:\/\/evil\.example\.com: no secret is sent there/,
    ],
    [
      'that leads out of the web',
      (own) => ({ ...own, authorization_endpoint: 'file:///etc/passwd' }),
      /The authorization endpoint is file:/,
    ],
    [
      'that registers nobody',
      without('registration_endpoint'),
      /does not support dynamic client registration/,
    ],
    [
      'that answers with something else',
      () => ({ hello: 'world' }),
      /what its specification does not allow/,
    ],
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
    issuer.metadata = (own) => ({ ...own, filler: 'x'.repeat(300_000) });
    const authorization = authorize(url, { visit: agree });
    expect(refusal(await call(authorization, url, 'read'))).toBe(
      `refused: ${issuer.issuer} has answered with more than 262144 bytes`,
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

describe('a server that names [LOGIN-06]', () => {
  test.each<[string, (url: URL) => string, RegExp]>([
    ['another resource', () => 'https://evil.example.com/mcp', /says that it is https:\/\/evil/],
    [
      'a resource beside it',
      (url) => `${url.origin}/other`,
      /says that it is http:.*\/other: no token/,
    ],
  ])('%s gets no token', async (_, resourceOf, message) => {
    const { issuer, url } = await startProtected();
    const metadata = { resource: resourceOf(url), authorization_servers: [issuer.issuer] };
    const where = await startMetadata(metadata);
    const outcome = await authorize(url, { visit: agree }).challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${where.href}"`,
      url: url.href,
      sent: {},
      retries: 0,
    });
    expect(refusal(outcome as Called)).toMatch(message);
    expect([issuer.count('/authorize'), issuer.count('/token')]).toEqual([0, 0]);
  });

  test('itself is asked for by that name, at either end', async () => {
    const { issuer, url } = await startProtected();
    await call(authorize(url, { visit: agree }), url, 'read');
    const named = issuer.received.filter((one) => /\/(?:authorize|token)[ ?]/.test(one));
    expect(named).toHaveLength(2);
    for (const one of named) expect(one).toContain(`resource=${encodeURIComponent(url.href)}`);
  });
});

test('nothing is asked for unless the host allows it [LOGIN-09]', () => {
  for (const option of [undefined, false]) {
    expect(hostAuthorization('https://mcp.example.com/mcp', option)).toBeUndefined();
  }
});

test.each<[string, string, AuthOption]>([
  ['no token is sent to http://mcp.example.com', 'http://mcp.example.com/mcp', true],
  [
    '"clientSecret" is of no use without "clientId"',
    'https://a.example.com',
    { clientSecret: 's' },
  ],
  ['"visitTimeoutMs" must be from 1', 'https://a.example.com', { visitTimeoutMs: 0 }],
  [
    '"clientMetadataUrl" must be an https://',
    'https://a.example.com',
    { clientMetadataUrl: 'http://a/b' },
  ],
  ['"redirectUrl" must be a URL, not "x"', 'https://a.example.com', { redirectUrl: 'x' }],
  [
    'nothing listens at "redirectUrl" https://h.example.com',
    'https://a.example.com',
    { redirectUrl: 'https://h.example.com/back' },
  ],
  ['"issuer" must be a URL, not "x"', 'https://a.example.com', { issuer: 'x' }],
  ['"clientId" is missing', 'https://a.example.com', { kind: 'client-credentials', clientId: '' }],
  [
    'give either "clientSecret" or "privateKey"',
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

test.each<[string, string, boolean]>([
  ['https://login.example.com/token', 'https://mcp.example.com', true],
  ['http://127.0.0.1:9/token', 'http://localhost:8/mcp', true],
  ['http://127.0.0.1:9/token', 'https://mcp.example.com', false],
  ['http://login.example.com/token', 'http://localhost:8/mcp', false],
  ['ftp://127.0.0.1/token', 'http://127.0.0.1/mcp', false],
])('a secret may go to %s for %s: %s', (url, server, isTrusted) => {
  const send = () => assertTrusted(new URL(url), new URL(server), 'The token endpoint');
  if (isTrusted) expect(send).not.toThrow();
  else expect(send).toThrow(/no secret is sent there/);
});
