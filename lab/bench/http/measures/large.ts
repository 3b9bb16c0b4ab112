/** Echo of 8 MiB. */
import { call, isText } from '../../conversation.ts';
import { MiB, median } from '../../measures/measure.ts';
import type { HttpMeasure } from './measure.ts';

const bytes = 8 * MiB;
const alphabet = 'the quick brown fox jumps over the lazy dog, ';

export const large: HttpMeasure = {
  name: 'large',
  metrics: [{ key: 'large', title: 'echo of 8 MiB', unit: 'ms', isRatio: true, atMost: 1.2 }],
  run: ({ launch, sizes: { largeRepeats } }) =>
    launch(async (client) => {
      const connection = await client.connect();
      const session = await client.greet(connection);
      const times: number[] = [];
      for (let round = 0; round <= largeRepeats; round++) {
        const text = `${round}:${alphabet.repeat(Math.ceil(bytes / alphabet.length))}`;
        const expected = text.slice(0, bytes);
        const askedAt = performance.now();
        await client.request(
          connection,
          session,
          call('echo', { text: expected }),
          isText(expected),
        );
        times.push(client.receivedAt - askedAt);
      }
      // The first one is warm-up.
      return { large: median(times.slice(1)) };
    }),
};
