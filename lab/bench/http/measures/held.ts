/** Memory of a session: idle, with an open stream, and after its end. */
import { setTimeout as delay } from 'node:timers/promises';
import { ping } from '../../conversation.ts';
import { KiB } from '../../measures/measure.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient, Session } from '../http-client.ts';
import type { HttpMeasure } from './measure.ts';
import { floorName, ourName } from '../../servers.ts';

export const held: HttpMeasure = {
  name: 'held',
  metrics: [
    {
      key: 'held.session',
      title: 'live heap per idle session',
      unit: 'KiB',
      isRatio: false,
      atMost: 16,
    },
    {
      key: 'held.stream',
      title: 'live heap per open GET stream, on top',
      unit: 'KiB',
      isRatio: false,
      atMost: 6,
    },
    {
      key: 'held.deleted',
      title: 'live heap kept per deleted session',
      unit: 'B',
      isRatio: false,
      atMost: 200,
    },
  ],
  run: ({ launch, sizes: { held: count, settleMs } }) =>
    launch(
      async (client) => {
        const control = await client.connect();
        const live = async () => {
          await delay(settleMs);
          return client.liveHeapBytes();
        };
        // The first thousands leave code and JIT data behind.
        await comeAndGo(client, control, count);
        await comeAndGo(client, control, count);
        const before = await live();
        const sessions = await client.sessions(control, count);
        const idle = await live();
        const streams = await listen(client, sessions);
        const listening = await live();
        await leave(client, control, sessions, streams);
        const after = await live();
        return {
          'held.session': (idle - before) / KiB / count,
          'held.stream': (listening - idle) / KiB / count,
          'held.deleted': (after - before) / count,
        };
      },
      { heapProbe: true },
    ),
};

async function comeAndGo(client: HttpClient, control: Connection, count: number): Promise<void> {
  const sessions = await client.sessions(control, count);
  await leave(client, control, sessions, await listen(client, sessions));
}

/** Opens a stream per session, each on its own connection. */
async function listen(
  client: HttpClient,
  sessions: readonly Session[],
): Promise<readonly Connection[]> {
  const streams: Connection[] = [];
  for (const session of sessions) {
    const connection = await client.connect();
    await client.listen(connection, session, () => {});
    streams.push(connection);
  }
  return streams;
}

async function leave(
  client: HttpClient,
  control: Connection,
  sessions: readonly Session[],
  streams: readonly Connection[],
): Promise<void> {
  for (const stream of streams) stream.close();
  for (const session of sessions) await client.end(control, session);
}

/** Long enough for a batch of sessions to begin. */
const idleMs = 1_500;

export const kept: HttpMeasure = {
  name: 'kept',
  metrics: [
    {
      key: 'kept.abandoned',
      title: 'live heap kept per abandoned session',
      unit: 'B',
      isRatio: false,
      atMost: 200,
    },
  ],
  // The other servers do not expire sessions.
  only: [floorName, ourName],
  run: ({ launch, sizes: { held: count, settleMs } }) =>
    launch(
      async (client) => {
        const control = await client.connect();
        await abandon(client, control, count);
        await abandon(client, control, count);
        await delay(settleMs);
        const before = await client.liveHeapBytes();
        await abandon(client, control, count);
        await delay(settleMs);
        return { 'kept.abandoned': ((await client.liveHeapBytes()) - before) / count };
      },
      { heapProbe: true, env: { SESSION_IDLE_MS: String(idleMs) } },
    ),
};

/** Sessions left idle until they expire. */
async function abandon(client: HttpClient, control: Connection, count: number): Promise<void> {
  const sessions = await client.sessions(control, count);
  const last = sessions.at(-1);
  if (last === undefined) throw new Error('there are no sessions');
  await delay(3 * idleMs);
  const status = await client.statusOf(control, last, ping);
  if (status !== 404) client.fail(`a session that was abandoned is answered with ${status}`);
}
