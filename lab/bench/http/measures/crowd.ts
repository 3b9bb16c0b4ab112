/** Thousands of idle sessions in one process, and simultaneous calls in a thousand of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { echoes } from '../../measures/exchange.ts';
import { MiB } from '../../measures/measure.ts';
import { load } from '../load.ts';
import type { HttpMeasure } from './measure.ts';

export const crowd: HttpMeasure = {
  name: 'crowd',
  metrics: [
    {
      key: 'crowd.idle',
      title: 'RSS growth with 5,000 idle sessions',
      unit: 'MiB',
      isRatio: false,
    },
    {
      key: 'crowd.calls',
      title: 'RSS growth with 1,000 calls at once, on top',
      unit: 'MiB',
      isRatio: false,
    },
    { key: 'crowd.cpu', title: 'one of these calls, CPU', unit: 'µs', isRatio: true },
    { key: 'crowd.wall', title: 'all of these calls', unit: 'ms', isRatio: true },
  ],
  run: ({ launch, sizes: { crowd: count, calling, settleMs } }) =>
    launch(async (client) => {
      const control = await client.connect();
      await client.sessions(control, Math.ceil(count / 50));
      await delay(settleMs);
      const before = client.rssBytes;
      const sessions = await client.sessions(control, count);
      await delay(settleMs);
      const idle = client.rssBytes;
      const connections = await client.connections(calling);
      const lanes = connections.map((connection, at) => ({ connection, session: sessions[at] }));
      const { cpuMs, wallMs } = await load(client, echoes, calling, lanes);
      return {
        'crowd.idle': (idle - before) / MiB,
        'crowd.calls': (client.rssBytes - idle) / MiB,
        'crowd.cpu': (cpuMs * 1000) / calling,
        'crowd.wall': wallMs,
      };
    }),
};
