/** Every limit of a connection, with its default. Each is an option. */
import { defaultLimits } from '../../../../src/actors/limits.ts';
import type {
  CorrelationLimits,
  RouterLimits,
  TransportLimits,
} from '../../../../src/actors/limits.ts';
import type { ConnectionTimes } from './connection-context.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { defaultListLimits } from '../lists/lists.ts';
import type { KeptListLimits } from '../lists/lists.ts';

const second = 1000;

/** The limits of a host's connection; docs/limits.md has them all in one table. */
export interface ConnectionLimits
  extends
    TransportLimits,
    RouterLimits,
    Omit<CorrelationLimits, 'humanTimeoutMs'>,
    ConnectionTimes,
    KeptListLimits {
  /** Requests that may wait for the next connection; more are refused with `LIMIT_EXCEEDED`. */
  readonly maxWaitingAway: number;
  /** How often one call of a modern server may ask its host. */
  readonly maxRounds: number;
  /** Events that are kept for the first listener. */
  readonly maxUnheardEvents: number;
}

/** The defaults. docs/limits.md explains each. */
export const defaultConnectionLimits: ConnectionLimits = {
  maxLineBytes: defaultLimits.maxLineBytes,
  maxDepth: defaultLimits.maxDepth,
  maxOutboundBytes: defaultLimits.maxOutboundBytes,
  readAheadBytes: defaultLimits.readAheadBytes,
  maxRunning: 16,
  maxWaiting: 256,
  maxWaitingBytes: defaultLimits.maxWaitingBytes,
  maxRunningBytes: defaultLimits.maxRunningBytes,
  maxPending: 1024,
  requestTimeoutMs: defaultLimits.requestTimeoutMs,
  requestMaxTotalMs: defaultLimits.requestMaxTotalMs,
  connectTimeoutMs: 30 * second,
  probeMs: 500,
  loginTimeoutMs: 5 * 60 * second + 30 * second,
  maxWaitingAway: 256,
  maxRounds: 16,
  maxUnheardEvents: 100,
  ...defaultListLimits,
};

/** With 0 of these, no request from the server would ever run. */
const atLeastOne: ReadonlySet<string> = new Set<keyof ConnectionLimits>(['maxRunning']);

/** Those that were made here: connections with the same limits share them. */
const whole = new WeakSet<object>();

/**
 * The defaults, overridden by these; an undefined limit keeps its default.
 *
 * @throws {RangeError} the limit does not exist, is not a number, or is too small
 */
export function connectionLimitsWith(
  given: { readonly [K in keyof ConnectionLimits]?: number | undefined } = {},
): ConnectionLimits {
  if (whole.has(given)) return given as ConnectionLimits;
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of changed) {
    if (!Object.hasOwn(defaultConnectionLimits, name)) {
      const known = Object.keys(defaultConnectionLimits).join(', ');
      throw new RangeError(`There is no limit ${inspectValue(name)}; the limits are ${known}`);
    }
    const least = atLeastOne.has(name) ? 1 : 0;
    // NaN fails this comparison too.
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `limits.${name} must be a number of at least ${least}, this is ${inspectValue(value)}`,
    );
  }
  const limits = Object.freeze({ ...defaultConnectionLimits, ...Object.fromEntries(changed) });
  whole.add(limits);
  return limits;
}
