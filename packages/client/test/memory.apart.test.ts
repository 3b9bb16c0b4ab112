/** What connections leave behind, however many there were: nothing. */
import { getEventListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { SdkTransport } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { CountingClock } from '../../../test/actors/counting-clock.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { inLongRun } from '../../../test/tooling/long-run.ts';
import { Live, heapBytes } from './live-counts.ts';

const MiB = 2 ** 20;

const ours = createMcpServer({
  name: 'ours',
  version: '1.0.0',
  tools: [
    defineTool({ name: 'echo', description: 'Answers', handler: () => 'hello' }),
    defineTool({
      name: 'wait',
      description: 'Ends when it is cancelled',
      handler: (_args, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener('abort', () => resolve('cancelled'), { once: true });
        }),
    }),
  ],
});

const transport = (): SdkTransport => {
  const { transport: end, peer } = memory();
  ours.listen(end, { report: () => {} });
  return toSdkTransport(peer);
};

const quiet: ConnectOptions = { report: () => {} };
const open = (options: ConnectOptions = {}) => connect({ transport }, { ...quiet, ...options });

/** Connects, uses and closes it so many times, and counts the connections. */
async function used(times: number, opening: () => Promise<Connection>, live: Live<Connection>) {
  for (let time = 0; time < times; time++) {
    const connection = live.add(await opening());
    const tools = connection.tools$.subscribe();
    await connection.listTools();
    await connection.callTool('echo');
    tools.unsubscribe();
    await connection.close();
  }
}

describe('connections that are closed leave nothing', () => {
  test('of hundreds of them, in both eras', async () => {
    const perEra = inLongRun(450, 150);
    const clock = new CountingClock();
    const live = new Live<Connection>();
    const eras = ['legacy', 'modern'] as const;
    for (const era of eras) await used(50, () => open({ era, clock }), live);
    const before = await heapBytes();
    for (const era of eras) await used(perEra, () => open({ era, clock }), live);
    expect(live.made).toBe(2 * (50 + perEra));
    // The last one may still stand on the stack.
    expect(await live.left()).toBeLessThanOrEqual(2);
    expect(clock.timers).toBe(0);
    // One that stayed would be some 30 KiB.
    expect((await heapBytes()) - before).toBeLessThan(inLongRun(8, 4) * MiB);
  });

  test('over HTTP, in both eras', async () => {
    const url = String(await serveHttp(ours));
    const clock = new CountingClock();
    const live = new Live<Connection>();
    for (const era of ['legacy', 'modern'] as const)
      await used(inLongRun(50, 10), () => connect({ url }, { ...quiet, era, clock }), live);
    expect(await live.left()).toBeLessThanOrEqual(2);
    expect(clock.timers).toBe(0);
  });

  test('of processes, no pipe and no handle either', async () => {
    const odd = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
    const entry = { command: process.execPath, args: [odd, 'plain'] };
    const live = new Live<Connection>();
    const handles = () =>
      process.getActiveResourcesInfo().filter((name) => /Process|Pipe/.test(name)).length;
    const before = handles();
    for (let time = 0; time < inLongRun(20, 4); time++) {
      const connection = live.add(await connect(entry, quiet));
      await connection.callTool('read');
      expect(handles()).toBeGreaterThan(before);
      await connection.close();
    }
    expect(await live.left()).toBeLessThanOrEqual(2);
    await expect.poll(handles).toBeLessThanOrEqual(before);
  });
});

describe('calls leave nothing on a connection that goes on', () => {
  test('thousands that are cancelled', async () => {
    const clock = new CountingClock();
    const connection = await open({ clock });
    onTestFinished(() => connection.close());
    const idle = clock.timers;
    const live = new Live<AbortController>();
    const cancelSome = async (count: number) => {
      const controllers = Array.from({ length: count }, () => new AbortController());
      const calls = controllers.map(({ signal }) => connection.callTool('wait', {}, { signal }));
      const ended = Promise.allSettled(calls);
      for (const controller of controllers) live.add(controller).abort();
      expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
      expect(controllers.flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([]);
    };
    const rounds = inLongRun(16, 4);
    for (let round = 0; round < 4; round++) await cancelSome(500);
    // Answered behind all of it: the server has heard every cancellation.
    await connection.callTool('echo');
    const before = await heapBytes();
    for (let round = 0; round < rounds; round++) await cancelSome(500);
    await connection.callTool('echo');
    expect(live.made).toBe((4 + rounds) * 500);
    expect(connection.pending).toBe(0);
    expect(clock.timers).toBe(idle);
    expect(await live.left()).toBeLessThanOrEqual(500);
    // One that stayed would be some 2.5 KiB.
    expect((await heapBytes()) - before).toBeLessThan(inLongRun(4, 2) * MiB);
  });

  test('1,000 with one signal, which keeps none of their listeners', async () => {
    const connection = await open();
    onTestFinished(() => connection.close());
    const { signal } = new AbortController();
    for (let call = 0; call < 1000; call++) await connection.callTool('echo', {}, { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

test('the arguments of calls are let go when they are sent, and not with the answers', async () => {
  const transport = () => new Silent();
  const connection = await connect({ transport }, { ...quiet, era: 'legacy' });
  onTestFinished(() => connection.close());
  const live = new Live<{ [name: string]: unknown }>();
  const calls = Array.from({ length: 100 }, () => connection.callTool('wait', live.add({})));
  const ended = Promise.allSettled(calls);
  expect(await live.left()).toBeLessThanOrEqual(2);
  expect(connection.pending).toBe(100);
  await connection.close();
  expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
});

/** A server that greets, and answers nothing else. */
class Silent implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.();
  }

  async send(message: { readonly [field: string]: unknown }): Promise<void> {
    const { id, method, params } = message;
    if (method === 'notifications/initialized') this.greeted();
    if (method !== 'initialize') return;
    const { protocolVersion } = params as { readonly protocolVersion: string };
    const serverInfo = { name: 'silent', version: '1' };
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
    queueMicrotask(() => this.onmessage?.({ jsonrpc: '2.0', id: id as number, result }));
  }

  greeted(): void {}
}

/** A server that is lost as soon as it is ready. */
class Fleeting extends Silent {
  override greeted(): void {
    queueMicrotask(() => this.onclose?.());
  }
}

test('thousands of reconnects, one a second, leave nothing of the connections before', async () => {
  const clock = new CountingClock();
  const live = new Live<Fleeting>();
  const connection = await connect(
    { transport: () => live.add(new Fleeting()) as SdkTransport },
    {
      ...quiet,
      clock,
      era: 'legacy',
      restart: { initialMs: 1000, maxMs: 1000, factor: 1, jitter: 0, maxAttempts: 1_000_000 },
    },
  );
  onTestFinished(() => connection.close());
  const seconds = async (count: number) => {
    const until = live.made + count;
    while (live.made < until) {
      if (connection.state.value === 'backoff') clock.increment(1000);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  };
  const more = inLongRun(9000, 900);
  await seconds(inLongRun(1000, 300));
  const before = await heapBytes();
  await seconds(more);
  expect(await live.left()).toBeLessThanOrEqual(3);
  expect(clock.timers).toBeLessThanOrEqual(3);
  expect(connection.pending).toBe(0);
  // One that stayed would be some 11 KiB.
  expect((await heapBytes()) - before).toBeLessThan(4 * MiB);
});
