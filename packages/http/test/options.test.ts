/** Options without a test file of their own. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { serveHttp as serve } from '../../serve/src/index.ts';
import type { ServeHttpOptions } from '../../serve/src/index.ts';
import { TestClock, gate } from '../../testing/src/index.ts';
import { EventReader, begin, initializeRequest, post } from './raw-client.ts';
import { serveTools } from './serving.ts';

const server = createMcpServer({ name: 'optional', version: '1' });

async function listening(options: Partial<ServeHttpOptions> = {}): Promise<URL> {
  const serving = await serve(server, { port: 0, report: () => {}, ...options });
  onTestFinished(() => serving.close(0));
  return serving.url;
}

test.each([
  [{}, 'timeout=75'],
  [{ keepAliveTimeoutMs: 7000 }, 'timeout=7'],
])(
  'with the connection options %j keeps an idle connection for %s s',
  async (connections, told) => {
    const { headers } = await post(await listening({ connections }), initializeRequest());
    expect(headers.get('keep-alive')).toBe(told);
  },
);

test('closes a connection over maxConnections at once', async () => {
  const url = await listening({ connections: { maxConnections: 2 } });
  const opened = async () => {
    const socket = connect(Number(url.port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const kept = [await opened(), await opened()];
  await once((await opened()).resume(), 'close');
  expect(kept.map(({ destroyed }) => destroyed)).toEqual([false, false]);
});

test('probes a silent peer within a minute', async (context) => {
  context.skip(process.platform !== 'linux', 'only Linux shows the timers of connections');
  const url = await listening();
  const socket = connect(Number(url.port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(`GET / HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
  await once(socket, 'data');
  const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, '0');
  const ends = `0100007F:${hex(Number(url.port))} 0100007F:${hex(socket.localPort)} 01`;
  /** Time until the next keepalive probe, 1/100 s. */
  const timer = () => {
    const row = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .find((line) => line.includes(ends));
    const [, due] = / 02:([0-9A-F]+) /.exec(row ?? '') ?? [];
    return due === undefined ? Infinity : Number.parseInt(due, 16);
  };
  await expect.poll(timer, { timeout: 60_000 }).toBeLessThanOrEqual(6000);
});

test('serves /healthz and /readyz only if enabled', async () => {
  const statuses = async (url: URL) =>
    Promise.all(
      ['/healthz', '/readyz'].map(async (path) => (await fetch(new URL(path, url))).status),
    );
  expect(await statuses(await listening({ health: true }))).toEqual([200, 200]);
  expect(await statuses(await listening())).toEqual([404, 404]);
});

test("turns a session's answer into a stream after streamAfterMs [HTTP-05]", async () => {
  const clock = new TestClock();
  const held = gate();
  const hold = defineTool({
    name: 'hold',
    description: 'Waits',
    handler: async () => {
      await held.pass();
      return 'done';
    },
  });
  const { url } = await serveTools([hold], { clock, limits: { streamAfterMs: 2000 } });
  const session = await begin(url);
  clock.increment(10_000);
  const soon = session.call('hold');
  await held.arrived();
  clock.increment(1000);
  held.release(1);
  expect((await soon).headers.get('content-type')).toBe('application/json');
  const call = session.call('hold');
  await held.arrived(2);
  clock.increment(1500);
  clock.increment(1500);
  const stream = new EventReader(await call);
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
  held.release();
  expect((await stream.message()).data.result).toBeDefined();
});

test("logs at most maxEventBytes of a session's streams [HTTP-13]", async () => {
  const tell = defineTool({
    name: 'tell',
    description: 'Says ten things of 500 bytes',
    handler: (_, context) => {
      for (let n = 0; n < 10; n++) context.notify('test/step', { n, text: 'x'.repeat(500) });
      return 'done';
    },
  });
  const keptOf = async (maxEventBytes: number) => {
    const { url, facts } = await serveTools([tell], { limits: { maxEventBytes } });
    const session = await begin(url);
    const stream = new EventReader(await session.call('tell', {}, 7));
    const { id = '' } = (await stream.next()) ?? {};
    await stream.rest();
    // The client received all events; none was lost.
    expect(facts.filter(({ name }) => name === 'events.lost')).toEqual([]);
    const again = await (await session.get(id)).rest();
    return again.flatMap(({ data }) => (data as { params?: { n?: number } })?.params?.n ?? []);
  };
  expect(await keptOf(2 ** 20)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(await keptOf(2000)).toEqual([7, 8, 9]);
});
