/** How long to wait before connecting to a server again, and when to give up. Pure. */
import { describe } from '../protocol/classify.ts';

/** The times of a policy that tries again. */
export interface RestartTimes {
  /** Before the first new attempt, milliseconds. */
  readonly initialMs: number;
  /** The longest wait, milliseconds. */
  readonly maxMs: number;
  /** Each wait is the previous one times this factor. */
  readonly factor: number;
  /**
   * The fraction by which a wait may be shorter or longer, 0 to 1, so that many clients that lost
   * the same server do not come back at the same moment.
   */
  readonly jitter: number;
  /** How many attempts in a row may fail to become stable; `Infinity` never gives up. */
  readonly maxAttempts: number;
  /**
   * How long a connection must be ready before its attempts count from 0 again, milliseconds. A
   * handshake alone is not enough: a server that greets and dies would be restarted forever.
   */
  readonly stableMs: number;
}

/** `none`: one loss is the end. */
export type RestartPolicy = 'none' | RestartTimes;

/** The value of the option: `none`, or the times that differ from the defaults. */
export type RestartOption = 'none' | { readonly [K in keyof RestartTimes]?: number | undefined };

/** How a process is started again. */
export const processRestart: RestartTimes = {
  initialMs: 500,
  maxMs: 30_000,
  factor: 2,
  jitter: 0.2,
  maxAttempts: 5,
  stableMs: 60_000,
};

/**
 * How an HTTP endpoint is tried again: without end, since an attempt starts no process on this
 * machine.
 */
export const httpRestart: RestartTimes = { ...processRestart, maxAttempts: Infinity };

interface Range {
  readonly least: number;
  readonly most: number;
  readonly words: string;
}

/** The longest delay that a timer of the platform takes. */
const longestMs = 2 ** 31 - 1;
const wait = { least: 1, most: longestMs, words: `1 to ${longestMs} milliseconds` };
const ranges: { readonly [K in keyof RestartTimes]: Range } = {
  initialMs: wait,
  maxMs: wait,
  factor: { least: 1, most: 1000, words: 'a number from 1 to 1000' },
  jitter: { least: 0, most: 1, words: 'a number from 0 to 1' },
  maxAttempts: { least: 0, most: Infinity, words: 'a whole number from 0 on, or Infinity' },
  stableMs: { least: 0, most: longestMs, words: `0 to ${longestMs} milliseconds` },
};

/**
 * The policy that an option asks for.
 *
 * @param name of the option, for the errors
 * @throws {RangeError} it is not a valid policy; names the field
 */
export function restartPolicyWith(
  given: RestartOption | undefined,
  defaults: RestartTimes,
  name = 'restart',
): RestartPolicy {
  if (given === 'none') return 'none';
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    throw new RangeError(`${name} must be "none" or an object, this is ${describe(given)}`);
  }
  const changed = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  for (const [field, value] of changed) refuseField(`${name}.${field}`, field, value);
  const policy = { ...defaults, ...Object.fromEntries(changed) };
  if (policy.initialMs > policy.maxMs) {
    throw new RangeError(
      `${name}.initialMs must not be more than ${name}.maxMs, ${policy.maxMs}, this is ${policy.initialMs}`,
    );
  }
  return policy;
}

function refuseField(path: string, field: string, value: unknown): void {
  if (!Object.hasOwn(ranges, field)) {
    throw new RangeError(`There is no ${path}; there are ${restartFields.join(', ')}`);
  }
  if (isRestartValue(field, value)) return;
  throw new RangeError(`${path} must be ${restartWords(field)}, this is ${describe(value)}`);
}

/** The names of a policy's times. */
export const restartFields: readonly string[] = Object.keys(ranges);

/** What a field may be, in words. */
export function restartWords(field: string): string {
  return ranges[field as keyof RestartTimes].words;
}

/** Whether a field may have this value. */
export function isRestartValue(field: string, value: unknown): value is number {
  const { least, most } = ranges[field as keyof RestartTimes];
  const isWhole = field !== 'maxAttempts' || value === Infinity || Number.isInteger(value);
  return typeof value === 'number' && isWhole && value >= least && value <= most;
}

/**
 * How long to wait before a new attempt, milliseconds; `give-up` if no attempt is left.
 *
 * @param attempt 1 for the first new attempt since the connection was stable, or since the start
 * @param random gives a number from 0 to less than 1
 */
export function delayBefore(
  attempt: number,
  policy: RestartPolicy,
  random: () => number,
): number | 'give-up' {
  if (policy === 'none' || attempt > policy.maxAttempts) return 'give-up';
  const { initialMs, maxMs, factor, jitter } = policy;
  const middle = Math.min(maxMs, initialMs * factor ** (attempt - 1));
  const shortest = middle * (1 - jitter);
  const longest = Math.min(maxMs, middle * (1 + jitter));
  return shortest + random() * (longest - shortest);
}
