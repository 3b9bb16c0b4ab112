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

describe('tokens of a bridge for its server', () => {
  test("exchanges each client's token once", async () => {
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

  test('exchanges again after the server rejects a token', async () => {
    const { issuer, sent, login, call } = await start({ kind: 'exchange', scope: 'notes:read' });
    const token = await login('ada');
    await call(token);
    issuer.revoke(sent.at(-1) ?? '');
    expect(await call(token)).toMatchObject(read);
    expect(issuer.count('/token')).toBe(2);
  });

  test('exchanges tokens as configured in a file', async () => {
    const { sent, login, call } = await start('in a file');
    const token = await login('ada');
    expect(await call(token, 'notes__read')).toMatchObject(read);
    expect(sent).not.toContain(token);
  });

  test('reports a failed exchange to its client', async () => {
    const { login, call } = await start({
      kind: 'exchange',
      audience: 'https://forbidden.example.com',
    });
    const { error } = await call(await login('ada'));
    expect(error?.message).toContain(
      'The authorization server refused a token for https://forbidden.example.com: invalid_target',
    );
  });

  test('uses one token of its own for all clients', async () => {
    const { issuer, login, call } = await start({
      kind: 'client-credentials',
      clientId: 'machine',
      clientSecret: 'machine-secret',
    });
    for (const sub of ['ada', 'grace']) expect(await call(await login(sub))).toMatchObject(read);
    expect(issuer.count('/token')).toBe(1);
  });

  test('uses the stored login of the principal without prompting', async () => {
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

  test('cannot exchange a token for an unauthenticated client', async () => {
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
])('rejects a file with the auth %j', (auth, key, message) => {
  const { faults } = readHosts({ mcpServers: { a: { url: 'https://a.example.com', auth } } });
  expect(faults).toEqual([
    expect.objectContaining({ key, message: expect.stringContaining(message) as string }),
  ]);
});

test.each(['oauth', { CLIENT_ID: 'a' }])('rejects the auth %j for another host', (auth) => {
  const { faults, remarks } = readHosts({
    mcpServers: { a: { url: 'https://a.example.com', auth }, b: { command: 'b', auth } },
  });
  expect([faults, remarks]).toEqual([[], []]);
});

test('sends no token to a launched command', () => {
  const { faults } = readHosts({ mcpServers: { a: { command: 'b', auth: 'stored' } } });
  expect(faults).toMatchObject([{ key: 'auth' }]);
});
