/** Every bound and every time of a session, with its default. Each is an option. */
import type { SessionLimits } from '../machines/session-context.ts';
import { describe } from '../protocol/classify.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const second = 1000;
const minute = 60 * second;

/** Bounds of a transport. */
export interface TransportLimits {
  /** Longest inbound line, bytes. A longer one is answered with an error and skipped. */
  readonly maxLineBytes: number;
  /** Deepest nesting of an inbound message. */
  readonly maxDepth: number;
  /**
   * What may wait for a client that does not read, bytes; past it no request is started until the
   * client has read all.
   */
  readonly maxOutboundBytes: number;
  /** How much is still read while the output is blocked, bytes; then stdin is paused. */
  readonly readAheadBytes: number;
}

/** Bounds of the router. */
export interface RouterLimits {
  /**
   * Client requests whose handlers run at once. One that awaits an answer of the client's does not
   * count meanwhile.
   */
  readonly maxRunning: number;
  /** Client requests that wait for their turn; more are refused with a retryable error. */
  readonly maxWaiting: number;
  /**
   * What their messages may come to, bytes; a request that would be more than that is refused in
   * the same way.
   */
  readonly maxWaitingBytes: number;
  /**
   * What the messages of those whose handlers run may come to, bytes, those that await an answer of
   * the client's included; past it more wait.
   */
  readonly maxRunningBytes: number;
}

/** Bounds of what outlives its request. */
export interface RetentionLimits {
  /**
   * What is kept for one client, bytes: calls that wait for its retry, tasks with their params and
   * results, the URIs that it has subscribed to.
   */
  readonly maxRetainedBytes: number;
}

/** Bounds of the correlation actor. */
export interface CorrelationLimits {
  /** Requests to the client that may be pending at once; since 2026-07-28, in one call. */
  readonly maxPending: number;
  /** Default time for the client to answer, milliseconds. */
  readonly requestTimeoutMs: number;
  /** Default hard maximum, milliseconds, however much progress comes. */
  readonly requestMaxTotalMs: number;
  /** The same two for requests that a person answers: elicitation and sampling. */
  readonly humanTimeoutMs: number;
}

/** Bounds of the lists that a server gives. */
export interface ListLimits {
  /** Items on one page of a list. */
  readonly pageSize: number;
  /** How long a list must not change before the client is told that it has, milliseconds. */
  readonly listChangedQuietMs: number;
  /** Resources that a client may subscribe to at once; one more is refused. */
  readonly maxSubscriptions: number;
}

/**
 * How many clients may use their bounds up, if many share one session, before others have to wait
 * for them: all together have so many times the bounds of one. See `RequestOrigin.party`.
 */
export const fullParties = 4;

/** Bounds of a session's tasks. */
export interface TaskLimits {
  /** Tasks whose handlers run at once; more are refused with a retryable error. */
  readonly maxTasks: number;
  /** Tasks that are kept at once, ended ones until their time to live is over. */
  readonly maxKeptTasks: number;
  /**
   * How long a task is kept from its creation if the client asks for no time, milliseconds. A
   * handler that still runs is cancelled.
   */
  readonly taskTtlMs: number;
  /** The longest time to live that a client gets, milliseconds. */
  readonly maxTaskTtlMs: number;
  /**
   * How long a client should wait between two looks at a task, milliseconds; also the shortest time
   * to live.
   */
  readonly taskPollIntervalMs: number;
}

/**
 * Bounds of calls that ask their client by ending, and go on with a retry.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export interface RoundLimits {
  /** Calls that wait for the client's retry at once; the oldest of more is ended. */
  readonly maxSuspendedCalls: number;
  /** How long one may wait, and how long a request state is accepted, milliseconds. */
  readonly suspendedCallTimeoutMs: number;
  /** How many times one call may ask the client. */
  readonly maxRounds: number;
  /** The longest request state, bytes. All that the call was told so far travels in it. */
  readonly maxRequestStateBytes: number;
}

/** Bounds of what handlers log. */
export interface LogLimits {
  /** Log messages of one session that are sent within a second; the rest is summed up in one. */
  readonly maxLogsPerSecond: number;
}

/** The bounds and times of a session; docs/limits.md has them all in one table. */
export interface Limits
  extends
    TransportLimits,
    RouterLimits,
    CorrelationLimits,
    SessionLimits,
    ListLimits,
    LogLimits,
    RetentionLimits,
    RoundLimits,
    TaskLimits {}

/** What a session keeps to if nobody says otherwise. docs/limits.md explains each. */
export const defaultLimits: Limits = {
  maxLineBytes: 16 * MiB,
  maxDepth: 256,
  maxOutboundBytes: 16 * MiB,
  readAheadBytes: 1 * MiB,
  maxRunning: 64,
  maxWaiting: 1024,
  maxWaitingBytes: 64 * MiB,
  maxRunningBytes: 64 * MiB,
  maxRetainedBytes: 64 * MiB,
  maxPending: 1024,
  requestTimeoutMs: 60 * second,
  requestMaxTotalMs: 10 * minute,
  humanTimeoutMs: 10 * minute,
  drainTimeoutMs: 2 * second,
  stallTimeoutMs: 300,
  rootsTimeoutMs: 5 * second,
  rootsRetryMs: 30 * second,
  maxOvertakenRoots: 16,
  pageSize: 100,
  listChangedQuietMs: 50,
  maxLogsPerSecond: 100,
  keepaliveIntervalMs: 0,
  keepaliveTimeoutMs: 10 * second,
  keepaliveFailures: 3,
  maxSubscriptions: 1024,
  maxSuspendedCalls: 1024,
  suspendedCallTimeoutMs: 10 * minute,
  maxRounds: 100,
  maxRequestStateBytes: 256 * KiB,
  maxTasks: 64,
  maxKeptTasks: 1024,
  taskTtlMs: 60 * minute,
  maxTaskTtlMs: 24 * 60 * minute,
  taskPollIntervalMs: 1 * second,
};

/** Without one of them no call would ever run, and no list would end. */
const atLeastOne: ReadonlySet<string> = new Set<keyof Limits>(['maxRunning', 'pageSize']);

/**
 * The defaults with these in their places; what is undefined stays the default.
 *
 * @throws {RangeError} there is no such limit, or it is not a number, or too small
 */
export function limitsWith(given: {
  readonly [K in keyof Limits]?: Limits[K] | undefined;
}): Limits {
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of changed) {
    if (!Object.hasOwn(defaultLimits, name)) {
      const known = Object.keys(defaultLimits).join(', ');
      throw new RangeError(`There is no limit ${describe(name)}; the limits are ${known}`);
    }
    const least = atLeastOne.has(name) ? 1 : 0;
    // Not a number is neither.
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `limits.${name} must be a number of at least ${least}, this is ${describe(value)}`,
    );
  }
  return { ...defaultLimits, ...Object.fromEntries(changed) };
}
