/**
 * Runs measures on servers in the order A B C A B C, so that changes of the machine affect all
 * equally.
 */
import type { Measured, Sample, Sizes } from './measures/measure.ts';
import type { Server } from './servers.ts';

/** Parameters for running a measure on a server. */
export interface Conduct {
  readonly sizes: Sizes;
  /** Flags for `node`, before the server's module. */
  readonly nodeFlags: readonly string[];
  /** Stores partial results in case the rest fails. */
  keep(sample: Sample): void;
}

/** A measure, independent of the transport. */
export interface Task extends Measured {
  /** Rejects with the server's fault. */
  runOn(server: Server, conduct: Conduct): Promise<Sample>;
}

/**
 * Outcome of one measure on one server: a sample per round, and the fault of the round that failed,
 * which is the last.
 */
export interface Outcome {
  readonly server: string;
  readonly measure: string;
  /** False if the measure does not apply to the server. */
  readonly applies?: boolean;
  readonly samples: readonly Sample[];
  readonly failure: string | undefined;
}

export interface Plan {
  readonly servers: readonly Server[];
  readonly tasks: readonly Task[];
  readonly sizes: Sizes;
  /** Flags for `node`, before the server's module. */
  readonly nodeFlags: readonly string[];
  /** Called before each measure. */
  readonly onStep: (round: number, task: Task, server: Server) => void;
}

/**
 * Measures everything. A server that fails a measure is not tried again; the failure is its
 * outcome.
 */
export async function run(plan: Plan): Promise<readonly Outcome[]> {
  const records = plan.tasks.map((task) => ({
    task,
    runs: plan.servers.map((server) => new Run(server, task)),
  }));
  for (let round = 1; round <= plan.sizes.rounds; round++) {
    for (const { task, runs } of records) {
      const times = task.isShort === true ? plan.sizes.repeats : 1;
      for (let time = 0; time < times; time++) {
        for (const one of runs) {
          if (!one.applies || one.failure !== undefined) continue;
          plan.onStep(round, task, one.server);
          await one.add(plan);
        }
      }
    }
  }
  return records.flatMap(({ runs }) => runs.map((one) => one.outcome));
}

class Run {
  readonly server: Server;
  readonly applies: boolean;
  readonly #task: Task;
  readonly #samples: Sample[] = [];
  failure: string | undefined;

  constructor(server: Server, task: Task) {
    this.server = server;
    this.applies = task.only?.includes(server.name) ?? true;
    this.#task = task;
  }

  get outcome(): Outcome {
    const { server, applies, failure } = this;
    const measure = this.#task.name;
    return { server: server.name, measure, applies, samples: this.#samples, failure };
  }

  async add({ sizes, nodeFlags }: Plan): Promise<void> {
    let kept: Sample | undefined = undefined;
    const keep = (sample: Sample) => {
      kept = sample;
    };
    try {
      this.#samples.push(await this.#task.runOn(this.server, { sizes, nodeFlags, keep }));
    } catch (error) {
      if (kept !== undefined) this.#samples.push(kept);
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}
