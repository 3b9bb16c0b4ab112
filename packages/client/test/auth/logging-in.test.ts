/** A host logs in at a server of ours: once, where it may, and with nothing that leads elsewhere. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { TestClock, gate } from 'mcp-actors/testing';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import { Grants } from '../../src/auth/grants.ts';
import type { Grant } from '../../src/auth/grants.ts';
import { hostAuthorization } from '../../src/auth/host-authorization.ts';
import { Transitions } from '../../../../src/actors/transitions.ts';
import type { PersonAuth } from '../../src/auth/options.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import type { Challenge } from '../../src/http/authorization.ts';
import { agree, call, challengeNaming, person, startProtected } from './protected-server.ts';
import type { Called } from './protected-server.ts';
import { authorize, query, refusal, watchedStore } from './authorizing.ts';

describe('a host without a token', () => {
  test('gets one when the server wants it, and uses it from then on', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    expect(await authorization.headers(url.href)).toEqual({});
    expect(await call(authorization, url, 'read')).toEqual({ status: 200, text: 'read' });
    expect(await call(authorization, url, 'read')).toEqual({ status: 200, text: 'read' });
    expect(scopes).toEqual(['notes:read']);
    expect([issuer.count('/register'), issuer.count('/token')]).toEqual([1, 1]);
    expect(authorization.asked).toEqual([expect.stringContaining(`${issuer.issuer}/authorize?`)]);
  });

  test('asks once, however many requests are refused', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    const calls = Array.from({ length: 20 }, () => call(authorization, url, 'read'));
    for (const called of await Promise.all(calls)) expect(called).toMatchObject({ text: 'read' });
    expect(scopes).toHaveLength(1);
    expect(issuer.count('/token')).toBe(1);
  });

  test('finds the token that another connection with the same store has got', async () => {
    const { issuer, url } = await startProtected();
    const store = memoryCredentialStore();
    const first = person();
    const held = gate();
    issuer.meanwhile = (path) => (path === '/token' ? held.pass() : undefined);
    const one = call(authorize(url, { visit: first.visit, store }), url, 'read');
    await held.arrived();
    const second = person();
    const other = call(authorize(url, { visit: second.visit, store }), url, 'read');
    // It is waiting for the first one's login, or comes to it later: it asks nobody either way.
    held.release();
    expect(await Promise.all([one, other])).toMatchObject([{ text: 'read' }, { text: 'read' }]);
    expect([first.scopes.length, second.scopes.length]).toEqual([1, 0]);
  });

  test('shares no token with a connection that has another store', async () => {
    const { url } = await startProtected();
    const [ada, grace] = [person(), person()];
    await call(authorize(url, { visit: ada.visit }), url, 'read');
    await call(authorize(url, { visit: grace.visit }), url, 'read');
    expect([ada.scopes.length, grace.scopes.length]).toEqual([1, 1]);
  });

  test('sends its token to the origin of the server alone [LOGIN-01]', async () => {
    const { url } = await startProtected();
    const authorization = authorize(url, { visit: agree });
    await call(authorization, url, 'read');
    expect(await authorization.headers(url.href)).toHaveProperty('authorization');
    expect(await authorization.headers(`http://127.0.0.1:1/mcp`)).toEqual({});
    expect(await authorization.headers(`http://localhost:${url.port}/mcp`)).toEqual({});
  });

  test('is known by the URL of its metadata if it has one, and registers nothing', async () => {
    const { issuer, url } = await startProtected();
    const clientMetadataUrl = 'https://host.example.com/client.json';
    const redirectUrl = 'http://127.0.0.1:1/back';
    issuer.know(clientMetadataUrl, [redirectUrl]);
    const authorization = authorize(url, { visit: agree, redirectUrl, clientMetadataUrl });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(new URL(authorization.asked[0] ?? '').searchParams.get('client_id')).toBe(
      clientMetadataUrl,
    );
    expect(issuer.count('/register')).toBe(0);
  });

  test('takes a client that is registered, and shows it to no other issuer than the first', async () => {
    const { issuer, url } = await startProtected();
    const redirectUrl = 'http://127.0.0.1:1/back';
    const response = await fetch(`${issuer.issuer}/register`, {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [redirectUrl] }),
    });
    const { client_id: clientId } = (await response.json()) as { readonly client_id: string };
    const store = memoryCredentialStore();
    const options = { visit: agree, redirectUrl, clientId, store };
    expect(await call(authorize(url, options), url, 'read')).toMatchObject({ text: 'read' });
    expect(issuer.count('/register')).toBe(1);
    const other = await AuthorizationServer.start();
    onTestFinished(() => other.close());
    const again = authorize(url, options);
    const moved = await again.challenged({
      status: 401,
      wwwAuthenticate: await challengeNaming(url, other),
      url: url.href,
      sent: await again.headers(url.href),
      retries: 0,
    });
    expect(moved).toMatchObject({
      kind: 'refused',
      error: {
        message: `The server names the authorization server ${other.issuer}, but the configured credentials are for ${issuer.issuer} ("issuer")`,
      },
    });
    expect(other.received.join()).not.toContain(clientId);
    const given = authorize(url, {
      ...options,
      issuer: 'https://other.example.com',
      store: memoryCredentialStore(),
    });
    expect(refusal(await call(given, url, 'read'))).toBe(
      `refused: The server names the authorization server ${issuer.issuer}, but the configured credentials are for https://other.example.com ("issuer")`,
    );
  });
});

describe('a scope that is missing', () => {
  test('is asked for once, with all that there were [LOGIN-05]', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    await call(authorization, url, 'read');
    expect(await call(authorization, url, 'write')).toMatchObject({ text: 'write' });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(scopes).toEqual(['notes:read', 'notes:read notes:write']);
    expect(issuer.count('/token')).toBe(2);
  });

  test('is asked for together with others that are missing at the same time', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    await call(authorization, url, 'read');
    const held = gate();
    issuer.meanwhile = (path) => (path === '/authorize' ? held.pass() : undefined);
    const first = call(authorization, url, 'write');
    await held.arrived();
    const second = call(authorization, url, 'share');
    held.release();
    expect(await first).toMatchObject({ text: 'write' });
    expect(await second).toMatchObject({ text: 'share' });
    expect(scopes.at(-1)?.split(' ').toSorted()).toEqual([
      'notes:read',
      'notes:share',
      'notes:write',
    ]);
  });

  test('that is not given is not asked for again, and the token is kept [LOGIN-05]', async () => {
    const { url } = await startProtected({ grants: () => 'notes:read' });
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    await call(authorization, url, 'read');
    expect(refusal(await call(authorization, url, 'write'))).toBe(
      `refused: ${url.origin} denied the request without the scope "notes:read notes:write" (insufficient_scope: The token lacks the required scopes notes:write) (HTTP 403)`,
    );
    expect(refusal(await call(authorization, url, 'write'))).toContain('denied the request');
    expect(scopes).toHaveLength(2);
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    authorization.close();
    authorization.begin();
    await call(authorization, url, 'write');
    expect(scopes).toHaveLength(3);
  });

  test('that the person declines leaves the token', async () => {
    const { issuer, url } = await startProtected();
    const authorization = authorize(url, { visit: agree });
    await call(authorization, url, 'read');
    issuer.sendBack = (back) => {
      back.searchParams.delete('code');
      back.searchParams.set('error', 'access_denied');
      return back;
    };
    expect(refusal(await call(authorization, url, 'write'))).toBe(
      'refused: The authorization server returned access_denied: access_denied',
    );
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  });
});

/** What was declined is told with the millisecond in which it was. */
async function nextMillisecond(): Promise<void> {
  const since = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(since);
}

/** Two connections with one store: the second one waits for the login of the first. */
async function twoConnections() {
  const { issuer, url } = await startProtected();
  const store = memoryCredentialStore();
  const [away, waiting] = [gate(), gate()];
  const [ada, grace] = [person(), person()];
  const bring = { back: agree };
  const visit = async (where: URL) => {
    await ada.visit(where);
    await away.pass();
    return await bring.back(where);
  };
  const first = authorize(url, { store, visit });
  const second = authorize(url, {
    visit: grace.visit,
    store: watchedStore(store, (key) => void (key.startsWith('login') && waiting.pass())),
  });
  /** Both call. The second one is refused while the person of the first is away. */
  const callBoth = async (one: string, other: string) => {
    const [visits, waits] = [away.arrivals, waiting.arrivals];
    const ours = call(first, url, one);
    await away.arrived(visits + 1);
    const theirs = call(second, url, other);
    await waiting.arrived(waits + 1);
    return [ours, theirs];
  };
  const asked = () => grace.scopes;
  return { issuer, url, store, first, second, away, waiting, bring, callBoth, asked };
}

describe('a login that another connection waits for', () => {
  test('is its login too, and keeps no request', async () => {
    const { url, first, away, callBoth, asked } = await twoConnections();
    const calls = await callBoth('read', 'read');
    // It may need no token.
    expect(await first.headers(url.href)).toEqual({});
    away.release();
    expect(await Promise.all(calls)).toMatchObject([{ text: 'read' }, { text: 'read' }]);
    expect(asked()).toEqual([]);
  });

  test('is its login too if it has the scope that is missing; otherwise its person is asked for all', async () => {
    const { away, callBoth, asked } = await twoConnections();
    for (const tool of ['read', 'write']) {
      const calls = await callBoth(tool, tool);
      away.release(1);
      expect(await Promise.all(calls)).toMatchObject([{ text: tool }, { text: tool }]);
    }
    expect(asked()).toEqual([]);
    const other = await twoConnections();
    const first = await other.callBoth('read', 'read');
    other.away.release(1);
    await Promise.all(first);
    const calls = await other.callBoth('write', 'share');
    other.away.release(1);
    expect(await Promise.all(calls)).toMatchObject([{ text: 'write' }, { text: 'share' }]);
    expect(other.asked()).toEqual(['notes:read notes:write notes:share']);
  });

  test('and that the person declines is declined for those who wait, and for nobody later', async () => {
    const { url, store, away, bring, callBoth, asked } = await twoConnections();
    const closed = new Error('The window was closed');
    bring.back = () => Promise.reject(closed);
    const calls = await callBoth('read', 'read');
    await nextMillisecond();
    away.release();
    const [ours, theirs] = await Promise.all(calls);
    expect(ours).toMatchObject({ kind: 'refused', error: { code: 'UNAUTHORIZED', cause: closed } });
    expect([ours, theirs].map((called) => refusal(called as Called))).toEqual(
      Array(2).fill('refused: The "visit" function failed'),
    );
    expect(asked()).toEqual([]);
    const later = authorize(url, { store, visit: agree });
    expect(await call(later, url, 'read')).toMatchObject({ text: 'read' });
  });

  test('is begun anew by those who wait if a server was away', async () => {
    const { issuer, url, first, second, away, waiting, asked } = await twoConnections();
    const registering = gate();
    issuer.meanwhile = (path) => (path === '/register' ? registering.pass() : undefined);
    issuer.isLost = (path) => path === '/register' && issuer.count(path) === 1;
    const ours = call(first, url, 'read');
    await registering.arrived();
    const theirs = call(second, url, 'read');
    await waiting.arrived();
    await nextMillisecond();
    registering.release();
    expect(await ours).toMatchObject({ kind: 'unreachable' });
    expect(await theirs).toMatchObject({ text: 'read' });
    expect([away.arrivals, asked().length]).toEqual([0, 1]);
  });
});

test('a login is seen by whoever watches its connection', async () => {
  const { url } = await startProtected();
  const transitions = new Transitions(() => {});
  const seen: string[] = [];
  transitions.listen(({ machine, actor, event }) => {
    seen.push(`${machine} ${actor.id} ${event.type}`);
  });
  const authorization = hostAuthorization(url, { visit: agree })?.({
    asked: () => {},
    observed: { observedTransitions: transitions },
    clock: new TestClock(),
  });
  if (!authorization) throw new Error('It is not allowed');
  authorization.begin();
  expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  authorization.close();
  for (const event of ['channel.opened', 'login.asked', 'channel.closed']) {
    expect(seen).toContain(`authorization authorization ${event}`);
  }
  expect(authorization.machine).toMatchObject({ machine: 'authorization' });
});

test('a scope that a newer token has lost is asked for again, whoever had brought it', async () => {
  const { issuer, url, store, first, second, away, callBoth, asked } = await twoConnections();
  for (const tool of ['read', 'write']) {
    const calls = await callBoth(tool, tool);
    away.release(1);
    await Promise.all(calls);
  }
  away.release();
  const grants = new Grants(store, url);
  for (const each of [first, second]) {
    const kept = await grants.read();
    const accessToken = await issuer.issue({ aud: url.href, scope: 'notes:read', client_id: 'c' });
    await grants.write({ ...(kept as Grant), accessToken, scope: 'notes:read' });
    issuer.revoke(kept?.accessToken ?? '');
    expect(await call(each, url, 'write')).toMatchObject({ text: 'write' });
  }
  expect(asked()).toEqual(['notes:read notes:write']);
});

test('a refusal that no login helps against asks nobody', async () => {
  const { issuer, url } = await startProtected();
  const { visit, scopes } = person();
  const store = memoryCredentialStore();
  await call(authorize(url, { visit, store }), url, 'read');
  const authorization = authorize(url, { visit, store });
  const sent = await authorization.headers(url.href);
  const notTaken = 'rejected the token (invalid_token) (HTTP 401)';
  const refusals: readonly [Partial<Challenge>, string, string][] = [
    // Another server's, and that of a request which was sent four times.
    [{ url: 'http://127.0.0.1:1/mcp' }, 'UNAUTHORIZED', notTaken],
    [{ retries: 3 }, 'UNAUTHORIZED', notTaken],
    [{ status: 403 }, 'HTTP_STATUS', 'denied the request (invalid_token) (HTTP 403)'],
    [
      { status: 403, wwwAuthenticate: 'Bearer error="invalid_token", scope="notes:write"' },
      'HTTP_STATUS',
      'denied the request without the scope "notes:write" (invalid_token) (HTTP 403)',
    ],
    // The token has this scope.
    [
      { status: 403, wwwAuthenticate: 'Bearer error="insufficient_scope", scope="notes:read"' },
      'HTTP_STATUS',
      'denied the request without the scope "notes:read" (insufficient_scope) (HTTP 403)',
    ],
  ];
  for (const [challenge, code, message] of refusals) {
    const wwwAuthenticate = 'Bearer error="invalid_token"';
    const usual = { status: 401, wwwAuthenticate, url: url.href, sent, retries: 0 } as const;
    const { status = 401 } = challenge;
    expect(await authorization.challenged({ ...usual, ...challenge })).toMatchObject({
      kind: 'refused',
      error: { code, status, message: `${url.origin} ${message}` },
    });
  }
  expect([scopes.length, issuer.count('/token')]).toEqual([1, 1]);
});

describe('a login that comes to nothing', () => {
  test('is not begun again by itself, but when the host connects again', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    issuer.sendBack = query((q) => q.set('state', 'x'));
    const authorization = authorize(url, { visit });
    await call(authorization, url, 'read');
    await call(authorization, url, 'read');
    expect(scopes).toHaveLength(1);
    issuer.sendBack = (back) => back;
    authorization.close();
    authorization.begin();
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  });

  test('because a server was away, is tried again by the next request', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    issuer.isLost = (path) => path === '/register';
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'unreachable' });
    issuer.isLost = () => false;
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(scopes).toHaveLength(1);
  });

  test('after the person was there, does not send them there again', async () => {
    const { issuer, url } = await startProtected();
    const { visit, scopes } = person();
    const authorization = authorize(url, { visit });
    issuer.isLost = (path) => path === '/token';
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'refused' });
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'refused' });
    expect(scopes).toHaveLength(1);
  });

  test('holds no secret in what it says [LOGIN-12]', async () => {
    const { issuer, url } = await startProtected();
    const seen: string[] = [];
    issuer.fault = (request, response) => {
      if (request.url !== '/token') return false;
      request.on('data', (chunk) => seen.push(String(chunk)));
      request.on('end', () => {
        const form = new URLSearchParams(seen.join(''));
        response.writeHead(400, { 'content-type': 'application/json' });
        const said = `bad code ${form.get('code')} or verifier ${form.get('code_verifier')}`;
        response.end(JSON.stringify({ error: 'invalid_request', error_description: said }));
      });
      return true;
    };
    const called = await call(authorize(url, { visit: agree }), url, 'read');
    expect(refusal(called)).toBe(
      'refused: The authorization server returned invalid_request: bad code [redacted] or verifier [redacted]',
    );
    const form = new URLSearchParams(seen.join(''));
    for (const name of ['code', 'code_verifier']) {
      const { error } = called as { readonly error: Error };
      expect(JSON.stringify([error, error.stack, error.cause])).not.toContain(form.get(name));
    }
  });

  test.each([
    ['no JSON', '{"access_token":"very-secret-token'],
    ['an error that is none', '{"error":7,"access_token":"very-secret-token"}'],
    ['no token', '{"access_token":{"is":"very-secret-token"}}'],
  ])('because a token came as %s, does not show it', async (_, body) => {
    const { issuer, url } = await startProtected();
    for (const status of [200, 400]) {
      issuer.fault = (request, response) => {
        if (request.url !== '/token') return false;
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        return true;
      };
      const called = await call(authorize(url, { visit: agree }), url, 'read');
      const { error } = called as { readonly error: Error };
      expect(error).toBeInstanceOf(Error);
      expect(
        `${error.message} ${error.stack} ${String((error.cause as Error)?.message)}`,
      ).not.toContain('very-secret');
    }
  });

  test('ends with the connection, and so does the person’s visit', async () => {
    const { url } = await startProtected();
    const held = gate();
    const visits: AbortSignal[] = [];
    const visit: PersonAuth['visit'] = async (_, { signal }) => {
      visits.push(signal);
      await held.pass(signal);
      return '';
    };
    const authorization = authorize(url, { visit });
    const calling = call(authorization, url, 'read');
    await held.arrived();
    authorization.close();
    expect(await calling).toMatchObject({ kind: 'refused', error: { code: 'CLOSED' } });
    expect(visits[0]?.aborted).toBe(true);
    // Nobody is sent there for what is said at the end.
    expect(await call(authorization, url, 'read')).toMatchObject({ error: { code: 'CLOSED' } });
    expect(visits).toHaveLength(1);
  });

  test('ends with the connection, and so does a request for it', async () => {
    const { issuer, url } = await startProtected();
    const registering = gate();
    const ended = new Promise<void>((resolve) => {
      issuer.fault = (request, response) => {
        if (request.url !== '/register') return false;
        response.once('close', resolve);
        void registering.pass();
        return true;
      };
    });
    const authorization = authorize(url, { visit: agree });
    const calling = call(authorization, url, 'read');
    await registering.arrived();
    authorization.close();
    expect(await calling).toMatchObject({ error: { code: 'CLOSED' } });
    await ended;
  });

  test('is waited for by a request as long as that wants to', async () => {
    const { url } = await startProtected();
    const held = gate();
    const { visit } = person();
    const authorization = authorize(url, {
      visit: async (where) => {
        await held.pass();
        return await visit(where);
      },
    });
    const giving = new AbortController();
    const first = call(authorization, url, 'read', giving.signal);
    await held.arrived();
    const second = call(authorization, url, 'read');
    giving.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    held.release();
    expect(await second).toMatchObject({ text: 'read' });
  });

  test('after nobody has answered in time', async () => {
    const { url } = await startProtected();
    const visit = () => new Promise<string>(() => {});
    const authorization = authorize(url, { visit, visitTimeoutMs: 1 });
    const message = 'The person did not log in within 1 ms';
    expect(await call(authorization, url, 'read')).toMatchObject({
      kind: 'refused',
      error: { code: 'UNAUTHORIZED', status: 401, message, cause: { message } },
    });
  });

  test('that nobody has made in time is not asked for again by those who waited for it', async () => {
    const { url } = await startProtected();
    const away = gate();
    const store = memoryCredentialStore();
    const waiting = gate();
    const watched = watchedStore(store, () => waiting.release());
    const clock = new TestClock();
    const first = authorize(url, { visit: () => away.pass().then(String), store }, () => {}, clock);
    const one = call(first, url, 'read');
    await away.arrived();
    const { visit, scopes } = person();
    const other = call(authorize(url, { visit, store: watched }), url, 'read');
    await waiting.pass();
    await nextMillisecond();
    clock.increment(5 * 60_000);
    const refused = 'refused: The person did not log in within 300000 ms';
    expect((await Promise.all([one, other])).map(refusal)).toEqual([refused, refused]);
    expect(scopes).toEqual([]);
    away.release();
  });

  test('that was answered in time may take longer to be exchanged', async () => {
    const { issuer, url } = await startProtected();
    const exchanging = gate();
    issuer.meanwhile = (path) => (path === '/token' ? exchanging.pass() : undefined);
    const clock = new TestClock();
    const called = call(
      authorize(url, { visit: agree }, () => {}, clock),
      url,
      'read',
    );
    await exchanging.arrived();
    clock.increment(5 * 60_000);
    exchanging.release();
    expect(await called).toMatchObject({ text: 'read' });
  });
});
