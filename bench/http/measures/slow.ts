/** What one client that does not read its stream does to all others. */
import { setTimeout as delay } from 'node:timers/promises';
import { call, isText } from '../../conversation.ts';
import { echoes } from '../../measures/exchange.ts';
import { KiB, MiB, median, quantile } from '../../measures/measure.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient, Session } from '../http-client.ts';
import { load } from '../load.ts';
import type { HttpMeasure } from './measure.ts';

/** Each of these is more than a socket's buffers hold of a few. */
const bytes = 64 * KiB;
/** How many messages are pushed in a turn. */
const pushed = 100;

export const slow: HttpMeasure = {
  name: 'slow',
  metrics: [
    { key: 'slow.without', title: 'echo p99, all read', unit: 'ms', isRatio: false },
    { key: 'slow.with', title: 'echo p99, one stream is not read', unit: 'ms', isRatio: false },
    {
      key: 'slow.ratio',
      title: 'p99 with one slow reader to p99 without',
      unit: 'ratio',
      isRatio: false,
      atMost: 1.1,
    },
    {
      key: 'slow.rss',
      title: 'RSS growth with one slow reader',
      unit: 'MiB',
      isRatio: false,
    },
  ],
  run: ({ launch, sizes: { echoes: count, turns, lanes, settleMs } }) =>
    launch(async (client) => {
      const control = await client.connect();
      const caller = await client.greet(control);
      const scene: Scene = { client, control, caller, count, lanes };
      await turn(scene, 'read');
      await turn(scene, 'not read');
      await delay(settleMs);
      const before = client.rssBytes;
      const without: number[] = [];
      const slowed: number[] = [];
      for (let done = 0; done < turns; done++) {
        without.push(await turn(scene, 'read'));
        slowed.push(await turn(scene, 'not read'));
      }
      return {
        'slow.without': median(without),
        'slow.with': median(slowed),
        'slow.ratio': median(slowed.map((ms, at) => ms / (without[at] ?? Number.NaN))),
        'slow.rss': (client.rssBytes - before) / MiB,
      };
    }),
};

interface Scene {
  readonly client: HttpClient;
  readonly control: Connection;
  readonly caller: Session;
  readonly count: number;
  readonly lanes: number;
}

/** The p99 of everyone's echoes while log messages are pushed to the one stream that there is, milliseconds. */
async function turn(
  { client, control, caller, count, lanes }: Scene,
  stream: 'read' | 'not read',
): Promise<number> {
  const listener = await client.greet(control);
  const listening = await client.connect();
  await client.listen(listening, listener, () => {});
  if (stream === 'not read') listening.hold();
  const times: number[] = [];
  const connections = await client.connections(lanes);
  const echoing = load(
    client,
    echoes,
    count,
    connections.map((connection) => ({
      connection,
      session: caller,
      onAnswer: (ms) => times.push(ms),
    })),
  );
  for (let done = 0; done < pushed; done++) {
    await client.request(control, caller, call('notify', { count: 1, bytes }), isText('done'));
  }
  await echoing;
  for (const connection of connections) connection.close();
  listening.close();
  await client.end(control, listener);
  return quantile(times, 0.99);
}
