/**
 * Requests of the server to the client: sequentially, and all at once with answers out of order.
 */
import { call, greet, isEmpty, isText, ping } from '../conversation.ts';
import type { RawClient } from '../raw-client.ts';
import type { Measure, Metric } from './measure.ts';

const ways = ['sequential', 'concurrent'] as const;

export const asking: Measure = {
  name: 'asking',
  metrics: ways.flatMap((way): readonly Metric[] => [
    { key: `roots.${way}.cpu`, title: `roots/list ${way}, CPU`, unit: 'µs', isRatio: true },
    { key: `roots.${way}.rate`, title: `roots/list ${way}, rate`, unit: 'msg/s', isRatio: false },
  ]),
  run: ({ launch, sizes: { asked, warmUp } }) =>
    launch(async (client) => {
      await greet(client);
      await ask(client, 'concurrent', Math.ceil(asked / 4));
      // JIT compilation of one request's path takes thousands of requests.
      await ask(client, 'sequential', Math.min(warmUp, asked));
      const sequential = await ask(client, 'sequential', asked);
      const concurrent = await ask(client, 'concurrent', asked);
      return {
        'roots.sequential.cpu': sequential.cpuUs,
        'roots.sequential.rate': sequential.rate,
        'roots.concurrent.cpu': concurrent.cpuUs,
        'roots.concurrent.rate': concurrent.rate,
      };
    }),
};

/**
 * Makes the server send this many requests; returns the cost per request and the rate per second.
 */
export async function ask(
  client: RawClient,
  way: (typeof ways)[number],
  count: number,
): Promise<{ readonly cpuUs: number; readonly rate: number }> {
  const concurrent = way === 'concurrent';
  const cpuBefore = client.cpuMs;
  const startedAt = performance.now();
  const responder = new Responder(client, count, concurrent);
  await client.request(call('roots', { count, concurrent }), isText(weightOf(count)));
  const wallMs = client.receivedAt - startedAt;
  await responder.pinged;
  return {
    cpuUs: ((client.cpuMs - cpuBefore) * 1000) / count,
    rate: (count * 1000) / wallMs,
  };
}

/** Expected tool result: the k-th request is answered with k, and the server weighs it by k. */
export function weightOf(count: number): string {
  let sum = 0;
  for (let number = 1; number <= count; number++) sum += number * number;
  return String(sum);
}

/** A `roots/list` result that carries a number. */
export function rootsAnswer(id: number | string, number: number): object {
  const roots = [{ uri: `file:///bench/${number}`, name: String(number) }];
  return { jsonrpc: '2.0', id, result: { roots } };
}

/**
 * Answers the requests of a chunk in one write: last first, with a ping of the client among them,
 * and the very first request only when nothing else is left.
 */
class Responder {
  readonly #client: RawClient;
  readonly #count: number;
  readonly #outOfOrder: boolean;
  #taken = 0;
  #answers: object[] = [];
  #first: object | undefined;
  #pings: Promise<void>[] = [];

  constructor(client: RawClient, count: number, outOfOrder: boolean) {
    this.#client = client;
    this.#count = count;
    this.#outOfOrder = outOfOrder;
    client.onRequest = (id, method) => this.#take(id, method);
    client.onChunkEnd = () => this.#answer();
  }

  /** Resolves when the client's own requests are answered as well. */
  get pinged(): Promise<unknown> {
    return Promise.all(this.#pings);
  }

  #take(id: number | string, method: string): void {
    if (method !== 'roots/list') return this.#client.fail(`an unexpected request: ${method}`);
    const answer = rootsAnswer(id, ++this.#taken);
    if (this.#outOfOrder && this.#taken === 1) this.#first = answer;
    else this.#answers.push(answer);
  }

  #answer(): void {
    const answers = this.#answers;
    this.#answers = [];
    if (this.#taken === this.#count && this.#first) {
      answers.unshift(this.#first);
      this.#first = undefined;
    }
    if (answers.length === 0) return;
    if (this.#outOfOrder) this.#pings.push(this.#client.request(ping, isEmpty));
    this.#client.write(this.#outOfOrder ? answers.toReversed() : answers);
  }
}
