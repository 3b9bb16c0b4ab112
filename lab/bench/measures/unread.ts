/**
 * A client that stops reading: how much the server grows, and whether nothing is lost when it reads
 * again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { call, greet, isEmpty, isText, ping } from '../conversation.ts';
import type { RawClient } from '../raw-client.ts';
import { KiB, MiB } from './measure.ts';
import type { Measure } from './measure.ts';

const answerBytes = 512 * KiB;

/** Responses this much later than the previous ones count as lost. */
const longestBreakMs = 5_000;

export const unread: Measure = {
  name: 'unread',
  metrics: [
    { key: 'unread.growth', title: 'RSS growth while nobody reads', unit: 'MiB', isRatio: false },
    { key: 'unread.lost', title: 'answers lost by that', unit: 'lost', isRatio: false },
  ],
  run: ({ launch, sizes: { unread: count } }) =>
    launch(async (client) => {
      await greet(client);
      const expected = isText('x'.repeat(answerBytes));
      await client.request(call('fill', { bytes: answerBytes }), expected);
      const before = client.rssBytes;

      let answered = 0;
      client.hold();
      const requests = Array.from({ length: count }, () => call('fill', { bytes: answerBytes }));
      client.writeText(
        client.encode(requests, (result) => {
          const fault = expected(result);
          if (fault !== undefined) client.fail(fault);
          answered++;
        }),
      );
      const most = await highestRss(client);
      client.resume();
      // Everything still outstanding arrives before this response, or after it without long gaps.
      await client.request(ping, isEmpty);
      let [seen, seenAt] = [answered, performance.now()];
      while (answered < count && performance.now() - seenAt < longestBreakMs) {
        await delay(lookEveryMs);
        if (answered > seen) [seen, seenAt] = [answered, performance.now()];
      }
      return { 'unread.growth': (most - before) / MiB, 'unread.lost': count - answered };
    }),
};

const lookEveryMs = 50;
const longestMs = 8_000;

/** Peak memory of the process, until it has stopped growing for a while. */
async function highestRss(client: RawClient): Promise<number> {
  let most = client.rssBytes;
  let quiet = 0;
  for (let waited = 0; waited < longestMs && quiet < 10; waited += lookEveryMs) {
    await delay(lookEveryMs);
    const now = client.rssBytes;
    quiet = now > most + MiB ? 0 : quiet + 1;
    most = Math.max(most, now);
  }
  return most;
}
