/** Logins at servers that write challenges and metadata in legal or widespread odd ways. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bearerChallenge } from '../../src/http/authorization.ts';
import { authorize } from './authorizing.ts';
import { without } from './login-ways.ts';
import { agree, call, challengeNaming, person, startProtected } from './protected-server.ts';

const url = 'https://a.example/m';

test.each<[string, string, object | undefined]>([
  [
    'another challenge before',
    `Basic realm="a, b", Bearer resource_metadata="${url}"`,
    { resource_metadata: url },
  ],
  [
    'another challenge behind',
    `Bearer resource_metadata="${url}", Basic realm="x"`,
    { resource_metadata: url },
  ],
  ['credentials of another scheme', `Negotiate abc==, Bearer scope=a`, { scope: 'a' }],
  [
    'white space around the sign',
    `Bearer scope = "a b" , error\t=\tinvalid_token`,
    { scope: 'a b', error: 'invalid_token' },
  ],
  ['names in upper case', `BEARER Resource_Metadata="${url}"`, { resource_metadata: url }],
  [
    'escapes',
    String.raw`Bearer error_description="say \"hi\", scope=x"`,
    { error_description: 'say "hi", scope=x' },
  ],
  ['a name that ends with another', 'Bearer x_scope="a", scope="b"', { x_scope: 'a', scope: 'b' }],
  [
    'two bearer challenges',
    `Bearer realm="x", Bearer resource_metadata="${url}"`,
    { resource_metadata: url },
  ],
  ['no bearer', 'Basic realm="x", scope="a"', undefined],
  ['an open quote', 'Bearer scope="a', {}],
])('reads a challenge with %s', (_, header, parameters) => {
  expect(bearerChallenge(header)).toEqual(parameters);
});

test('reads no more than the beginning of a hostile challenge', () => {
  const long = `Bearer ${'a="b" , '.repeat(100_000)}`;
  expect(bearerChallenge(`${long} scope="c"`)).toEqual({ a: 'b' });
});

test('asks for the scope of the second challenge', async () => {
  const { issuer, url: server } = await startProtected();
  const { visit, scopes } = person();
  const authorization = authorize(server, { visit });
  const named = await challengeNaming(server, issuer);
  const own = named.replace('scope="notes:read"', 'Scope = "notes:read notes:write"');
  const challenge = `Basic realm="notes, bearer", ${own}`;
  expect(await authorization.challenged(without(server, challenge))).toEqual({ kind: 'retry' });
  expect(scopes).toEqual(['notes:read notes:write']);
});

test('takes null in metadata for absent', async () => {
  const { issuer, url: server } = await startProtected();
  const authorization = authorize(server, { visit: agree });
  const named = await challengeNaming(server, issuer, { scopes_supported: null });
  expect(await authorization.challenged(without(server, named))).toEqual({ kind: 'retry' });
});

test('tries the root if the place with the path answers with a page', async () => {
  const { issuer } = await startProtected();
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    if (request.url !== '/.well-known/oauth-protected-resource') {
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>');
    }
    const own = { resource: here.href, authorization_servers: [issuer.issuer] };
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(own));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const here = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const authorization = authorize(here, { visit: agree });
  expect(await authorization.challenged(without(here))).toEqual({ kind: 'retry' });
  expect(asked).toEqual([
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-protected-resource',
  ]);
});

test('shows a code for another device on one line', async () => {
  const { issuer, url: server } = await startProtected();
  issuer.fault = (request, response) => {
    if (request.url !== '/device_authorization' && request.url !== '/device') return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    const code = { device_code: 'd', user_code: 'AB\nCD\u001b[2J', expires_in: 1, interval: 1 };
    response.end(JSON.stringify({ ...code, verification_uri: `${issuer.issuer}/enter` }));
    return true;
  };
  const codes: (string | undefined)[] = [];
  const authorization = authorize(server, { device: true }, (_, device) => {
    codes.push(device?.userCode);
    authorization.close();
  });
  await call(authorization, server, 'read');
  expect(codes).toHaveLength(1);
  expect(codes[0]).not.toMatch(/\p{Cc}/u);
});
