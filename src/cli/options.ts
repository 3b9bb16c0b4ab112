/**
 * The command's options, in one table: the parser, the help text and the documentation are made from it.
 */
import { defaultLimits } from '../server/limits.ts';
import type { Limits } from '../server/limits.ts';
import { logLevels } from './log-level.ts';
import { formatQuantity } from './units.ts';
import type { Bounds, Quantity } from './units.ts';

interface Described {
  /** One or two sentences, for the help text. */
  readonly help: string;
}

interface Switch extends Described {
  readonly kind: 'switch';
  /** One letter. */
  readonly short?: string;
}

interface Choice extends Described {
  readonly kind: 'choice';
  readonly choices: readonly string[];
  readonly default: string;
  /** The environment variable that gives the value where the option is absent. */
  readonly environment: string;
}

interface File extends Described {
  readonly kind: 'file';
}

interface Limit extends Described {
  readonly kind: Quantity;
  readonly bounds: Bounds;
  /** Which limit it sets; the default is that limit's. */
  readonly limit: keyof Limits;
}

/** One option of the command. */
export type Option = Switch | Choice | File | Limit;

/** `setTimeout` takes no more; past it, it fires at once. */
const longestTimeMs = 2 ** 31 - 1;
/** Just below V8's longest string, which is what a line becomes. */
const longestLineBytes = 511 * 1024 ** 2;

const duration = { kind: 'duration', bounds: { min: 1, max: longestTimeMs } } as const;
const size = { kind: 'size', bounds: { min: 1, max: Number.MAX_SAFE_INTEGER } } as const;
const count = { kind: 'count', bounds: { min: 1, max: Number.MAX_SAFE_INTEGER } } as const;
const from = <const T extends { readonly bounds: Bounds }>(base: T, min: number) => ({
  ...base,
  bounds: { ...base.bounds, min },
});

/** One option for every limit: a limit without one is a type error. */
const limitOptions: {
  readonly [K in keyof Limits]: Omit<Limit, 'limit'> & { readonly name: string };
} = {
  rootsTimeoutMs: {
    ...duration,
    name: 'roots-timeout',
    help: 'How long the client may take to answer roots/list, and how long a call waits for roots; then the fallback is used.',
  },
  rootsRetryMs: {
    ...duration,
    name: 'roots-retry',
    help: 'Delay before roots are asked for again after a failure; it grows with each failure.',
  },
  maxOvertakenRoots: {
    ...count,
    name: 'max-overtaken-roots',
    help: 'How many answers to roots/list that a newer change has overtaken are discarded before one is used as not settled.',
  },
  drainTimeoutMs: {
    ...from(duration, 0),
    name: 'drain-timeout',
    help: 'How long running calls and the output may take to finish once the session ends.',
  },
  requestTimeoutMs: {
    ...duration,
    name: 'request-timeout',
    help: 'How long the client may take to answer a request; progress starts the time anew.',
  },
  requestMaxTotalMs: {
    ...duration,
    name: 'request-max-total',
    help: 'How long a request to the client may take in all, whatever progress comes.',
  },
  humanTimeoutMs: {
    ...duration,
    name: 'human-timeout',
    help: 'The same for requests that a person answers: elicitation and sampling.',
  },
  pageSize: {
    ...count,
    name: 'page-size',
    help: 'How many items a page of a list has.',
  },
  listChangedQuietMs: {
    ...duration,
    name: 'list-changed-quiet',
    help: 'How long a list must not change before the client is told that it has.',
  },
  maxSubscriptions: {
    ...count,
    name: 'max-subscriptions',
    help: 'How many resources the client may subscribe to at once.',
  },
  maxLogsPerSecond: {
    ...count,
    name: 'max-logs',
    help: 'How many log messages are sent to the client within a second; one message sums up the rest.',
  },
  keepaliveIntervalMs: {
    ...from(duration, 0),
    name: 'keepalive-interval',
    help: 'How long the client may be quiet before it is sent a ping; 0 means never.',
  },
  keepaliveTimeoutMs: {
    ...duration,
    name: 'keepalive-timeout',
    help: 'How long the client may take to answer such a ping.',
  },
  keepaliveFailures: {
    ...count,
    name: 'keepalive-failures',
    help: 'How many such pings in a row without an answer end the session.',
  },
  maxTasks: {
    ...count,
    name: 'max-tasks',
    help: 'How many tasks run at once; more are refused with an error that says to try again.',
  },
  maxKeptTasks: {
    ...count,
    name: 'max-kept-tasks',
    help: 'How many tasks are kept at once, ended ones until their time to live is over.',
  },
  taskTtlMs: {
    ...duration,
    name: 'task-ttl',
    help: 'How long a task is kept from its creation, where the client asks for no time.',
  },
  maxTaskTtlMs: {
    ...duration,
    name: 'max-task-ttl',
    help: 'The longest time to live that a task gets, whatever the client asks for.',
  },
  taskPollIntervalMs: {
    ...duration,
    name: 'task-poll-interval',
    help: 'How long clients are told to wait between two looks at a task; also its shortest time to live.',
  },
  maxRunning: {
    ...count,
    name: 'max-running',
    help: "How many of the client's requests run at once; one that awaits the client's own answer does not count.",
  },
  maxWaiting: {
    ...from(count, 0),
    name: 'max-waiting',
    help: "How many of the client's requests wait for their turn; more are refused with an error that says to try again.",
  },
  maxPending: {
    ...count,
    name: 'max-pending',
    help: 'How many requests to the client may be pending at once.',
  },
  maxLineBytes: {
    kind: 'size',
    bounds: { min: 1024, max: longestLineBytes },
    name: 'max-line',
    help: 'The longest inbound line; a longer one is answered with an error and skipped.',
  },
  maxDepth: {
    ...from(count, 8),
    name: 'max-depth',
    help: 'The deepest nesting of an inbound message.',
  },
  maxOutboundBytes: {
    ...size,
    name: 'max-outbound',
    help: 'How much may wait for a client that does not read; past it no request is started.',
  },
  readAheadBytes: {
    ...from(size, 0),
    name: 'read-ahead',
    help: 'How much is still read while the output is blocked; then stdin is paused.',
  },
};

/** Every option, by its name without the dashes, in the order of the help text. */
export const options = {
  'log-level': {
    kind: 'choice',
    choices: logLevels,
    default: 'warning',
    environment: 'MCP_ACTORS_LOG_LEVEL',
    help: 'How much is logged on stderr. Some clients show every line as an error.',
  },
  'log-file': {
    kind: 'file',
    help: 'Append the log to this file instead of writing it to stderr.',
  },
  'follow-roots': {
    kind: 'switch',
    help: "Let the client's roots replace the directories. Otherwise roots choose within them.",
  },
  chdir: {
    kind: 'switch',
    help: "Change the process's working directory to the project's.",
  },
  ...limitTable(),
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
  version: { kind: 'switch', short: 'V', help: 'Print the version.' },
} as const satisfies { readonly [name: string]: Option };

function limitTable(): { readonly [name: string]: Limit } {
  return Object.fromEntries(
    Object.entries(limitOptions).map(([limit, { name, ...option }]) => [
      name,
      { ...option, limit: limit as keyof Limits },
    ]),
  );
}

/** An option's default as a user would write it; undefined where there is none. */
export function defaultOf(option: Option): string | undefined {
  switch (option.kind) {
    case 'switch':
    case 'file':
      return undefined;
    case 'choice':
      return option.default;
    default:
      return formatQuantity(option.kind, defaultLimits[option.limit]);
  }
}
