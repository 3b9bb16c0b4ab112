/** A run's outcomes as numbers: medians, and ratios to the floor and to ours. */
import { cpus, loadavg, totalmem } from 'node:os';
import { median } from './measures/measure.ts';
import type { Measured, Metric } from './measures/measure.ts';
import type { Outcome } from './run.ts';
import { goals } from './goals.ts';
import { floorName, ourName } from './servers.ts';

/** One metric of one server. */
export interface Cell {
  readonly server: string;
  /** Median of the rounds; undefined where the server has failed. */
  readonly value: number | undefined;
  /** To the floor: the median of the rounds' ratios, because a machine whose speed changes meets both in the same round. */
  readonly toFloor: number | undefined;
  /** To ours, likewise: how much dearer than ours. */
  readonly toOurs: number | undefined;
  readonly rounds: readonly number[];
  readonly failure: string | undefined;
  /** False if the server has nothing that could be measured. */
  readonly applies: boolean;
}

export interface Row extends Metric {
  readonly measure: string;
  readonly cells: readonly Cell[];
}

/** Where and when. The machine is told by what matters for the numbers. */
export interface Circumstances {
  readonly date: string;
  readonly command: string;
  readonly node: string;
  readonly platform: string;
  readonly processors: number;
  readonly memoryGiB: number;
  /** The one-minute average before the first measure; above 1 something else was running. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly versions: Readonly<Record<string, string | undefined>>;
}

export interface Results {
  readonly circumstances: Circumstances;
  readonly rows: readonly Row[];
  readonly failures: readonly {
    readonly server: string;
    readonly measure: string;
    readonly failure: string;
  }[];
}

/** Load above this before a run means that its numbers say something about the machine's other work too. */
export const quietLoad = 1;

export function loadNow(): number {
  return loadavg()[0] ?? 0;
}

/** @param versions of the packages that were measured, by the names in the tables */
export function circumstances(
  loadBefore: number,
  versions: Circumstances['versions'],
): Circumstances {
  return {
    date: new Date().toISOString().slice(0, 10),
    command: ['npm run lab -- bench', ...process.argv.slice(2)].join(' '),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processors: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadBefore,
    loadAfter: loadNow(),
    versions,
  };
}

/** The table's rows, in the order of the measures. */
export function rowsOf(
  measures: readonly Measured[],
  outcomes: readonly Outcome[],
): readonly Row[] {
  return measures.flatMap((measure) => {
    const own = outcomes.filter((outcome) => outcome.measure === measure.name);
    return measure.metrics.map((metric) => rowOf(measure.name, metric, own));
  });
}

function rowOf(measure: string, metric: Metric, outcomes: readonly Outcome[]): Row {
  const key = metric.aboveFloor ?? metric.key;
  const roundsOf = ({ samples }: Outcome) => samples.flatMap((sample) => sample[key] ?? []);
  const floor = outcomes.find(({ server }) => server === floorName);
  const base = metric.aboveFloor !== undefined && floor ? roundsOf(floor) : [];
  const values = outcomes.map((outcome) => {
    const { server, failure, applies = true } = outcome;
    const rounds = roundsOf(outcome).map((value, round) => value - (base[round] ?? 0));
    return { server, rounds, failure, applies, value: usable(median(rounds)) };
  });
  const of = (name: string) => values.find(({ server }) => server === name)?.rounds ?? [];
  const atMost = goals[metric.key];
  return {
    ...metric,
    ...(atMost === undefined ? {} : { atMost }),
    measure,
    cells: values.map((cell) => ({
      ...cell,
      toFloor: ratio(cell.rounds, of(floorName)),
      toOurs: ratio(cell.rounds, of(ourName)),
    })),
  };
}

function usable(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** The median of the ratios of the rounds that both have; undefined where there are none. */
function ratio(rounds: readonly number[], base: readonly number[]): number | undefined {
  const ratios = rounds.flatMap((value, round) => {
    const divisor = base[round] ?? 0;
    return divisor > 0 ? [value / divisor] : [];
  });
  return usable(median(ratios));
}
