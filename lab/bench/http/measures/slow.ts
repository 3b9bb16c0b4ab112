/** Effect of one client that does not read, on a GET stream or a POST response, on all others. */
import { setTimeout as delay } from 'node:timers/promises';
import { call, isText } from '../../conversation.ts';
import { echoes } from '../../measures/exchange.ts';
import { KiB, MiB, median, quantile } from '../../measures/measure.ts';
import type { Metric, Sample } from '../../measures/measure.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient, Session } from '../http-client.ts';
import { load } from '../load.ts';
import type { HttpMeasure } from './measure.ts';

/** A few of these exceed a socket's buffers. */
const bytes = 64 * KiB;
/** Messages pushed per turn; the response is as long as all of them. */
const pushed = 100;

/** What the slow client reads or ignores. */
const kinds = [
  { key: 'slow', what: 'stream', disturb: pushToStream },
  { key: 'slow.answer', what: 'answer to a POST', disturb: askForMuch },
] as const;

export const slow: HttpMeasure = {
  name: 'slow',
  metrics: kinds.flatMap(({ key, what }): readonly Metric[] => [
    { key: `${key}.without`, title: `echo p99, one ${what} is read`, unit: 'ms', isRatio: false },
    { key: `${key}.with`, title: `echo p99, one ${what} is not read`, unit: 'ms', isRatio: false },
    {
      key: `${key}.ratio`,
      title: `p99 with one ${what} unread to p99 without`,
      unit: 'ratio',
      isRatio: false,
      atMost: 1.1,
    },
    { key: `${key}.rss`, title: `RSS growth with one ${what} unread`, unit: 'MiB', isRatio: false },
  ]),
  run: async (bench) => {
    const samples: Sample[] = [];
    for (const { key, disturb } of kinds) {
      const sample = await compare(bench, disturb);
      samples.push(
        Object.fromEntries(
          Object.entries(sample).map(([name, value]) => [`${key}.${name}`, value]),
        ),
      );
    }
    return Object.assign({}, ...samples) as Sample;
  },
};

function compare(
  { launch, sizes: { echoes: count, turns, lanes, settleMs } }: Parameters<HttpMeasure['run']>[0],
  disturb: Disturb,
): Promise<Sample> {
  return launch(async (client) => {
    const control = await client.connect();
    const caller = await client.greet(control);
    const scene: Scene = { client, control, caller, count, lanes, disturb };
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
      without: median(without),
      with: median(slowed),
      ratio: median(slowed.map((ms, at) => ms / (without[at] ?? Number.NaN))),
      rss: (client.rssBytes - before) / MiB,
    };
  });
}

interface Scene {
  readonly client: HttpClient;
  readonly control: Connection;
  readonly caller: Session;
  readonly count: number;
  readonly lanes: number;
  readonly disturb: Disturb;
}

/**
 * Makes the server send much to another session's connection; resolves when the request was made.
 */
type Disturb = (
  scene: Scene,
  other: Session,
  connection: Connection,
  read: Reading,
) => Promise<void>;

type Reading = 'read' | 'not read';

async function pushToStream(
  { client, control, caller }: Scene,
  other: Session,
  connection: Connection,
  reading: Reading,
): Promise<void> {
  await client.listen(connection, other, () => {});
  settle(connection, reading);
  for (let done = 0; done < pushed; done++) {
    await client.request(control, caller, call('notify', { count: 1, bytes }), isText('done'));
  }
}

async function askForMuch(
  { client, control, caller }: Scene,
  other: Session,
  connection: Connection,
  reading: Reading,
): Promise<void> {
  settle(connection, reading);
  client.askBlindly(connection, other, call('echo', { text: 'x'.repeat(pushed * bytes) }));
  // As many concurrent requests as with a stream.
  for (let done = 0; done < pushed; done++) {
    await client.request(control, caller, call('echo', { text: 'done' }), isText('done'));
  }
}

function settle(connection: Connection, reading: Reading): void {
  if (reading === 'read') connection.drain();
  else connection.hold();
}

/** p99 of the other clients' echoes meanwhile, ms. */
async function turn(scene: Scene, reading: Reading): Promise<number> {
  const { client, control, caller, count, lanes, disturb } = scene;
  const other = await client.greet(control);
  const connection = await client.connect();
  const times: number[] = [];
  const connections = await client.connections(lanes);
  const echoing = load(
    client,
    echoes,
    count,
    connections.map((each) => ({
      connection: each,
      session: caller,
      onAnswer: (ms) => times.push(ms),
    })),
  );
  await disturb(scene, other, connection, reading);
  await echoing;
  for (const each of connections) each.close();
  connection.close();
  await client.end(control, other);
  return quantile(times, 0.99);
}
