/** Types of measures, which run operations against a server process and return numbers. */
import type { HttpSizes } from '../http/http-sizes.ts';
import type { RawClient, RawClientOptions } from '../raw-client.ts';

/** A number that a measure returns. */
export interface Metric {
  /** Unique among all measures. */
  readonly key: string;
  readonly title: string;
  readonly unit:
    | 'ms'
    | 'µs'
    | 'msg/s'
    | 'MiB'
    | 'KiB'
    | 'B'
    | 'ratio'
    | 'exponent'
    | 'lost'
    | 'writes'
    | 'tasks/s'
    | 'count';
  /** Derived: the amount by which the metric of this key exceeds the floor's in the same round. */
  readonly aboveFloor?: string;
  /** True for costs, which are shown as ratios; rates are shown as they are. */
  readonly isRatio: boolean;
  /** Upper limit we set ourselves: of the ratio to the floor where shown, else of the value. */
  readonly atMost?: number;
}

/** Amount of work. */
export interface Sizes {
  readonly rounds: number;
  /** Repetitions of a short measure per round. */
  readonly repeats: number;
  /** Sequential requests. */
  readonly sequential: number;
  /** Messages before measuring throughput, to exclude JIT compilation. */
  readonly warmUp: number;
  /** Messages for throughput. */
  readonly messages: number;
  /** Measurements early in a session. */
  readonly early: {
    /** Messages before the echoes. */
    readonly before: number;
    readonly echoes: number;
    /** Server requests before the measured ones. */
    readonly rootsBefore: number;
    readonly roots: number;
  };
  /** Complete short sessions. */
  readonly sessions: number;
  /** Lengths of echoed texts, bytes. */
  readonly large: readonly number[];
  readonly largeRepeats: number;
  /** Requests of the server to the client. */
  readonly asked: number;
  /** Calls before measuring memory. */
  readonly calls: number;
  /** Cancelled calls before measuring memory; four times as many follow. */
  readonly cancelled: number;
  readonly pending: number;
  /** Unread responses of 512 KiB. */
  readonly unread: number;
  readonly http: HttpSizes;
  /** Idle time before measuring a process's memory, ms. */
  readonly settleMs: number;
  /** Silence, while responses are pending, after which a server counts as hung, ms. */
  readonly silenceMs: number;
}

/** One server and the amount of work. */
export interface Bench {
  readonly sizes: Sizes;
  /** Stores partial results in case the rest fails. */
  keep(sample: Sample): void;
  /** Runs `body` with a server. Rejects if the client breaks meanwhile. */
  launch<T>(
    body: (client: RawClient) => Promise<T>,
    options?: Pick<RawClientOptions, 'heapProbe' | 'isPinned'>,
  ): Promise<T>;
}

/** Metric values by key. */
export type Sample = Readonly<Record<string, number>>;

/** Properties of a measure used by tables. */
export interface Measured {
  readonly name: string;
  readonly metrics: readonly Metric[];
  /** True to repeat it within a round, because a single short value is unreliable. */
  readonly isShort?: boolean;
  /** Servers that support it. Default: all. */
  readonly only?: readonly string[];
  /** Reason it cannot run on this machine; undefined if it can. */
  readonly missing?: () => string | undefined;
}

/** A measure of a stdio server. */
export interface Measure extends Measured {
  /** Rejects with the server's fault. */
  run(bench: Bench): Promise<Sample>;
}

/** The given quantile of the values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (!Number.isInteger(middle)) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/**
 * Runs actions alternately: once each as warm-up, then in short bursts back and forth, so that
 * changes on the machine affect all equally.
 */
export async function byTurns<const Acts extends readonly (() => Promise<number>)[]>(
  turns: number,
  acts: Acts,
): Promise<{ readonly [n in keyof Acts]: number }> {
  const bursts = acts.map((act) => ({ act, costs: [] as number[] }));
  for (const { act } of bursts) await act();
  for (let turn = 0; turn < turns; turn++) {
    for (const { act, costs } of [...bursts, ...bursts.toReversed()]) costs.push(await act());
  }
  return bursts.map(({ costs }) => median(costs)) as { readonly [n in keyof Acts]: number };
}

export const KiB = 1024;
export const MiB = 1024 * KiB;
