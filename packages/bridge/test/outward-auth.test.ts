/** With which token a bridge goes to a server that demands one: never with that of its client. */
import { bridge } from 'mcp-actors/bridge';
import type { BridgeAuth } from '../src/outward-auth.ts';
import { memoryCredentialStore, readHosts } from 'mcp-actors/client';
import type { CredentialStore } from 'mcp-actors/client';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Grants } from '../../client/src/auth/grants.ts';
import { startProtected } from '../../client/test/auth/protected-server.ts';
import { ask } from '../../http/test/modern/modern-client.ts';
import { serveEndpoint } from '../../http/test/serving.ts';

/** A bridge that demands tokens, before a server that does so too. */
async function start(auth: BridgeAuth | 'in a file') {
  const { issuer, url: inner } = await startProtected();
  /** The tokens that the bridge has sent. */
  const sent: (string | null)[] = [];
  const report = Object.assign(() => {}, { threshold: 'silent' } as const);
  const options = {
    report,
    fetch: (...[input, init]: Parameters<typeof fetch>) => {
      const authorization = new Headers(init?.headers).get('authorization');
      sent.push(authorization?.replace('Bearer ', '') ?? null);
      return fetch(input, init);
    },
  };
  const entry = { url: inner.href };
  const file = {
    mcpServers: { notes: { ...entry, auth: { kind: 'exchange', scope: 'notes:read' } } },
  };
  const server =
    auth === 'in a file' ? bridge(readHosts(file), options) : bridge(entry, { ...options, auth });
  onTestFinished(async () => {
    await server.close();
  });
  const { url: outer } = await serveEndpoint(server, ({ href }) => ({
    report,
    authorization: {
      issuer: issuer.issuer,
      audience: href,
      introspection: issuer.introspector,
      tokenExchange: issuer.exchanger,
      limits: { fetchTimeoutMs: 60_000 },
    },
  }));
  const login = (sub: string) => issuer.issue({ aud: outer.href, sub, scope: 'bridge' });
  const call = async (token: string, name = 'read') => {
    const headers = { authorization: `Bearer ${token}` };
    return await ask(outer, 'tools/call', { name, arguments: {} }, { headers });
  };
  return { issuer, inner, sent, login, call };
}

const read = { result: { content: [{ type: 'text', text: 'read' }] } };

describe('a bridge before a server that demands tokens', () => {
  test('exchanges that of each client, once for each', async () => {
    const { issuer, inner, sent, login, call } = await start({
      kind: 'exchange',
      scope: 'notes:read',
    });
    const tokens = [await login('ada'), await login('grace')];
    for (const token of [...tokens, ...tokens]) expect(await call(token)).toMatchObject(read);
    expect(issuer.count('/token')).toBe(2);
    const forms = issuer.received.filter((each) => each.includes('token-exchange'));
    expect(forms.join()).toContain(`resource=${encodeURIComponent(inner.href)}`);
    expect(new Set(sent).size).toBe(2);
    for (const token of [...tokens, null]) expect(sent).not.toContain(token);
  });

  test('exchanges anew what the server has refused', async () => {
    const { issuer, sent, login, call } = await start({ kind: 'exchange', scope: 'notes:read' });
    const token = await login('ada');
    await call(token);
    issuer.revoke(sent.at(-1) ?? '');
    expect(await call(token)).toMatchObject(read);
    expect(issuer.count('/token')).toBe(2);
  });

  test('exchanges as a file says', async () => {
    const { sent, login, call } = await start('in a file');
    const token = await login('ada');
    expect(await call(token, 'notes__read')).toMatchObject(read);
    expect(sent).not.toContain(token);
  });

  test('tells its client if nothing is exchanged', async () => {
    const { login, call } = await start({
      kind: 'exchange',
      audience: 'https://forbidden.example.com',
    });
    const { error } = await call(await login('ada'));
    expect(error?.message).toContain(
      'The authorization server refused a token for https://forbidden.example.com: invalid_target',
    );
  });

  test('goes as itself, with one token for all', async () => {
    const { issuer, login, call } = await start({
      kind: 'client-credentials',
      clientId: 'machine',
      clientSecret: 'machine-secret',
    });
    for (const sub of ['ada', 'grace']) expect(await call(await login(sub))).toMatchObject(read);
    expect(issuer.count('/token')).toBe(1);
  });

  test('goes with the login that is kept for the principal, and asks nobody for one', async () => {
    const stores = new Map<string, CredentialStore>();
    const store: (principal: { readonly subject: string } | undefined) => CredentialStore = (
      principal,
    ) => {
      const name = principal?.subject ?? '';
      const known = stores.get(name) ?? memoryCredentialStore();
      stores.set(name, known);
      return known;
    };
    const { issuer, inner, login, call, sent } = await start({ kind: 'stored', store });
    const accessToken = await issuer.issue({ aud: inner.href, scope: 'notes:read' });
    await new Grants(store({ subject: 'ada' }), inner).write({
      issuer: issuer.issuer,
      client: { client_id: 'c' },
      accessToken,
    });
    expect(await call(await login('ada'))).toMatchObject(read);
    expect(sent).toContain(accessToken);
    const { error } = await call(await login('grace'));
    expect(error?.message).toContain(
      `No valid login for ${inner.href} is stored: run mcp-actors login`,
    );
    expect([issuer.count('/register'), issuer.count('/authorize')]).toEqual([0, 0]);
  });

  test('has nothing to exchange of a client that is not authenticated', async () => {
    const { url } = await startProtected();
    const report = Object.assign(() => {}, { threshold: 'silent' } as const);
    const server = bridge({ url: url.href }, { report, auth: { kind: 'exchange' } });
    await expect(testClient(server)).rejects.toThrow(
      'There is no access token to exchange: the client is not authenticated',
    );
    await server.close();
  });
});

test.each<[unknown, string, string]>([
  [{ kind: 'magic' }, 'auth.kind', 'is not one of exchange, client-credentials, stored'],
  [{ kind: 'exchange', audiance: 'a' }, 'auth.audiance', 'it is not known; exchange has audience'],
  [{ kind: 'exchange', resource: 'a' }, 'auth.resource', 'is not a URL'],
  [{ kind: 'exchange', scope: 1 }, 'auth.scope', 'is not a text'],
  [{ kind: 'client-credentials', clientId: 'a' }, 'auth.clientSecret', 'needs it'],
])('a file with the auth %j is faulty', (auth, key, message) => {
  const { faults } = readHosts({ mcpServers: { a: { url: 'https://a.example.com', auth } } });
  expect(faults).toEqual([
    expect.objectContaining({ key, message: expect.stringContaining(message) as string }),
  ]);
});

test.each(['oauth', { CLIENT_ID: 'a' }])('the auth %j is of another host', (auth) => {
  const { faults, remarks } = readHosts({
    mcpServers: { a: { url: 'https://a.example.com', auth }, b: { command: 'b', auth } },
  });
  expect([faults, remarks]).toEqual([[], []]);
});

test('a command has no token', () => {
  const { faults } = readHosts({ mcpServers: { a: { command: 'b', auth: 'stored' } } });
  expect(faults).toMatchObject([{ key: 'auth' }]);
});
