/** A person comes back to this machine: who is let in, and what the browser sees. */
import { chmod } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBrowser, browserCommand } from '../../src/auth/person-login.ts';
import { listenForCallback } from '../../src/auth/callback.ts';
import type { Callback, Wish } from '../../src/auth/callback.ts';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { authorize } from './authorizing.ts';
import { agree, call, startProtected } from './protected-server.ts';

async function listen(wish: Wish = { port: undefined }): Promise<Callback> {
  const callback = await listenForCallback(wish);
  onTestFinished(() => callback.close());
  return callback;
}

interface Visited {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A request as a browser makes it, or as it does not. */
async function visit(url: string, headers: object = {}, method = 'GET'): Promise<Visited> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const made = httpRequest(url, { method, headers: { ...headers }, agent: false }, resolve);
    made.on('error', reject).end();
  });
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const forever = new AbortController().signal;

describe('a person who comes back [LOGIN-13]', () => {
  test('is told to close the page, and what they bring is taken', async () => {
    const callback = await listen();
    expect(callback.redirectUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const answer = callback.answer('s', forever);
    const seen = await visit(`${callback.redirectUrl}?code=c&state=s`, {
      'sec-fetch-mode': 'navigate',
    });
    expect(seen).toMatchObject({
      status: 200,
      body: expect.stringContaining('Login received. You can close this page.'),
    });
    expect(seen.body).not.toMatch(/code|c&amp;|state/);
    expect((await answer).href).toBe(`${callback.redirectUrl}?code=c&state=s`);
  });

  test('leaves no trace of the code in a cache or a referrer', async () => {
    const callback = await listen();
    void callback.answer('s', forever);
    const { headers } = await visit(`${callback.redirectUrl}?code=c&state=s`);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'",
    });
  });

  test('twice is answered once', async () => {
    const callback = await listen();
    const answer = callback.answer('s', forever);
    await visit(`${callback.redirectUrl}?code=first&state=s`);
    expect(await visit(`${callback.redirectUrl}?code=second&state=s`)).toMatchObject({
      status: 410,
      body: expect.stringContaining('This login is already complete.'),
    });
    expect((await answer).searchParams.get('code')).toBe('first');
  });

  const others = 'This response does not belong to a pending login.';
  const notSent = 'Only browser navigations are accepted.';
  const notHere = 'Wrong host: this address serves one program on this machine.';

  test.each<[string, string, object, string, number, string]>([
    ['with another state', '/callback?code=x&state=t', {}, 'GET', 400, others],
    ['without a state', '/callback?code=x', {}, 'GET', 400, others],
    ['to another path', '/elsewhere?code=x&state=s', {}, 'GET', 404, 'Not found.'],
    [
      'from a page of another origin',
      '/callback?code=x&state=s',
      { origin: 'https://evil.example.com' },
      'GET',
      403,
      notSent,
    ],
    [
      'as a picture of another page',
      '/callback?code=x&state=s',
      { 'sec-fetch-mode': 'no-cors' },
      'GET',
      403,
      notSent,
    ],
    [
      'by another name of this machine',
      '/callback?code=x&state=s',
      { host: 'evil.example.com' },
      'GET',
      403,
      notHere,
    ],
    ['by a form', '/callback?code=x&state=s', {}, 'POST', 403, notSent],
    ['to a path that is none', '//?code=x&state=s', {}, 'GET', 403, notHere],
  ])('%s is turned away, and waited past', async (_, path, headers, method, status, said) => {
    const callback = await listen();
    const answer = callback.answer('s', forever);
    const { origin } = new URL(callback.redirectUrl);
    const seen = await visit(`${origin}${path}`, headers, method);
    expect(seen).toMatchObject({ status, body: expect.stringContaining(`<p>${said}</p>`) });
    expect(await visit(`${callback.redirectUrl}?code=c&state=s`)).toMatchObject({ status: 200 });
    expect((await answer).searchParams.get('code')).toBe('c');
  });

  test('before anybody was sent away is turned away', async () => {
    const callback = await listen();
    expect(await visit(`${callback.redirectUrl}?code=x&state=s`)).toMatchObject({ status: 400 });
  });

  test('is not waited for any more once the login has ended', async () => {
    const callback = await listen();
    const ending = new AbortController();
    const answer = callback.answer('s', ending.signal);
    ending.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
    // A browser that has sent half of a request keeps nothing open.
    const { hostname, port } = new URL(callback.redirectUrl);
    const half = connect(Number(port), hostname);
    half.write('GET / HTTP/1.1\r\n');
    // It is accepted before one that comes after it.
    expect(await visit(callback.redirectUrl)).toMatchObject({ status: 400 });
    callback.close();
    await new Promise((resolve) => half.on('error', () => {}).once('close', resolve));
    await expect(visit(callback.redirectUrl)).rejects.toThrow('ECONNREFUSED');
  });

  test('is no reason for a process to go on', async () => {
    const servers = () => process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap');
    const before = servers().length;
    await listen();
    expect(servers().length).toBeLessThanOrEqual(before);
  });
});

describe('the place to come back to', () => {
  test('is where it was last time, if that is free', async () => {
    const first = await listenForCallback({ port: undefined });
    const port = Number(new URL(first.redirectUrl).port);
    const second = await listen({ port });
    expect(second.redirectUrl).not.toBe(first.redirectUrl);
    first.close();
    expect((await listen({ port })).redirectUrl).toBe(first.redirectUrl);
  });

  test('is anywhere otherwise, for as many logins as there are', async () => {
    const callbacks = [await listen(), await listen(), await listen()];
    expect(new Set(callbacks.map(({ redirectUrl }) => redirectUrl)).size).toBe(3);
  });

  test('is port 80 if the URL names none', async () => {
    const redirectUrl = 'http://127.0.0.1/back';
    // Only some may listen there, and somebody else may do so.
    const listening = listen({ redirectUrl }).then(
      () => visit(`${redirectUrl}?code=c`),
      (error: Error) => ({ status: error.message }),
    );
    expect((await listening).status).toSatisfy(
      (status: number | string) =>
        status === 400 || `${status}`.startsWith('Cannot start a login: listening on http'),
    );
  });

  const hasIpv6 = Object.values(networkInterfaces())
    .flat()
    .some((each) => each?.address === '::1');
  test.runIf(hasIpv6)('is the address that the URL names', async () => {
    const callback = await listen({ redirectUrl: 'http://[::1]:0/back' });
    expect(callback.redirectUrl).toMatch(/^http:\/\/\[::1\]:[1-9]\d*\/back$/);
    const answer = callback.answer('s', forever);
    await visit(`${callback.redirectUrl}?code=c&state=s`);
    expect((await answer).searchParams.get('code')).toBe('c');
  });

  test('is the URL that the host gives', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    const redirectUrl = `http://localhost:${port}/oauth/back`;
    await expect(listenForCallback({ redirectUrl })).rejects.toThrow('the port is in use');
    await new Promise((resolve) => free.close(resolve));
    const callback = await listen({ redirectUrl });
    expect(callback.redirectUrl).toBe(redirectUrl);
    const answer = callback.answer('s', forever);
    await visit(`http://127.0.0.1:${port}/oauth/back?code=c&state=s`, {
      host: `localhost:${port}`,
    });
    expect((await answer).href).toBe(`${redirectUrl}?code=c&state=s`);
  });
});

/** A program that goes where it is sent, as a browser does. */
const followingBrowser = `
import { get } from 'node:http';
const visit = (url) => get(url, (response) => {
  response.resume();
  if (response.headers.location) visit(response.headers.location);
});
visit(process.argv[2]);
`;

describe('a browser', () => {
  const url = new URL('https://as.example.com/authorize?a=1&b=%20"; touch x');

  test.each<[NodeJS.Platform, object, string[]]>([
    ['linux', {}, ['xdg-open', url.href]],
    ['darwin', {}, ['open', url.href]],
    ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler', url.href]],
    ['linux', { BROWSER: '/usr/bin/firefox' }, ['/usr/bin/firefox', url.href]],
  ])('on %s with %j is started without a shell', (platform, environment, command) => {
    expect(browserCommand(url, { ...environment }, platform)).toEqual(command);
  });

  test.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://as.example.com/authorize',
    'http://127.0.0.1.example.com/',
    'ms-settings:privacy',
  ])('is not opened for %s', async (text) => {
    const folder = await temporaryDirectory();
    process.env['BROWSER'] = `${folder}/missing`;
    onTestFinished(() => void delete process.env['BROWSER']);
    await expect(openBrowser(new URL(text))).rejects.toThrow('The URL to open must be https://');
    // One that may be visited would have been given to the program.
    for (const allowed of ['https://as.example.com/', 'http://[::1]:1/', 'http://localhost:1/']) {
      await expect(openBrowser(new URL(allowed))).rejects.toThrow('ENOENT');
    }
  });

  test('that is not there says so', async () => {
    const directory = await temporaryDirectory();
    process.env['BROWSER'] = `${directory}/missing`;
    onTestFinished(() => void delete process.env['BROWSER']);
    await expect(openBrowser(url)).rejects.toThrow('ENOENT');
  });

  test.skipIf(process.platform === 'win32')(
    'shows the person the login, and brings back what they get',
    async () => {
      const { url: server, issuer } = await startProtected();
      // It follows the redirect, as a browser does.
      const folder = await temporaryDirectory({
        'browser.mjs': `#!${process.execPath}
${followingBrowser}`,
      });
      await chmod(`${folder}/browser.mjs`, 0o755);
      process.env['BROWSER'] = `${folder}/browser.mjs`;
      onTestFinished(() => void delete process.env['BROWSER']);
      const store = memoryCredentialStore();
      const first = authorize(server, { store });
      expect(await call(first, server, 'read')).toMatchObject({ text: 'read' });
      expect(first.asked).toHaveLength(1);
      // The next login comes back to the same place, so that the client is registered already.
      const second = authorize(server, { store });
      expect(await call(second, server, 'write')).toMatchObject({ text: 'write' });
      expect(issuer.count('/register')).toBe(1);
    },
  );

  test('that cannot be opened leaves the person the URL', async () => {
    const { url: server } = await startProtected();
    process.env['BROWSER'] = `${await temporaryDirectory()}/missing`;
    onTestFinished(() => void delete process.env['BROWSER']);
    const asked = (where: string) => {
      void agree(new URL(where)).then((location) => visit(location));
    };
    const authorization = authorize(server, true, asked);
    expect(await call(authorization, server, 'read')).toMatchObject({ text: 'read' });
    // The place to come back to is closed with the login, and given by the host if it wants to.
    const [place] = authorization.asked.map((each) =>
      new URL(each).searchParams.get('redirect_uri'),
    );
    await expect(visit(place ?? '')).rejects.toThrow('ECONNREFUSED');
    const redirectUrl = new URL('/given', place ?? '').href;
    const given = authorize(server, { redirectUrl }, asked);
    expect(await call(given, server, 'read')).toMatchObject({ text: 'read' });
    expect(new URL(given.asked[0] ?? '').searchParams.get('redirect_uri')).toBe(redirectUrl);
  });
});
