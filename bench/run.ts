/** Runs measures on servers: A B C A B C, so that what changes on the machine meanwhile meets all of them alike. */
import { tmpdir } from 'node:os';
import { asking } from './measures/asking.ts';
import { large } from './measures/large.ts';
import { latency } from './measures/latency.ts';
import type { Bench, Measure, Sample, Sizes } from './measures/measure.ts';
import { cancelled, memory, pending } from './measures/memory.ts';
import { early, session } from './measures/short.ts';
import { start } from './measures/start.ts';
import { echoThroughput, envelopedThroughput, pingThroughput } from './measures/throughput.ts';
import { unread } from './measures/unread.ts';
import { RawClient } from './raw-client.ts';
import type { Server } from './servers.ts';

/** In the order in which they run. */
export const measures: readonly Measure[] = [
  start,
  latency,
  pingThroughput,
  echoThroughput,
  envelopedThroughput,
  large,
  asking,
  early,
  session,
  memory,
  cancelled,
  pending,
  unread,
];

/** What came of one measure on one server: a sample each time, and what went wrong in the round that failed, which is the last. */
export interface Outcome {
  readonly server: string;
  readonly measure: string;
  readonly samples: readonly Sample[];
  readonly failure: string | undefined;
}

export interface Plan {
  readonly servers: readonly Server[];
  readonly measures: readonly Measure[];
  readonly sizes: Sizes;
  /** Flags for `node`, before the server's module. */
  readonly nodeFlags: readonly string[];
  /** Hears of each measure before it is run. */
  readonly onStep: (round: number, measure: Measure, server: Server) => void;
}

/** Measures everything. A server that fails a measure is not asked for it again; the failure is its outcome. */
export async function run(plan: Plan): Promise<readonly Outcome[]> {
  const records = plan.measures.map((measure) => ({
    measure,
    runs: plan.servers.map((server) => new Run(server, measure)),
  }));
  for (let round = 1; round <= plan.sizes.rounds; round++) {
    for (const { measure, runs } of records) {
      const times = measure.isShort === true ? plan.sizes.repeats : 1;
      for (let time = 0; time < times; time++) {
        for (const one of runs) {
          if (one.failure !== undefined) continue;
          plan.onStep(round, measure, one.server);
          await one.add(plan);
        }
      }
    }
  }
  return records.flatMap(({ runs }) => runs.map((one) => one.outcome));
}

class Run {
  readonly server: Server;
  readonly #measure: Measure;
  readonly #samples: Sample[] = [];
  failure: string | undefined;

  constructor(server: Server, measure: Measure) {
    this.server = server;
    this.#measure = measure;
  }

  get outcome(): Outcome {
    const { server, failure } = this;
    return { server: server.name, measure: this.#measure.name, samples: this.#samples, failure };
  }

  async add({ sizes, nodeFlags }: Plan): Promise<void> {
    let kept: Sample | undefined = undefined;
    const bench: Bench = {
      sizes,
      keep: (sample) => {
        kept = sample;
      },
      launch: (body, given) => {
        const options = { cwd: tmpdir(), silenceMs: sizes.silenceMs, ...given };
        return withClient(new RawClient([...nodeFlags, this.server.module], options), body);
      },
    };
    try {
      this.#samples.push(await this.#measure.run(bench));
    } catch (error) {
      if (kept !== undefined) this.#samples.push(kept);
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}

async function withClient<T>(
  client: RawClient,
  body: (client: RawClient) => Promise<T>,
): Promise<T> {
  try {
    return await Promise.race([body(client), client.broken]);
  } finally {
    await client.close();
  }
}
