/** Throughput of concurrent requests, and the latency after a burst. */
import { discover, greet, isEmpty, ping } from '../conversation.ts';
import { echoes, envelopedEchoes, exchange, pings } from './exchange.ts';
import type { Kind } from './exchange.ts';
import type { Measure, Metric, Sizes } from './measure.ts';
import type { RawClient } from '../raw-client.ts';

/** Maximum in flight; `all` writes everything at once. */
const windows = ['1', '16', '256', 'all'] as const;

export const pingThroughput = throughput('ping', 'pings', pings);
export const echoThroughput = throughput('echo', 'echoes', echoes);

const envelopedWindows = ['1', '256'] as const;

/** Echoes of 2026-07-28, in which the server reads client and revision from every request. */
export const envelopedThroughput: Measure = {
  name: 'enveloped',
  metrics: envelopedWindows.flatMap((window) => metricsOf('enveloped echo', window)),
  run: ({ launch, sizes }) =>
    launch(async (client) => {
      await discover(client);
      await exchange(client, envelopedEchoes, sizes.warmUp, 256);
      return await rates(client, 'enveloped echo', envelopedEchoes, envelopedWindows, sizes);
    }),
};

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
    run: ({ launch, sizes }) =>
      launch(async (client) => {
        await greet(client);
        await exchange(client, kind, sizes.warmUp, 256);
        const sample = await rates(client, name, kind, windows, sizes);
        const askedAt = performance.now();
        await client.request(ping, isEmpty);
        sample[`${name}.wait`] = client.receivedAt - askedAt;
        return sample;
      }),
  };
}

async function rates(
  client: RawClient,
  name: string,
  kind: Kind,
  inFlight: readonly string[],
  { messages, sequential }: Sizes,
): Promise<Record<string, number>> {
  const sample: Record<string, number> = {};
  for (const window of inFlight) {
    const count = window === '1' ? sequential : messages;
    const { wallMs, cpuMs } = await exchange(
      client,
      kind,
      count,
      window === 'all' ? count : Number(window),
    );
    sample[`${name}.${window}.cpu`] = (cpuMs * 1000) / count;
    sample[`${name}.${window}.rate`] = (count * 1000) / wallMs;
  }
  return sample;
}

function metricsOf(name: string, window: string): readonly Metric[] {
  const title = window === 'all' ? `${name}, all written at once` : `${name}, ${window} in flight`;
  return [
    { key: `${name}.${window}.cpu`, title: `${title}, CPU`, unit: 'µs', isRatio: true },
    { key: `${name}.${window}.rate`, title: `${title}, rate`, unit: 'msg/s', isRatio: false },
  ];
}
