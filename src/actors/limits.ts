/** Every bound and every time of a session, with its default. Each is an option. */
import type { SessionLimits } from '../machines/session-context.ts';
import { inspectValue } from '../protocol/classify.ts';

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
   * Client requests whose handlers run at once. A call does not count while it awaits an answer from the client.
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
 * for them: all together have so many times the bounds of one. See `RequestOrigin.clientKey`.
 */
export const maxClientsAtLimit = 4;

/** Bounds of a session's tasks. */
export interface TaskLimits {
  /** Tasks whose handlers run at once; more are refused with a retryable error. */
  readonly maxTasks: number;
  /** Tasks that are kept at once, ended ones until their time to live is over; durable ones at all nodes. */
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
  /** How many times a durable task goes on after its process has ended while it ran. */
  readonly maxRestarts: number;
  /** How many steps a durable task may write, in all its processes: what is made once, questions, answers, sleeps. */
  readonly maxTaskSteps: number;
  /** What its steps come to together, bytes; the later of one key takes the place of the earlier. */
  readonly maxTaskBytes: number;
  /** How long a durable task has to wait yet, at least, to be given up until then, milliseconds. */
  readonly taskParkMs: number;
  /** Time that a durable call waits for an absent host before it is cancelled, ms. */
  readonly abandonedMs: number;
  /** Time that a durable call of a polling client is held before each poll, ms. */
  readonly holdMs: number;
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

/** Bounds of the upstreams of a server's clients. See `ServerDefinition.upstream`. */
export interface UpstreamLimits {
  /** How long it may take until it is ready, milliseconds; `initialize` waits for it. */
  readonly upstreamTimeoutMs: number;
  /** Clients without a session that have one at once; an idle one makes room. */
  readonly maxUpstreams: number;
  /** How long that of a client without a session is kept when nothing is asked of it, milliseconds. */
  readonly upstreamIdleMs: number;
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
    TaskLimits,
    UpstreamLimits {}

/**
 * What is said of a limit. The end of its name is its unit: `Ms` for milliseconds, `Bytes`, anything
 * else is a count.
 */
export interface LimitRow {
  readonly default: number;
  /** The least value that the command takes; 1 by default. */
  readonly min?: number;
  /** The greatest value that the command takes; by default what the unit can hold. */
  readonly max?: number;
  /** One or two sentences for the help of the command and for docs/limits.md. */
  readonly help: string;
}

/** The default of each limit in a table. */
export const defaultsOf = <Name extends string>(table: {
  readonly [name in Name]: LimitRow;
}): { readonly [name in Name]: number } =>
  Object.fromEntries(Object.entries<LimitRow>(table).map(([name, row]) => [name, row.default])) as {
    [name in Name]: number;
  };

/** Just below V8's longest string, because a line becomes one string. */
const longestLineBytes = 511 * MiB;

/** All limits of a session, with what the command and the docs say of them. */
export const limitTable: { readonly [name in keyof Limits]: LimitRow } = {
  maxLineBytes: {
    default: 16 * MiB,
    min: 1024,
    max: longestLineBytes,
    help: 'The longest inbound line; a longer one is answered with an error and skipped.',
  },
  maxDepth: {
    default: 256,
    min: 8,
    help: 'The deepest nesting of an inbound message.',
  },
  maxOutboundBytes: {
    default: 16 * MiB,
    help: 'How much may wait for a client that does not read; past it no request is started.',
  },
  readAheadBytes: {
    default: 1 * MiB,
    min: 0,
    help: 'How much is still read while the output is blocked; then stdin is paused.',
  },
  maxRunning: {
    default: 64,
    help: "How many of the client's requests run at once; one that awaits the client's own answer does not count.",
  },
  maxWaiting: {
    default: 1024,
    min: 0,
    help: "How many of the client's requests wait for their turn; more are refused with an error that says to try again.",
  },
  maxWaitingBytes: {
    default: 64 * MiB,
    help: "How long the client's requests that wait may be, together; one more that would exceed it is refused in the same way.",
  },
  maxRunningBytes: {
    default: 64 * MiB,
    help: "How long the client's requests that run may be, together, those that await its own answer included; more wait.",
  },
  maxRetainedBytes: {
    default: 64 * MiB,
    help: 'How much is kept for a client beyond its requests, together: calls that wait for its retry, tasks with what comes of them, the URIs of its subscriptions.',
  },
  maxPending: {
    default: 1024,
    help: 'How many requests to the client may be pending at once.',
  },
  requestTimeoutMs: {
    default: 60 * second,
    help: 'How long the client may take to answer a request; progress starts the time anew.',
  },
  requestMaxTotalMs: {
    default: 10 * minute,
    help: 'How long a request to the client may take in all, whatever progress comes.',
  },
  humanTimeoutMs: {
    default: 10 * minute,
    help: 'The same for requests that a person answers: elicitation and sampling.',
  },
  drainTimeoutMs: {
    default: 2 * second,
    min: 0,
    help: 'How long running calls and the output may take to finish once the session ends; after a signal 1s, unless this is given.',
  },
  stallTimeoutMs: {
    default: 300,
    help: 'How long the client may take nothing of what is left to say once the session ends; then the session ends without it.',
  },
  rootsTimeoutMs: {
    default: 5 * second,
    help: 'How long the client may take to answer roots/list, and how long a call waits for roots; then the fallback is used.',
  },
  rootsRetryMs: {
    default: 30 * second,
    help: 'Delay before roots are asked for again after a failure; it grows with each failure.',
  },
  maxOvertakenRoots: {
    default: 16,
    help: 'How many answers to roots/list that a newer change has overtaken are discarded before one is used as not settled.',
  },
  pageSize: {
    default: 100,
    help: 'How many items a page of a list has.',
  },
  listChangedQuietMs: {
    default: 50,
    help: 'How long a list must not change before the client is told that it has.',
  },
  maxLogsPerSecond: {
    default: 100,
    help: 'How many log messages are sent to the client within a second; one message sums up the rest.',
  },
  keepaliveIntervalMs: {
    default: 0,
    min: 0,
    help: 'How long the client may be quiet before it is sent a ping; 0 means never.',
  },
  keepaliveTimeoutMs: {
    default: 10 * second,
    help: 'How long the client may take to answer such a ping.',
  },
  keepaliveFailures: {
    default: 3,
    help: 'How many such pings in a row without an answer end the session.',
  },
  maxSubscriptions: {
    default: 1024,
    help: 'How many resources the client may subscribe to at once.',
  },
  maxSuspendedCalls: {
    default: 1024,
    help: 'How many calls that have asked the client wait for its retry at once; the oldest of more is ended.',
  },
  suspendedCallTimeoutMs: {
    default: 10 * minute,
    help: 'How long a call that has asked the client waits for its retry; then it is ended.',
  },
  maxRounds: {
    default: 100,
    help: 'How many times one call may ask the client.',
  },
  maxRequestStateBytes: {
    default: 256 * KiB,
    help: 'The longest state of a call that travels through the client; a call that would pass it fails.',
  },
  maxTasks: {
    default: 64,
    help: 'How many tasks run at once; more are refused with an error that says to try again.',
  },
  maxKeptTasks: {
    default: 1024,
    help: 'How many tasks a client keeps at once, durable ones at all nodes; ended ones count until their time to live is over.',
  },
  taskTtlMs: {
    default: 60 * minute,
    help: 'How long a task is kept from its creation if the client asks for no time.',
  },
  maxTaskTtlMs: {
    default: 24 * 60 * minute,
    help: 'The longest time to live that a task gets, whatever the client asks for.',
  },
  taskPollIntervalMs: {
    default: 1 * second,
    help: 'How long clients are told to wait between two looks at a task; also its shortest time to live.',
  },
  maxRestarts: {
    default: 5,
    min: 0,
    help: 'How many times a durable task goes on after its process has ended while it ran; past it the task fails.',
  },
  maxTaskSteps: {
    default: 1000,
    help: 'How many steps a durable task may write, in all its processes: values of once, questions, answers, sleeps, its checkpoint.',
  },
  maxTaskBytes: {
    default: 16 * MiB,
    help: 'How much the steps of a durable task come to together, what it was called with included.',
  },
  taskParkMs: {
    default: 60 * second,
    help: 'How long a durable task has to wait yet, at least, to be given up until then.',
  },
  abandonedMs: {
    default: 5 * minute,
    help: 'How long a durable call waits for a host that is away, such as one that reconnects; then it is cancelled.',
  },
  holdMs: {
    default: 20 * second,
    help: 'How long a durable call of a client of 2026-07-28 over HTTP is held before the client is to poll again.',
  },
  upstreamTimeoutMs: {
    default: 60 * second,
    help: "How long a client's upstream may take to be ready; the answer to initialize waits for it.",
  },
  maxUpstreams: {
    default: 64,
    help: 'How many clients without a session have an upstream at once; an idle one makes room, and one more is refused.',
  },
  upstreamIdleMs: {
    default: 5 * minute,
    help: 'How long the upstream of a client without a session is kept when nothing is asked of it.',
  },
};

/** The limits of a session that sets none itself. docs/limits.md explains each. */
export const defaultLimits: Limits = defaultsOf(limitTable);

/** Without one of them no call would ever run, and no list would end. */
const atLeastOne: ReadonlySet<string> = new Set<keyof Limits>(['maxRunning', 'pageSize']);

/**
 * The defaults with these in their places; what is undefined stays the default.
 *
 * @throws {RangeError} there is no such limit, or it is not a number, or too small
 */
export function mergeLimits(given: {
  readonly [K in keyof Limits]?: Limits[K] | undefined;
}): Limits {
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of changed) {
    if (!Object.hasOwn(defaultLimits, name)) {
      const known = Object.keys(defaultLimits).join(', ');
      throw new RangeError(`There is no limit ${inspectValue(name)}; the limits are ${known}`);
    }
    const least = atLeastOne.has(name) ? 1 : 0;
    // Not a number is neither.
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `limits.${name} must be a number of at least ${least}, this is ${inspectValue(value)}`,
    );
  }
  return { ...defaultLimits, ...Object.fromEntries(changed) };
}
