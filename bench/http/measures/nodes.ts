/** Two processes that share their sessions through Redis: what it costs that a request arrives at the one that has not begun the session. */
import { echoes } from '../../measures/exchange.ts';
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
    { key: 'nodes.echo.here', title: 'echo at its node, CPU', unit: 'µs', isRatio: false },
    { key: 'nodes.echo.there', title: 'echo at another node, CPU', unit: 'µs', isRatio: false },
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
        (here) => launch((there) => compare(here, there, redis, sizes), options),
        options,
      );
    }),
};

/** The processor time of both nodes and of Redis is counted: what one of them saves, another may have to spend. */
async function compare(
  here: HttpClient,
  there: HttpClient,
  redis: RunningRedis,
  sizes: HttpSizes,
): Promise<Readonly<Record<string, number>>> {
  const session = await here.greet(await here.connect());
  const cpuMs = () => here.cpuMs + there.cpuMs + redis.cpuMs;
  const [echoHere, echoThere] = await byTurns(
    () => echoing(here, session, sizes, cpuMs),
    () => echoing(there, session, sizes, cpuMs),
  );
  const [rootsHere, rootsThere] = await byTurns(
    () => answering(here, here, session, sizes, cpuMs),
    () => answering(here, there, session, sizes, cpuMs),
  );
  return {
    'nodes.echo.here': echoHere,
    'nodes.echo.there': echoThere,
    'nodes.echo.ratio': echoThere / echoHere,
    'nodes.roots.here': rootsHere,
    'nodes.roots.there': rootsThere,
    'nodes.roots.ratio': rootsThere / rootsHere,
  };
}

/** Once each unseen, then A B B A: what the compiler learns meanwhile helps both alike. */
async function byTurns(
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<readonly [number, number]> {
  await one();
  await other();
  const [first, second, third, fourth] = [await one(), await other(), await other(), await one()];
  return [(first + fourth) / 2, (second + third) / 2];
}

async function echoing(
  client: HttpClient,
  session: Session,
  { warmUp, messages, lanes: count }: HttpSizes,
  cpuMs: () => number,
): Promise<number> {
  const lanes = (await client.connections(count)).map((connection) => ({ connection, session }));
  await load(client, echoes, warmUp, lanes);
  const before = cpuMs();
  await load(client, echoes, messages, lanes);
  return ((cpuMs() - before) * 1000) / messages;
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
