/**
 * Calls of `echo`: in one session, in many, over many connections, and sessionless in 2026-07-28.
 */
import { discovery, enveloped, isDiscovered } from '../../conversation.ts';
import { echoes, envelopedEchoes } from '../../measures/exchange.ts';
import type { Kind } from '../../measures/exchange.ts';
import type { Metric } from '../../measures/measure.ts';
import type { HttpClient } from '../http-client.ts';
import { load } from '../load.ts';
import type { Lane } from '../load.ts';
import type { HttpSizes } from '../http-sizes.ts';
import type { HttpMeasure } from './measure.ts';

function metricsOf(key: string, title: string, atMost: number): readonly Metric[] {
  return [
    { key: `${key}.cpu`, title: `${title}, CPU`, unit: 'µs', isRatio: true, atMost },
    { key: `${key}.rate`, title: `${title}, rate`, unit: 'msg/s', isRatio: false },
  ];
}

export const echo: HttpMeasure = {
  name: 'echoes',
  metrics: [
    ...metricsOf('echo.session', 'echo in one session, 16 connections', 1.8),
    ...metricsOf('echo.sessions', 'echo in 100 sessions, a connection each', 1.8),
    ...metricsOf('echo.connections', 'echo in one session, 256 connections', 1.8),
  ],
  run: ({ launch, sizes }) =>
    launch(async (client) => {
      const control = await client.connect();
      const session = await client.greet(control);
      const of = async (count: number): Promise<readonly Lane[]> =>
        (await client.connections(count)).map((connection) => ({ connection, session }));
      const few = await of(sizes.lanes);
      await load(client, echoes, sizes.warmUp, few);
      const inOne = await costOf(client, echoes, sizes, few);
      const others = await client.sessions(control, sizes.sessions);
      const connections = await client.connections(others.length);
      const lanes = others.map((other, at) => ({
        session: other,
        connection: connections[at] ?? control,
      }));
      const inMany = await costOf(client, echoes, sizes, lanes);
      const overMany = await costOf(client, echoes, sizes, await of(sizes.connections));
      return {
        ...named('echo.session', inOne),
        ...named('echo.sessions', inMany),
        ...named('echo.connections', overMany),
      };
    }),
};

export const modern: HttpMeasure = {
  name: 'enveloped',
  metrics: [
    ...metricsOf('enveloped.few', '2026-07-28 echo, 16 connections', 2),
    ...metricsOf('enveloped.many', '2026-07-28 echo, 256 connections', 2),
  ],
  run: ({ launch, sizes }) =>
    launch(async (client) => {
      const control = await client.connect();
      await client.request(control, undefined, enveloped(discovery), isDiscovered);
      const of = async (count: number): Promise<readonly Lane[]> =>
        (await client.connections(count)).map((connection) => ({ connection, session: undefined }));
      const lanes = await of(sizes.lanes);
      await load(client, envelopedEchoes, sizes.warmUp, lanes);
      const few = await costOf(client, envelopedEchoes, sizes, lanes);
      const many = await costOf(client, envelopedEchoes, sizes, await of(sizes.connections));
      return { ...named('enveloped.few', few), ...named('enveloped.many', many) };
    }),
};

interface Cost {
  readonly cpuUs: number;
  readonly rate: number;
}

async function costOf(
  client: HttpClient,
  kind: Kind,
  { messages }: HttpSizes,
  lanes: readonly Lane[],
): Promise<Cost> {
  // Warm up new connections.
  await load(client, kind, Math.ceil(messages / 10), lanes);
  const { cpuMs, wallMs } = await load(client, kind, messages, lanes);
  return { cpuUs: (cpuMs * 1000) / messages, rate: (messages * 1000) / wallMs };
}

function named(key: string, { cpuUs, rate }: Cost): Readonly<Record<string, number>> {
  return { [`${key}.cpu`]: cpuUs, [`${key}.rate`]: rate };
}
