/** What a measure is: something that is done with one server process, and the numbers that come of it. */
import type { HttpSizes } from '../http/http-sizes.ts';
import type { RawClient, RawClientOptions } from '../raw-client.ts';

/** A number that a measure gives. */
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
  /** It is not measured itself: it is what the metric of this key is above the floor's in the same round. */
  readonly aboveFloor?: string;
  /** Ratios are shown of costs; a rate is shown as it is. */
  readonly isRatio: boolean;
  /** The most that we allow ourselves: of the ratio to the floor where that is shown, or else of the value. */
  readonly atMost?: number;
}

/** How much is done. */
export interface Sizes {
  readonly rounds: number;
  /** How often a measure that is short is done in each round. */
  readonly repeats: number;
  /** Requests one after the other. */
  readonly sequential: number;
  /** Messages before a throughput is measured: the compiler's work is not the server's. */
  readonly warmUp: number;
  /** Messages of a throughput. */
  readonly messages: number;
  /** What a session sees that has just begun. */
  readonly early: {
    /** Messages before the echoes. */
    readonly before: number;
    readonly echoes: number;
    /** Requests of the server before those that are measured. */
    readonly rootsBefore: number;
    readonly roots: number;
  };
  /** Short sessions from start to end. */
  readonly sessions: number;
  /** Lengths of echoed texts, bytes. */
  readonly large: readonly number[];
  readonly largeRepeats: number;
  /** Requests of the server to the client. */
  readonly asked: number;
  /** Calls after which the memory is looked at. */
  readonly calls: number;
  /** Calls that are cancelled before the memory is looked at; four times as many follow. */
  readonly cancelled: number;
  readonly pending: number;
  /** Answers of 512 KiB that are not read. */
  readonly unread: number;
  readonly http: HttpSizes;
  /** How long a process is left alone before its memory is read, milliseconds. */
  readonly settleMs: number;
  /** A server that says nothing for so long while something is awaited counts as hanging, milliseconds. */
  readonly silenceMs: number;
}

/** One server, and how much is to be done with it. */
export interface Bench {
  readonly sizes: Sizes;
  /** Keeps what has been measured so far, should the rest fail. */
  keep(sample: Sample): void;
  /** Starts the server, does `body`, and ends it. Rejects where the client breaks meanwhile. */
  launch<T>(
    body: (client: RawClient) => Promise<T>,
    options?: Pick<RawClientOptions, 'heapProbe' | 'isPinned'>,
  ): Promise<T>;
}

/** The metrics' values by their keys. */
export type Sample = Readonly<Record<string, number>>;

/** What a table knows of a measure. */
export interface Measured {
  readonly name: string;
  readonly metrics: readonly Metric[];
  /** Done several times in a round: it takes so little time that one value says little. */
  readonly isShort?: boolean;
  /** The servers that have what is measured; without it all of them. */
  readonly only?: readonly string[];
  /** Why it cannot be done on this machine; undefined if it can. */
  readonly missing?: () => string | undefined;
}

/** A measure of a server over stdio. */
export interface Measure extends Measured {
  /** Rejects with what the server has done wrong. */
  run(bench: Bench): Promise<Sample>;
}

/** The value that a share of the values does not exceed. */
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

/** Once each unseen, then in short bursts, there and back: what changes on the machine meanwhile meets all alike. */
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
