/** A session in constant use at alternating nodes during failures. */
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { MachineTime } from '../../../test/tooling/machine-time.ts';
import { RawSession } from '../../http/test/raw-client.ts';

/**
 * Time limit of a request, ms: five seconds until it is rejected, plus the delays of a busy
 * machine.
 */
const patienceMs = 30_000;

export class BusySession {
  readonly #places: readonly RawSession[];
  readonly #tool: string;
  readonly #time = new MachineTime();
  #phase: 'busy' | 'resting' = 'busy';
  /** Answers that contradict the docs. */
  readonly wrong: string[] = [];
  served = 0;
  refused = 0;
  readonly #over: Promise<void>;

  /** @param tool tool to call, which may run twice */
  constructor(nodes: readonly URL[], { headers }: RawSession, tool: string) {
    this.#places = nodes.map((url) => new RawSession(url, headers));
    this.#tool = tool;
    this.#over = this.#run().catch((error: unknown) => void this.wrong.push(String(error)));
    onTestFinished(() => this.rest());
  }

  /** Resolves after the last answer. */
  async rest(): Promise<void> {
    this.#phase = 'resting';
    await this.#over;
  }

  /** Status of a request at each node. */
  statuses(): Promise<readonly number[]> {
    return Promise.all(
      this.#places.map(async (place) => {
        const response = await place.request('ping');
        await response.text();
        return response.status;
      }),
    );
  }

  async #run(): Promise<void> {
    for (let n = 0; this.#phase === 'busy'; n++) {
      const place = this.#places[n % this.#places.length] as RawSession;
      const began = this.#time.now;
      const response = await place.call(this.#tool);
      const text = await response.text();
      const took = this.#time.now - began;
      const isRefused = response.status === 503 && Number(response.headers.get('retry-after')) > 0;
      const isServed = response.status === 200 && text.includes('"result"');
      // A promoted replica may lack writes that were still being replicated.
      const isLost = response.status === 200 && text.includes('"reason":"process-ended"');
      if (isRefused) this.refused++;
      else if (isServed) this.served++;
      else if (!isLost) this.wrong.push(`${response.status} ${text}`);
      if (took > patienceMs) this.wrong.push(`${response.status} after ${took} ms`);
      // The pause leaves CPU time for the failover.
      await setTimeout(isRefused ? 50 : 25);
    }
  }
}
