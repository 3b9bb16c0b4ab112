/** Opaque tokens, checked by introspection. */
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { TokenLimits } from '../../src/auth/options.ts';
import { gate, flush } from '../../../testing/src/index.ts';
import type { AuthorizationServer } from '../authorization-server.ts';
import { principalOf, resource, start } from './start-authorization.ts';

const startOpaque = (limits: Partial<TokenLimits> = {}) =>
  start(({ introspector }) => ({ introspection: introspector, limits }), { tokens: 'opaque' });

describe('introspection', () => {
  test('returns the principal of an active token', async () => {
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
    const body = server.received.at(-1)?.split(' ').at(-1);
    expect(body).toBe(`token=${token}&token_type_hint=access_token`);
  });

  test('uses the configured endpoint', async () => {
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
    ['without an audience', { aud: undefined }, 'for another server'],
    ['of another issuer', { iss: 'https://evil.example' }, 'by another issuer'],
    ['that has expired', { exp: 1 }, 'has expired'],
    ['that is not valid yet', { nbf: 1e11 }, 'not valid yet'],
    ['that is not active', { active: false }, 'not active'],
  ])('rejects a token: one %s', async (_, claims, message) => {
    const { server, present } = await startOpaque();
    const given = await present(await server.issue({ aud: resource, ...claims }));
    expect(given).toMatchObject({ status: 401, message: expect.stringContaining(message) });
  });

  test('accepts an active token without issuer and expiry', async () => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource, iss: undefined, exp: undefined });
    expect(await present(token)).toMatchObject({ ok: true, expiresInMs: undefined });
  });

  test.each(['exp', 'nbf'] as const)('accepts %s as a string', async (name) => {
    const { server, time, present } = await startOpaque({ tokenCacheMs: 0 });
    const at = Math.floor(time.wall() / 1000);
    const [past, future] = [`${at - 1000}`, `${at + 1000}`];
    const [good, bad] = name === 'exp' ? [future, past] : [past, future];
    const token = await server.issue({ aud: resource, [name]: good });
    const given = await present(token);
    expect(given.ok).toBe(true);
    if (name === 'exp') expect(principalOf(given).expiresAt).toBe((at + 1000) * 1000);
    const refused = await present(await server.issue({ aud: resource, [name]: bad }));
    expect(refused).toMatchObject({ status: 401 });
    if (name === 'nbf') return;
    time.pass(1_031_000);
    expect(await present(token)).toMatchObject({ status: 401 });
  });

  test.each([
    ['exp', -29, true],
    ['exp', -31, false],
    ['nbf', 29, true],
    ['nbf', 32, false],
  ] as const)('tolerates 30 s of clock skew: %s %i', async (name, seconds, ok) => {
    const { server, time, present } = await startOpaque({ clockSkewSeconds: 30 });
    const at = Math.floor(time.wall() / 1000) + seconds;
    expect((await present(await server.issue({ aud: resource, [name]: at }))).ok).toBe(ok);
  });

  test.each([
    ['exp', 'tomorrow'],
    ['exp', ''],
    ['exp', {}],
    ['exp', true],
    ['nbf', 'yesterday'],
  ])('rejects a token whose %s is %j, so that it does not last forever', async (name, value) => {
    const { server, present } = await startOpaque();
    const given = await present(await server.issue({ aud: resource, [name]: value }));
    expect(given).toMatchObject({ status: 401, message: expect.stringContaining(`"${name}"`) });
  });

  test('caches a token for tokenCacheMs, then detects its revocation', async () => {
    const { server, time, present } = await startOpaque({ tokenCacheMs: 1000 });
    const token = await server.issue({ aud: resource });
    await present(token);
    server.revoke(token);
    time.pass(999);
    expect((await present(token)).ok).toBe(true);
    expect(server.count('/introspect')).toBe(1);
    time.pass(1);
    expect(await present(token)).toMatchObject({ status: 401 });
    // The rejection is cached, too.
    expect(await present(token)).toMatchObject({ status: 401 });
    expect(server.count('/introspect')).toBe(2);
  });

  test('caches a token at most until its expiry plus the clock skew', async () => {
    const { server, time, present } = await startOpaque({
      tokenCacheMs: 600_000,
      clockSkewSeconds: 30,
    });
    const exp = Math.ceil(time.wall() / 1000) + 60;
    const token = await server.issue({ aud: resource, exp });
    await present(token);
    time.pass((exp + 30) * 1000 - 1 - time.wall());
    expect((await present(token)).ok).toBe(true);
    expect(server.count('/introspect')).toBe(1);
    time.pass(1);
    expect(await present(token)).toMatchObject({ status: 401, message: 'The token has expired' });
    expect(server.count('/introspect')).toBe(2);
  });

  test('caches nothing if tokenCacheMs is 0', async () => {
    const { server, present } = await startOpaque({ tokenCacheMs: 0 });
    const token = await server.issue({ aud: resource });
    await Promise.all([present(token), present(token)]);
    expect(server.count('/introspect')).toBe(2);
    server.revoke(token);
    expect(await present(token)).toMatchObject({ status: 401 });
  });

  test('evicts old tokens for newer ones, but not for rejected ones', async () => {
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

  test('introspects a token once for concurrent requests', async () => {
    const { server, present } = await startOpaque();
    const token = await server.issue({ aud: resource });
    const given = await Promise.all([present(token), present(token), present(token)]);
    expect(given.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(server.count('/introspect')).toBe(1);
  });
});

describe('failing introspection', () => {
  test.each<[string, (response: ServerResponse) => void, string]>([
    [
      'rejects the client credentials',
      (response) => void response.writeHead(401).end(),
      'status 401',
    ],
    ['fails', (response) => void response.writeHead(500).end(), 'status 500'],
    [
      'sends too much',
      (response) => void response.end(`{"a":"${'x'.repeat(5000)}"}`),
      'the body is longer than 4096 bytes',
    ],
  ])('answers 503 and retries later if the issuer %s', async (_, answer, reason) => {
    const { server, present } = await startOpaque({ maxDocumentBytes: 4096 });
    const token = await server.issue({ aud: resource });
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      answer(response);
      return true;
    };
    const given = await present(token);
    expect(given).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(given).toHaveProperty('detail', expect.stringContaining(reason));
    expect(JSON.stringify(given)).not.toMatch(/p%ss|p%25ss/);
    server.fault = () => false;
    expect((await present(token)).ok).toBe(true);
    // The endpoint is discovered again, because it may have moved.
    expect(server.count('/.well-known/oauth-authorization-server')).toBe(2);
  });

  test.each([
    [4096, true],
    [4097, false],
  ])('rejects an oversized response after %i bytes: %j', async (bytes, ok) => {
    const { server, present } = await startOpaque({ maxDocumentBytes: 4096 });
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      const answer = JSON.stringify({ active: true, sub: 'ada', aud: resource });
      response.end(answer.padEnd(bytes));
      return true;
    };
    expect((await present('token')).ok).toBe(ok);
  });

  test('cuts a response that never ends', async () => {
    const { server, present } = await startOpaque({ fetchTimeoutMs: 600_000 });
    const closed = gate();
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.on('close', () => closed.release());
      response.writeHead(500).write('Sorry');
      return true;
    };
    expect(await present('token')).toMatchObject({ status: 503 });
    await closed.pass();
  });

  test('decodes a response split within a character', async () => {
    const { server, present } = await start(
      ({ issuer, introspector }) => ({
        introspection: { ...introspector, endpoint: `${issuer}/introspect` },
      }),
      { tokens: 'opaque' },
    );
    const answer = new TextEncoder().encode(
      JSON.stringify({ active: true, sub: 'Ādá', aud: resource }),
    );
    const fetched = vi.spyOn(globalThis, 'fetch').mockResolvedValue(
      new Response(
        new ReadableStream({
          start: (controller) => {
            for (const byte of answer) controller.enqueue(Uint8Array.of(byte));
            controller.close();
          },
        }),
      ),
    );
    onTestFinished(() => fetched.mockRestore());
    expect(principalOf(await present('token')).subject).toBe('Ādá');
    expect(fetched).toHaveBeenCalledExactlyOnceWith(
      `${server.issuer}/introspect`,
      expect.objectContaining({
        headers: expect.objectContaining({ accept: 'application/json' }) as object,
      }),
    );
  });

  test('introspects maxIntrospections at once, queues as many per address, and rejects more', async () => {
    const { server, present } = await startOpaque({ maxIntrospections: 1 });
    const [one = '', two = '', three = ''] = await Promise.all(
      [1, 2, 3].map(() => server.issue({ aud: resource })),
    );
    const held = holdIntrospection(server);
    const first = present(one);
    await held.arrived();
    // Tokens are hashed on other threads, so either may queue first.
    const others = [two, three].map(async (token) => ({ token, given: await present(token) }));
    const refused = await Promise.race(others);
    expect(refused.given).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(server.count('/introspect')).toBe(1);
    held.release();
    expect((await first).ok).toBe(true);
    const given = await Promise.all(others);
    expect(given.filter((each) => each.given.ok)).toHaveLength(1);
    expect((await present(refused.token)).ok).toBe(true);
  });

  test("rechecks a stream's token at once while a request's check waits", async () => {
    const { server, present } = await startOpaque({ maxIntrospections: 1 });
    const [one = '', two = ''] = await Promise.all(
      [1, 2].map(() => server.issue({ aud: resource })),
    );
    const held = holdIntrospection(server);
    const requests = [present(one), present(two)];
    await held.arrived();
    const rechecked = present(two, undefined, 'recheck');
    await held.arrived(2);
    held.release();
    const given = await Promise.all([...requests, rechecked]);
    expect(given.map(({ ok }) => ok)).toEqual([true, true, true]);
  });

  test('limits the wait for an introspection to its own timeout', async () => {
    const { server, present } = await startOpaque({ maxIntrospections: 1, fetchTimeoutMs: 100 });
    holdIntrospection(server);
    const given = await Promise.all([present('one'), present('two')]);
    expect(given).toMatchObject([{ status: 503 }, { status: 503 }]);
  });
});

/** Holds each introspection until it is released; then reports every token as active. */
function holdIntrospection(server: AuthorizationServer) {
  const held = gate();
  server.fault = (request, response) => {
    if (request.url !== '/introspect') return false;
    const answer = JSON.stringify({ active: true, sub: 'ada', aud: resource });
    void held.pass().then(() => response.end(answer));
    return true;
  };
  onTestFinished(() => held.release());
  return held;
}

describe('introspection during a flood of invented tokens from one address', () => {
  /** An issuer that answers sequentially, controlled by the test. */
  async function flooded() {
    const started = await startOpaque({
      ...{ maxIntrospections: 4, tokenCacheMs: 0, fetchTimeoutMs: 600_000 },
    });
    const answers: (() => void)[] = [];
    const { server } = started;
    server.fault = (request, response) => {
      if (request.url !== '/introspect') return false;
      void text(request).then((body) => {
        const token = new URLSearchParams(body).get('token') ?? '';
        const active = token.startsWith('good');
        answers.push(() => response.end(JSON.stringify({ active, sub: token, aud: resource })));
      });
      return true;
    };
    // Each rejected token is followed by another invented one.
    let invented = 0;
    const over = new AbortController();
    const invent = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await started.present(`invented-${invented++}`, '198.51.100.1');
        await flush();
      }
    };
    const attackers = Promise.all(Array.from({ length: 200 }, invent));
    const answerOne = async () => {
      while (answers.length === 0) await flush();
      answers.shift()?.();
    };
    const stop = async () => {
      over.abort();
      let hasEnded = false;
      void attackers.then(() => (hasEnded = true));
      while (!hasEnded) {
        answers.shift()?.();
        await flush();
      }
    };
    while (answers.length < 4) await flush();
    return { ...started, answers, answerOne, stop };
  }

  test('admits twenty newcomers from other addresses', async () => {
    const { present, answerOne, stop } = await flooded();
    const newcomers = Array.from({ length: 20 }, (_, n) => present(`good-${n}`, `192.0.2.${n}`));
    let given: readonly { readonly ok: boolean }[] = [];
    void Promise.all(newcomers).then((all) => (given = all));
    // Newcomers alternate with the flooding address.
    for (let answered = 0; answered < 44; answered++) await answerOne();
    await expect.poll(() => given.filter(({ ok }) => ok)).toHaveLength(20);
    await stop();
  });

  test("rechecks a stream's token at once", async () => {
    const { present, answers, stop } = await flooded();
    const before = answers.length;
    const rechecked = present('revoked', '198.51.100.1', 'recheck');
    while (answers.length === before) await flush();
    answers.pop()?.();
    expect(await rechecked).toMatchObject({ status: 401 });
    await stop();
  });
});
