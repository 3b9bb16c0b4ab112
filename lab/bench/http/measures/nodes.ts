/**
 * Two processes sharing sessions through Redis against a single one: the cost of sharing, and that
 * requests reach the owner of a session.
 */
import { echoes } from '../../measures/exchange.ts';
import { byTurns } from '../../measures/measure.ts';
import type { Metric, Sample } from '../../measures/measure.ts';
import { floorName, ourName } from '../../servers.ts';
import type { HttpClient, Session } from '../http-client.ts';
import { load } from '../load.ts';
import { missingRedis, withRedis } from '../redis-server.ts';
import { ask } from './asking.ts';
import type { HttpSizes } from '../http-sizes.ts';
import type { HttpBench, HttpMeasure } from './measure.ts';

/** CPU time per request, or its ratio to another's. */
function metric(key: string, title: string, unit: 'µs' | 'ratio', atMost?: number): Metric {
  return { key, title, unit, isRatio: false, ...(atMost !== undefined && { atMost }) };
}

/**
 * The floor is a plain hop: POSTs are forwarded to the other process over HTTP, and responses come
 * back.
 */
export const hops: HttpMeasure = {
  name: 'hops',
  metrics: [
    metric('nodes.echo.alone', 'echo at a node that is alone, CPU', 'µs'),
    metric('nodes.echo.here', 'echo at its node, CPU', 'µs'),
    metric('nodes.echo.there', 'echo at another node, CPU', 'µs'),
    metric(
      'nodes.sticky.ratio',
      'echo at its node to one at a node that is alone, CPU',
      'ratio',
      1.05,
    ),
    metric(
      'nodes.hop.ratio',
      'echo at another node to one at a node that is alone, CPU',
      'ratio',
      1.9,
    ),
    metric('nodes.hop.many.ratio', 'the same with four times as many in flight', 'ratio', 1.9),
    metric('nodes.hop.one.ratio', 'the same with one in flight', 'ratio', 3),
    metric('nodes.echo.ratio', 'echo at another node to one at its own, CPU', 'ratio', 2),
  ],
  only: [floorName, ourName],
  missing: missingRedis,
  run: ({ launch, sizes }) =>
    sharing(launch, async ({ here, there, alone, session, cpuMs }) => {
      const sessionAlone = await alone.greet(await alone.connect());
      const [echoAlone, echoHere, echoThere] = await byTurns(sizes.turns, [
        await echoing(alone, sessionAlone, sizes, cpuMs),
        await echoing(here, session, sizes, cpuMs),
        await echoing(there, session, sizes, cpuMs),
      ]);
      const many = { ...sizes, lanes: 4 * sizes.lanes };
      const [manyAlone, manyThere] = await byTurns(sizes.turns, [
        await echoing(alone, sessionAlone, many, cpuMs),
        await echoing(there, session, many, cpuMs),
      ]);
      const one = { ...sizes, lanes: 1 };
      const [oneAlone, oneThere] = await byTurns(sizes.turns, [
        await echoing(alone, sessionAlone, one, cpuMs),
        await echoing(there, session, one, cpuMs),
      ]);
      return {
        'nodes.echo.alone': echoAlone,
        'nodes.echo.here': echoHere,
        'nodes.echo.there': echoThere,
        'nodes.sticky.ratio': echoHere / echoAlone,
        'nodes.hop.ratio': echoThere / echoAlone,
        'nodes.hop.many.ratio': manyThere / manyAlone,
        'nodes.hop.one.ratio': oneThere / oneAlone,
        'nodes.echo.ratio': echoThere / echoHere,
      };
    }),
};

export const nodes: HttpMeasure = {
  name: 'nodes',
  metrics: [
    metric('nodes.roots.here', 'roots/list answered at its node, CPU', 'µs'),
    metric('nodes.roots.there', 'roots/list answered at another node, CPU', 'µs'),
    metric(
      'nodes.roots.ratio',
      'roots/list answered at another node to one at its own, CPU',
      'ratio',
      3,
    ),
  ],
  only: [ourName],
  missing: missingRedis,
  run: ({ launch, sizes }) =>
    sharing(launch, async ({ here, there, session, cpuMs }) => {
      const [rootsHere, rootsThere] = await byTurns(1, [
        () => answering(here, here, session, sizes, cpuMs),
        () => answering(here, there, session, sizes, cpuMs),
      ]);
      return {
        'nodes.roots.here': rootsHere,
        'nodes.roots.there': rootsThere,
        'nodes.roots.ratio': rootsThere / rootsHere,
      };
    }),
};

interface Sharing {
  /** The process that began the session. */
  readonly here: HttpClient;
  /** Shares sessions with `here`. */
  readonly there: HttpClient;
  /** Shares nothing. */
  readonly alone: HttpClient;
  readonly session: Session;
  /** CPU time of all processes and Redis, because work may shift between them. */
  cpuMs(): number;
}

function sharing(
  launch: HttpBench['launch'],
  body: (sharing: Sharing) => Promise<Sample>,
): Promise<Sample> {
  return withRedis((redis) => {
    const options = { env: { REDIS_URL: redis.url } };
    return launch(
      (here) =>
        launch(
          (there) =>
            launch(async (alone) => {
              const session = await here.greet(await here.connect());
              const cpuMs = () => here.cpuMs + there.cpuMs + alone.cpuMs + redis.cpuMs;
              return body({ here, there, alone, session, cpuMs });
            }),
          options,
        ),
      options,
    );
  });
}

async function echoing(
  client: HttpClient,
  session: Session,
  { warmUp, messages, lanes: count }: HttpSizes,
  cpuMs: () => number,
): Promise<() => Promise<number>> {
  const lanes = (await client.connections(count)).map((connection) => ({ connection, session }));
  await load(client, echoes, warmUp, lanes);
  return async () => {
    const before = cpuMs();
    await load(client, echoes, messages, lanes);
    return ((cpuMs() - before) * 1000) / messages;
  };
}

async function answering(
  asking: HttpClient,
  answering: HttpClient,
  session: Session,
  { asked, askingCalls, lanes }: HttpSizes,
  cpuMs: () => number,
): Promise<number> {
  const asker = { client: asking, connection: await asking.connect() };
  const answerer = { client: answering, connections: await answering.connections(lanes) };
  const warmUps = Math.ceil(askingCalls / 2);
  for (let warm = 0; warm < warmUps; warm++) await ask(asker, answerer, session, asked);
  const before = cpuMs();
  for (let done = 0; done < askingCalls; done++) await ask(asker, answerer, session, asked);
  return ((cpuMs() - before) * 1000) / (asked * askingCalls);
}
