/** Two processes that share their sessions through Redis, and one that is alone: what it costs to share, and that a request arrives at the one that has not begun the session. */
import { echoes } from '../../measures/exchange.ts';
import { byTurns } from '../../measures/measure.ts';
import { ourName } from '../../servers.ts';
import type { HttpClient, Session } from '../http-client.ts';
import { load } from '../load.ts';
import { missingRedis, withRedis } from '../redis-server.ts';
import type { RunningRedis } from '../redis-server.ts';
import { ask } from './asking.ts';
import type { HttpSizes } from '../http-sizes.ts';
import type { HttpMeasure } from './measure.ts';

export const nodes: HttpMeasure = {
  name: 'nodes',
  metrics: [
    {
      key: 'nodes.echo.alone',
      title: 'echo at a node that is alone, CPU',
      unit: 'µs',
      isRatio: false,
    },
    { key: 'nodes.echo.here', title: 'echo at its node, CPU', unit: 'µs', isRatio: false },
    { key: 'nodes.echo.there', title: 'echo at another node, CPU', unit: 'µs', isRatio: false },
    {
      key: 'nodes.sticky.ratio',
      title: 'echo at its node to one at a node that is alone, CPU',
      unit: 'ratio',
      isRatio: false,
      atMost: 1.1,
    },
    {
      key: 'nodes.hop.ratio',
      title: 'echo at another node to one at a node that is alone, CPU',
      unit: 'ratio',
      isRatio: false,
      atMost: 2.5,
    },
    {
      key: 'nodes.hop.many.ratio',
      title: 'the same with four times as many in flight',
      unit: 'ratio',
      isRatio: false,
      atMost: 2.5,
    },
    {
      key: 'nodes.echo.ratio',
      title: 'echo at another node to one at its own, CPU',
      unit: 'ratio',
      isRatio: false,
      atMost: 2,
    },
    {
      key: 'nodes.roots.here',
      title: 'roots/list answered at its node, CPU',
      unit: 'µs',
      isRatio: false,
    },
    {
      key: 'nodes.roots.there',
      title: 'roots/list answered at another node, CPU',
      unit: 'µs',
      isRatio: false,
    },
    {
      key: 'nodes.roots.ratio',
      title: 'roots/list answered at another node to one at its own, CPU',
      unit: 'ratio',
      isRatio: false,
      atMost: 3,
    },
  ],
  only: [ourName],
  missing: missingRedis,
  run: ({ launch, sizes }) =>
    withRedis((redis) => {
      const options = { env: { REDIS_URL: redis.url } };
      return launch(
        (here) =>
          launch(
            (there) => launch((alone) => compare({ here, there, alone }, redis, sizes)),
            options,
          ),
        options,
      );
    }),
};

/** The processor time of both nodes and of Redis is counted: what one of them saves, another may have to spend. */
async function compare(
  { here, there, alone }: { readonly [node in 'here' | 'there' | 'alone']: HttpClient },
  redis: RunningRedis,
  sizes: HttpSizes,
): Promise<Readonly<Record<string, number>>> {
  const session = await here.greet(await here.connect());
  const sessionAlone = await alone.greet(await alone.connect());
  const cpuMs = () => here.cpuMs + there.cpuMs + alone.cpuMs + redis.cpuMs;
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
  const [rootsHere, rootsThere] = await byTurns(1, [
    () => answering(here, here, session, sizes, cpuMs),
    () => answering(here, there, session, sizes, cpuMs),
  ]);
  return {
    'nodes.echo.alone': echoAlone,
    'nodes.echo.here': echoHere,
    'nodes.echo.there': echoThere,
    'nodes.sticky.ratio': echoHere / echoAlone,
    'nodes.hop.ratio': echoThere / echoAlone,
    'nodes.hop.many.ratio': manyThere / manyAlone,
    'nodes.echo.ratio': echoThere / echoHere,
    'nodes.roots.here': rootsHere,
    'nodes.roots.there': rootsThere,
    'nodes.roots.ratio': rootsThere / rootsHere,
  };
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
