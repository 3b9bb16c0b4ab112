/** Tokens that no person is asked for: a host logs in for itself, or has a token already. */
import { generateKeyPair, exportPKCS8, jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import { loadOfficial } from '../../src/auth/sdk-auth.ts';
import type { AuthOption } from '../../src/auth/options.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { authorize as authorizeBy } from './authorizing.ts';
import { without } from './login-ways.ts';
import { agree, call, challengeNaming, startProtected } from './protected-server.ts';

const nobody = (where: string) => {
  throw new Error(`Somebody was sent to ${where}`);
};
const authorize = (url: URL, option: AuthOption) => authorizeBy(url, option, nobody);

describe('a host that logs in for itself', () => {
  const kind = 'client-credentials';

  test('gets a token with its secret, and another one when that is refused', async () => {
    const { issuer, url } = await startProtected();
    const store = memoryCredentialStore();
    const authorization = authorize(url, { kind, ...issuer.machine, store });
    const calls = Array.from({ length: 10 }, () => call(authorization, url, 'read'));
    for (const called of await Promise.all(calls)) expect(called).toMatchObject({ text: 'read' });
    expect(issuer.count('/token')).toBe(1);
    const { authorization: header = '' } = await authorization.headers(url.href);
    issuer.revoke(header.replace('Bearer ', ''));
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect([issuer.count('/token'), issuer.count('/register')]).toEqual([2, 0]);
  });

  test('asks for more when more is needed', async () => {
    const { issuer, url } = await startProtected();
    const authorization = authorize(url, { kind, ...issuer.machine });
    await call(authorization, url, 'read');
    expect(await call(authorization, url, 'write')).toMatchObject({ text: 'write' });
  });

  test('signs for itself with its key', async () => {
    const { issuer, url } = await startProtected();
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const assertions: string[] = [];
    issuer.fault = (request, response) => {
      if (request.url !== '/token') return false;
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        assertions.push(new URLSearchParams(body).get('client_assertion') ?? '');
        void issuer.issue({ aud: url.href, scope: 'notes:read' }).then((access_token) => {
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ access_token, token_type: 'Bearer' }));
        });
      });
      return true;
    };
    const options = {
      kind,
      clientId: 'machine',
      privateKey: await exportPKCS8(privateKey),
    } as const;
    expect(await call(authorize(url, options), url, 'read')).toMatchObject({ text: 'read' });
    const { payload } = await jwtVerify(assertions[0] ?? '', publicKey, {
      audience: issuer.issuer,
    });
    expect(payload).toMatchObject({ iss: 'machine', sub: 'machine' });
  });

  test('asks for no scope if the server names none', async () => {
    const { issuer, url } = await startProtected();
    const asked = new Promise<URLSearchParams>((resolve) => {
      issuer.fault = (request, response) => {
        if (request.url !== '/token') return false;
        let body = '';
        request.on('data', (chunk) => (body += String(chunk)));
        request.on('end', () => {
          resolve(new URLSearchParams(body));
          response.writeHead(500).end();
        });
        return true;
      };
    });
    const wwwAuthenticate = (await challengeNaming(url, issuer)).replace(/, scope=.*/, '');
    const authorization = authorize(url, { kind, ...issuer.machine });
    const challenge = {
      status: 401,
      wwwAuthenticate,
      url: url.href,
      sent: {},
      retries: 0,
    } as const;
    await authorization.challenged(challenge);
    expect(Object.fromEntries(await asked)).toMatchObject({ grant_type: 'client_credentials' });
    expect((await asked).has('scope')).toBe(false);
  });

  test('says that it was refused, without its secret', async () => {
    const { issuer, url } = await startProtected();
    const clientSecret = 'wrong-secret';
    const authorization = authorize(url, { kind, clientId: 'machine', clientSecret });
    const called = await call(authorization, url, 'read');
    expect(called).toMatchObject({
      kind: 'refused',
      error: {
        code: 'UNAUTHORIZED',
        message: 'The authorization server returned invalid_client: invalid_client',
      },
    });
    expect(issuer.count('/token')).toBe(1);
    expect(JSON.stringify(called)).not.toContain(clientSecret);
  });

  test('logs in at a server that names no issuer, if the host says that it is one', async () => {
    const issuer = await AuthorizationServer.start();
    onTestFinished(() => issuer.close());
    issuer.fault = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false;
      response.writeHead(404).end();
      return true;
    };
    const server = new URL(`${issuer.issuer}/mcp`);
    const option = { kind, ...issuer.machine, issuer: `${issuer.issuer}/` } as const;
    await authorize(server, option).challenged(without(server));
    expect(issuer.count('/token')).toBe(1);
  });

  test('shows its secret to no other issuer than its own', async () => {
    const { issuer, url } = await startProtected();
    const store = memoryCredentialStore();
    const of = (option: object) => authorize(url, { kind, ...issuer.machine, ...option });
    const elsewhere = of({ issuer: 'https://other.example.com' });
    expect(await call(elsewhere, url, 'read')).toMatchObject({
      kind: 'refused',
      error: { message: expect.stringContaining('are for https://other.example.com ("issuer")') },
    });
    expect(issuer.count('/token')).toBe(0);
    // Without an issuer of its own, the first one is.
    await call(of({ store }), url, 'read');
    const key = `pinned machine ${url.href}`;
    expect(await store.read(key)).toEqual({ issuer: issuer.issuer });
    await store.write(key, { issuer: 'https://first.example.com' });
    const { authorization: header = '' } = await of({ store }).headers(url.href);
    issuer.revoke(header.replace('Bearer ', ''));
    expect(await call(of({ store }), url, 'read')).toMatchObject({
      error: { message: expect.stringContaining('are for https://first.example.com ("issuer")') },
    });
    expect(issuer.count('/token')).toBe(1);
  });
});

test('a login that is kept is renewed; if there is none, nobody is asked', async () => {
  const { issuer, url } = await startProtected();
  const store = memoryCredentialStore();
  const stored = { kind: 'stored', store } as const;
  const none = `No valid login for ${url.href} is stored: run mcp-actors login`;
  const refused = { kind: 'refused', error: { code: 'UNAUTHORIZED', message: none } };
  expect(await call(authorize(url, stored), url, 'read')).toMatchObject(refused);
  expect(issuer.count('/register')).toBe(0);
  expect(await call(authorizeBy(url, { visit: agree, store }), url, 'read')).toMatchObject({
    text: 'read',
  });
  const authorization = authorize(url, stored);
  const { authorization: header = '' } = await authorization.headers(url.href);
  issuer.revoke(header.replace('Bearer ', ''));
  expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  expect([issuer.count('/authorize'), issuer.count('/token')]).toEqual([1, 2]);
});

describe('a token that the host has', () => {
  const kind = 'bearer';

  test('goes with each request to the server, and to nobody else', async () => {
    const { issuer, url } = await startProtected();
    const token = await issuer.issue({ aud: url.href, scope: 'notes:read' });
    const authorization = authorize(url, { kind, token });
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
    expect(await authorization.headers('https://evil.example.com/mcp')).toEqual({});
  });

  test('that is refused is told, and not shown', async () => {
    const { url } = await startProtected();
    const called = await call(authorize(url, { kind, token: 'wrong-token' }), url, 'read');
    expect(called).toMatchObject({
      kind: 'refused',
      error: {
        code: 'UNAUTHORIZED',
        status: 401,
        message: `${url.origin} rejected the configured token (HTTP 401)`,
      },
    });
    expect(JSON.stringify(called)).not.toContain('wrong-token');
  });

  test('is asked for again when it is refused, once', async () => {
    const { issuer, url } = await startProtected();
    const good = await issuer.issue({ aud: url.href, scope: 'notes:read' });
    let given = 0;
    const token = () => Promise.resolve(given++ === 0 ? 'wrong' : good);
    expect(await call(authorize(url, { kind, token }), url, 'read')).toMatchObject({
      text: 'read',
    });
    let asked = 0;
    const always = () => `wrong-${asked++}`;
    expect(await call(authorize(url, { kind, token: always }), url, 'read')).toMatchObject({
      kind: 'refused',
    });
    expect(asked).toBe(4);
  });
});

test('a package that is missing is named, with what to do', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadOfficial(() => Promise.reject(missing))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('npm install @modelcontextprotocol/client'),
  });
  const broken = new SyntaxError('broken');
  await expect(loadOfficial(() => Promise.reject(broken))).rejects.toBe(broken);
});
