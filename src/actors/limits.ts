/** Every bound and every time of a session, with its default. Each is an option. */
import type { SessionLimits } from '../machines/session-context.ts';
import { inspectValue } from '../protocol/classify.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const second = 1000;
const minute = 60 * second;

/** Limits of a transport. */
export interface TransportLimits {
  /** Maximum length of an inbound line, bytes. Longer lines are answered with an error. */
  readonly maxLineBytes: number;
  /** Maximum nesting depth of an inbound message. */
  readonly maxDepth: number;
  /**
   * Maximum output queued for a client that does not read, bytes. Above it no request is started
   * until the client has caught up.
   */
  readonly maxOutboundBytes: number;
  /** Maximum input read while the output is blocked, bytes; then stdin is paused. */
  readonly readAheadBytes: number;
}

/** Limits of the router. */
export interface RouterLimits {
  /** Maximum number of running client requests, without those awaiting a client's answer. */
  readonly maxRunning: number;
  /** Maximum number of queued client requests; further ones get a retryable error. */
  readonly maxWaiting: number;
  /** Maximum size of all queued requests, bytes; further ones get a retryable error. */
  readonly maxWaitingBytes: number;
  /**
   * Maximum size of all running requests, bytes, including those that await an answer from the
   * client; further ones are queued.
   */
  readonly maxRunningBytes: number;
}

/** Limits of data that outlives its request. */
export interface RetentionLimits {
  /**
   * Maximum memory retained per client, bytes: suspended calls, tasks with their params and
   * results, subscribed URIs.
   */
  readonly maxRetainedBytes: number;
}

/** Limits of the correlation actor. */
export interface CorrelationLimits {
  /** Maximum number of pending requests to the client; since 2026-07-28, per call. */
  readonly maxPending: number;
  /** Default time limit of a request to the client, milliseconds. Restarted by progress. */
  readonly requestTimeoutMs: number;
  /** Default hard limit of a request to the client, milliseconds, regardless of progress. */
  readonly requestMaxTotalMs: number;
  /** Both limits for requests answered by a person (elicitation and sampling), milliseconds. */
  readonly humanTimeoutMs: number;
}

/** Limits of lists and subscriptions. */
export interface ListLimits {
  /** Items per page of a list. */
  readonly pageSize: number;
  /** Debounce time of list change notifications, milliseconds. */
  readonly listChangedQuietMs: number;
  /** Maximum number of subscribed resources per client. */
  readonly maxSubscriptions: number;
}

/**
 * Number of clients that may reach their limits at the same time in a shared session: the total
 * limit is this multiple of one client's. See `RequestOrigin.clientKey`.
 */
export const maxClientsAtLimit = 4;

/** Limits of a session's tasks. */
export interface TaskLimits {
  /** Maximum number of running tasks; further ones get a retryable error. */
  readonly maxTasks: number;
  /**
   * Maximum number of stored tasks, including ended ones until they expire; durable ones count on
   * all nodes.
   */
  readonly maxKeptTasks: number;
  /** Default retention time of a task, milliseconds. Then a running handler is cancelled. */
  readonly taskTtlMs: number;
  /** Maximum retention time of a task, milliseconds. */
  readonly maxTaskTtlMs: number;
  /** Recommended polling interval, and minimum retention time of a task, milliseconds. */
  readonly taskPollIntervalMs: number;
  /** Maximum number of restarts of a durable task whose process died while it ran. */
  readonly maxRestarts: number;
  /**
   * Maximum number of recorded steps of a durable task, across processes: values of `once`,
   * requests, answers, timers.
   */
  readonly maxTaskSteps: number;
  /** Maximum size of a durable task's steps, bytes. Only the latest step of a key counts. */
  readonly maxTaskBytes: number;
  /** Minimum remaining wait for which a durable task is unloaded from memory, milliseconds. */
  readonly taskParkMs: number;
  /** Time that a durable call waits for an absent host before it is cancelled, milliseconds. */
  readonly abandonedMs: number;
  /** Time that each request of a polling durable call is held open, milliseconds. */
  readonly holdMs: number;
}

/**
 * Limits of suspendable calls, which request input by ending and resume with a retry.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export interface RoundLimits {
  /** Maximum number of calls awaiting a retry; beyond it the oldest is ended. */
  readonly maxSuspendedCalls: number;
  /** Time limit for a retry, and validity of a request state, milliseconds. */
  readonly suspendedCallTimeoutMs: number;
  /** Maximum number of rounds per call. */
  readonly maxRounds: number;
  /** Maximum size of a request state, bytes. It contains all answers so far. */
  readonly maxRequestStateBytes: number;
}

/** Limits of handlers' log messages. */
export interface LogLimits {
  /** Maximum number of log messages per session and second; the rest is summarized in one. */
  readonly maxLogsPerSecond: number;
}

/** Limits of upstreams. See `ServerDefinition.upstream`. */
export interface UpstreamLimits {
  /** Time limit for an upstream to become ready, milliseconds. `initialize` waits for it. */
  readonly upstreamTimeoutMs: number;
  /** Maximum number of upstreams of sessionless clients. Idle ones are evicted. */
  readonly maxUpstreams: number;
  /** Idle time after which a sessionless client's upstream is closed, milliseconds. */
  readonly upstreamIdleMs: number;
}

/** All limits of a session. docs/limits.md lists them in one table. */
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
    TaskLimits,
    UpstreamLimits {}

/** Description of a limit. The suffix of its name is its unit: `Ms`, `Bytes` or a count. */
export interface LimitRow {
  readonly default: number;
  /** Minimum value. Default: 1. */
  readonly min?: number;
  /** Maximum value. Default: what the unit can hold. */
  readonly max?: number;
  /** Help text of the command line and docs/limits.md. */
  readonly help: string;
}

/** The default values of a table of limits. */
export const defaultsOf = <Name extends string>(table: {
  readonly [name in Name]: LimitRow;
}): { readonly [name in Name]: number } =>
  Object.fromEntries(Object.entries<LimitRow>(table).map(([name, row]) => [name, row.default])) as {
    [name in Name]: number;
  };

/** Just below V8's maximum string length, because a line becomes one string. */
const longestLineBytes = 511 * MiB;

/** All limits of a session, with defaults and help texts. */
export const limitTable: { readonly [name in keyof Limits]: LimitRow } = {
  maxLineBytes: {
    default: 16 * MiB,
    min: 1024,
    max: longestLineBytes,
    help: 'Maximum length of an inbound line; longer ones are answered with an error and skipped.',
  },
  maxDepth: {
    default: 256,
    min: 8,
    help: 'Maximum nesting depth of an inbound message.',
  },
  maxOutboundBytes: {
    default: 16 * MiB,
    help: 'Maximum output queued for a client that does not read; above it no request is started.',
  },
  readAheadBytes: {
    default: 1 * MiB,
    min: 0,
    help: 'Maximum input read while the output is blocked; then stdin is paused.',
  },
  maxRunning: {
    default: 64,
    help: 'Maximum number of running client requests; one that awaits an answer from the client does not count.',
  },
  maxWaiting: {
    default: 1024,
    min: 0,
    help: 'Maximum number of queued client requests; further ones get a retryable error.',
  },
  maxWaitingBytes: {
    default: 64 * MiB,
    help: 'Maximum size of all queued client requests; a request that would exceed it gets a retryable error.',
  },
  maxRunningBytes: {
    default: 64 * MiB,
    help: 'Maximum size of all running client requests, including those that await an answer from the client; further ones are queued.',
  },
  maxRetainedBytes: {
    default: 64 * MiB,
    help: 'Maximum memory retained per client beyond its requests: calls awaiting a retry, tasks and their results, subscribed URIs.',
  },
  maxPending: {
    default: 1024,
    help: 'Maximum number of pending requests to the client.',
  },
  requestTimeoutMs: {
    default: 60 * second,
    help: 'Time limit of a request to the client, restarted by progress.',
  },
  requestMaxTotalMs: {
    default: 10 * minute,
    help: 'Hard time limit of a request to the client, regardless of progress.',
  },
  humanTimeoutMs: {
    default: 10 * minute,
    help: 'Both time limits for requests answered by a person: elicitation and sampling.',
  },
  drainTimeoutMs: {
    default: 2 * second,
    min: 0,
    help: 'Time for running calls and output to finish when the session closes; 1s after a signal, unless set.',
  },
  stallTimeoutMs: {
    default: 300,
    help: 'Time without reading after which a closing session discards the remaining output.',
  },
  rootsTimeoutMs: {
    default: 5 * second,
    help: 'Time limit for the answer to roots/list, and for calls that wait for roots; then the fallback is used.',
  },
  rootsRetryMs: {
    default: 30 * second,
    help: 'Delay before a failed roots/list is retried; grows with each failure.',
  },
  maxOvertakenRoots: {
    default: 16,
    help: 'Number of outdated answers to roots/list to discard before using one as unsettled.',
  },
  pageSize: {
    default: 100,
    help: 'Items per page of a list.',
  },
  listChangedQuietMs: {
    default: 50,
    help: 'Debounce time of list change notifications.',
  },
  maxLogsPerSecond: {
    default: 100,
    help: 'Maximum number of log messages to the client per second; one message summarizes the rest.',
  },
  keepaliveIntervalMs: {
    default: 0,
    min: 0,
    help: 'Time without input after which the client is pinged; 0 means never.',
  },
  keepaliveTimeoutMs: {
    default: 10 * second,
    help: 'Time limit for the answer to a keepalive ping.',
  },
  keepaliveFailures: {
    default: 3,
    help: 'Number of consecutive unanswered keepalive pings that end the session.',
  },
  maxSubscriptions: {
    default: 1024,
    help: 'Maximum number of subscribed resources per client.',
  },
  maxSuspendedCalls: {
    default: 1024,
    help: 'Maximum number of calls awaiting a retry by the client; beyond it the oldest is ended.',
  },
  suspendedCallTimeoutMs: {
    default: 10 * minute,
    help: 'Time that a call awaits a retry by the client; then it is ended.',
  },
  maxRounds: {
    default: 100,
    help: 'Maximum number of times a call may request input from the client.',
  },
  maxRequestStateBytes: {
    default: 256 * KiB,
    help: 'Maximum size of the request state that travels through the client; a call that exceeds it fails.',
  },
  maxTasks: {
    default: 64,
    help: 'Maximum number of running tasks; further ones get a retryable error.',
  },
  maxKeptTasks: {
    default: 1024,
    help: 'Maximum number of stored tasks per client, durable ones on all nodes; ended ones count until they expire.',
  },
  taskTtlMs: {
    default: 60 * minute,
    help: 'Default retention time of a task from its creation.',
  },
  maxTaskTtlMs: {
    default: 24 * 60 * minute,
    help: 'Maximum retention time of a task that a client may request.',
  },
  taskPollIntervalMs: {
    default: 1 * second,
    help: 'Polling interval recommended to clients; also the minimum retention time of a task.',
  },
  maxRestarts: {
    default: 5,
    min: 0,
    help: 'Maximum number of restarts of a durable task whose process died; then the task fails.',
  },
  maxTaskSteps: {
    default: 1000,
    help: 'Maximum number of recorded steps of a durable task, across processes: values of once, requests, answers, timers, its checkpoint.',
  },
  maxTaskBytes: {
    default: 16 * MiB,
    help: 'Maximum size of the recorded steps of a durable task, including its arguments.',
  },
  taskParkMs: {
    default: 60 * second,
    help: 'Minimum remaining wait for which a durable task is unloaded from memory.',
  },
  abandonedMs: {
    default: 5 * minute,
    help: 'Time that a durable call waits for an absent host, such as one that reconnects; then it is cancelled.',
  },
  holdMs: {
    default: 20 * second,
    help: 'Time that each request of a durable call is held open for a 2026-07-28 client over HTTP before it has to poll again.',
  },
  upstreamTimeoutMs: {
    default: 60 * second,
    help: "Time limit for a client's upstream to become ready; the answer to initialize waits for it.",
  },
  maxUpstreams: {
    default: 64,
    help: 'Maximum number of upstreams of sessionless clients; idle ones are evicted, and further clients are rejected.',
  },
  upstreamIdleMs: {
    default: 5 * minute,
    help: "Idle time after which a sessionless client's upstream is closed.",
  },
};

/** Default limits of a session. docs/limits.md explains each. */
export const defaultLimits: Limits = defaultsOf(limitTable);

/** Limits of at least 1: with 0, no call would run and no list would end. */
const atLeastOne: ReadonlySet<string> = new Set<keyof Limits>(['maxRunning', 'pageSize']);

/**
 * Merges limits into the defaults. Undefined values are ignored.
 *
 * @throws {RangeError} unknown name, or not a number, or too small
 */
export function mergeLimits(given: {
  readonly [K in keyof Limits]?: Limits[K] | undefined;
}): Limits {
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of changed) {
    if (!Object.hasOwn(defaultLimits, name)) {
      const known = Object.keys(defaultLimits).join(', ');
      throw new RangeError(`Unknown limit ${inspectValue(name)}, must be one of ${known}`);
    }
    const min = atLeastOne.has(name) ? 1 : 0;
    // Excludes NaN too.
    if (typeof value === 'number' && value >= min) continue;
    throw new RangeError(
      `limits.${name} must be a number of at least ${min}, got ${inspectValue(value)}`,
    );
  }
  return { ...defaultLimits, ...Object.fromEntries(changed) };
}
