/** Latency of one request at a time. */
import { greet } from '../conversation.ts';
import type { RawClient } from '../raw-client.ts';
import { echoes, pings } from './exchange.ts';
import type { Kind } from './exchange.ts';
import { quantile } from './measure.ts';
import type { Measure, Metric } from './measure.ts';

const metrics: readonly Metric[] = ['ping', 'echo'].flatMap((kind) =>
  ['p50', 'p99'].map((share) => ({
    key: `latency.${kind}.${share}`,
    title: `${kind} one at a time, ${share}`,
    unit: 'µs' as const,
    isRatio: true,
  })),
);

export const latency: Measure = {
  name: 'latency',
  metrics,
  run: ({ launch, sizes: { sequential } }) =>
    launch(async (client) => {
      await greet(client);
      const ping = await latencies(client, pings, sequential);
      const echo = await latencies(client, echoes, sequential);
      return {
        'latency.ping.p50': quantile(ping, 0.5),
        'latency.ping.p99': quantile(ping, 0.99),
        'latency.echo.p50': quantile(echo, 0.5),
        'latency.echo.p99': quantile(echo, 0.99),
      };
    }),
};

/** In µs; a fifth is sent first as warm-up. */
export async function latencies(
  client: RawClient,
  kind: Kind,
  count: number,
): Promise<readonly number[]> {
  const values: number[] = [];
  const warmUp = Math.ceil(count / 5);
  for (let at = -warmUp; at < count; at++) {
    const askedAt = performance.now();
    await client.request(kind.request(at), kind.check(at));
    if (at >= 0) values.push((client.receivedAt - askedAt) * 1000);
  }
  return values;
}
