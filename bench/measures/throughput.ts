/** Many requests at once, and the wait for the next answer after a burst. */
import { greet, isEmpty, ping } from '../conversation.ts';
import { echoes, exchange, pings } from './exchange.ts';
import type { Kind } from './exchange.ts';
import type { Measure, Metric } from './measure.ts';

/** In flight at most; `all` is everything written at once. */
const windows = ['1', '16', '256', 'all'] as const;

export const pingThroughput = throughput('ping', 'pings', pings);
export const echoThroughput = throughput('echo', 'echoes', echoes);

function throughput(name: string, plural: string, kind: Kind): Measure {
  return {
    name: plural,
    metrics: [
      ...windows.flatMap((window) => metricsOf(name, window)),
      {
        key: `${name}.wait`,
        title: `wait for the next answer after that burst of ${plural}`,
        unit: 'ms',
        isRatio: false,
      },
    ],
    run: ({ launch, sizes: { warmUp, messages, sequential } }) =>
      launch(async (client) => {
        await greet(client);
        await exchange(client, kind, warmUp, 256);
        const sample: Record<string, number> = {};
        for (const window of windows) {
          const count = window === '1' ? sequential : messages;
          const inFlight = window === 'all' ? count : Number(window);
          const { wallMs, cpuMs } = await exchange(client, kind, count, inFlight);
          sample[`${name}.${window}.cpu`] = (cpuMs * 1000) / count;
          sample[`${name}.${window}.rate`] = (count * 1000) / wallMs;
        }
        const askedAt = performance.now();
        await client.request(ping, isEmpty);
        sample[`${name}.wait`] = client.receivedAt - askedAt;
        return sample;
      }),
  };
}

function metricsOf(name: string, window: string): readonly Metric[] {
  const title = window === 'all' ? `${name}, all written at once` : `${name}, ${window} in flight`;
  return [
    { key: `${name}.${window}.cpu`, title: `${title}, CPU`, unit: 'µs', isRatio: true },
    { key: `${name}.${window}.rate`, title: `${title}, rate`, unit: 'msg/s', isRatio: false },
  ];
}
