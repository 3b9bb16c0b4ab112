/** Notifications on GET streams: list changes, and log messages of 1 KiB. */
import { call, isText } from '../../conversation.ts';
import type { Metric } from '../../measures/measure.ts';
import { KiB } from '../../measures/measure.ts';
import type { Message } from '../../raw-client.ts';
import type { Connection } from '../connection.ts';
import type { HttpClient } from '../http-client.ts';
import type { HttpMeasure } from './measure.ts';

const kinds = [
  { key: 'changes', title: 'list change on GET streams, each', method: 'tools/list_changed' },
  { key: 'messages', title: 'log message of 1 KiB, each', method: 'message', bytes: KiB },
] as const;

export const pushes: HttpMeasure = {
  name: 'pushes',
  metrics: kinds.map(({ key, title }): Metric => ({
    key: `pushes.${key}.cpu`,
    title: `${title}, CPU`,
    unit: 'µs',
    isRatio: true,
    atMost: 1.5,
  })),
  run: ({ launch, keep, sizes: { streams, notifications, notifyingCalls } }) =>
    launch(async (client) => {
      const control = await client.connect();
      const caller = await client.greet(control);
      const counter = new Counter(client);
      await counter.open(control, streams);
      const sample: Record<string, number> = {};
      const times = (count: number, method: string, bytes?: number) =>
        repeat(count, async () => {
          const all = counter.expect(`notifications/${method}`, notifications);
          const args = { count: notifications, bytes };
          await client.request(control, caller, call('notify', args), isText('done'));
          await all;
        });
      for (const { key, method, ...rest } of kinds) {
        const bytes = 'bytes' in rest ? rest.bytes : undefined;
        await times(Math.ceil(notifyingCalls / 2), method, bytes);
        const cpuBefore = client.cpuMs;
        await times(notifyingCalls, method, bytes);
        const count = notifyingCalls * notifications * streams;
        sample[`pushes.${key}.cpu`] = ((client.cpuMs - cpuBefore) * 1000) / count;
        keep({ ...sample });
      }
      return sample;
    }),
};

async function repeat(times: number, body: () => Promise<void>): Promise<void> {
  for (let done = 0; done < times; done++) await body();
}

/** Counts messages per session stream: each must get exactly the expected number. */
class Counter {
  readonly #client: HttpClient;
  readonly #left: number[] = [];
  #method = '';
  #incomplete = 0;
  #complete: () => void = () => {};

  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Opens streams of new sessions. */
  async open(control: Connection, count: number): Promise<void> {
    for (const session of await this.#client.sessions(control, count)) {
      const at = this.#left.push(0) - 1;
      await this.#client.listen(await this.#client.connect(), session, (message) =>
        this.#take(at, message),
      );
    }
  }

  /** Resolves when each stream has received this many. */
  expect(method: string, count: number): Promise<void> {
    this.#method = method;
    this.#left.fill(count);
    this.#incomplete = this.#left.length;
    return new Promise((resolve) => {
      this.#complete = resolve;
    });
  }

  #take(at: number, { method, id }: Message): void {
    const left = (this.#left[at] ?? 0) - 1;
    if (method !== this.#method || left < 0) {
      return this.#client.fail(`unexpected on a GET stream: ${method ?? `an answer to ${id}`}`);
    }
    this.#left[at] = left;
    if (left > 0) return;
    this.#incomplete -= 1;
    if (this.#incomplete === 0) this.#complete();
  }
}
