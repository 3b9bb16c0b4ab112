/**
 * Cost of storing tasks: for ordinary calls, for tasks, while tasks wait, and when nodes share the
 * claims.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { call, initialize, isIntroduction, isText } from '../conversation.ts';
import { echoes, exchange } from '../measures/exchange.ts';
import { byTurns } from '../measures/measure.ts';
import type { Measured, Metric, Sample, Sizes } from '../measures/measure.ts';
import type { Asked, RawClient, RawClientOptions } from '../raw-client.ts';
import { storeKinds } from './stores.ts';
import type { OpenStore } from './stores.ts';

export interface TaskBench {
  readonly sizes: Sizes;
  /** The measured store. */
  readonly store: OpenStore;
  /** Runs `body` with a server that stores its tasks there. */
  launch<T>(
    body: (client: RawClient) => Promise<T>,
    options?: Pick<RawClientOptions, 'heapProbe'> & { readonly isDurable?: boolean },
  ): Promise<T>;
}

/** A measure of a server with a task store. */
export interface TaskMeasure extends Measured {
  /** Rejects with the server's fault. */
  run(bench: TaskBench): Promise<Sample>;
}

const [, ...kinds] = storeKinds.map(({ name }) => name);

const metric = (key: string, title: string, unit: Metric['unit']): Metric => ({
  key,
  title,
  unit,
  isRatio: false,
});

/** Initializes in the revision in which tasks are awaited by a request. */
async function greet(client: RawClient): Promise<void> {
  const { method, params } = initialize;
  const tasked = { method, params: { ...params, protocolVersion: '2025-11-25' } };
  await client.request(tasked, isIntroduction);
  client.write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
}

/** Result of a request. */
async function resultOf<T>(client: RawClient, asked: Asked): Promise<T> {
  let result: unknown = undefined;
  await client.request(asked, (given) => {
    result = given;
    return undefined;
  });
  return result as T;
}

async function textOf(client: RawClient, name: string, args: object = {}): Promise<string> {
  const { content } = await resultOf<{ readonly content: readonly [{ readonly text: string }] }>(
    client,
    call(name, args),
  );
  return content[0].text;
}

/**
 * Begins a task.
 *
 * @returns its id
 */
async function begin(client: RawClient, name: string, text: string): Promise<string> {
  const { method, params } = call(name, { text });
  const asked = { method, params: { ...params, task: { ttl: 600_000 } } };
  const { task } = await resultOf<{ readonly task: { readonly taskId: string } }>(client, asked);
  return task.taskId;
}

/** Runs an action this many times, a few concurrently. */
async function each(count: number, act: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: 32 }, lane));
}

/** Two processes alternately, in short bursts. */
export const calls: TaskMeasure = {
  name: 'calls',
  metrics: [
    metric('calls.without', 'a call without `durable`, 16 in flight, CPU', 'µs'),
    metric('calls.with', 'a call with it, CPU', 'µs'),
    { ...metric('calls.ratio', 'with it to without', 'ratio'), atMost: 1.05 },
  ],
  run: ({ launch, sizes: { warmUp, messages, http } }) =>
    launch(
      (without) =>
        launch(async (with_) => {
          const few = Math.ceil(messages / 5);
          const burst = (client: RawClient) => async () =>
            ((await exchange(client, echoes, few, 16)).cpuMs * 1000) / few;
          for (const client of [without, with_]) {
            await greet(client);
            await exchange(client, echoes, 2 * warmUp, 16);
          }
          const [off, on] = await byTurns(3 * http.turns, [burst(without), burst(with_)]);
          return { 'calls.without': off, 'calls.with': on, 'calls.ratio': on / off };
        }),
      { isDurable: false },
    ),
};

/** A task, and the request that waits for its result. */
export const tasks: TaskMeasure = {
  name: 'tasks',
  metrics: [
    metric('tasks.say', 'a task and its result, 32 in flight, CPU of the server', 'µs'),
    metric('tasks.say.store', 'CPU of the store beside that', 'µs'),
    metric('tasks.say.writes', 'what of it is written', 'writes'),
    metric('tasks.keep', 'a task that goes on, with one step, CPU of the server', 'µs'),
    metric('tasks.keep.store', 'CPU of the store beside that', 'µs'),
    metric('tasks.keep.writes', 'what of it is written', 'writes'),
  ],
  run: ({ launch, store, sizes: { asked } }) =>
    launch(async (client) => {
      await greet(client);
      const count = Math.ceil(asked / 10);
      const one = (name: string) => async (at: number) => {
        const taskId = await begin(client, name, `text number ${at}`);
        const result = { method: 'tasks/result', params: { taskId } };
        await client.request(result, isText(`text number ${at}`));
      };
      const sample: Record<string, number> = {};
      for (const name of ['say', 'keep'] as const) {
        await each(count, one(name));
        const before = { server: client.cpuMs, store: store.cpuMs };
        const writes = Number(await textOf(client, 'writes'));
        await each(count, one(name));
        const key = `tasks.${name}`;
        sample[key] = ((client.cpuMs - before.server) * 1000) / count;
        sample[`${key}.store`] = ((store.cpuMs - before.store) * 1000) / count;
        sample[`${key}.writes`] = (Number(await textOf(client, 'writes')) - writes) / count;
      }
      return sample;
    }),
};

/**
 * Tasks that sleep for an hour: in the process that began them, and in one that may resume them.
 */
export const waiting: TaskMeasure = {
  name: 'waiting',
  metrics: [
    metric('waiting.rest.none', 'CPU in a second at rest, if no task waits', 'ms'),
    metric('waiting.rest', 'CPU in a second at rest, while many tasks wait for an hour', 'ms'),
    metric('waiting.heap', 'live heap per task that waits, in the process that began it', 'B'),
    metric('waiting.heap.other', 'live heap per task that waits, in another one', 'B'),
  ],
  only: kinds,
  run: ({ launch, store, sizes: { pending: count, settleMs } }) => {
    const heapProbe = true;
    const restMs = 10 * settleMs;
    const atRest = async (client: RawClient): Promise<number> => {
      await delay(settleMs);
      const before = client.cpuMs + store.cpuMs;
      await delay(restMs);
      return (client.cpuMs + store.cpuMs - before) / (restMs / 1000);
    };
    const emptyHeap = async (client: RawClient): Promise<number> => {
      await greet(client);
      return client.liveHeapBytes();
    };
    return launch(
      async (client) => {
        await greet(client);
        const none = await atRest(client);
        // One-time costs do not belong to a task.
        await each(100, async () => void (await begin(client, 'wait', '')));
        const before = await client.liveHeapBytes();
        const otherBefore = await launch(emptyHeap, { heapProbe });
        await each(count, async () => void (await begin(client, 'wait', '')));
        const after = await client.liveHeapBytes();
        const otherAfter = await launch(emptyHeap, { heapProbe });
        return {
          'waiting.rest.none': none,
          'waiting.rest': await atRest(client),
          'waiting.heap': (after - before) / count,
          'waiting.heap.other': (otherAfter - otherBefore) / count,
        };
      },
      { heapProbe },
    );
  },
};

const nodes = [1, 2, 3] as const;

/** Nodes that claim and finish due tasks concurrently until none is left. */
export const claims: TaskMeasure = {
  name: 'claims',
  metrics: nodes.flatMap((count) => {
    const by = count === 1 ? 'a node' : `${count} nodes`;
    return [
      metric(`claims.${count}`, `a task claimed and ended by ${by}, CPU with the store`, 'µs'),
      metric(`claims.${count}.rate`, `tasks that ${by} claimed and ended in a second`, 'tasks/s'),
    ];
  }),
  only: kinds,
  run: async ({ launch, store, sizes: { asked } }) => {
    const sample: Record<string, number> = {};
    const few = { count: Math.ceil(asked / 200) };
    const count = 10 * few.count;
    const clients: RawClient[] = [];
    const cpuMs = () => clients.reduce((sum, client) => sum + client.cpuMs, store.cpuMs);
    // A server that is silent for long counts as hung.
    const seeded = async (client: RawClient) => {
      for (let n = 0; n < 10; n++) await textOf(client, 'seed', few);
    };
    const claimed = async () => {
      let sum = 0;
      const untilNone = async (client: RawClient) => {
        for (let had = 1; had > 0; sum += had) had = Number(await textOf(client, 'claim', few));
      };
      await Promise.all(clients.map(untilNone));
      if (sum !== count) throw new Error(`${count} tasks were due, and ${sum} were claimed`);
    };
    const measured = (n: number): Promise<void> =>
      launch(async (client) => {
        await greet(client);
        clients.push(client);
        await seeded(client);
        await claimed();
        await seeded(client);
        const before = cpuMs();
        const startedAt = performance.now();
        await claimed();
        sample[`claims.${n}.rate`] = (count * 1000) / (performance.now() - startedAt);
        sample[`claims.${n}`] = ((cpuMs() - before) * 1000) / count;
        if (n < nodes.length) await measured(n + 1);
      });
    await measured(1);
    return sample;
  },
};
