import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveHttp } from 'mcp-actors/serve';
import type { ServeHttpOptions } from 'mcp-actors/serve';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import { textOf } from '../../../test/e2e/both-eras-client.ts';
import { connectTo } from './serving.ts';

async function serving(options: Partial<ServeHttpOptions> = {}) {
  const served = await serveHttp(laboratory, { port: 0, ...options });
  onTestFinished(() => served.close());
  return served;
}

test("reports the server's URL and open sessions", async () => {
  const served = await serving();
  expect(served.url.pathname).toBe('/mcp');
  expect(served.sessions).toEqual([]);
  const client = await connectTo(served.url, 'legacy');
  expect(served.sessions.map(({ dump }) => typeof dump)).toEqual(['function']);
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
  expect(textOf(result)).toBe('hi');
});

test('leaves nothing behind after closing', async () => {
  const served = await serving();
  await connectTo(served.url, 'legacy');
  await served.close();
  expect(served.sessions).toEqual([]);
  await expect(fetch(served.url)).rejects.toThrow('fetch failed');
});

test('serves a custom path and answers all others with 404', async () => {
  const served = await serving({ path: '/tools/mcp' });
  expect(served.url.pathname).toBe('/tools/mcp');
  expect((await fetch(new URL('/mcp', served.url))).status).toBe(404);
  expect((await fetch(new URL('/healthz', served.url))).status).toBe(404);
});

test('serves health at custom paths', async () => {
  const { url } = await serving({ health: { live: '/up', ready: '/ready' } });
  const [up, ready, posted] = await Promise.all([
    fetch(new URL('/up?full', url)),
    fetch(new URL('/ready', url), { method: 'HEAD' }),
    fetch(new URL('/up', url), { method: 'POST' }),
  ]);
  expect([up.status, ready.status, posted.status]).toEqual([200, 200, 405]);
});

test.each(['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.example.com'])(
  'refuses to listen on %s without authorization or insecure',
  async (host) => {
    await expect(serveHttp(laboratory, { port: 0, host })).rejects.toThrow(
      `${host} is reachable from other machines`,
    );
  },
);

test('listens for other machines if that is confirmed', async () => {
  const served = await serving({ host: '0.0.0.0', insecure: true });
  const { port } = served.url;
  expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404);
});

test('rejects with the error of a port that is in use', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await expect(serveHttp(laboratory, { port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: `Port ${port} of 127.0.0.1 is in use: stop the program that listens there, or choose another port`,
  });
});

test('reports an address that this machine does not have', async () => {
  const elsewhere = { port: 0, host: '192.0.2.1', insecure: true };
  await expect(serveHttp(laboratory, elsewhere)).rejects.toMatchObject({
    code: 'EADDRNOTAVAIL',
    message: expect.stringMatching(/^192\.0\.2\.1 is not an address of this machine /) as string,
  });
});
