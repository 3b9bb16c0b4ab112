/** Handlers that exchange their caller's token at a real authorization server. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { ExchangedToken } from '../../../../src/protocol/request-origin.ts';
import type { WantedToken } from '../../../../src/protocol/request-origin.ts';
import { gate, testClient } from 'mcp-actors/testing';
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAuthorizer } from '../../src/auth/authorizer.ts';
import type { TokenExchangeOptions } from '../../src/auth/options.ts';
import { AuthorizationServer } from '../authorization-server.ts';
import { ask } from '../modern/modern-client.ts';
import { at, startNodes } from '../owner/nodes.ts';
import { RawSession, initializeRequest, post } from '../raw-client.ts';
import { serveEndpoint } from '../serving.ts';
import { resource, start as startAuthorizer } from './start-authorization.ts';

const api = 'https://api.example.com';

/** A server whose tool exchanges the caller's token according to its arguments. */
async function start(option: Partial<TokenExchangeOptions> = {}) {
  const issuer = await AuthorizationServer.start({ tokens: 'opaque' });
  const outcomes: (ExchangedToken | Error)[] = [];
  /** Opened to let calls exchange their token. */
  const calls = gate();
  calls.release();
  const tool = defineTool({
    name: 'exchange',
    description: 'Exchanges the token of the caller',
    inputSchema: { type: 'object' },
    handler: async (wanted, { exchangeToken }) => {
      await calls.pass();
      const outcome = await exchangeToken(wanted as WantedToken).catch((error: unknown) => error);
      outcomes.push(outcome as ExchangedToken | Error);
      return 'done';
    },
  });
  const server = createMcpServer({ name: 'notes', version: '1', tools: [tool] });
  onTestFinished(async () => {
    await issuer.close();
  });
  const { url } = await serveEndpoint(server, ({ href }) => ({
    authorization: {
      issuer: issuer.issuer,
      audience: href,
      introspection: issuer.introspector,
      tokenExchange: { ...issuer.exchanger, ...option },
      limits: { fetchTimeoutMs: 60_000, maxExchangedTokens: 2 },
    },
  }));
  const login = (claims: object = {}) => issuer.issue({ aud: url.href, scope: 'a', ...claims });
  /** Calls the tool and returns its result. */
  const exchange = async (token: string, wanted: object): Promise<ExchangedToken | Error> => {
    const params = { name: 'exchange', arguments: { ...wanted } };
    const headers = { authorization: `Bearer ${token}` };
    const at = outcomes.length;
    expect((await ask(url, 'tools/call', params, { headers })).status).toBe(200);
    return outcomes[at] as ExchangedToken | Error;
  };
  return { issuer, calls, login, exchange };
}

/** Token exchange for one caller on a controlled clock, without a server. */
async function startExchange(option: Partial<TokenExchangeOptions> = {}) {
  const { server, time, present } = await startAuthorizer(
    ({ introspector, exchanger }) => ({
      introspection: introspector,
      tokenExchange: { ...exchanger, ...option },
      limits: { fetchTimeoutMs: 60_000, maxDocumentBytes: 4096, maxExchangedTokens: 2 },
    }),
    { tokens: 'opaque' },
  );
  const given = await present(await server.issue({ aud: resource }));
  const tokens = given.ok ? given.tokens : undefined;
  const exchange = async (wanted: WantedToken = { audience: api }): Promise<ExchangedToken> =>
    (await tokens?.exchange(wanted)) as ExchangedToken;
  return { issuer: server, time, exchange };
}

/** Forms sent to the token endpoint. */
const formsTo = ({ received }: AuthorizationServer, path: string) =>
  received
    .filter((each) => new URL(each.split(' ')[0] ?? '').pathname === path)
    .map((each) => Object.fromEntries(new URLSearchParams(each.split(' ').at(-1))));

describe('exchangeToken', () => {
  test('returns a token for another server', async () => {
    const { issuer, login, exchange } = await start();
    const token = await login();
    const wanted = { audience: api, resource: `${api}/v1`, scope: 'orders:read' };
    const given = (await exchange(token, wanted)) as ExchangedToken;
    expect(given).toMatchObject({
      accessToken: expect.any(String) as string,
      scope: 'orders:read',
    });
    expect(given.accessToken).not.toBe(token);
    expect(given.expiresAt).toBeGreaterThan(Date.now());
    expect(formsTo(issuer, '/token')).toEqual([
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        ...wanted,
      },
    ]);
  });

  test('assumes the requested scope unless the response names another', async () => {
    const { issuer, login, exchange } = await start();
    const token = await login();
    issuer.exchanged = { scope: undefined };
    expect(await exchange(token, { audience: api, scope: 'a b' })).toHaveProperty('scope', 'a b');
    issuer.exchanged = { scope: 'a' };
    expect(await exchange(token, { audience: 'other', scope: 'a b' })).toHaveProperty('scope', 'a');
  });

  test('requests a token once per target and scope', async () => {
    const { issuer, login, exchange } = await start();
    const token = await login();
    const first = await exchange(token, { audience: api, scope: 'b a' });
    expect(await exchange(token, { audience: api, scope: 'a b' })).toEqual(first);
    // A newer token of the same principal with the same scopes.
    expect(await exchange(await login(), { audience: api, scope: 'a b' })).toEqual(first);
    expect(issuer.count('/token')).toBe(1);
    expect(await exchange(token, { audience: 'other', scope: 'a b' })).not.toEqual(first);
    const refused = (first as ExchangedToken).accessToken;
    const second = await exchange(token, { audience: api, scope: 'a b', refused });
    expect(second).not.toEqual(first);
    expect(await exchange(token, { audience: api, scope: 'a b', refused })).toEqual(second);
    expect(issuer.count('/token')).toBe(3);
  });

  test('shares no token between principals, or between a broad and a narrow token', async () => {
    const { issuer, login, exchange } = await start();
    const tokens = [await login(), await login({ sub: 'grace' }), await login({ scope: 'a b' })];
    const given = [];
    for (const token of tokens) given.push(await exchange(token, { audience: api }));
    expect(new Set(given.map((each) => (each as ExchangedToken).accessToken)).size).toBe(3);
    // Two tokens are cached; the first one was evicted.
    await exchange(tokens[0] ?? '', { audience: api });
    expect(issuer.count('/token')).toBe(4);
  });

  test('shares one exchange among concurrent calls', async () => {
    const { issuer, calls, login, exchange } = await start();
    const token = await login();
    const held = gate();
    issuer.meanwhile = (path) => (path === '/token' ? held.pass() : undefined);
    const first = exchange(token, { audience: api });
    await held.arrived();
    const others = Array.from({ length: 5 }, () => exchange(token, { audience: api }));
    await calls.arrived(6);
    held.release();
    await Promise.all([first, ...others]);
    expect(issuer.count('/token')).toBe(1);
  });

  test('does not cache a token without an expiry', async () => {
    const { issuer, login, exchange } = await start();
    issuer.exchanged = { expires_in: undefined };
    const token = await login();
    await exchange(token, { audience: api });
    await exchange(token, { audience: api });
    expect(issuer.count('/token')).toBe(2);
  });

  test.each([
    [3600, 3590],
    [10, 5],
  ])(
    'caches a token of %i s for %i s, so that it is still valid on arrival',
    async (lifetime, kept) => {
      const { issuer, time, exchange } = await startExchange();
      issuer.lifetime = lifetime;
      const first = await exchange();
      expect(first.expiresAt).toBe(time.wall() + lifetime * 1000);
      time.pass(kept * 1000 - 1);
      expect(await exchange()).toEqual(first);
      time.pass(1);
      expect(await exchange()).not.toEqual(first);
    },
  );

  test.each([
    [undefined, undefined],
    [0, undefined],
    [-1, undefined],
    ['soon', undefined],
    [1, 1000],
    ['60', 60_000],
  ])('reads the expiry from `expires_in` %j', async (seconds, ms) => {
    const { issuer, time, exchange } = await startExchange();
    issuer.exchanged = { expires_in: seconds };
    const { expiresAt } = await exchange();
    expect(expiresAt).toBe(ms === undefined ? undefined : time.wall() + ms);
  });

  test('does not return a rejected token again, nor evict tokens for uncacheable ones', async () => {
    const { issuer, exchange } = await startExchange();
    const kept = await exchange({ audience: 'kept' });
    const { accessToken: refused } = await exchange();
    issuer.exchanged = { expires_in: undefined };
    const second = await exchange({ audience: api, refused });
    const third = await exchange();
    expect(new Set([refused, second.accessToken, third.accessToken]).size).toBe(3);
    await exchange({ audience: 'other' });
    expect(await exchange({ audience: 'kept' })).toEqual(kept);
  });

  test('sends only the requested scope, to the configured endpoint', async () => {
    const { issuer } = await startExchange();
    const { exchange } = await startExchange({ endpoint: `${issuer.issuer}/token` });
    await expect(exchange()).rejects.toThrow('invalid_grant');
    expect(issuer.count('/.well-known/oauth-authorization-server')).toBe(1);
    expect(Object.keys(formsTo(issuer, '/token')[0] ?? {})).toEqual([
      ...['grant_type', 'subject_token', 'subject_token_type', 'requested_token_type', 'audience'],
    ]);
  });

  test('authenticates with a signed assertion', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const key = { privateKey: await exportPKCS8(privateKey), clientSecret: undefined } as object;
    const { issuer, login, exchange } = await start(key);
    issuer.isAsserted = (form) => form.has('client_assertion');
    expect(await exchange(await login(), { audience: api })).toHaveProperty('accessToken');
    const [form] = formsTo(issuer, '/token');
    const { payload } = await jwtVerify(form?.['client_assertion'] ?? '', publicKey, {
      audience: issuer.issuer,
    });
    expect(payload).toMatchObject({ iss: 'exchanger', sub: 'exchanger' });
  });
});

describe('a failing token exchange', () => {
  test('reports a rejection by the authorization server', async () => {
    const { login, exchange } = await start();
    expect(
      await exchange(await login(), { audience: 'https://forbidden.example.com' }),
    ).toMatchObject({
      code: 'UNAUTHORIZED',
      status: 400,
      message:
        'The authorization server refused a token for https://forbidden.example.com: invalid_target',
    });
  });

  test("reports a request forwarded by another node, which keeps the caller's token", async () => {
    const issuer = await AuthorizationServer.start({ tokens: 'opaque' });
    onTestFinished(() => issuer.close());
    const tool = defineTool({
      name: 'exchange',
      description: 'Exchanges the token of the caller',
      handler: async (_, { exchangeToken }) => {
        await exchangeToken({ audience: api });
        return 'exchanged';
      },
    });
    const audience = 'https://nodes.example.com/mcp';
    const authorization = {
      issuer: issuer.issuer,
      audience,
      introspection: issuer.introspector,
      tokenExchange: issuer.exchanger,
      limits: { fetchTimeoutMs: 60_000 },
    };
    const [owner, other] = await startNodes(2, () => ({ tools: [tool] }), {}, { authorization });
    const headers = { authorization: `Bearer ${await issuer.issue({ aud: audience })}` };
    const begun = await post(owner!.url, initializeRequest(), headers);
    const id = begun.headers.get('mcp-session-id') ?? '';
    const session = new RawSession(owner!.url, { ...headers, 'mcp-session-id': id });
    await session.notify('notifications/initialized');
    expect(await (await session.call('exchange')).text()).toContain('exchanged');
    const refused = await (await at(other!, session).call('exchange')).text();
    expect(refused).toContain('CONFIG_INVALID');
    expect(refused).toContain('another node forwarded the request without its token');
  });

  test.each([500, 503])(
    'reports status %i of the authorization server, and retries with the next call',
    async (status) => {
      const { issuer, login, exchange } = await start();
      const token = await login();
      issuer.fault = (request, response) => {
        if (request.url === '/token') response.writeHead(status).end(token);
        return request.url === '/token';
      };
      const error = await exchange(token, { audience: api });
      expect(error).toMatchObject({
        code: 'NOT_READY',
        message: expect.stringContaining(`/token answered with status ${status}`) as string,
      });
      expect((error as Error).message).not.toContain(token);
      issuer.fault = () => false;
      expect(await exchange(token, { audience: api })).toHaveProperty('accessToken');
    },
  );

  test.each([
    [500, '{"error":"invalid_target"}', 'status 500'],
    [429, '{"error":"slow_down"}', 'status 429'],
    [400, '<html>', 'status 400'],
    [200, '["access_token"]', 'status 200'],
    [200, `{"a":"${'x'.repeat(5000)}"}`, 'the body is longer than 4096 bytes'],
  ])('suggests a retry after %i and %s', async (status, body, reason) => {
    const { issuer, exchange } = await startExchange();
    issuer.fault = (request, response) => {
      if (request.url === '/token') response.writeHead(status).end(body);
      return request.url === '/token';
    };
    await expect(exchange()).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining(reason) as string,
    });
  });

  test('reports a timeout of the authorization server', async () => {
    const { login, exchange } = await start();
    const token = await login();
    expect(await exchange(token, { audience: api })).toHaveProperty('accessToken');
    const late = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
    expect(await exchange(token, { audience: 'other' })).toMatchObject({ code: 'NOT_READY' });
    expect(late).toHaveBeenCalledWith(60_000);
  });

  test("rejects an unusable response, above all the caller's own token", async () => {
    const { issuer, login, exchange } = await start();
    const token = await login();
    const why = async (exchanged: object) => {
      issuer.exchanged = exchanged;
      return await exchange(token, { audience: api });
    };
    const invalid = (message: string) => ({
      code: 'INVALID_RESPONSE',
      message: `The token exchange for ${api} returned no usable token: ${message}`,
    });
    expect(await why({ access_token: token })).toMatchObject(
      invalid('"access_token" is the caller\'s own token'),
    );
    expect(await why({ access_token: undefined })).toMatchObject(
      invalid('"access_token" is missing'),
    );
    expect(await why({ token_type: 'N_A' })).toMatchObject(
      invalid('"token_type" must be Bearer, got "N_A"'),
    );
  });

  test.each([
    [{}, 'exchangeToken needs a target server: set "audience" or "resource"'],
    [{ audience: '' }, 'exchangeToken needs a target server: set "audience" or "resource"'],
    [{ resource: 'api' }, '"resource" must be an absolute URL without a fragment, got "api"'],
  ])('rejects the request %j', async (wanted, message) => {
    const { issuer, login, exchange } = await start();
    expect(await exchange(await login(), wanted)).toMatchObject({ name: 'TypeError', message });
    expect(issuer.count('/token')).toBe(0);
  });

  test('reports an unauthenticated caller, as over stdio', async () => {
    const tool = defineTool({
      name: 'exchange',
      description: 'Exchanges the token of the caller',
      handler: async (_, { exchangeToken }) => {
        const error: unknown = await exchangeToken({ audience: api }).catch((one: unknown) => one);
        return String(error);
      },
    });
    await using client = await testClient(
      createMcpServer({ name: 'notes', version: '1', tools: [tool] }),
    );
    expect(await client.callTool('exchange')).toMatchObject({
      content: [
        {
          text: 'RuntimeError: There is no access token to exchange: the client is not authenticated',
        },
      ],
    });
  });
});

test.each<[object, string]>([
  [{ clientId: '' }, 'tokenExchange.clientId must be this server'],
  [{ clientSecret: undefined }, 'tokenExchange must have either "clientSecret" or "privateKey"'],
  [{ endpoint: 'http://as.example.com/token' }, 'tokenExchange.endpoint must start with https://'],
])('rejects the option %j by name', (option, message) => {
  const tokenExchange = { clientId: 'a', clientSecret: 'b', ...option };
  const issuer = 'https://as.example.com';
  const audience = 'https://mcp.example.com/mcp';
  expect(() => createAuthorizer({ issuer, audience, tokenExchange })).toThrow(message);
  const none = 'exchange' as never;
  expect(() => createAuthorizer({ issuer, audience, tokenExchange: none })).toThrow(
    'tokenExchange must be an object of options, got "exchange"',
  );
});

test('requires an endpoint if there is no issuer', () => {
  const verifyToken = () => ({ subject: 'ada' });
  const tokenExchange = { clientId: 'a', clientSecret: 'b' };
  expect(() => createAuthorizer({ verifyToken, tokenExchange })).toThrow(
    'tokenExchange.endpoint must be set if there is no "issuer"',
  );
});
