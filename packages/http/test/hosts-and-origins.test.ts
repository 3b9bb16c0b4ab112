/** Accepted hosts and origins. */
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer } from '../../../src/index.ts';
import { httpHandler } from '../src/index.ts';
import type { HttpOptions } from '../src/index.ts';
import { serveHttp as serve } from '../../serve/src/index.ts';
import type { ServeHttpOptions } from '../../serve/src/index.ts';
import { initializeRequest, postHeaders } from './raw-client.ts';
import { serveHttp } from './serving.ts';

const server = createMcpServer({ name: 'named', version: '1' });

type Headers = { readonly [name: string]: string };

/** Posts `initialize` with any Host header, which `fetch` would overwrite. */
function greet(url: URL, headers: Headers) {
  return new Promise<{ readonly status: number; readonly headers: object }>((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: url.port, path: url.pathname, method: 'POST' },
      (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      },
    );
    for (const [name, value] of Object.entries({ ...postHeaders, ...headers })) {
      sent.setHeader(name, value);
    }
    sent.once('error', reject);
    sent.end(JSON.stringify(initializeRequest()));
  });
}

const statusFor = async (url: URL, host: string) => (await greet(url, { host })).status;

async function listening(options: Partial<ServeHttpOptions> = {}): Promise<URL> {
  const serving = await serve(server, { port: 0, report: () => {}, ...options });
  onTestFinished(() => serving.close());
  return serving.url;
}

describe('the Host check', () => {
  test.each(['localhost', 'LOCALHOST:80', '127.0.0.1', '[::1]:3000'])(
    'accepts loopback names by default: %s [HTTP-01]',
    async (host) => {
      expect(await statusFor(await serveHttp(server), host)).toBe(200);
    },
  );

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.2', 'app.example', '[::2]'])(
    'rejects other hosts by default: %s [HTTP-01]',
    async (host) => {
      const url = await serveHttp(server);
      expect([await statusFor(url, host), await statusFor(url, host)]).toEqual([403, 403]);
      expect(await statusFor(await listening(), host)).toBe(403);
    },
  );

  test('accepts only allowedHosts, in any case and with any port [HTTP-01]', async () => {
    const url = await serveHttp(server, { allowedHosts: ['app.example', 'ported.example:1'] });
    const hosts = [
      ...['app.example', 'App.Example:8080', 'ported.example:1'],
      ...['ported.example:2', 'ported.example', 'b.app.example', 'app.example.', 'localhost'],
    ];
    const statuses = await Promise.all(hosts.map((host) => statusFor(url, host)));
    expect(statuses).toEqual([200, 200, 200, 403, 403, 403, 403, 403]);
  });

  test('accepts any host with allowedHosts any [HTTP-01]', async () => {
    const url = await serveHttp(server, { allowedHosts: 'any' });
    expect(await statusFor(url, 'app.example')).toBe(200);
    expect(await statusFor(await listening({ allowedHosts: 'any' }), 'app.example')).toBe(200);
    // Several hosts are rejected, even allowed ones.
    expect(await statusFor(url, 'app.example, b.example')).toBe(400);
  });

  test('accepts the hosts of serve besides loopback names [HTTP-01]', async () => {
    const url = await listening({ allowedHosts: ['App.Example'] });
    const hosts = ['app.example', 'localhost', 'other.example'];
    expect(await Promise.all(hosts.map((host) => statusFor(url, host)))).toEqual([200, 200, 403]);
  });

  test('accepts any host with authorization, because a rebound page has no token [HTTP-01]', async () => {
    const authorization = { verifyToken: () => ({ subject: 'ada' }) };
    const url = await listening({ authorization });
    const withToken = { host: 'app.example', authorization: 'Bearer ada' };
    expect((await greet(url, withToken)).status).toBe(200);
    const named = await listening({ authorization, allowedHosts: ['own.example'] });
    expect((await greet(named, withToken)).status).toBe(403);
  });

  test('applies to web Requests, too [HTTP-01]', async () => {
    const statusOf = async (host: string, options: HttpOptions = {}) => {
      const handler = httpHandler(server, { report: () => {}, ...options });
      const body = JSON.stringify(initializeRequest());
      const init = { method: 'POST', headers: postHeaders, body };
      const { status } = await handler(new Request(`http://${host}/mcp`, init));
      await handler.close(0);
      return status;
    };
    expect(await statusOf('localhost')).toBe(200);
    expect(await statusOf('app.example')).toBe(403);
    expect(await statusOf('app.example', { allowedHosts: ['app.example'] })).toBe(200);
    // The cached host of one endpoint is not accepted by another.
    expect(await statusOf('app.example')).toBe(403);
  });
});

describe("a page served from the endpoint's port", () => {
  const names = ['localhost', '127.0.0.1', '[::1]'];
  const pairs = names.flatMap((own) => names.map((theirs) => [theirs, own] as const));

  test.each(pairs)(
    'served under %s may use the endpoint under %s [HTTP-01]',
    async (theirs, own) => {
      for (const url of [await serveHttp(server), await listening()]) {
        const origin = `http://${theirs}:${url.port}`;
        const { status, headers } = await greet(url, { host: `${own}:${url.port}`, origin });
        expect(status).toBe(200);
        // Browsers treat these as different origins and check CORS.
        const allowed = theirs === own ? {} : { 'access-control-allow-origin': origin };
        expect(headers).toMatchObject(allowed);
      }
    },
  );

  test.each<[string, string, string, Partial<ServeHttpOptions>]>([
    ['at another port', 'localhost:PORT', 'http://127.0.0.1:1', {}],
    ['without a port', 'localhost:PORT', 'http://127.0.0.1', {}],
    ['on another machine', 'localhost:PORT', 'http://evil.example:PORT', {}],
    [
      'with a name that only starts like ours',
      'localhost:PORT',
      'http://localhost.evil.example:PORT',
      {},
    ],
    ['with a path', 'localhost:PORT', 'http://127.0.0.1:PORT/x', {}],
    [
      'of an endpoint reachable by others',
      'localhost:PORT',
      'http://127.0.0.1:PORT',
      { host: '0.0.0.0', insecure: true },
    ],
    [
      'of an endpoint with other names',
      'localhost:PORT',
      'http://127.0.0.1:PORT',
      { allowedHosts: ['app.example'] },
    ],
    [
      'of an endpoint requested under such a name',
      'app.example:PORT',
      'http://127.0.0.1:PORT',
      { allowedHosts: ['app.example'] },
    ],
  ])('is rejected %s [HTTP-01]', async (_, host, origin, options) => {
    const url = await listening(options);
    const withPort = (text: string) => text.replace('PORT', url.port);
    const answer = await greet(url, { host: withPort(host), origin: withPort(origin) });
    expect(answer.status).toBe(403);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('is rejected if the request comes from another machine [HTTP-01]', async () => {
    const handler = httpHandler(server, { report: () => {} });
    const statusFrom = async (remoteAddress: string | undefined) => {
      const headers = { ...postHeaders, origin: 'http://127.0.0.1:3000' };
      const body = JSON.stringify(initializeRequest());
      const sent = new Request('http://localhost:3000/mcp', { method: 'POST', headers, body });
      return (await handler(sent, { remoteAddress })).status;
    };
    const addresses = [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '192.0.2.1',
      '2001:db8::1',
      undefined,
    ];
    expect(await Promise.all(addresses.map(statusFrom))).toEqual([200, 200, 200, 403, 403, 403]);
    await handler.close(0);
  });

  test('gets answers to its preflights [HTTP-01]', async () => {
    const url = await serveHttp(server);
    const origin = `http://localhost:${url.port}`;
    const headers = { origin, 'access-control-request-method': 'POST' };
    const asked = await fetch(url, { method: 'OPTIONS', headers });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
  });
});
