/** Detection of vanished peers in the system's connection table. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { TestClock, enveloped } from '../../testing/src/index.ts';
import { Endpoint } from '../src/endpoint.ts';
import { NodeExchange } from '../src/node/node-handler.ts';
import { Retransmissions } from '../src/node/retransmissions.ts';
import { posted, socketTo } from './faults/wire.ts';
import { headersOf } from './modern/modern-client.ts';
import type { Message } from './raw-client.ts';

/** Fields of a row besides the addresses. */
interface Sending {
  /** Unacknowledged bytes. */
  readonly waiting?: number;
  /** Timer: 1 retransmission, 2 keepalive, 4 window probe. */
  readonly timer?: number;
  readonly resent?: number;
  readonly probes?: number;
}

/** Fixed-width hexadecimal number. */
const hex = (value: number, digits: number) =>
  value.toString(16).toUpperCase().padStart(digits, '0');

/** A row in Linux's format. */
const rowOf = (ends: string, { waiting = 0, timer = 0, resent = 0, probes = 0 }: Sending) => {
  const counts = `${hex(waiting, 8)}:00000000 ${hex(timer, 2)}:0000003D ${hex(resent, 8)}`;
  const rest = `     0 ${String(probes).padStart(8)} 14954752 2 00000000dc36bc00 326 0 0 1 7`;
  return `   7: ${ends} 01 ${counts} ${rest}`.padEnd(149);
};

const header =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';

const words = (...bytes: readonly number[]) => {
  const buffer = Buffer.from(bytes);
  if (endianness() === 'LE') buffer.swap32();
  return buffer.toString('hex').toUpperCase();
};

/** Address columns of a connection over `127.0.0.1`. */
const endsOf = ({ localPort = 0, remotePort = 0 }: Socket) => {
  const loopback = words(127, 0, 0, 1);
  return `${loopback}:${hex(localPort, 4)} ${loopback}:${hex(remotePort, 4)}`;
};

/** A table file, initially empty. */
async function table() {
  const folder = await mkdtemp(join(tmpdir(), 'table-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'tcp');
  const write = (...rows: readonly string[]) =>
    writeFile(file, [header.padEnd(149), ...rows, ''].join('\n'));
  await write();
  return { file, write };
}

/** The server side of a connection that stays open until the test ends. */
async function connection(address = '127.0.0.1', listenAt = address): Promise<Socket> {
  const server = createTcpServer();
  server.listen(0, listenAt);
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, address);
  const [far] = (await once(server, 'connection')) as [Socket];
  onTestFinished(async () => {
    near.destroy();
    far.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return far;
}

/** Writes and waits until the system has accepted the bytes. */
const written = (socket: Socket, text: string) =>
  new Promise<void>((resolve) => {
    socket.write(text, () => resolve());
  });

/** Scans these tables, each time one second later. */
function looking(...files: readonly string[]) {
  const retransmissions = new Retransmissions(Infinity, files);
  let now = 0;
  /** Scans once and returns the state of a connection. */
  return async (socket: Socket) => {
    now += 1000;
    const looked = retransmissions.scan(now);
    retransmissions.unacknowledgedMs(socket, now);
    await looked;
    return retransmissions.unacknowledgedMs(socket, now);
  };
}

describe('retransmissions', () => {
  test('count from the first scan without acknowledgements', async () => {
    const { file, write } = await table();
    const look = looking(file);
    const socket = await connection();
    await written(socket, 'x'.repeat(100));
    expect(await look(socket)).toBe(0);
    await write(rowOf(endsOf(socket), { waiting: 100, timer: 1, resent: 1 }));
    expect([await look(socket), await look(socket)]).toEqual([0, 1000]);
    // More bytes are written and not acknowledged.
    await written(socket, 'x'.repeat(50));
    await write(rowOf(endsOf(socket), { waiting: 150, timer: 1, resent: 4 }));
    expect([await look(socket), await look(socket)]).toEqual([2000, 3000]);
    await write(rowOf(endsOf(socket), { waiting: 149, timer: 1, resent: 1 }));
    expect([await look(socket), await look(socket)]).toEqual([0, 1000]);
    await write(rowOf(endsOf(socket), { timer: 2 }));
    expect(await look(socket)).toBe(0);
    await write(rowOf(endsOf(socket), { waiting: 149, timer: 1, resent: 1 }));
    expect(await look(socket)).toBe(0);
  });

  test('ignore bytes written while a table is read', async () => {
    const { file, write } = await table();
    const retransmissions = new Retransmissions(Infinity, [file]);
    const socket = await connection();
    await written(socket, 'x'.repeat(100));
    await write(rowOf(endsOf(socket), { waiting: 100, timer: 1, resent: 1 }));
    for (const now of [0, 1000]) {
      const looked = retransmissions.scan(now);
      retransmissions.unacknowledgedMs(socket, now);
      if (now > 0) socket.write('x'.repeat(50));
      retransmissions.unacknowledgedMs(socket, now + 1);
      await looked;
    }
    expect(retransmissions.unacknowledgedMs(socket, 1001)).toBe(1000);
  });

  test.each<readonly [what: string, sending: Sending, isUnanswered: boolean]>([
    ['was sent once', { waiting: 9, timer: 1 }, false],
    ['was retransmitted', { waiting: 9, timer: 1, resent: 1 }, true],
    ['was retransmitted and acknowledged', { waiting: 9, timer: 2, resent: 1 }, false],
    ['has a full peer window', { waiting: 9, timer: 4 }, false],
    ['has a full peer window with a probe in flight', { waiting: 9, timer: 4, probes: 1 }, false],
    ['has a full window of an unresponsive peer', { waiting: 9, timer: 4, probes: 2 }, true],
    ['has a full peer window after a retransmission', { waiting: 9, timer: 4, resent: 9 }, false],
    ['is only a keepalive probe', { timer: 2, probes: 9 }, false],
  ])('are detected in a row that %s', async (_, sending, isUnanswered) => {
    const { file, write } = await table();
    const look = looking(file);
    const socket = await connection();
    await written(socket, 'x'.repeat(9));
    await write(rowOf(endsOf(socket), sending));
    expect([await look(socket), await look(socket)]).toEqual([0, isUnanswered ? 1000 : 0]);
  });

  test('are found among many others, also with equal ports', async () => {
    const { file, write } = await table();
    const look = looking(file);
    const [socket, other] = [await connection(), await connection()];
    const sending = { waiting: 0, timer: 1, resent: 3 };
    const row = rowOf(endsOf(socket), sending);
    const elsewhere = row.replaceAll(words(127, 0, 0, 1), words(127, 0, 0, 2));
    const many = Array.from({ length: 2000 }, () => elsewhere);
    await write(...many);
    expect([await look(socket), await look(socket)]).toEqual([0, 0]);
    // The row spans two reads.
    await write(...many.slice(0, 435), row, ...many);
    expect([await look(socket), await look(other), await look(socket)]).toEqual([0, 0, 0]);
    expect(await look(socket)).toBe(1000);
  });

  test('are searched in a limited part of a table', async () => {
    const { file, write } = await table();
    const look = looking(file);
    const socket = await connection();
    const row = rowOf(endsOf(socket), { timer: 1, resent: 3 });
    const rows = (many: number) => Array.from({ length: many }, () => 'x'.repeat(149));
    await write(...rows(100_000), row);
    expect([await look(socket), await look(socket)]).toEqual([0, 1000]);
    await write(...rows(112_000), row);
    expect(await look(socket)).toBe(0);
  });

  test('are unknown on a system without tables, or with only one', async () => {
    const { file, write } = await table();
    const socket = await connection();
    await write(rowOf(endsOf(socket), { timer: 1, resent: 3 }));
    const blind = looking(`${file}6`);
    expect([await blind(socket), await blind(socket)]).toEqual([0, 0]);
    const look = looking(`${file}6`, file);
    expect([await look(socket), await look(socket)]).toEqual([0, 1000]);
  });

  test.for([
    ['IPv4', '127.0.0.1', '127.0.0.1', '/proc/net/tcp'],
    ['IPv6', '::1', '::1', '/proc/net/tcp6'],
    ['IPv4 at a socket for both', '127.0.0.1', '::', '/proc/net/tcp6'],
  ] as const)('are parsed from a real row of %s', async ([, address, at, real], context) => {
    context.skip(!existsSync(real), `there is no ${real}`);
    const { file, write } = await table();
    const look = looking(file);
    const socket = await connection(address, at);
    const ports = [socket.localPort, socket.remotePort].map((port = 0) => hex(port, 4));
    const isItsRow = (line: string) => {
      const [, ...ends] = line.trim().split(/ +/, 3);
      return ends.map((end) => end.split(':')[1]).join() === ports.join();
    };
    const row = (await readFile(real, 'utf8')).split('\n').find(isItsRow) ?? '';
    const calm = /( 01 )[0-9A-F]{8}(:[0-9A-F]{8}) \d\d:[0-9A-F]{8} [0-9A-F]{8} /;
    expect(row).toMatch(calm);
    await write(row.replace(calm, '$100000000$2 01:0000003D 00000003 '));
    expect([await look(socket), await look(socket)]).toEqual([0, 1000]);
    await write(row);
    expect(await look(socket)).toBe(0);
  });

  test('are scanned at the given interval, sequentially and only on demand', async () => {
    const { file } = await table();
    const retransmissions = new Retransmissions(10_000, [file]);
    const looks: Promise<void>[] = [];
    const look = vi.spyOn(retransmissions, 'scan').mockImplementation((now) => {
      looks.push(Retransmissions.prototype.scan.call(retransmissions, now));
      return looks[looks.length - 1] as Promise<void>;
    });
    const socket = await connection();
    const ask = (...times: readonly number[]) => {
      for (const now of times) retransmissions.unacknowledgedMs(socket, now);
    };
    ask(5000, 5000, 40_000);
    expect(look.mock.calls).toEqual([[5000]]);
    await looks[0];
    ask(14_999);
    expect(look.mock.calls).toEqual([[5000]]);
    ask(15_000, 15_001);
    expect(look.mock.calls).toEqual([[5000], [15_000]]);
    await looks[1];
  });
});

/** A server with a silent tool, and its side of the connections. */
async function serveQuietly(clock: TestClock, file: string) {
  const cancelled: unknown[] = [];
  const quiet = defineTool({
    name: 'quiet',
    description: 'Takes as long as its client is there',
    handler: async (_, { signal }) => {
      await once(signal, 'abort');
      cancelled.push(signal.reason);
      return '';
    },
  });
  const server = createMcpServer({ name: 'quiet', version: '1', tools: [quiet] });
  const options = { clock, report: () => {} };
  // Keepalive comments would have to appear in the table.
  const limits = { keepaliveIntervalMs: 0 };
  const endpoint = new Endpoint(server, { ...options, limits, session: options });
  const retransmissions = new Retransmissions(10_000, [file]);
  const http = createServer((request, response) =>
    endpoint.handle(new NodeExchange(request, response, endpoint, retransmissions)),
  );
  const sockets: Socket[] = [];
  http.on('connection', (socket) => void sockets.push(socket));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    const closed = once(http, 'close');
    http.close();
    await endpoint.close();
    http.closeAllConnections();
    await closed;
  });
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  return { url, cancelled, sockets, endpoint };
}

test.each([
  ['listens', 'subscriptions/listen', { notifications: { toolsListChanged: true } }],
  ['waits for an answer', 'tools/call', { name: 'quiet', arguments: {} }],
])(
  'disconnects a vanished client of 2026-07-28 that %s after unreadTimeoutMs',
  async (_, method, params) => {
    const clock = new TestClock();
    const { file, write } = await table();
    const { url, cancelled, sockets, endpoint } = await serveQuietly(clock, file);
    const message = enveloped(1, method, params) as Message;
    /**
     * Advances time until the assertion holds.
     *
     * @returns elapsed time
     */
    const until = async (holds: () => void) => {
      const begin = clock.now();
      const pass = () => {
        clock.increment(1000);
        holds();
      };
      await vi.waitFor(pass, { timeout: 60_000, interval: 1 });
      return clock.now() - begin;
    };
    /** Sends a request and waits until its answer is a stream. */
    const asking = async () => {
      const near = socketTo(url);
      near.write(posted(url, message, headersOf(message)));
      let got = '';
      near.on('data', (chunk) => {
        got += String(chunk);
      });
      await until(() => expect(got).toContain('text/event-stream'));
      return { near, far: sockets.find(({ remotePort }) => remotePort === near.localPort) };
    };
    const [gone, living] = [await asking(), await asking()];
    const far = gone.far as Socket;
    const { size } = endpoint.maintenance;
    await write(rowOf(endsOf(far), { waiting: 8, timer: 1, resent: 2 }));
    expect(await until(() => expect(far.destroyed).toBe(true))).toBeGreaterThanOrEqual(30_000);
    await until(() => expect(endpoint.maintenance.size).toBeLessThan(size));
    const why = 'The client has acknowledged nothing for 30000 ms';
    expect(cancelled.map(String)).toEqual(
      method === 'tools/call' ? [expect.stringContaining(why)] : [],
    );
    expect([living.near.destroyed, living.far?.destroyed]).toEqual([false, false]);
  },
);
