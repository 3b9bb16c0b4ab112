/**
 * Memory of a server: at the start, after many calls, after many cancelled ones, and with many
 * pending requests.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { call, greet, isEmpty, isText, ping } from '../conversation.ts';
import type { RawClient } from '../raw-client.ts';
import { rootsAnswer, weightOf } from './asking.ts';
import { echoes, exchange } from './exchange.ts';
import { KiB, MiB } from './measure.ts';
import type { Measure } from './measure.ts';

export const memory: Measure = {
  name: 'memory',
  metrics: [
    { key: 'memory.start', title: 'RSS after the start', unit: 'MiB', isRatio: true },
    { key: 'memory.calls', title: 'RSS after many calls', unit: 'MiB', isRatio: true },
  ],
  run: ({ launch, sizes: { calls, settleMs } }) =>
    launch(async (client) => {
      await greet(client);
      await delay(settleMs);
      const atStart = client.rssBytes;
      await exchange(client, echoes, calls, 256);
      await delay(settleMs);
      return { 'memory.start': atStart / MiB, 'memory.calls': client.rssBytes / MiB };
    }),
};

export const cancelled: Measure = {
  name: 'cancelled',
  metrics: [
    {
      key: 'memory.cancelled',
      title: 'RSS growth per 1,000 cancelled calls',
      unit: 'MiB',
      isRatio: false,
    },
  ],
  run: ({ launch, sizes: { cancelled: count, settleMs } }) =>
    launch(async (client) => {
      await greet(client);
      await cancelCalls(client, count);
      await delay(settleMs);
      const before = client.rssBytes;
      // Enough to exceed a single growth step of V8's young generation, several MiB.
      const more = 4 * count;
      await cancelCalls(client, more);
      await delay(settleMs);
      return { 'memory.cancelled': (client.rssBytes - before) / MiB / (more / 1_000) };
    }),
};

/** Fewer than any server's concurrency limit. */
const together = 50;

/** Calls that send a request to the client and are cancelled afterwards. */
async function cancelCalls(client: RawClient, count: number): Promise<void> {
  for (let cancelledSoFar = 0; cancelledSoFar < count; cancelledSoFar += together) {
    const calls = Array.from({ length: together }, () => call('sample', { count: 1 }));
    const asked = requestsOf(client, together);
    const ids = client.sendToCancel(calls);
    await asked;
    client.cancel(ids);
    await client.request(ping, isEmpty);
  }
}

export const pending: Measure = {
  name: 'pending',
  metrics: [
    {
      key: 'memory.pending.heap',
      title: 'live heap per pending request to the client',
      unit: 'KiB',
      isRatio: false,
    },
    {
      key: 'memory.pending',
      title: 'RSS per pending request to the client',
      unit: 'KiB',
      isRatio: false,
    },
  ],
  run: async ({ launch, sizes: { pending: count, settleMs } }) => {
    const whole = async (client: RawClient) => {
      await delay(settleMs);
      return client.rssBytes;
    };
    const live = (client: RawClient) => client.liveHeapBytes();
    return {
      'memory.pending.heap': await launch((client) => perPending(client, count, live), {
        heapProbe: true,
      }),
      'memory.pending': await launch((client) => perPending(client, count, whole)),
    };
  },
};

/** Memory per pending request, KiB. A tenth runs first, to exclude one-time allocations. */
async function perPending(
  client: RawClient,
  count: number,
  bytesOf: (client: RawClient) => Promise<number>,
): Promise<number> {
  await greet(client);
  await hold(client, Math.ceil(count / 10), bytesOf);
  const before = await bytesOf(client);
  const after = await hold(client, count, bytesOf);
  return (after - before) / KiB / count;
}

/** Keeps this many requests pending; returns the server's memory meanwhile, bytes. */
async function hold(
  client: RawClient,
  count: number,
  bytesOf: (client: RawClient) => Promise<number>,
): Promise<number> {
  const asked = requestsOf(client, count);
  const answered = client.request(
    call('roots', { count, concurrent: true }),
    isText(weightOf(count)),
  );
  const ids = await asked;
  const bytes = await bytesOf(client);
  client.write(ids.map((id, at) => rootsAnswer(id, at + 1)).toReversed());
  await answered;
  return bytes;
}

/** Ids of the server's next requests. */
function requestsOf(client: RawClient, count: number): Promise<readonly (number | string)[]> {
  const ids: (number | string)[] = [];
  return new Promise((resolve) => {
    client.onRequest = (id) => {
      ids.push(id);
      if (ids.length === count) resolve(ids);
    };
  });
}
