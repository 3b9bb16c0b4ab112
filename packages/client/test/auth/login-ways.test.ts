/** What every way to a token promises: a person here or at another device, and a host itself. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import { Grants } from '../../src/auth/grants.ts';
import type { Grant } from '../../src/auth/grants.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { authorizeBy, persons, ways, without } from './login-ways.ts';
import { authorize } from './authorizing.ts';
import { call, challengeNaming, person, startProtected } from './protected-server.ts';

describe.each(ways)('a login of %s', (way) => {
  test('asks where the metadata of the issuer say, for this server alone', async () => {
    const { issuer, url } = await startProtected();
    const endpoints = ['token', 'register', 'device'];
    const moved = ({ href }: URL) => `${href}/elsewhere`;
    issuer.metadata = (own) => ({
      ...own,
      token_endpoint: moved(new URL(`${issuer.issuer}/token`)),
      registration_endpoint: moved(new URL(`${issuer.issuer}/register`)),
      device_authorization_endpoint: moved(new URL(`${issuer.issuer}/device`)),
    });
    const asked: string[] = [];
    issuer.fault = (request) => {
      asked.push(request.url ?? '');
      request.url = request.url?.replace('/elsewhere', '') ?? '';
      return false;
    };
    // An issuer may leave out the scopes that were asked for (RFC 6749, section 5.1).
    issuer.granted = { scope: undefined };
    const store = memoryCredentialStore();
    const authorization = authorizeBy(way, issuer, url, { store });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    const kept = await new Grants(store, url).read();
    expect(kept).toMatchObject({ issuer: issuer.issuer, scope: 'notes:read' });
    issuer.revoke(kept?.accessToken ?? '');
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    for (const name of endpoints) expect(asked).not.toContain(`/${name}`);
    const tokens = issuer.received.filter((one) => one.includes('grant_type='));
    expect(tokens.length).toBeGreaterThan(1);
    for (const one of tokens) expect(one).toContain(`resource=${encodeURIComponent(url.href)}`);
  });

  test('at a server that gives its tokens itself names no other', async () => {
    const issuer = await AuthorizationServer.start({ tokens: 'opaque' });
    onTestFinished(() => issuer.close());
    const server = new URL(`${issuer.issuer}/mcp`);
    const store = memoryCredentialStore();
    const authorization = authorizeBy(way, issuer, server, { store });
    expect(await authorization.challenged(without(server))).toEqual({ kind: 'retry' });
    const kept = await new Grants(store, server).read();
    expect(kept).toMatchObject({ issuer: issuer.issuer });
    expect(kept?.resource).toBeUndefined();
    expect(issuer.received.join()).not.toMatch(/resource=|scope=undefined/);
  });

  test('asks for what is wanted, for what the server names, or for what the host gives', async () => {
    const { issuer, url } = await startProtected();
    const asks = async (wanted: string, more: object) => {
      const before = issuer.received.length;
      const challenge = await challengeNaming(url, issuer, more);
      const authorization = authorizeBy(way, issuer, url, { scope: 'given' });
      await authorization.challenged(
        without(url, challenge.replace(', scope="notes:read"', wanted)),
      );
      const asked = issuer.received
        .slice(before)
        .flatMap((one) => /[ ?&]scope=([^& ]*)/.exec(one)?.[1] ?? []);
      return new Set(asked);
    };
    const named = { scopes_supported: ['named'] };
    expect(await asks(', scope="wanted"', named)).toEqual(new Set(['wanted']));
    expect(await asks('', named)).toEqual(new Set(['named']));
    expect(await asks('', { scopes_supported: [] })).toEqual(new Set(['given']));
  });
});

test('a person is asked for a login that can be renewed where that is a scope', async () => {
  const { issuer, url } = await startProtected();
  issuer.metadata = (own) => ({ ...own, scopes_supported: ['notes:read', 'offline_access'] });
  const { visit, scopes } = person();
  expect(await call(authorize(url, { visit }), url, 'read')).toMatchObject({ text: 'read' });
  expect(scopes).toEqual(['notes:read offline_access']);
});

describe.each(persons)('a client for %s', (way) => {
  test('says what it is, and is registered once for all logins', async () => {
    const { issuer, url } = await startProtected();
    const store = memoryCredentialStore();
    const grants = new Grants(store, url);
    const more = { store, clientName: 'Tests', scope: 'notes:read' };
    const logIn = async (tool = 'read') => {
      expect(await call(authorizeBy(way, issuer, url, more), url, tool)).toMatchObject({
        text: tool,
      });
      const kept = await grants.read();
      await grants.remove(kept as never);
      return kept;
    };
    await logIn();
    await logIn();
    const registered = issuer.received.filter((one) => /\/register /.test(one));
    expect(registered).toHaveLength(1);
    expect(JSON.parse(/ (\{.*)$/.exec(registered[0] ?? '')?.[1] ?? '')).toMatchObject({
      client_name: 'Tests',
      token_endpoint_auth_method: 'none',
      scope: 'notes:read',
      ...(way === 'a person'
        ? {
            redirect_uris: ['http://localhost/callback'],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
          }
        : {
            redirect_uris: [expect.any(String)],
            grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
            response_types: [],
          }),
    });
    // What the authorization server does not know any more is registered anew.
    const kept = await logIn();
    await grants.write(kept as Grant);
    issuer.forgetClients();
    issuer.revoke(kept?.accessToken ?? '');
    await logIn();
    expect(issuer.count('/register')).toBe(2);
  });

  test('that gets a secret shows it from then on', async () => {
    const { issuer, url } = await startProtected();
    const [clientId, clientSecret] = ['secretive', 'a secret'];
    issuer.admit({ clientId, clientSecret }, ['http://localhost/callback']);
    const information = {
      client_id: clientId,
      client_secret: clientSecret,
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: ['http://localhost/callback'],
    };
    issuer.fault = (request, response) => {
      if (request.url !== '/register') return false;
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...information, other: 'not kept' }));
      return true;
    };
    const store = memoryCredentialStore();
    const authorization = authorizeBy(way, issuer, url, { store });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    const kept = await new Grants(store, url).read();
    expect(kept?.client).toEqual({ ...information, redirect_uris: [expect.any(String)] });
    const flow = way === 'a person' ? 'browser' : 'device';
    expect(await new Grants(store, url).client(issuer.issuer, flow)).toEqual(kept?.client);
    issuer.revoke(kept?.accessToken ?? '');
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(issuer.count('/register')).toBe(1);
  });

  test('that the host gives is not stored, and shows its secret when its token is renewed', async () => {
    const { issuer, url } = await startProtected();
    const [clientId, clientSecret] = ['own', 'own secret'];
    issuer.admit({ clientId, clientSecret }, ['http://localhost/callback']);
    const store = memoryCredentialStore();
    const authorization = authorizeBy(way, issuer, url, { store, clientId, clientSecret });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    const kept = await new Grants(store, url).read();
    expect(kept?.client).toEqual({ client_id: clientId });
    issuer.revoke(kept?.accessToken ?? '');
    const before = issuer.count('/token');
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(issuer.count('/token')).toBe(before + 1);
    const documents = await Promise.all((await store.keys()).map((key) => store.read(key)));
    expect(JSON.stringify(documents)).not.toContain(clientSecret);
    // A token of another client is not sent.
    const other = authorizeBy(way, issuer, url, { store, clientId: 'other' });
    expect(await other.headers(url.href)).toEqual({});
  });
});
