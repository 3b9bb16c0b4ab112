/**
 * Complete short sessions, as most clients have: `initialize`, `notifications/initialized`, one
 * call, DELETE.
 */
import { echoes } from '../../measures/exchange.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient, Session } from '../http-client.ts';
import type { HttpMeasure } from './measure.ts';

export const begins: HttpMeasure = {
  name: 'begins',
  metrics: [
    { key: 'greeting.cpu', title: 'initialize, CPU', unit: 'µs', isRatio: true },
    {
      key: 'firstCall.cpu',
      title: 'initialized and the first call, CPU',
      unit: 'µs',
      isRatio: true,
    },
    { key: 'end.cpu', title: 'DELETE, CPU', unit: 'µs', isRatio: true },
    {
      key: 'wholeSession.cpu',
      title: 'initialize, initialized, one call and DELETE, CPU',
      unit: 'µs',
      isRatio: true,
      atMost: 3,
    },
  ],
  run: ({ launch, sizes: { begun, lanes } }) =>
    launch(async (client) => {
      const connections = await client.connections(lanes);
      await wholeSessions(client, connections, Math.ceil(begun / 2));
      const { greetingMs, firstCallMs, endMs } = await wholeSessions(client, connections, begun);
      const each = (ms: number) => (ms * 1000) / begun;
      return {
        'greeting.cpu': each(greetingMs),
        'firstCall.cpu': each(firstCallMs),
        'end.cpu': each(endMs),
        'wholeSession.cpu': each(greetingMs + firstCallMs + endMs),
      };
    }),
};

/** Batch size: sessions begin together, call together, and end together. */
const together = 100;

async function wholeSessions(
  client: HttpClient,
  connections: readonly Connection[],
  count: number,
): Promise<{
  readonly greetingMs: number;
  readonly firstCallMs: number;
  readonly endMs: number;
}> {
  let [greetingMs, firstCallMs, endMs] = [0, 0, 0];
  for (let done = 0; done < count; done += together) {
    const step = Math.min(together, count - done);
    const start = client.cpuMs;
    const sessions = await spread(connections, step, (connection) => client.begin(connection));
    const greeted = client.cpuMs;
    const withEach = (act: (connection: Connection, session: Session) => Promise<void>) =>
      spread(connections, step, (connection, at) => {
        const session = sessions[at];
        if (session === undefined) throw new Error('a session is missing');
        return act(connection, session);
      });
    await withEach(async (connection, session) => {
      await client.tell(connection, session, {
        jsonrpc: '2.0',
        method: 'notifications/initialized',
      });
      await client.request(connection, session, echoes.request(0), echoes.check(0));
    });
    const called = client.cpuMs;
    await withEach((connection, session) => client.end(connection, session));
    greetingMs += greeted - start;
    firstCallMs += called - greeted;
    endMs += client.cpuMs - called;
  }
  return { greetingMs, firstCallMs, endMs };
}

/** Runs an action this many times, one at a time per connection. */
async function spread<T>(
  connections: readonly Connection[],
  count: number,
  body: (connection: Connection, at: number) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) {
        const at = next++;
        results[at] = await body(connection, at);
      }
    }),
  );
  return results;
}
