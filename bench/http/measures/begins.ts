/** Sessions that begin and end: `initialize`, and DELETE. */
import type { Connection } from '../connection.ts';
import type { HttpClient } from '../http-client.ts';
import type { HttpMeasure } from './measure.ts';

export const begins: HttpMeasure = {
  name: 'begins',
  metrics: [
    { key: 'begin.cpu', title: 'initialize, CPU', unit: 'µs', isRatio: true },
    { key: 'end.cpu', title: 'DELETE, CPU', unit: 'µs', isRatio: true },
    {
      key: 'beginAndEnd.cpu',
      title: 'initialize and DELETE, CPU',
      unit: 'µs',
      isRatio: true,
      atMost: 2.2,
    },
  ],
  run: ({ launch, sizes: { begun, lanes } }) =>
    launch(async (client) => {
      const connections = await client.connections(lanes);
      await beginAndEnd(client, connections, Math.ceil(begun / 2));
      const { beginMs, endMs } = await beginAndEnd(client, connections, begun);
      return {
        'begin.cpu': (beginMs * 1000) / begun,
        'end.cpu': (endMs * 1000) / begun,
        'beginAndEnd.cpu': ((beginMs + endMs) * 1000) / begun,
      };
    }),
};

/** In so many steps: sessions begin, and all of them end. */
const together = 100;

async function beginAndEnd(
  client: HttpClient,
  connections: readonly Connection[],
  count: number,
): Promise<{ readonly beginMs: number; readonly endMs: number }> {
  let beginMs = 0;
  let endMs = 0;
  for (let done = 0; done < count; done += together) {
    const step = Math.min(together, count - done);
    const before = client.cpuMs;
    const sessions = await spread(connections, step, (connection) => client.begin(connection));
    const between = client.cpuMs;
    await spread(connections, step, (connection, at) => {
      const session = sessions[at];
      if (session === undefined) throw new Error('a session is missing');
      return client.end(connection, session);
    });
    beginMs += between - before;
    endMs += client.cpuMs - between;
  }
  return { beginMs, endMs };
}

/** Does something so often, once at a time on each connection. */
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
