/** The options of `mcp-actors serve`. */
import { defaultLimits } from '../../actors/limits.ts';
import type { Limits } from '../../actors/limits.ts';
import { defaultSearchTimeoutMs } from '../../workspace/search/search-turns.ts';
import { logLevels } from '../../log/log.ts';
import type { Measured, OptionTable } from './option.ts';
import { count, duration, from, size } from './option.ts';
import { httpLimitOptions, httpOptions } from './http-options.ts';
import { recordOptionsOf } from './record-options.ts';

/** An option that sets a limit. Its default is the limit's own. */
export interface LimitOption extends Measured {
  readonly limit: keyof Limits;
}

/** Just below V8's longest string, because a line becomes one string. */
const longestLineBytes = 511 * 1024 ** 2;

/** One option for every limit; a missing one is a type error. */
const limitOptions: {
  readonly [K in keyof Limits]: Omit<LimitOption, 'limit' | 'default'> & { readonly name: string };
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
    help: 'How long running calls and the output may take to finish once the session ends; after a signal 1s, unless this is given.',
  },
  stallTimeoutMs: {
    ...duration,
    name: 'stall-timeout',
    help: 'How long the client may take nothing of what is left to say once the session ends; then the session ends without it.',
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
  maxSuspendedCalls: {
    ...count,
    name: 'max-suspended-calls',
    help: 'How many calls that have asked the client wait for its retry at once; the oldest of more is ended.',
  },
  suspendedCallTimeoutMs: {
    ...duration,
    name: 'suspended-call-timeout',
    help: 'How long a call that has asked the client waits for its retry; then it is ended.',
  },
  maxRounds: {
    ...count,
    name: 'max-rounds',
    help: 'How many times one call may ask the client.',
  },
  maxRequestStateBytes: {
    ...size,
    name: 'max-request-state',
    help: 'The longest state of a call that travels through the client; a call that would pass it fails.',
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
    help: 'How long a task is kept from its creation if the client asks for no time.',
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
  maxWaitingBytes: {
    ...size,
    name: 'max-waiting-size',
    help: "How long the client's requests that wait may be, together; one more that would exceed it is refused in the same way.",
  },
  maxRunningBytes: {
    ...size,
    name: 'max-running-size',
    help: "How long the client's requests that run may be, together, those that await its own answer included; more wait.",
  },
  maxRetainedBytes: {
    ...size,
    name: 'max-retained',
    help: 'How much is kept for a client beyond its requests, together: calls that wait for its retry, tasks with what comes of them, the URIs of its subscriptions.',
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

export const options = {
  'log-level': {
    kind: 'choice',
    choices: logLevels,
    default: 'warning',
    environment: 'MCP_ACTORS_LOG_LEVEL',
    help: 'How much is logged on stderr. Some clients show every line as an error.',
  },
  'log-file': {
    kind: 'text',
    placeholder: 'FILE',
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
  'search-timeout': {
    ...duration,
    default: defaultSearchTimeoutMs,
    help: 'How long a search may take, with its wait for others; then it answers with what it has found.',
  },
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the session, over HTTP all of them, live on a local page, whose address is written to stderr; or in the official inspector of XState.',
  },
  record: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Record the session into a new file, which mcp-actors replay plays again; in a directory, into a new file of its own. Over HTTP each session has its file: mine.jsonl becomes mine-1.jsonl, mine-2.jsonl and so on. Secrets are replaced, as far as they can be told by their form.',
  },
  ...recordOptionsOf('session'),
  ...httpOptions,
  ...limitTable(),
  ...httpLimitOptions,
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
  version: { kind: 'switch', short: 'V', help: 'Print the version.' },
} as const satisfies OptionTable;

function limitTable(): { readonly [name: string]: LimitOption } {
  return Object.fromEntries(
    Object.entries(limitOptions).map(([key, { name, ...option }]) => {
      const limit = key as keyof Limits;
      return [name, { ...option, limit, default: defaultLimits[limit] }];
    }),
  );
}

/** The session limits among the given values. */
export function limitsOf(values: { readonly [name: string]: unknown }): Partial<Limits> {
  const limits: { -readonly [K in keyof Limits]?: number } = {};
  for (const [name, option] of Object.entries<object>(options)) {
    const value = values[name];
    if ('limit' in option && typeof value === 'number')
      limits[option.limit as keyof Limits] = value;
  }
  return limits;
}
