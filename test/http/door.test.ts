/** Who may use an endpoint: tokens before the body, scopes before the session. */
import { request } from 'node:http';
import { createMcpServer, defineTool } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import type { Fact } from 'mcp-actors';
import type { AuthorizationOptions } from '../../src/http/index.ts';
import { post, serveHttp } from './serving.ts';

const scopesOf: { readonly [token: string]: readonly string[] } = {
  ada: ['use'],
  ada2: ['use', 'write'],
  bob: ['use'],
  guest: [],
};

/** The token is the name of its subject; what follows the letters tells two of them apart. */
const authorization: AuthorizationOptions = {
  verifyToken: (token) => {
    const scopes = scopesOf[token];
    return scopes && { subject: token.replace(/\d/, ''), scopes };
  },
  resource: 'https://mcp.example.com/mcp',
  authorizationServers: ['https://auth.example.com'],
  requiredScopes: ['use'],
};

const server = createMcpServer({
  name: 'guarded',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'who',
      description: 'Says who calls.',
      handler: (_, { principal }) => `${principal?.subject} ${principal?.scopes.join()}`,
    }),
    defineTool({
      name: 'write',
      description: 'Needs more.',
      scopes: ['write'],
      handler: () => 'written',
    }),
  ],
});

const serveGuarded = () =>
  serveHttp(server, { authorization, allowedOrigins: ['https://a.example'] });

const as = (token: string, session?: string) => ({
  authorization: `Bearer ${token}`,
  ...(session === undefined ? {} : { 'mcp-session-id': session }),
});

async function sessionOf(url: URL, token: string): Promise<string> {
  const clientInfo = { name: 'c', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const begun = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, as(token));
  return begun.headers.get('mcp-session-id') ?? `${begun.status}`;
}

const call = (name: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
});

test('a request without a token is refused before its body is there', async () => {
  const url = await serveGuarded();
  const headers = { 'content-type': 'application/json', 'content-length': 100_000 };
  const status = await new Promise((resolve, reject) => {
    const unfinished = request(url, { method: 'POST', headers }, (response) => {
      resolve([response.statusCode, response.headers['www-authenticate']]);
      unfinished.destroy();
    });
    unfinished.on('error', reject);
    unfinished.flushHeaders();
  });
  expect(status).toEqual([401, expect.stringContaining('resource_metadata=')]);
});

test.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
  'what clients need to get a token is at %s, for everybody',
  async (path) => {
    const url = await serveGuarded();
    const found = await fetch(new URL(path, url));
    expect(found.status).toBe(200);
    expect(await found.json()).toMatchObject({
      resource: 'https://mcp.example.com/mcp',
      authorization_servers: ['https://auth.example.com'],
    });
    const posted = await fetch(new URL(path, url), { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  },
);

test('a page may read the challenge', async () => {
  const url = await serveGuarded();
  const refused = await post(url, call('who'), { origin: 'https://a.example' });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  expect(refused.headers.get('access-control-allow-origin')).toBe('https://a.example');
});

test('a token that lacks what every request needs is refused with 403', async () => {
  const refused = await post(await serveGuarded(), call('who'), as('guest'));
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope');
});

describe('a session', () => {
  test('is there for its principal, with any token, and for nobody else', async () => {
    const url = await serveGuarded();
    const session = await sessionOf(url, 'ada');
    const own = await post(url, call('who'), as('ada2', session));
    expect(await own.text()).toContain('ada use,write');
    const others = await post(url, call('who'), as('bob', session));
    expect(others.status).toBe(404);
    const ended = await fetch(url, { method: 'DELETE', headers: as('bob', session) });
    expect(ended.status).toBe(404);
    const read = await fetch(url, { headers: { ...as('bob', session), accept: '*/*' } });
    expect(read.status).toBe(404);
    expect((await post(url, call('who'), as('ada', session))).status).toBe(200);
  });

  test('refuses the call of a tool that its token does not allow, and takes a better one', async () => {
    const url = await serveGuarded();
    const session = await sessionOf(url, 'ada');
    const refused = await post(url, call('write'), as('ada', session));
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="use write"');
    const written = await post(url, call('write'), as('ada2', session));
    expect(await written.text()).toContain('written');
  });
});

test('a request without a session knows who calls, and what is allowed', async () => {
  const url = await serveGuarded();
  const modern = (name: string) => enveloped(1, 'tools/call', { name, arguments: {} });
  const headers = (token: string, name: string) => ({
    ...as(token),
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
  const who = await post(url, modern('who'), headers('bob', 'who'));
  expect(await who.text()).toContain('bob use');
  expect((await post(url, modern('write'), headers('bob', 'write'))).status).toBe(403);
  expect((await post(url, modern('write'), headers('ada2', 'write'))).status).toBe(200);
});

test('a token that nobody can check now is 503, and a fact says why without the token', async () => {
  const facts: Fact[] = [];
  const verifyToken = () =>
    Promise.reject(new Error('the directory did not answer about secret-1'));
  const url = await serveHttp(server, {
    authorization: { ...authorization, verifyToken },
    report: (fact) => void facts.push(fact),
  });
  const refused = await post(url, call('who'), as('secret-1'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).not.toContain('directory');
  expect(facts).toMatchObject([{ level: 'warning', name: 'authorization.unavailable' }]);
  expect(facts[0]?.message).toContain('the directory did not answer about [token]');
});
