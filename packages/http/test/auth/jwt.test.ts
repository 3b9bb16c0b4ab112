/** JWT access tokens and their key sets. */
import type { ServerResponse } from 'node:http';
import { SignJWT, UnsecuredJWT, generateKeyPair } from 'jose';
import { describe, expect, test } from 'vitest';
import { principalOf, resource, start } from './start-authorization.ts';

const minute = 60_000;
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

describe('a valid JWT', () => {
  test('names its principal by issuer and subject', async () => {
    const { server, present } = await start();
    const exp = inSeconds(600);
    const claims = {
      aud: resource,
      client_id: 'app',
      scope: 'notes:read notes:write',
      exp,
      org: 7,
    };
    const principal = principalOf(await present(await server.issue(claims)));
    expect(principal).toMatchObject({
      subject: 'ada',
      clientId: 'app',
      scopes: ['notes:read', 'notes:write'],
      expiresAt: exp * 1000,
      claims: { org: 7 },
    });
    const later = principalOf(await present(await server.issue({ aud: resource, exp: exp + 1 })));
    expect(later.id).toBe(principal.id);
    const eve = principalOf(await present(await server.issue({ aud: resource, sub: 'eve' })));
    expect(eve.id).not.toBe(principal.id);
    const other = await start();
    const namesake = principalOf(await other.present(await other.server.issue({ aud: resource })));
    expect(namesake.id).not.toBe(principal.id);
  });

  test("distinguishes a client's own token from a user's with the same name", async () => {
    const { server, present } = await start();
    const ofClient = await server.issue({ aud: resource, sub: undefined, client_id: 'ada' });
    const client = principalOf(await present(ofClient));
    expect(client).toMatchObject({ subject: 'ada', clientId: 'ada' });
    const ada = principalOf(await present(await server.issue({ aud: resource })));
    expect(client.id).not.toBe(ada.id);
  });

  test.each<[string, object, readonly string[]]>([
    ['scp as a list', { scp: ['a', 'b'] }, ['a', 'b']],
    ['scp as a string', { scp: 'a b' }, ['a', 'b']],
    ['none', {}, []],
    ['invalid scopes', { scope: ['a', 7, 'no scope', ''] }, ['a']],
  ])('grants the scopes of %s', async (_, claims, scopes) => {
    const { server, present } = await start();
    const token = await server.issue({ aud: resource, ...claims });
    expect(principalOf(await present(token)).scopes).toEqual(scopes);
  });

  test.each<[string, string | readonly string[], string | readonly string[]]>([
    ['one of several audiences', resource, ['https://other.example', resource]],
    ['any configured audience', ['api://mcp', resource], 'api://mcp'],
    ['an origin with a trailing slash', 'https://mcp.example.com', 'https://mcp.example.com/'],
    ['an origin without a trailing slash', 'https://mcp.example.com/', 'https://mcp.example.com'],
  ])('is accepted for this server: %s', async (_, audience, aud) => {
    const { server, present } = await start(() => ({ audience }));
    expect((await present(await server.issue({ aud }))).ok).toBe(true);
  });

  test.each(['JWT', 'at+jwt', 'application/at+jwt', undefined])(
    'is accepted with the type %s',
    async (typ) => {
      const { server, present } = await start();
      expect((await present(await server.issue({ aud: resource }, { typ }))).ok).toBe(true);
    },
  );
});

describe('an invalid JWT', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['for another server', { aud: 'https://other.example' }, 'The token is for another server'],
    ['for one whose path differs', { aud: `${resource}/` }, 'The token is for another server'],
    ['without an audience', { aud: undefined }, 'The token is for another server'],
    [
      'of another issuer',
      { iss: 'https://evil.example' },
      'The token was issued by another issuer',
    ],
    ['that never expires', { exp: undefined }, 'The token has no expiry'],
    ['that has expired', { exp: inSeconds(-60) }, 'The token has expired'],
    ['that is not valid yet', { nbf: inSeconds(600) }, 'The token is not valid yet'],
    ['without a subject', { sub: undefined }, 'The token has no "sub"'],
  ])('is rejected: %s', async (_, claims, message) => {
    const { server, present } = await start();
    const given = await present(await server.issue({ aud: resource, ...claims }));
    expect(given).toMatchObject({ ok: false, status: 401 });
    expect(given).toHaveProperty('message', expect.stringContaining(message));
    expect(given).toHaveProperty(
      ['headers', 'www-authenticate'],
      expect.stringContaining('error="invalid_token"'),
    );
  });

  test.each([
    ['exp', -20, true],
    ['exp', -40, false],
    ['nbf', 20, true],
    ['nbf', 40, false],
  ] as const)('is judged with 30 s of clock skew: %s %i', async (name, seconds, ok) => {
    const { server, present } = await start(() => ({ limits: { clockSkewSeconds: 30 } }));
    const token = await server.issue({ aud: resource, [name]: inSeconds(seconds) });
    expect((await present(token)).ok).toBe(ok);
  });

  test('is rejected after its expiry plus the clock skew, even if cached', async () => {
    const { server, time, present } = await start(() => ({
      limits: { clockSkewSeconds: 30, tokenCacheMs: 60 * minute },
    }));
    const token = await server.issue({ aud: resource, exp: inSeconds(60) });
    expect((await present(token)).ok).toBe(true);
    time.pass(80_000);
    expect((await present(token)).ok).toBe(true);
    time.pass(15_000);
    expect(await present(token)).toMatchObject({ message: 'The token has expired' });
  });

  test('is rejected if it was signed for another purpose', async () => {
    const { server, present } = await start();
    const token = await server.issue({ aud: resource }, { typ: 'logout+jwt' });
    expect(await present(token)).toMatchObject({ status: 401 });
  });

  test('is rejected if it is unsigned, signed with a foreign key, or modified', async () => {
    const { server, present } = await start();
    const claims = { iss: server.issuer, sub: 'ada', aud: resource, exp: inSeconds(60) };
    const forged = await generateKeyPair('ES256');
    const good = await server.issue({ aud: resource });
    const [header = '', payload = '', signature = ''] = good.split('.');
    const { kid } = JSON.parse(atob(header)) as { readonly kid: string };
    const changed = btoa(atob(payload).replace('"ada"', '"eve"')).replaceAll('=', '');
    const published = await (await fetch(`${server.issuer}/jwks`)).text();
    const tokens = [
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(forged.privateKey),
      // Signed with the public key as an HMAC secret, which everyone knows.
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid })
        .sign(new TextEncoder().encode(published)),
      [header, changed, signature].join('.'),
      'opaque',
      'a.b.c',
    ];
    const refusals = await Promise.all(tokens.map((token) => present(token)));
    const [algorithm, wrong, none] = ['an algorithm', 'signature is invalid', 'not a signed JWT'];
    for (const [n, why] of [algorithm, wrong, algorithm, wrong, none, none].entries()) {
      expect(refusals[n]).toMatchObject({ status: 401, message: expect.stringContaining(why) });
    }
    expect((await present(good)).ok).toBe(true);
  });

  test('is rejected if its algorithm is not accepted', async () => {
    const { server, present } = await start(() => ({ algorithms: ['RS256'] }));
    const given = await present(await server.issue({ aud: resource }));
    expect(given).toMatchObject({ status: 401, message: expect.stringContaining('algorithm') });
  });

  test('is rejected unread and without fetching keys if it is too long', async () => {
    const { server, present } = await start(() => ({ limits: { maxTokenLength: 100 } }));
    const given = await present('x'.repeat(101));
    expect(given).toMatchObject({ status: 401, message: 'The token is too long' });
    expect(server.asked).toEqual([]);
    const read = await present('x'.repeat(100));
    expect(read).toMatchObject({ message: 'The token is not a signed JWT' });
  });
});

describe('the key set', () => {
  test.each<[string, 'oauth' | 'openid' | 'openid, appended', string]>([
    ['by OAuth metadata', 'oauth', ''],
    ['by OpenID metadata', 'openid', ''],
    ['by OAuth metadata of an issuer with a path', 'oauth', '/tenant'],
    ['by OpenID metadata with the path inserted', 'openid', '/tenant'],
    ['by OpenID metadata with the path in front', 'openid, appended', '/tenant'],
  ])('is found %s', async (_, discovery, path) => {
    const { server, present } = await start(undefined, { discovery, path });
    expect((await present(await server.issue({ aud: resource }))).ok).toBe(true);
  });

  test('is fetched from jwksUri without reading metadata', async () => {
    const { server, present } = await start(({ issuer }) => ({ jwksUri: `${issuer}/jwks` }));
    await present(await server.issue({ aud: resource }));
    expect(server.asked).toEqual(['GET /jwks']);
  });

  test('is fetched once for concurrent and later requests', async () => {
    const { server, present } = await start();
    const tokens = await Promise.all([1, 2, 3].map((n) => server.issue({ aud: resource, n })));
    const given = await Promise.all(tokens.map((token) => present(token)));
    expect(given.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect((await present(await server.issue({ aud: resource, n: 4 }))).ok).toBe(true);
    expect(server.count('/jwks')).toBe(1);
  });

  test('is fetched again for an unknown key, at most once per refetchPauseMs', async () => {
    const { server, time, present } = await start(() => ({ limits: { refetchPauseMs: 30_000 } }));
    await present(await server.issue({ aud: resource }));
    time.pass(30_000);
    await server.rotate();
    expect((await present(await server.issue({ aud: resource }))).ok).toBe(true);
    expect(server.count('/jwks')).toBe(2);
    // Anyone can invent key ids.
    for (const kid of ['a', 'b', 'c']) {
      expect(await present(await server.issue({ aud: resource }, { kid }))).toMatchObject({
        status: 401,
        message: expect.stringContaining('a key that its issuer does not publish'),
      });
    }
    expect(server.count('/jwks')).toBe(2);
    await server.rotate();
    const token = await server.issue({ aud: resource });
    expect(await present(token)).toMatchObject({ status: 401 });
    time.pass(30_000);
    expect((await present(token)).ok).toBe(true);
  });

  test('is not fetched again for a token rejected for another reason', async () => {
    const { server, time, present } = await start(() => ({ limits: { refetchPauseMs: 30_000 } }));
    await present(await server.issue({ aud: resource }));
    time.pass(30_000);
    const expired = await server.issue({ aud: resource, exp: 1 });
    expect(await present(expired)).toMatchObject({ message: 'The token has expired' });
    expect(server.count('/jwks')).toBe(1);
  });

  test('is fetched again after keysMaxAgeMs, which rejects withdrawn keys', async () => {
    const { server, time, present } = await start(() => ({
      limits: { keysMaxAgeMs: minute, tokenCacheMs: minute },
    }));
    const token = await server.issue({ aud: resource });
    expect((await present(token)).ok).toBe(true);
    await server.rotate();
    time.pass(minute - 1);
    expect((await present(token)).ok).toBe(true);
    time.pass(1);
    expect(await present(token)).toMatchObject({ status: 401 });
  });

  test('tries every key for a token without a key id', async () => {
    const { server, present } = await start();
    const old = await server.issue({ aud: resource }, { kid: undefined });
    await server.addKey();
    expect((await present(old)).ok).toBe(true);
    const expired = await server.issue({ aud: resource, exp: 1 }, { kid: undefined });
    expect(await present(expired)).toMatchObject({ message: 'The token has expired' });
    await server.rotate();
    await server.addKey();
    const { present: again } = await start(() => ({ issuer: server.issuer }));
    expect(await again(old)).toMatchObject({ status: 401 });
  });

  test('uses stale keys for a limited time while the issuer is unreachable', async () => {
    const { server, time, present } = await start(() => ({
      limits: { keysMaxAgeMs: minute, keysStaleMs: 5 * minute, tokenCacheMs: 0 },
    }));
    const token = await server.issue({ aud: resource });
    await present(token);
    server.fault = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    time.pass(3 * minute);
    expect((await present(token)).ok).toBe(true);
    time.pass(3 * minute);
    expect(await present(token)).toMatchObject({ ok: false, status: 503 });
  });
});

describe('a failing issuer', () => {
  test.each<[string, (response: ServerResponse) => void, string, fetchTimeoutMs?: number]>([
    ['answers with an error', (response) => void response.writeHead(500).end(), 'status 500'],
    ['hangs up', (response) => void response.destroy(), 'No usable response'],
    ['answers with invalid JSON', (response) => void response.end('<html>'), 'No usable response'],
    ['answers with an array', (response) => void response.end('[]'), 'must be a JSON object'],
    [
      'sends too much',
      (response) => void response.end(`"${'x'.repeat(5000)}"`),
      'longer than 4096',
    ],
    [
      'redirects',
      (response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
      'status 302',
    ],
    ['does not answer', () => {}, 'No usable response', 300],
  ])('causes a 503 and logs the reason if it %s', async (_, answer, reason, fetchTimeoutMs) => {
    const { server, present } = await start(() => ({
      limits: { maxDocumentBytes: 4096, ...(fetchTimeoutMs ? { fetchTimeoutMs } : {}) },
    }));
    server.fault = (_request, response) => {
      answer(response);
      return true;
    };
    const token = await server.issue({ aud: resource });
    const given = await present(token);
    expect(given).toEqual({
      ok: false,
      status: 503,
      headers: { 'retry-after': '30' },
      message: 'Access tokens cannot be checked right now; try again later',
      detail: expect.stringContaining(reason) as string,
    });
    expect(server.count('/elsewhere')).toBe(0);
    expect(JSON.stringify(given)).not.toContain(token);
    // `fetch` reports every failure with this message.
    expect(JSON.stringify(given)).not.toContain('fetch failed');
  });

  test('is asked again only after refetchPauseMs', async () => {
    const { server, time, present } = await start();
    server.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    const token = await server.issue({ aud: resource });
    expect(await present(token)).toMatchObject({ status: 503 });
    expect(server.asked).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/openid-configuration',
    ]);
    time.pass(10_000);
    expect(await present(token)).toMatchObject({ status: 503, headers: { 'retry-after': '20' } });
    expect(server.asked).toHaveLength(2);
    server.fault = () => false;
    time.pass(20_000);
    expect((await present(token)).ok).toBe(true);
  });

  test('causes a 503 if it may have a key that is unknown here', async () => {
    const { server, time, present } = await start();
    await present(await server.issue({ aud: resource }));
    time.pass(minute);
    server.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    await server.rotate();
    expect(await present(await server.issue({ aud: resource }))).toMatchObject({ status: 503 });
  });

  test.each<[string, object, string]>([
    ['belongs to another issuer', { issuer: 'https://evil.example' }, 'must be this issuer'],
    ['names an http:// URL', { jwks_uri: 'http://evil.example/jwks' }, 'must start with https://'],
    ['names no URL', { jwks_uri: 7 }, 'must be an absolute URL, got 7'],
    [
      'contains a list',
      { jwks_uri: ['https://a.example'] },
      'must be an absolute URL, got an array',
    ],
  ])('is rejected because its metadata %s', async (_, changed, reason) => {
    const { server, present } = await start();
    server.fault = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false;
      const { issuer } = server;
      response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks`, ...changed }));
      return true;
    };
    const given = await present(await server.issue({ aud: resource }));
    expect(given).toMatchObject({ status: 503, detail: expect.stringContaining(reason) });
    expect(server.count('/jwks')).toBe(0);
  });
});
