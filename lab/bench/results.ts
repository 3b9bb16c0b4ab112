/** Aggregates a run: medians, and ratios to the floor and to ours. */
import { cpus, loadavg, totalmem } from 'node:os';
import { median } from './measures/measure.ts';
import type { Measured, Metric } from './measures/measure.ts';
import type { Outcome } from './run.ts';
import { goals } from './goals.ts';
import { floorName, ourName } from './servers.ts';

/** One metric of one server. */
export interface Cell {
  readonly server: string;
  /** Median over the rounds; undefined if the server failed. */
  readonly value: number | undefined;
  /**
   * Ratio to the floor: the median of the rounds' ratios, because changes of the machine affect
   * both in a round.
   */
  readonly toFloor: number | undefined;
  /** Ratio to ours, computed likewise. */
  readonly toOurs: number | undefined;
  readonly rounds: readonly number[];
  readonly failure: string | undefined;
  /** False if the metric does not apply to the server. */
  readonly applies: boolean;
}

export interface Row extends Metric {
  readonly measure: string;
  readonly cells: readonly Cell[];
}

/** Date and machine of a run. */
export interface Circumstances {
  readonly date: string;
  readonly command: string;
  readonly node: string;
  readonly platform: string;
  readonly processors: number;
  readonly memoryGiB: number;
  /** One-minute load average before the first measure; above 1, other work was running. */
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

/** Load before a run above which its numbers are affected by other work. */
export const quietLoad = 1;

export function loadNow(): number {
  return loadavg()[0] ?? 0;
}

/** @param versions versions of the measured packages, by table name */
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

/** Table rows in the order of the measures. */
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

/** Median of the ratios over rounds that both have; undefined without any. */
function ratio(rounds: readonly number[], base: readonly number[]): number | undefined {
  const ratios = rounds.flatMap((value, round) => {
    const divisor = base[round] ?? 0;
    return divisor > 0 ? [value / divisor] : [];
  });
  return usable(median(ratios));
}
