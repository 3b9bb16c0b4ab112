/** Decisions of the authorizer: headers, challenges, scopes, metadata and custom verifiers. */
import { readFileSync } from 'node:fs';
import { createMcpServer, defineTool } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { createAuthorizer } from '../../src/auth/authorizer.ts';
import { defaultTokenLimits } from '../../src/auth/options.ts';
import type { AuthorizationOptions, VerifierOptions } from '../../src/auth/options.ts';
import { RequestAuthorization, requiredScopes } from '../../src/request-authorization.ts';
import { TestClock } from '../../../testing/src/index.ts';
import {
  authenticate,
  controlledTime,
  principalOf,
  resource,
  start,
} from './start-authorization.ts';

const metadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const issuer = { issuer: 'https://auth.example.com', audience: resource } as const;
/** Options whose verifier accepts any token, with the given claims. */
const accepting = (verified: object = {}): VerifierOptions => ({
  verifyToken: (token) => (token === 't' ? { subject: 'ada', ...verified } : undefined),
});

describe('presentedToken', () => {
  test.each([undefined, '', 'Basic YTpi', 'Bearer2 t', 'DPoP t'])(
    'challenges a request without a bearer token, without an error code: %j',
    async (header) => {
      const authorizer = createAuthorizer({ ...issuer, requiredScopes: ['mcp', 'notes:read'] });
      expect(await authenticate(authorizer, header)).toEqual({
        ok: false,
        status: 401,
        headers: {
          'www-authenticate': `Bearer scope="mcp notes:read", resource_metadata="${metadataUrl}"`,
        },
        message: 'An access token is required',
      });
    },
  );

  test.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer t, Bearer t', 'Bearer "t"', 'Bearer tö'])(
    'rejects a malformed Authorization header: %j',
    async (header) => {
      const given = await authenticate(createAuthorizer(accepting()), header);
      expect(given).toMatchObject({
        status: 400,
        headers: { 'www-authenticate': expect.stringContaining('error="invalid_request"') },
      });
    },
  );

  test.each(['Bearer t', 'bearer t', 'BEARER   t', ' Bearer t '])(
    'reads a bearer token: %j',
    async (header) => {
      expect((await authenticate(createAuthorizer(accepting()), header)).ok).toBe(true);
    },
  );

  test.each([
    '/mcp?access_token=t',
    '/mcp?a=b&access_token=t',
    '/mcp?access%5Ftoken=',
    '/?access_token',
  ])('rejects a token in the query, whatever the header is: %s', async (target) => {
    const authorizer = createAuthorizer(accepting());
    for (const header of [undefined, 'Bearer t']) {
      const given = await authenticate(authorizer, header, target);
      expect(given).toMatchObject({ status: 400, message: expect.stringContaining('query') });
    }
    expect((await authenticate(authorizer, 'Bearer t', '/mcp?project=access_token')).ok).toBe(true);
  });
});

describe('scopes', () => {
  test('appear in the challenge even if there is only one', async () => {
    const authorizer = createAuthorizer({ ...issuer, requiredScopes: ['mcp'] });
    expect(await authenticate(authorizer, undefined)).toHaveProperty(
      ['headers', 'www-authenticate'],
      `Bearer scope="mcp", resource_metadata="${metadataUrl}"`,
    );
  });

  test('demands requiredScopes of every request', async () => {
    const authorizer = createAuthorizer({
      ...accepting({ scopes: ['a'] }),
      requiredScopes: ['a', 'b'],
    });
    const given = await authenticate(authorizer, 'Bearer t');
    expect(given).toEqual({
      ok: false,
      status: 403,
      headers: {
        'www-authenticate':
          'Bearer error="insufficient_scope", error_description="The token lacks the required scopes b", scope="a b"',
      },
      message: 'The token lacks the required scopes b',
    });
  });

  test('requests all scopes of an operation together with those already granted', async () => {
    const scopes = ['mcp', 'mail', 'offline_access', 'read'];
    const options = { ...accepting({ scopes }), requiredScopes: ['mcp'] };
    const authorizer = createAuthorizer({
      ...options,
      resource,
      authorizationServers: ['https://auth.example.com'],
    });
    const principal = principalOf(await authenticate(authorizer, 'Bearer t'));
    expect(authorizer.requireScopes(principal, ['read', 'mail'])).toBeUndefined();
    expect(authorizer.requireScopes(principal, ['read', 'write', 'admin'])).toMatchObject({
      status: 403,
      headers: {
        'www-authenticate': expect.stringMatching(
          /^Bearer error="insufficient_scope", .*lacks the required scopes write, admin", scope="mcp read write admin mail", resource_metadata="https/,
        ),
      },
    });
  });

  test('limits the length of the challenge for tokens with many scopes', async () => {
    const scopes = Array.from({ length: 5000 }, (_, n) => `scope:${n}`);
    const authorizer = createAuthorizer(accepting({ scopes }));
    const principal = principalOf(await authenticate(authorizer, 'Bearer t'));
    const refusal = authorizer.requireScopes(principal, ['write']);
    expect(refusal?.headers['www-authenticate']).toMatch(/scope="write scope:0 /);
    expect(refusal?.headers['www-authenticate']?.length).toBeLessThan(1000);
  });

  test('applies implied scopes transitively', async () => {
    const authorizer = createAuthorizer({
      ...accepting({ scopes: ['admin'] }),
      impliedScopes: { admin: ['write'], write: ['read', 'admin'] },
    });
    const principal = principalOf(await authenticate(authorizer, 'Bearer t'));
    expect(authorizer.requireScopes(principal, ['read', 'write'])).toBeUndefined();
    expect(authorizer.requireScopes(principal, ['constructor'])).toMatchObject({ status: 403 });
  });

  test('ignores implied scopes named like Object.prototype members', async () => {
    const given = {
      ...accepting({ scopes: ['constructor'] }),
      impliedScopes: { admin: ['write'] },
    };
    const principal = principalOf(await authenticate(createAuthorizer(given), 'Bearer t'));
    expect(principal.scopes).toEqual(['constructor']);
  });

  test('rejects a whole batch if one of its tool calls lacks a scope', () => {
    const write = defineTool({
      ...{ name: 'write', description: 'Writes', scopes: ['notes:write'] },
      handler: () => 'done',
    });
    const { tools } = createMcpServer({ name: 'notes', version: '1', tools: [write] });
    const home = { clock: new TestClock(), report: () => {} };
    const guard = new RequestAuthorization(accepting(), home);
    const principal = { id: 'ada', subject: 'ada', scopes: [], claims: {} };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write' } };
    const batchOf = (...messages: object[]) => ({ kind: 'batch', messages }) as never;
    const exchange = { principal } as never;
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    expect(guard.checkScopes(exchange, batchOf(ping, call), tools)).toMatchObject({ status: 403 });
    expect(guard.checkScopes(exchange, batchOf(ping), tools)).toBeUndefined();
  });

  test("requires a tool's scopes only for calls of that tool", () => {
    const handler = () => 'done';
    const { tools } = createMcpServer({
      name: 'notes',
      version: '1',
      tools: [
        defineTool({ name: 'write', description: 'Writes', scopes: ['notes:write'], handler }),
        defineTool({ name: 'read', description: 'Reads', handler }),
      ],
    });
    const call = (name: unknown) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name },
    });
    expect(requiredScopes(call('write'), tools)).toEqual(['notes:write']);
    const retry = { ...call('write').params, requestState: 's', inputResponses: {} };
    expect(requiredScopes({ ...call('write'), params: retry }, tools)).toEqual(['notes:write']);
    const others = [call('read'), call('nothing'), call(7), { method: 'tools/call' }, null, []];
    for (const message of others) expect(requiredScopes(message, tools)).toEqual([]);
    expect(requiredScopes({ ...call('write'), method: 'prompts/get' }, tools)).toEqual([]);
  });
});

describe('protected resource metadata', () => {
  test('contains what clients need to get a token', () => {
    const options = {
      requiredScopes: ['mcp'],
      resourceName: 'Notes',
      resourceDocumentation: 'https://example.com/docs',
    };
    expect(createAuthorizer({ ...issuer, ...options }).metadata).toEqual({
      resource,
      authorization_servers: ['https://auth.example.com'],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp'],
      resource_name: 'Notes',
      resource_documentation: 'https://example.com/docs',
    });
    expect(
      createAuthorizer({ ...issuer, ...options, scopesSupported: ['a'] }).metadata,
    ).toMatchObject({
      scopes_supported: ['a'],
    });
    expect(createAuthorizer(issuer).metadata).not.toHaveProperty('scopes_supported');
  });

  test('is cacheable JSON that only GET and HEAD may read', () => {
    const home = { clock: new TestClock(), report: () => {} };
    const guard = new RequestAuthorization(issuer, home);
    const path = '/.well-known/oauth-protected-resource/mcp';
    const asked = (method: string) => guard.metadata(path, { method } as never);
    expect(asked('GET')).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'max-age=3600' },
    });
    expect(asked('POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect(guard.metadata('/mcp', { method: 'GET' } as never)).toBeUndefined();
  });

  test.each<[string, string, readonly string[]]>([
    [
      'https://mcp.example.com/a/mcp',
      'https://mcp.example.com/.well-known/oauth-protected-resource/a/mcp',
      ['/.well-known/oauth-protected-resource/a/mcp', '/.well-known/oauth-protected-resource'],
    ],
    [
      'https://mcp.example.com',
      'https://mcp.example.com/.well-known/oauth-protected-resource',
      ['/.well-known/oauth-protected-resource'],
    ],
    [
      'http://localhost:3000/mcp/',
      'http://localhost:3000/.well-known/oauth-protected-resource/mcp/',
      ['/.well-known/oauth-protected-resource/mcp/', '/.well-known/oauth-protected-resource'],
    ],
  ])(
    'serves the metadata of %s at both paths and names the first in the challenge',
    async (of, url, paths) => {
      const authorizer = createAuthorizer({ ...issuer, audience: 'api://mcp', resource: of });
      expect(authorizer.metadata?.resource).toBe(of);
      expect(authorizer.metadataPaths).toEqual(paths);
      const given = await authenticate(authorizer, undefined);
      expect(given).toHaveProperty(
        ['headers', 'www-authenticate'],
        `Bearer resource_metadata="${url}"`,
      );
    },
  );

  test('is absent if no authorization server is configured for clients', async () => {
    const authorizer = createAuthorizer(accepting());
    expect(authorizer).toMatchObject({ metadata: undefined, metadataPaths: [] });
    const given = await authenticate(authorizer, undefined);
    expect(given).toHaveProperty(['headers', 'www-authenticate'], 'Bearer');
    const told = { resource, authorizationServers: ['https://auth.example.com'] };
    expect(createAuthorizer({ ...accepting(), ...told }).metadata).toMatchObject({
      resource,
      authorization_servers: told.authorizationServers,
    });
  });
});

describe('verifyToken', () => {
  test('returns the principal and receives the request', async () => {
    const authorizer = createAuthorizer({
      verifyToken: async (token, { header, target }) => ({
        subject: `${token} ${header('x-tenant')} ${target}`,
        clientId: 'app',
        scopes: ['a'],
        claims: { plan: 'free' },
        // `offline_access` is not requested.
        token,
      }),
    });
    const headers = new Map([
      ['authorization', 'Bearer key'],
      ['x-tenant', 'one'],
    ]);
    const request = { target: '/mcp', header: (name: string) => headers.get(name) };
    expect(principalOf(await authorizer.authenticate(request))).toEqual({
      id: 'key one /mcp',
      subject: 'key one /mcp',
      clientId: 'app',
      scopes: ['a'],
      claims: { plan: 'free' },
    });
  });

  test('is called for every request', async () => {
    let isValid = true;
    const verifyToken = () => (isValid ? { subject: 'ada' } : undefined);
    const authorizer = createAuthorizer({ verifyToken });
    expect((await authenticate(authorizer, 'Bearer t')).ok).toBe(true);
    isValid = false;
    expect(await authenticate(authorizer, 'Bearer t')).toMatchObject({
      status: 401,
      message: 'The token is not valid',
    });
  });

  test('may return the expiry of a token', async () => {
    const time = controlledTime();
    const options = {
      ...accepting({ expiresAt: time.wall() + 1000 }),
      limits: { clockSkewSeconds: 0 },
    };
    const authorizer = createAuthorizer(options, time);
    const limited = createAuthorizer({ ...options, limits: { clockSkewSeconds: 30 } }, time);
    const given = await authenticate(authorizer, 'Bearer t');
    const later = await authenticate(limited, 'Bearer t');
    expect([given, later]).toMatchObject([{ expiresInMs: 1000 }, { expiresInMs: 31_000 }]);
    time.pass(1000);
    expect(await authenticate(authorizer, 'Bearer t')).toMatchObject({
      message: 'The token has expired',
    });
  });

  test.each([
    [29_999, true],
    [30_000, false],
  ])('accepts a token until 30 s of clock skew have passed: expired for %i ms', async (ms, ok) => {
    const time = controlledTime();
    const given = accepting({ expiresAt: time.wall() - ms });
    const authorizer = createAuthorizer({ ...given, limits: { clockSkewSeconds: 30 } }, time);
    expect((await authenticate(authorizer, 'Bearer t')).ok).toBe(ok);
  });

  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no row for secret-token');
      },
      'Error: no row for [token]',
    ],
    [
      'returns no subject',
      () => ({ subject: '' }),
      'TypeError: verifyToken must return a "subject" string, got ""',
    ],
  ])('answers 503 and logs no token if the verifier %s', async (_, verify, detail) => {
    const authorizer = createAuthorizer({ verifyToken: verify as VerifierOptions['verifyToken'] });
    const given = await authenticate(authorizer, 'Bearer secret-token');
    expect(given).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(given).toHaveProperty('detail', detail);
    expect(JSON.stringify(given)).not.toContain('secret-token');
  });
});

describe('rejects invalid options by name', () => {
  test.each<[object | undefined, string]>([
    [undefined, 'authorization must be an object of options'],
    [{}, 'issuer must be an absolute URL, got missing'],
    [{ ...issuer, issuer: 'http://auth.example.com' }, 'issuer must start with https://'],
    [{ ...issuer, issuer: 'https://a:b@auth.example.com' }, 'issuer must not contain credentials'],
    [{ ...issuer, issuer: 'https://a@auth.example.com' }, 'issuer must not contain credentials'],
    [{ ...issuer, issuer: 'auth' }, 'issuer must be an absolute URL'],
    [{ ...issuer, audience: undefined }, 'audience must name this server'],
    [{ ...issuer, audience: [] }, 'audience must name this server'],
    [{ ...issuer, audience: [resource, ''] }, 'audience must name this server'],
    [{ ...issuer, audience: [7], resource }, 'audience must name this server'],
    [{ ...issuer, audience: 'api://mcp' }, 'resource must be an absolute URL, got missing'],
    [{ ...issuer, resource: `${resource}#a` }, 'resource must not contain a fragment'],
    [{ ...issuer, jwksUri: 'http://evil.example' }, 'jwksUri must start with https://'],
    [{ ...issuer, algorithms: ['HS256'] }, '"HS256" is none of them'],
    [{ ...issuer, algorithms: ['none'] }, '"none" is none of them'],
    [{ ...issuer, algorithms: [] }, 'there are none'],
    [
      { ...issuer, introspection: { clientId: 'a' } },
      'introspection.clientSecret must be a string',
    ],
    [
      {
        ...issuer,
        introspection: { clientId: 'a', clientSecret: 'b', endpoint: 'http://evil.example' },
      },
      'introspection.endpoint must start with https://',
    ],
    [{ ...issuer, requiredScopes: 'mcp' }, 'requiredScopes must be an array of scopes'],
    [{ ...issuer, scopesSupported: ['a b'] }, 'scopesSupported must contain scopes'],
    [{ ...issuer, impliedScopes: { a: 'b' } }, 'a must be an array of scopes'],
    [{ ...issuer, limits: { clockSkewSecond: 1 } }, 'Unknown token limit "clockSkewSecond"'],
    [
      { ...issuer, limits: { maxCachedTokens: 0 } },
      'maxCachedTokens must be a number of at least 1',
    ],
    [{ ...issuer, limits: { tokenCacheMs: -1 } }, 'tokenCacheMs must be a number of at least 0'],
    [{ verifyToken: 7 }, 'verifyToken must be a function'],
    [
      { ...accepting(), resource: 'mcp', authorizationServers: ['https://auth.example.com'] },
      'resource must be an absolute URL',
    ],
    [
      { ...accepting(), resource, authorizationServers: ['http://evil.example'] },
      'authorizationServers must start with https://',
    ],
    [{ ...accepting(), resource }, 'resource and authorizationServers must be set together'],
  ])('rejects the option %j', (options, message) => {
    expect(() => createAuthorizer(options as AuthorizationOptions)).toThrow(message);
  });

  test('documents every token limit with its default', () => {
    const page = readFileSync(
      new URL('../../../../docs/authorization.md', import.meta.url),
      'utf8',
    );
    const units: { readonly [unit: string]: number } = {
      ...{ Ki: 1024, KiB: 1024, s: 1000, min: 60_000, h: 3_600_000 },
    };
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (\d+) ?(\w*) +\|/gm)].map(
      ([, name, value, unit = '']) => [name, Number(value) * (units[unit] ?? 1)],
    );
    expect(rows).toEqual(Object.entries(defaultTokenLimits));
  });

  test('accepts valid options', async () => {
    const { server, present } = await start(() => ({ algorithms: ['ES256'], limits: {} }));
    expect((await present(await server.issue({ aud: resource }))).ok).toBe(true);
  });
});
