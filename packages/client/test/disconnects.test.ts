/** What a host is told of servers that end, hang and refuse: real processes. */
import { fileURLToPath } from 'node:url';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ConnectionState } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { afterEach, describe, expect, test } from 'vitest';

const program = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
/** An entry of its own for each test: what is remembered of one server is not of another. */
let made = 0;
const entry = (odd: string) => ({
  command: process.execPath,
  args: [program, odd],
  env: { TEST: String(++made) },
});
const quiet: ConnectOptions = {
  report: () => {},
  // A busy machine is no server that passes over the probe.
  limits: { probeMs: 60_000 },
  restart: { initialMs: 1, maxMs: 1, maxAttempts: 2, jitter: 0 },
  stop: { inputMs: 100, terminateMs: 100 },
};

const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});
const opened = (odd: string, options: ConnectOptions = {}): Connection => {
  const connection = openConnection(entry(odd), { ...quiet, ...options });
  open.push(connection);
  return connection;
};
/** Resolves once the connection is in this state. */
const reached = (connection: Connection, value: ConnectionState['value']) =>
  new Promise<ConnectionState>((resolve) => {
    const subscription = connection.state$.subscribe((state) => {
      if (state.value !== value) return;
      resolve(state);
      queueMicrotask(() => subscription.unsubscribe());
    });
  });
const calls = (connection: Connection): string[] => {
  const sent: string[] = [];
  connection.traffic$.subscribe(({ direction, method }) => {
    if (direction === 'out' && method === 'tools/call') sent.push(method);
  });
  return sent;
};

describe('connect', () => {
  test('fails with SPAWN_FAILED if the command is not there', async () => {
    await expect(connect({ command: 'no-such-program-anywhere' }, quiet)).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
      message: expect.stringContaining('no-such-program-anywhere') as string,
    });
  });

  test('fails with the exit code and the last words of a server that ends', async () => {
    await expect(connect(entry('dies'), quiet)).rejects.toMatchObject({
      code: 'CLOSED',
      exit: {
        code: 5,
        signal: null,
        stderr: expect.stringContaining('no configuration') as string,
      },
    });
  });

  test('fails with CONNECT_TIMEOUT and its last words if the server does not answer', async () => {
    const clock = new TestClock();
    const connection = opened('silent', { restart: 'none', clock });
    const failed = expect(connection.ready()).rejects.toMatchObject({
      code: 'CONNECT_TIMEOUT',
      message: expect.stringMatching(/not ready within 30000 ms.*waiting for a database/) as string,
    });
    await expect.poll(() => connection.stderr.text).toContain('waiting');
    clock.increment(30_000);
    // What ends the process waits by the same clock.
    const state = () => (clock.increment(10), connection.state.value);
    await expect.poll(state).toBe('failed');
    await failed;
  });

  test.each(['other-revision', 'old'])(
    'fails with VERSION_UNSUPPORTED if there is no revision in common: %s [HOST-13]',
    async (odd) => {
      await expect(connect(entry(odd), quiet)).rejects.toMatchObject({
        code: 'VERSION_UNSUPPORTED',
      });
    },
  );

  test('says why the server has refused the handshake', async () => {
    await expect(connect(entry('refuses'), quiet)).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringContaining('not today') as string,
    });
  });
});

describe('the era of a server behind a pipe', () => {
  test('is legacy if it does not know the probe [HOST-11]', async () => {
    const connection = opened('plain');
    expect(await connection.ready()).toMatchObject({ era: 'legacy', revision: '2025-11-25' });
    expect(connection.launches).toBe(1);
  });

  test('is legacy if it does not answer the probe, and answers initialize [HOST-11]', async () => {
    const connection = opened('ignores-probe', { limits: { probeMs: 20 } });
    expect(await connection.ready()).toMatchObject({ era: 'legacy' });
    expect(connection.launches).toBe(1);
  });

  test('is legacy if it names only revisions that begin with initialize', async () => {
    expect(await opened('older-revision').ready()).toMatchObject({ era: 'legacy' });
  });

  test('is modern if it refuses initialize, and answers the probe after that', async () => {
    const connection = opened('late-modern', { limits: { probeMs: 20 } });
    expect(await connection.ready()).toMatchObject({ era: 'modern', revision: '2026-07-28' });
    expect(connection.launches).toBe(1);
  });

  test('is legacy if it ends upon the probe: it is launched once more, uncounted, and remembered [HOST-12]', async () => {
    const same = entry('dies-on-probe');
    // A process that starts slowly must not be taken for one that leaves the probe unanswered.
    const limits = { probeMs: 10_000 };
    const first = openConnection(same, { ...quiet, restart: 'none', limits });
    open.push(first);
    expect(await first.ready()).toMatchObject({ era: 'legacy' });
    expect(first.launches).toBe(2);
    expect(first.state.attempt).toBe(0);
    const second = openConnection(same, { ...quiet, restart: 'none' });
    open.push(second);
    await second.ready();
    expect(second.launches).toBe(1);
  });
});

describe('a server with a call under way', () => {
  // Nothing but its own end ends the process in time.
  const stop = { inputMs: 86_400_000 };

  test('hears that nobody waits any more before its input ends, and need not be killed', async () => {
    const connection = opened('plain', { stop });
    await connection.ready();
    const calls = ['hold', 'hold'].map((name) => connection.callTool(name));
    const outcomes = Promise.allSettled(calls);
    await connection.ping();
    await connection.close();
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ reason: { code: 'CLOSED' } });
  });

  test('hears it too of what was asked in the turn of the close', async () => {
    const connection = opened('plain', { stop });
    await connection.ready();
    const held = connection.callTool('hold');
    const closed = connection.close();
    await expect(held).rejects.toMatchObject({ code: 'CLOSED' });
    await closed;
  });

  test('hears it before it is launched anew', async () => {
    const connection = opened('plain', { stop });
    await connection.ready();
    const held = connection.callTool('hold').catch((error: unknown) => error);
    await connection.ping();
    await connection.reconnect();
    expect(await held).toMatchObject({ code: 'CLOSED' });
    expect(connection.launches).toBe(2);
  });
});

describe('a server that crashes', () => {
  test('ends the call with CLOSED, its exit code and its last words, and the call is not sent again', async () => {
    const connection = opened('plain');
    await connection.ready();
    const sent = calls(connection);
    await expect(connection.callTool('crash')).rejects.toMatchObject({
      code: 'CLOSED',
      exit: { code: 7, stderr: expect.stringContaining('the disk is full') as string },
    });
    await connection.ready();
    const { content } = await connection.callTool('read');
    expect(content[0]).toMatchObject({ text: expect.stringContaining('by ') as string });
    expect(connection.launches).toBe(2);
    expect(sent).toHaveLength(2);
  });

  test('does not end what waits for the next connection', async () => {
    const connection = opened('plain');
    await connection.ready();
    const lost = reached(connection, 'lost');
    const crashed = connection.callTool('crash').catch((error: unknown) => error);
    await lost;
    const waiting = connection.callTool('read');
    const refused = connection.request('ping', undefined, { whenAway: 'refuse' });
    await expect(refused).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect(waiting).resolves.toMatchObject({ content: [{ type: 'text' }] });
    await expect(crashed).resolves.toMatchObject({ code: 'CLOSED' });
  });

  test('is asked again for what only reads, if the host wants that', async () => {
    const connection = opened('crashes-once');
    await connection.ready();
    await connection.listTools();
    const sent = calls(connection);
    const twice = connection.callTool('read', {}, { retry: 'reads' });
    await expect(twice).rejects.toMatchObject({ code: 'CLOSED' });
    expect(sent).toHaveLength(2);
    await connection.ready();
    const once = connection.callTool('crash', {}, { retry: 'reads' });
    await expect(once).rejects.toMatchObject({ code: 'CLOSED' });
    expect(sent).toHaveLength(3);
  });

  test('again and again fails: what is asked is refused at once, until the host reconnects', async () => {
    const connection = opened('plain', { restart: { initialMs: 1, maxMs: 1, maxAttempts: 0 } });
    await connection.ready();
    const waiting = reached(connection, 'failed');
    await expect(connection.callTool('crash')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await waiting).toMatchObject({ loss: { kind: 'exited', code: 7 } });
    await expect(connection.callTool('read')).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringMatching(/failed \d+ s ago.*exited with code 7/) as string,
      exit: { code: 7 },
    });
    await expect(connection.listTools()).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect(connection.subscribe('a:b')).rejects.toMatchObject({ code: 'NOT_READY' });
    await connection.reconnect();
    expect(await connection.callTool('read')).toHaveProperty('content');
    expect(connection.launches).toBe(2);
  });
});

test('a reconnect while a server is being launched launches it anew, for whoever waits', async () => {
  const connection = opened('silent', { limits: { probeMs: 0 } });
  const ready = connection.ready().catch((error: unknown) => error);
  const asked = connection.listTools().catch((error: unknown) => error);
  const again = connection.reconnect().catch((error: unknown) => error);
  // The first process is ended before the second one is there.
  await new Promise<void>((resolve) => {
    connection.events$.subscribe(({ type }) => {
      if (type === 'stderr' && connection.launches === 2) resolve();
    });
  });
  expect(connection.state.value).toBe('connecting');
  await connection.close();
  for (const each of [ready, asked, again]) {
    await expect(each).resolves.toMatchObject({ code: 'CLOSED' });
  }
});

test('a close while a server is being launched leaves nothing', async () => {
  const connection = opened('silent');
  const ready = connection.ready().catch((error: unknown) => error);
  await connection.close();
  expect(connection.state.value).toBe('closed');
  await expect(ready).resolves.toMatchObject({ code: 'CLOSED' });
});
