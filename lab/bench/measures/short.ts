/**
 * Short sessions. Most have a few hundred sequential messages, before code that is fast after
 * 40,000 messages is optimized. The server is pinned to one core, so that the compiler's threads
 * count as on a busy machine.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMsOfEnded } from '../accounting.ts';
import { areTools, greet, initialize, isIntroduction, listTools } from '../conversation.ts';
import type { RawClient } from '../raw-client.ts';
import { ask } from './asking.ts';
import { echoes, exchange, pings } from './exchange.ts';
import { median } from './measure.ts';
import type { Bench, Measure, Metric, Sample } from './measure.ts';

const isPinned = true;

export const early: Measure = {
  name: 'early',
  metrics: [
    metric('echo', 'early echo one at a time, CPU', 'µs'),
    metric('roots.sequential', 'early roots/list sequential, CPU', 'µs'),
    metric('roots.concurrent', 'early roots/list concurrent, CPU', 'µs'),
  ],
  run: async (bench) => ({
    ...(await earlyEchoes(bench)),
    ...(await earlyRoots(bench, 'sequential')),
    ...(await earlyRoots(bench, 'concurrent')),
  }),
};

function metric(key: string, title: string, unit: 'µs' | 'ms'): Metric {
  return { key: `short.${key}`, title, unit, isRatio: true };
}

/**
 * Sequential echoes after a burst of other messages, half of them pings, so that not every path is
 * warm.
 */
function earlyEchoes({ launch, sizes: { early: sizes } }: Bench): Promise<Sample> {
  return launch(
    async (client) => {
      await greet(client);
      await exchange(client, pings, sizes.before / 2, 256);
      await exchange(client, echoes, sizes.before / 2, 256);
      const { cpuMs } = await exchange(client, echoes, sizes.echoes, 1);
      return { 'short.echo': (cpuMs * 1000) / sizes.echoes };
    },
    { isPinned },
  );
}

/** Each variant in its own session, so that neither warms up the other. */
function earlyRoots(
  { launch, sizes: { early: sizes } }: Bench,
  way: 'sequential' | 'concurrent',
): Promise<Sample> {
  return launch(
    async (client) => {
      await greet(client);
      await ask(client, way, sizes.rootsBefore);
      const { cpuUs } = await ask(client, way, sizes.roots);
      return { [`short.roots.${way}`]: cpuUs };
    },
    { isPinned },
  );
}

/** Calls in a short session. */
const callsOfSession = 20;

export const session: Measure = {
  name: 'session',
  metrics: [
    metric('session', `CPU of a session: start, handshake, ${callsOfSession} calls, end`, 'ms'),
    metric('end', 'end right after the first answers, CPU', 'ms'),
    metric('end.wall', 'end right after the first answers', 'ms'),
    metric('end.idle', 'end of an idle session, CPU', 'ms'),
    metric('end.idle.wall', 'end of an idle session', 'ms'),
  ],
  run: async (bench) => {
    const { sessions, settleMs } = bench.sizes;
    const before = cpuMsOfEnded();
    for (let at = 0; at < sessions; at++) await wholeSession(bench);
    const cpuMs = (cpuMsOfEnded() - before) / sessions;
    const atOnce = await ends(bench, () => Promise.resolve());
    const idle = await ends(bench, () => delay(settleMs));
    return {
      'short.session': cpuMs,
      'short.end': atOnce.cpuMs,
      'short.end.wall': atOnce.wallMs,
      'short.end.idle': idle.cpuMs,
      'short.end.idle.wall': idle.wallMs,
    };
  },
};

function wholeSession({ launch }: Bench): Promise<void> {
  return launch(
    async (client) => {
      await greet(client);
      await exchange(client, echoes, callsOfSession, 1);
      await client.close();
    },
    { isPinned },
  );
}

/** Time between the end of the input and the exit of the process. */
async function ends({ launch, sizes: { sessions } }: Bench, wait: () => Promise<void>) {
  const walls: number[] = [];
  let cpuUntilEnd = 0;
  const before = cpuMsOfEnded();
  for (let at = 0; at < sessions; at++) {
    const end = async (client: RawClient) => {
      await client.request(initialize, isIntroduction);
      client.write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
      await client.request(listTools, areTools);
      await wait();
      cpuUntilEnd += client.cpuMs;
      const endedAt = performance.now();
      await client.close();
      walls.push(performance.now() - endedAt);
    };
    await launch(end, { isPinned });
  }
  return {
    wallMs: median(walls),
    cpuMs: (cpuMsOfEnded() - before - cpuUntilEnd) / sessions,
  };
}
