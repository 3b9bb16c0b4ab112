/** The `restart` option of a host, its defaults and its validation. */
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { RestartPolicy, RestartTimes } from './restart-policy.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** `none`, or the times that differ from the defaults. */
export type RestartOption = 'none' | { readonly [K in keyof RestartTimes]?: number | undefined };

/** Default restart policy of a process. */
export const processRestart: RestartTimes = {
  initialMs: 500,
  maxMs: 30_000,
  factor: 2,
  jitter: 0.2,
  maxAttempts: 5,
  stableMs: 60_000,
};

/**
 * Default restart policy of an HTTP endpoint: unlimited, because an attempt starts no local
 * process.
 */
export const httpRestart: RestartTimes = { ...processRestart, maxAttempts: Infinity };

interface Range {
  readonly least: number;
  readonly most: number;
  readonly words: string;
}

const wait = { least: 1, most: maxDelayMs, words: `1 to ${maxDelayMs} milliseconds` };
const ranges: { readonly [K in keyof RestartTimes]: Range } = {
  initialMs: wait,
  maxMs: wait,
  factor: { least: 1, most: 1000, words: 'a number from 1 to 1000' },
  jitter: { least: 0, most: 1, words: 'a number from 0 to 1' },
  maxAttempts: { least: 0, most: Infinity, words: 'a whole number of at least 0, or Infinity' },
  stableMs: { least: 0, most: maxDelayMs, words: `0 to ${maxDelayMs} milliseconds` },
};

/**
 * The policy for an option's value.
 *
 * @param name the option's name in errors
 * @throws {RangeError} the policy is invalid; the message names the field
 */
export function restartPolicyWith(
  given: RestartOption | undefined,
  defaults: RestartTimes,
  name = 'restart',
): RestartPolicy {
  if (given === 'none') return 'none';
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    throw new RangeError(`${name} must be "none" or an object, got ${inspectValue(given)}`);
  }
  const changed = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  for (const [field, value] of changed) refuseField(`${name}.${field}`, field, value);
  const policy = { ...defaults, ...Object.fromEntries(changed) };
  if (policy.initialMs > policy.maxMs) {
    throw new RangeError(
      `${name}.initialMs must be at most ${name}.maxMs (${policy.maxMs}), got ${policy.initialMs}`,
    );
  }
  return policy;
}

function refuseField(path: string, field: string, value: unknown): void {
  if (!Object.hasOwn(ranges, field)) {
    throw new RangeError(`Unknown field ${path}; known fields: ${restartFields.join(', ')}`);
  }
  if (isRestartValue(field, value)) return;
  throw new RangeError(`${path} must be ${restartWords(field)}, got ${inspectValue(value)}`);
}

/** Field names of a restart policy. */
export const restartFields: readonly string[] = Object.keys(ranges);

/** Accepted values of a field, for messages. */
export function restartWords(field: string): string {
  return ranges[field as keyof RestartTimes].words;
}

/** True if the field accepts this value. */
export function isRestartValue(field: string, value: unknown): value is number {
  const { least, most } = ranges[field as keyof RestartTimes];
  const isWhole = field !== 'maxAttempts' || value === Infinity || Number.isInteger(value);
  return typeof value === 'number' && isWhole && value >= least && value <= most;
}
