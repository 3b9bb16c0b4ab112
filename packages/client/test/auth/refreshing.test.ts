/** A grant is renewed once, whoever wants it, and nothing is lost by a refresh that fails. */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gate } from 'mcp-actors/testing';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import type { CredentialStore } from '../../src/auth/credential-store.ts';
import { fileCredentialStore } from '../../src/auth/file-store.ts';
import { Grants } from '../../src/auth/grants.ts';
import type { Grant } from '../../src/auth/grants.ts';
import type { HttpAuthorization } from '../../src/http/authorization.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { authorize, query, refusal } from './authorizing.ts';
import { LineProcess } from './line-process.ts';
import { call, challengeNaming, person, startProtected } from './protected-server.ts';
import type { Protected } from './protected-server.ts';

interface LoggedIn extends Protected {
  readonly store: CredentialStore;
  readonly authorization: HttpAuthorization;
  /** The scopes that the person was asked for, each time. */
  readonly scopes: readonly (string | null)[];
  /** The server takes the token that is kept no longer. */
  readonly revoke: () => Promise<void>;
  /** One more connection with the same store. */
  readonly another: () => HttpAuthorization;
  /** How often a token was asked for since the login. */
  readonly refreshes: () => number;
}

/** A connection that has a token. */
async function logIn(store = memoryCredentialStore()): Promise<LoggedIn> {
  const { issuer, url } = await startProtected();
  const { visit, scopes } = person();
  const another = () => authorize(url, { visit, store });
  const authorization = another();
  expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  const before = issuer.count('/token');
  return {
    issuer,
    url,
    store,
    authorization,
    scopes,
    another,
    revoke: async () => {
      const kept = await new Grants(store, url).read();
      issuer.revoke(kept?.accessToken ?? '');
    },
    refreshes: () => issuer.count('/token') - before,
  };
}

test('a login is another one for whoever keeps lists, a renewed token is not [LISTS-07]', async () => {
  const { authorization, url, revoke, another, store } = await logIn();
  const { holder } = authorization;
  expect(holder).toMatch(/./);
  await revoke();
  expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  expect(authorization.holder).toBe(holder);
  const second = another();
  await second.headers(url.href);
  expect(second.holder).toBe(holder);
  const kept = await new Grants(store, url).read();
  await new Grants(store, url).remove(kept as never);
  const third = another();
  expect(await call(third, url, 'read')).toMatchObject({ text: 'read' });
  expect(third.holder).toMatch(/./);
  expect(third.holder).not.toBe(holder);
});

/** Another process with the same store. */
async function startCaller(folder: string, url: URL): Promise<LineProcess> {
  const caller = await LineProcess.start('packages/client/test/auth/caller.ts', folder, url.href);
  onTestFinished(() => caller.kill());
  return caller;
}

/** The same authorization; each refused request passes the gate before it says so. */
function gated(authorization: HttpAuthorization) {
  const refused = gate();
  const held: HttpAuthorization = {
    headers: (url) => authorization.headers(url),
    challenged: async (challenge) => {
      await refused.pass();
      return await authorization.challenged(challenge);
    },
    begin: () => authorization.begin(),
    close: () => authorization.close(),
  };
  return { held, refused };
}

describe('a token that is refused', () => {
  test('is renewed once for fifty requests that have met it [LOGIN-10]', async () => {
    const { url, authorization, revoke, refreshes, scopes } = await logIn();
    await revoke();
    const { held, refused } = gated(authorization);
    const calls = Array.from({ length: 50 }, () => call(held, url, 'read'));
    await refused.arrived(50);
    refused.release();
    for (const called of await Promise.all(calls)) expect(called).toMatchObject({ text: 'read' });
    expect(refused.arrivals).toBe(50);
    expect([refreshes(), scopes.length]).toEqual([1, 1]);
  });

  test('is not renewed again by a request that hears of it late', async () => {
    const { url, authorization, revoke, refreshes } = await logIn();
    await revoke();
    const { held, refused } = gated(authorization);
    const late = call(held, url, 'read');
    await refused.arrived();
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    refused.release();
    expect(await late).toMatchObject({ text: 'read' });
    expect(refreshes()).toBe(1);
  });

  test('is renewed once for two connections that share a store [LOGIN-10]', async () => {
    const { issuer, url, authorization, another, revoke, refreshes } = await logIn();
    const other = another();
    expect(await call(other, url, 'read')).toMatchObject({ text: 'read' });
    await revoke();
    const renewing = gate();
    issuer.meanwhile = (path) => (path === '/token' ? renewing.pass() : undefined);
    const one = gated(authorization);
    const two = gated(other);
    const calls = [call(one.held, url, 'read'), call(two.held, url, 'read')];
    await Promise.all([one.refused.arrived(), two.refused.arrived()]);
    one.refused.release();
    two.refused.release();
    await renewing.arrived();
    renewing.release();
    expect(await Promise.all(calls)).toMatchObject([{ text: 'read' }, { text: 'read' }]);
    expect(refreshes()).toBe(1);
  });

  test('is renewed once for two processes [LOGIN-10]', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    const { issuer, url, authorization, revoke, refreshes, scopes } = await logIn(store);
    const other = await startCaller(folder, url);
    other.tell('call');
    await other.says('200');
    await revoke();
    const renewing = gate();
    issuer.meanwhile = (path) => (path === '/token' ? renewing.pass() : undefined);
    const mine = call(authorization, url, 'read');
    await renewing.arrived();
    other.tell('call');
    await other.says('refused');
    renewing.release();
    expect(await mine).toMatchObject({ text: 'read' });
    await other.says('200');
    expect([refreshes(), scopes.length]).toEqual([1, 1]);
  });

  test('is renewed by the other process if the first one is killed during it', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    const { issuer, url, authorization, revoke, scopes } = await logIn(store);
    const other = await startCaller(folder, url);
    await revoke();
    const renewing = gate();
    issuer.meanwhile = (path) => (path === '/token' ? renewing.pass() : undefined);
    other.tell('call');
    await renewing.arrived();
    await other.kill();
    // The request of the dead is never answered, and has used up nothing.
    issuer.meanwhile = () => {};
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(scopes).toHaveLength(1);
  });

  test('that another has renewed is read from the store, and not renewed', async () => {
    const { url, authorization, another, revoke, refreshes } = await logIn();
    await revoke();
    expect(await call(another(), url, 'read')).toMatchObject({ text: 'read' });
    expect(refreshes()).toBe(1);
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(refreshes()).toBe(1);
  });

  test('leads to the person if there is nothing to renew it with', async () => {
    const { url, store, another, revoke, refreshes, scopes } = await logIn();
    const grants = new Grants(store, url);
    const kept = await grants.read();
    if (!kept) throw new Error('There is no grant');
    await grants.write({ ...kept, scope: 'notes:read notes:share', refreshToken: undefined });
    await revoke();
    expect(await call(another(), url, 'read')).toMatchObject({ text: 'read' });
    expect(refreshes()).toBe(1);
    // They are asked for what is wanted now.
    expect(scopes).toEqual(['notes:read', 'notes:read']);
  });

  test('and that is wanted with one more scope keeps those that it has', async () => {
    const { url, store, another, scopes } = await logIn();
    const grants = new Grants(store, url);
    const kept = await grants.read();
    await grants.write({ ...(kept as Grant), scope: 'notes:read notes:share' });
    expect(await call(another(), url, 'write')).toMatchObject({ text: 'write' });
    expect(scopes.at(-1)).toBe('notes:read notes:share notes:write');
  });

  test('is renewed before it is sent, if it ends soon', async () => {
    const { issuer, url, store, another, refreshes } = await logIn();
    const grants = new Grants(store, url);
    const kept = await grants.read();
    if (!kept) throw new Error('There is no grant');
    await grants.write({ ...kept, renewAt: Date.now() });
    issuer.lifetime = 8;
    const { held, refused } = gated(another());
    const { authorization: sent } = await held.headers(url.href);
    expect(sent).not.toBe(`Bearer ${kept.accessToken}`);
    expect(await call(held, url, 'read')).toMatchObject({ text: 'read' });
    expect(await call(held, url, 'read')).toMatchObject({ text: 'read' });
    expect([refreshes(), refused.arrivals]).toEqual([1, 0]);
    expect((await grants.read())?.renewAt).toSatisfy(
      (at: number) => at > Date.now() && at < Date.now() + 5000,
    );
  });

  test('though it was just renewed leads to the person, once', async () => {
    const { issuer, url, authorization, revoke, scopes } = await logIn();
    await revoke();
    const { issue } = issuer;
    let issued = 0;
    issuer.issue = async (...args) => {
      const token = await issue.apply(issuer, args);
      // What the refresh gives is no good; what the person brings is.
      if (issued++ === 0) issuer.revoke(token);
      return token;
    };
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect([issued, scopes.length]).toEqual([2, 2]);
  });

  test('though the person has just brought it is not asked for again', async () => {
    const { issuer, url, authorization, revoke, scopes } = await logIn();
    await revoke();
    const { issue } = issuer;
    issuer.issue = async (...args) => {
      const token = await issue.apply(issuer, args);
      issuer.revoke(token);
      return token;
    };
    expect(await call(authorization, url, 'read')).toMatchObject({
      kind: 'refused',
      error: { code: 'UNAUTHORIZED', status: 401 },
    });
    expect(scopes).toHaveLength(2);
  });
});

describe('a refresh that fails [LOGIN-11]', () => {
  const keptIn = async ({ store, url }: LoggedIn) => await new Grants(store, url).read();

  test.each<[string, number]>([
    ['because the server has failed', 500],
    ['because the server is overloaded', 503],
    ['with an answer that is no error of OAuth', 404],
    ['because the server is busy', 400],
  ])('%s deletes nothing, and is tried again by the next request', async (_, status) => {
    const session = await logIn();
    const { issuer, url, authorization, revoke, scopes } = session;
    await revoke();
    const before = await keptIn(session);
    issuer.fault = (request, response) => {
      if (request.url !== '/token') return false;
      response
        .writeHead(status)
        .end(status === 400 ? '{"error":"temporarily_unavailable"}' : 'down');
      return true;
    };
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'unreachable' });
    expect(await keptIn(session)).toEqual(before);
    issuer.fault = () => false;
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(scopes).toHaveLength(1);
  });

  test.each<[string, string, (url: URL) => string]>([
    ['nor those of its issuer', 'down', () => ''],
    ['alone', 'up', ({ origin }) => `, resource_metadata="${origin}/nowhere"`],
  ])(
    'because the metadata of the resource cannot be had, %s, asks nobody',
    async (_, state, where) => {
      const session = await logIn();
      const { issuer, url, authorization, revoke, scopes } = session;
      await revoke();
      const before = await keptIn(session);
      issuer.fault = (_request, response) => {
        if (state === 'up') return false;
        response.writeHead(500).end();
        return true;
      };
      // The introspection fails with it, so that the server answers 503; the challenge is an older one.
      const outcome = await authorization.challenged({
        status: 401,
        wwwAuthenticate: `Bearer error="invalid_token"${where(url)}`,
        url: url.href,
        sent: await authorization.headers(url.href),
        retries: 0,
      });
      expect(outcome).toMatchObject({ kind: 'unreachable' });
      expect(await keptIn(session)).toEqual(before);
      expect(scopes).toHaveLength(1);
    },
  );

  test('because its answer was lost deletes nothing until the server says that the token is spent', async () => {
    const session = await logIn();
    const { issuer, url, authorization, revoke, refreshes, scopes } = session;
    await revoke();
    const before = await keptIn(session);
    issuer.isLost = (path) => path === '/token';
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'unreachable' });
    expect(await keptIn(session)).toEqual(before);
    issuer.isLost = () => false;
    // The refresh token served once, though nobody heard what it gave: the person is asked.
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect([refreshes(), scopes.length]).toEqual([3, 2]);
  });

  test('for a token that is not kept any more deletes nothing', async () => {
    const session = await logIn();
    const { issuer, url, store, authorization, revoke, scopes } = session;
    await revoke();
    const renewing = gate();
    issuer.meanwhile = (path) => (path === '/token' ? renewing.pass() : undefined);
    issuer.fault = (request) => {
      // As if the refresh token had been spent by another at the same moment.
      if (request.url === '/token') issuer.forgetRefreshTokens();
      return false;
    };
    const calling = call(authorization, url, 'read');
    await renewing.arrived();
    const kept = await keptIn(session);
    if (!kept) throw new Error('There is no grant');
    const accessToken = await issuer.issue({ aud: url.href, scope: 'notes:read', client_id: 'c' });
    await new Grants(store, url).write({ ...kept, accessToken, refreshToken: 'newer' });
    renewing.release();
    expect(await calling).toMatchObject({ text: 'read' });
    expect((await keptIn(session))?.refreshToken).toBe('newer');
    expect(scopes).toHaveLength(1);
  });

  test('because the token is spent deletes it, whatever the person says then', async () => {
    const session = await logIn();
    const { issuer, url, authorization, revoke } = session;
    await revoke();
    issuer.forgetRefreshTokens();
    issuer.sendBack = query((q) => q.set('state', 'x'));
    expect(await call(authorization, url, 'read')).toMatchObject({ kind: 'refused' });
    expect(await keptIn(session)).toBeUndefined();
  });

  test('with an answer that is too long is refused', async () => {
    const { issuer, url, authorization, revoke } = await logIn();
    await revoke();
    issuer.fault = (request, response) => {
      if (request.url !== '/token') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: 'x'.repeat(300_000), token_type: 'Bearer' }));
      return true;
    };
    expect(refusal(await call(authorization, url, 'read'))).toBe(
      `refused: The response of ${issuer.issuer} exceeds 262144 bytes`,
    );
  });

  test('because the client is unknown registers it anew', async () => {
    const { issuer, url, authorization, revoke, scopes } = await logIn();
    await revoke();
    issuer.forgetClients();
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect([issuer.count('/register'), scopes.length]).toEqual([2, 2]);
  });
});

test('a token of one issuer, and its client, are never shown to another [LOGIN-08]', async () => {
  const { issuer, url, store, authorization, scopes } = await logIn();
  const first = await new Grants(store, url).read();
  if (!first) throw new Error('There is no grant');
  const other = await AuthorizationServer.start();
  onTestFinished(() => other.close());
  const sent = await authorization.headers(url.href);
  const before = issuer.asked.length;
  const outcome = await authorization.challenged({
    status: 401,
    wwwAuthenticate: await challengeNaming(url, other),
    url: url.href,
    sent,
    retries: 0,
  });
  expect(outcome).toEqual({ kind: 'retry' });
  expect([other.count('/register'), issuer.asked.length, scopes.length]).toEqual([1, before, 2]);
  const kept = await new Grants(store, url).read();
  expect(kept?.issuer).toBe(other.issuer);
  expect(other.received.length).toBeGreaterThan(3);
  for (const secret of [first.accessToken, first.refreshToken, first.client.client_id]) {
    expect(secret).toEqual(expect.stringMatching(/./));
    expect(other.received.join()).not.toContain(secret);
  }
  expect(await new Grants(store, url).client(issuer.issuer)).toEqual(first.client);
});
