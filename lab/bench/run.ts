/** Runs measures on servers: A B C A B C, so that what changes on the machine meanwhile meets all of them alike. */
import type { Measured, Sample, Sizes } from './measures/measure.ts';
import type { Server } from './servers.ts';

/** What a measure needs to be done on a server. */
export interface Conduct {
  readonly sizes: Sizes;
  /** Flags for `node`, before the server's module. */
  readonly nodeFlags: readonly string[];
  /** Keeps what has been measured so far, should the rest fail. */
  keep(sample: Sample): void;
}

/** A measure, whatever it speaks to a server with. */
export interface Task extends Measured {
  /** Rejects with what the server has done wrong. */
  runOn(server: Server, conduct: Conduct): Promise<Sample>;
}

/** What came of one measure on one server: a sample each time, and what went wrong in the round that failed, which is the last. */
export interface Outcome {
  readonly server: string;
  readonly measure: string;
  /** False if the server has nothing that could be measured. */
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
  /** Hears of each measure before it is run. */
  readonly onStep: (round: number, task: Task, server: Server) => void;
}

/** Measures everything. A server that fails a measure is not asked for it again; the failure is its outcome. */
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
