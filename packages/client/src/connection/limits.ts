/** Limits of a connection, each with its default. Each is an option. */
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

/** Limits of a connection; the table is in docs/limits.md. */
export interface ConnectionLimits
  extends
    TransportLimits,
    RouterLimits,
    Omit<CorrelationLimits, 'humanTimeoutMs'>,
    ConnectionTimes,
    KeptListLimits {
  /** Maximum requests queued for the next connection; further ones fail with `LIMIT_EXCEEDED`. */
  readonly maxWaitingAway: number;
  /** Maximum rounds of input requests per call of a modern server. */
  readonly maxRounds: number;
  /** Maximum events buffered for the first listener. */
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

/** Limit objects built here; connections with the same limits share them. */
const whole = new WeakSet<object>();

/**
 * Merges the given limits into the defaults; an undefined limit keeps its default.
 *
 * @throws {RangeError} a limit is unknown, not a number, or too small
 */
export function connectionLimitsWith(
  given: { readonly [K in keyof ConnectionLimits]?: number | undefined } = {},
): ConnectionLimits {
  if (whole.has(given)) return given as ConnectionLimits;
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of changed) {
    if (!Object.hasOwn(defaultConnectionLimits, name)) {
      const known = Object.keys(defaultConnectionLimits).join(', ');
      throw new RangeError(`Unknown limit ${inspectValue(name)}; known limits: ${known}`);
    }
    const least = atLeastOne.has(name) ? 1 : 0;
    // NaN fails this comparison too.
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `limits.${name} must be a number of at least ${least}, got ${inspectValue(value)}`,
    );
  }
  const limits = Object.freeze({ ...defaultConnectionLimits, ...Object.fromEntries(changed) });
  whole.add(limits);
  return limits;
}
