import { request } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { serveLoopback } from '../src/loopback-server.ts';
import type { LoopbackServer } from '../src/loopback-server.ts';

describe('serveLoopback', () => {
  let server: LoopbackServer;
  let url: URL;
  beforeEach(async () => {
    server = await serveLoopback(0, (path, _request, response) => response.end(`path:${path}`));
    url = new URL(server.url);
  });
  afterEach(() => server.close());

  interface Answer {
    readonly status: number | undefined;
    readonly text: string;
    readonly headers: NodeJS.Dict<string | string[]>;
  }

  /** `fetch` cannot send a foreign Host header. */
  const ask = (
    path: string,
    headers: { readonly [name: string]: string } = {},
    method = 'GET',
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: url.port, path, method, headers }, (got) => {
        let text = '';
        got.on('data', (chunk) => (text += String(chunk)));
        got.on('end', () => resolve({ status: got.statusCode, text, headers: got.headers }));
      });
      sent.on('error', reject).end();
    });

  test('serves a request with the complete URL', async () => {
    const { status, text, headers } = await ask(`${url.pathname}page.js?x=1`);
    expect([status, text]).toEqual([200, 'path:page.js']);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(headers['content-security-policy']).toContain("require-trusted-types-for 'script'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
  });

  test('accepts localhost as host name and its own origin', async () => {
    const host = `localhost:${url.port}`;
    expect((await ask(url.pathname, { host, origin: `http://${host}` })).status).toBe(200);
  });

  test.each([
    ['another host', { host: 'attacker.example' }, 421],
    ['another port', { host: '127.0.0.1:1' }, 421],
    ['a host without a port', { host: '127.0.0.1' }, 421],
    ['a longer host name', { host: '127.0.0.1.attacker.example' }, 421],
    ['another origin', { origin: 'https://attacker.example' }, 403],
    ['the opaque origin null', { origin: 'null' }, 403],
    ['the same name under https', { origin: 'https://127.0.0.1' }, 403],
  ])('refuses %s, even with the token', async (_, headers, expected) => {
    const { status, text } = await ask(url.pathname, headers);
    expect(status).toBe(expected);
    expect(text).not.toContain('path:');
  });

  test.each(['/', '/wrong/', '/page.js', '//', '/?token'])(
    'refuses %s without the token',
    async (path) => {
      const { status, text } = await ask(path);
      expect(status).toBe(403);
      expect(text).toContain('including the token');
    },
  );

  test('refuses a truncated and an extended token', async () => {
    const token = url.pathname.slice(1, -1);
    expect((await ask(`/${token.slice(0, -1)}/`)).status).toBe(403);
    expect((await ask(`/${token}a/`)).status).toBe(403);
    expect(token).toMatch(/^[\w-]{32}$/);
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
    'answers %s with 405 and has no effect',
    async (method) => {
      expect((await ask(url.pathname, {}, method)).status).toBe(405);
    },
  );

  test('creates a new token each time and listens on 127.0.0.1 only', async () => {
    const other = await serveLoopback(0, () => {});
    expect(new URL(other.url).pathname).not.toBe(url.pathname);
    const { hostname, port } = new URL(other.url);
    expect(hostname).toBe('127.0.0.1');
    // On Linux 127.0.0.2 is local as well, and would answer if the server listened on all
    // addresses.
    for (const elsewhere of ['::1', ...(process.platform === 'linux' ? ['127.0.0.2'] : [])]) {
      const socket = connect(Number(port), elsewhere);
      await expect(once(socket, 'connect')).rejects.toThrow(/ECONNREFUSED|EADDRNOTAVAIL/);
    }
    await other.close();
  });

  test('reports a port in use', async () => {
    await expect(serveLoopback(Number(url.port), () => {})).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: expect.stringContaining(url.port) as string,
    });
  });

  describe('connection limits', () => {
    /** Opens a connection and sends this text, nothing else. */
    const visit = async (port: string, text = '') => {
      const socket = connect(Number(port), '127.0.0.1');
      // A reset counts as closed, too.
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => {}).resume();
      await once(socket, 'connect');
      socket.write(text);
      onTestFinished(() => void socket.destroy());
      return { socket, closed };
    };
    const small = { maxUnauthenticated: 3, maxAuthenticated: 2, headersTimeoutMs: 60_000 };
    const listen = async (answer: Parameters<typeof serveLoopback>[1], limits = small) => {
      const limited = await serveLoopback(0, answer, limits);
      onTestFinished(() => limited.close());
      return new URL(limited.url);
    };
    const get = ({ pathname, host }: URL) => `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

    test('evicts the oldest unauthenticated connection, so that a client with the token gets in', async () => {
      const { port, pathname } = await listen((_path, _request, response) => response.end('in'));
      const visits = [];
      for (let count = 0; count < 20; count++) visits.push(await visit(port, 'GET /'));
      const [newest] = visits.slice(-1);
      await Promise.all(visits.slice(0, -3).map(({ closed }) => closed));
      const response = await fetch(`http://127.0.0.1:${port}${pathname}`);
      expect(await response.text()).toBe('in');
      expect(newest?.socket.destroyed).toBe(false);
    });

    test('closes a connection that does not send its headers in time', async () => {
      const { port } = await listen(() => {}, { ...small, headersTimeoutMs: 20 });
      const silent = await visit(port);
      const slow = await visit(port, 'GET / HTTP/1.1\r\nHost:');
      await Promise.all([silent.closed, slow.closed]);
    });

    test('closes the connection after refusing a request', async () => {
      const { port, host } = await listen(() => {});
      const { socket } = await visit(port, get(new URL(`http://${host}/wrong/`)));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(String(answer)).toMatch(/^HTTP\/1\.1 403 [^]*\r\nconnection: close\r\n/);
    });

    test('refuses a connection beyond maxAuthenticated and accepts it after another closes', async () => {
      const url = await listen((_path, _request, response) => response.write('in'));
      const looks = [await visit(url.port), await visit(url.port)];
      for (const { socket } of looks) {
        socket.write(get(url));
        await once(socket, 'data');
      }
      const refused = await fetch(url);
      expect([refused.status, await refused.text()]).toEqual([
        503,
        'Too many open pages: close one and reload\n',
      ]);
      looks[0]?.socket.destroy();
      let status = 503;
      while (status === 503) {
        const response = await fetch(url);
        ({ status } = response);
        await response.body?.cancel();
      }
      expect(status).toBe(200);
    });

    test('closes a connection that pipelines streams', async () => {
      let streams = 0;
      const url = await listen((_path, _request, response) => {
        streams++;
        response.write('a stream');
      });
      await (
        await visit(url.port, get(url).repeat(2000))
      ).closed;
      expect(streams).toBe(1);
    });
  });

  test('closes the connections of open pages on close', async () => {
    const socket = connect(Number(url.port), '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('connect', resolve));
    await server.close();
    await ended;
  });
});
