/** Tokens that their issuer alone can read. */
import { describe, expect, test } from 'vitest';
import type { TokenLimits } from '../../../src/http/auth/options.ts';
import { gate } from '../../../src/testing/gate.ts';
import { principalOf, resource, start } from './start-authorization.ts';

const startOpaque = (limits: Partial<TokenLimits> = {}) =>
  start(({ introspector }) => ({ introspection: introspector, limits }), { tokens: 'opaque' });

describe('a token that its issuer introspects', () => {
  test('names its principal', async () => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource, client_id: 'app', scope: 'a b' });
    expect(principalOf(await present(token))).toMatchObject({
      subject: 'ada',
      clientId: 'app',
      scopes: ['a', 'b'],
    });
    expect(server.asked).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'POST /introspect',
    ]);
  });

  test('is asked for where the author says', async () => {
    const { server, present } = await start(
      ({ issuer, introspector }) => ({
        introspection: { ...introspector, endpoint: `${issuer}/introspect` },
      }),
      { tokens: 'opaque' },
    );
    expect((await present(await server.issue({ aud: resource }))).ok).toBe(true);
    expect(server.asked).toEqual(['POST /introspect']);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['for another server', { aud: 'https://other.example' }, 'for another server'],
    ['for nobody', { aud: undefined }, 'for another server'],
    ['of another issuer', { iss: 'https://evil.example' }, 'of another issuer'],
    ['that has expired', { exp: 1 }, 'has expired'],
    ['that is not valid yet', { nbf: 1e11 }, 'not valid yet'],
    ['that is not active', { active: false }, 'not active'],
  ])('is refused: one %s', async (_, claims, message) => {
    const { server, present } = await startOpaque();
    const given = await present(await server.issue({ aud: resource, ...claims }));
    expect(given).toMatchObject({ status: 401, message: expect.stringContaining(message) });
  });

  test('needs no issuer and no expiry: its issuer says that it is active now', async () => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource, iss: undefined, exp: undefined });
    expect((await present(token)).ok).toBe(true);
  });

  test('is remembered for a time, and no longer: then a revoked one is refused', async () => {
    const { server, time, present } = await startOpaque({ tokenCacheMs: 1000 });
    const token = await server.issue({ aud: resource });
    await present(token);
    server.revoke(token);
    time.pass(999);
    expect((await present(token)).ok).toBe(true);
    expect(server.count('/introspect')).toBe(1);
    time.pass(1);
    expect(await present(token)).toMatchObject({ status: 401 });
    // So is the refusal.
    expect(await present(token)).toMatchObject({ status: 401 });
    expect(server.count('/introspect')).toBe(2);
  });

  test('is not remembered if the author says so', async () => {
    const { server, present } = await startOpaque({ tokenCacheMs: 0 });
    const token = await server.issue({ aud: resource });
    await present(token);
    server.revoke(token);
    expect(await present(token)).toMatchObject({ status: 401 });
  });

  test('is forgotten for newer ones, though not for those that are refused', async () => {
    const { server, present } = await startOpaque({ maxCachedTokens: 2 });
    const [first = '', second = '', third = ''] = await Promise.all(
      [1, 2, 3].map(() => server.issue({ aud: resource })),
    );
    await present(first);
    for (const invented of ['a', 'b', 'c']) await present(invented);
    await present(first);
    expect(server.count('/introspect')).toBe(4);
    await present(second);
    await present(third);
    await present(first);
    expect(server.count('/introspect')).toBe(7);
  });

  test('is asked about once for requests that come together', async () => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource });
    const given = await Promise.all([present(token), present(token), present(token)]);
    expect(given.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(server.count('/introspect')).toBe(1);
  });
});

describe('an issuer that does not introspect', () => {
  test.each<[string, number]>([
    ['knows this server’s credentials not', 401],
    ['fails', 500],
  ])('because it %s: 503, and it is asked again', async (_, status) => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource });
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.writeHead(status).end();
      return true;
    };
    const given = await present(token);
    expect(given).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(given).toHaveProperty('detail', expect.stringContaining(`the status is ${status}`));
    expect(JSON.stringify(given)).not.toMatch(/p%ss|p%25ss/);
    server.fault = () => false;
    expect((await present(token)).ok).toBe(true);
  });

  test('in time is asked about so many at once, and no more', async () => {
    const { server, present } = await startOpaque({ maxIntrospections: 1 });
    const [one = '', two = ''] = await Promise.all(
      [1, 2].map(() => server.issue({ aud: resource })),
    );
    const held = gate();
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      const answer = JSON.stringify({ active: true, sub: 'ada', aud: resource });
      void held.pass().then(() => response.end(answer));
      return true;
    };
    const first = present(one);
    await held.arrived();
    expect(await present(two)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    held.release();
    expect((await first).ok).toBe(true);
    expect((await present(two)).ok).toBe(true);
  });
});
