/** Echoes of long single-line texts, and how the time grows with the length. */
import { call, greet, isText } from '../conversation.ts';
import { KiB, MiB, median } from './measure.ts';
import type { Measure, Metric } from './measure.ts';

const alphabet = 'the quick brown fox jumps over the lazy dog, ';

/** Sizes in every table; a longer run adds sizes for the exponent. */
const shown = [64 * KiB, 1 * MiB, 10 * MiB];

export const large: Measure = {
  name: 'large',
  metrics: [
    ...shown.map((bytes): Metric => ({
      key: `large.${nameOf(bytes)}`,
      title: `echo of ${nameOf(bytes)}`,
      unit: 'ms',
      isRatio: true,
    })),
    {
      key: 'large.exponent',
      title: 'growth with the length, from 1 MiB on',
      unit: 'exponent',
      isRatio: false,
    },
  ],
  run: ({ launch, keep, sizes }) =>
    launch(async (client) => {
      await greet(client);
      await client.request(call('echo', { text: 'first' }), isText('first'));
      const sample: Record<string, number> = {};
      const points: Point[] = [];
      for (const bytes of sizes.large) {
        const times: number[] = [];
        for (let round = 0; round < sizes.largeRepeats; round++) {
          const text = `${round}:${alphabet.repeat(Math.ceil(bytes / alphabet.length))}`;
          const expected = text.slice(0, bytes);
          const askedAt = performance.now();
          await client.request(call('echo', { text: expected }), isText(expected));
          times.push(client.receivedAt - askedAt);
        }
        const ms = median(times);
        if (shown.includes(bytes)) sample[`large.${nameOf(bytes)}`] = ms;
        keep({ ...sample });
        if (bytes >= MiB) points.push({ x: Math.log(bytes), y: Math.log(ms) });
      }
      sample['large.exponent'] = slope(points);
      return sample;
    }),
};

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Slope of the least-squares line. */
function slope(points: readonly Point[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const x = mean(points.map((point) => point.x));
  const y = mean(points.map((point) => point.y));
  const covariance = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0);
  return covariance / points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
}

function nameOf(bytes: number): string {
  return bytes >= MiB ? `${bytes / MiB} MiB` : `${bytes / KiB} KiB`;
}
