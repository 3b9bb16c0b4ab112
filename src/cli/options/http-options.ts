/** The options of `mcp-actors serve --http`. */
import { defaultHttpLimits } from '../../http/options.ts';
import type { HttpLimits } from '../../http/options.ts';
import { count, duration, from, size } from './option.ts';
import type { Measured, OptionTable } from './option.ts';

export const httpOptions = {
  http: {
    kind: 'text',
    placeholder: '[HOST:]PORT',
    help: 'Serve over HTTP, at /mcp, in place of stdin and stdout. On 127.0.0.1 unless a host is given. A host that others can reach needs authentication, or to be declared insecure.',
  },
  insecure: {
    kind: 'switch',
    help: 'Let everybody who reaches the host use the server, and read what it can read.',
  },
  'allow-host': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'A name that clients may reach the server by, beside those of this machine; may be repeated.',
  },
  'allow-origin': {
    kind: 'texts',
    placeholder: 'ORIGIN',
    help: 'An origin whose web pages may use the server, as https://app.example; may be repeated.',
  },
  'auth-issuer': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Requests need an access token of this issuer.',
  },
  'auth-audience': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Whom the tokens are for: the URL of this server, as clients know it.',
  },
  'auth-scope': {
    kind: 'texts',
    placeholder: 'SCOPE',
    help: 'A scope that every request needs; may be repeated.',
  },
  redis: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Share sessions with the other processes at this Redis, so that each serves the clients of all.',
  },
  sse: {
    kind: 'switch',
    help: 'Serve the deprecated HTTP+SSE of 2024-11-05 as well, at /sse.',
  },
  health: {
    kind: 'switch',
    help: 'Answer /healthz while the process works, and /readyz until it is told to end.',
  },
} as const satisfies OptionTable;

/** An option that sets a limit of the endpoint. Its default is the limit's own. */
interface HttpLimitOption extends Measured {
  readonly httpLimit: keyof HttpLimits;
}

/** One option for every limit; a missing one is a type error. */
const limits: {
  readonly [K in keyof HttpLimits]: Omit<HttpLimitOption, 'httpLimit' | 'default'> & {
    readonly name: string;
  };
} = {
  maxBodyBytes: {
    ...size,
    name: 'max-body',
    help: 'Over HTTP: the longest body of a request; a longer one is refused with 413.',
  },
  maxUnfinishedBytes: {
    ...size,
    name: 'max-unfinished',
    help: 'Over HTTP: how much one client may have sent of bodies that are not at their end; all together have four times as much. The next one is refused with 503.',
  },
  bodyTimeoutMs: {
    ...duration,
    name: 'body-timeout',
    help: 'Over HTTP: how long a body may take to come to its end; then it is refused with 408.',
  },
  maxSessions: {
    ...count,
    name: 'max-sessions',
    help: 'Over HTTP: how many sessions are open at once. One more ends one whose client has said nothing since its greeting, or the one that is idle for longest; if there is none, it is refused.',
  },
  sessionIdleTimeoutMs: {
    ...duration,
    name: 'session-idle-timeout',
    help: 'Over HTTP: how long a session may be without a request or an open stream; then it ends.',
  },
  streamAfterMs: {
    ...duration,
    name: 'stream-after',
    help: 'Over HTTP: how long an answer may take before it becomes a stream, which its client can resume.',
  },
  keepaliveIntervalMs: {
    ...from(duration, 0),
    name: 'stream-keepalive',
    help: 'Over HTTP: how long a stream may be silent before it carries a comment; 0 means never.',
  },
  retryMs: {
    ...duration,
    name: 'stream-retry',
    help: 'Over HTTP: how long a client should wait before it opens a stream again.',
  },
  maxUnreadBytes: {
    ...size,
    name: 'max-unread',
    help: 'Over HTTP: how much may wait for a client that does not read a stream; past it the stream is cut.',
  },
  unreadTimeoutMs: {
    ...duration,
    name: 'unread-timeout',
    help: 'Over HTTP: how long a client may take nothing of what waits for it; then its stream is cut.',
  },
  maxWaitingPushes: {
    ...count,
    name: 'max-waiting-pushes',
    help: 'Over HTTP: how many messages wait for a client that has no stream open; the oldest of more are dropped.',
  },
  maxWaitingPushBytes: {
    ...size,
    name: 'max-waiting-push-size',
    help: 'Over HTTP: how long these may be, together.',
  },
  maxEventBytes: {
    ...size,
    name: 'max-event-size',
    help: 'Over HTTP: how much of its streams a session keeps to repeat it.',
  },
  maxEvents: {
    ...count,
    name: 'max-events',
    help: 'Over HTTP: how many messages of its streams a session keeps.',
  },
  eventTtlMs: {
    ...duration,
    name: 'event-ttl',
    help: 'Over HTTP: how long a session keeps them.',
  },
};

export const httpLimitOptions: { readonly [name: string]: HttpLimitOption } = Object.fromEntries(
  Object.entries(limits).map(([key, { name, ...option }]) => {
    const httpLimit = key as keyof HttpLimits;
    return [name, { ...option, httpLimit, default: defaultHttpLimits[httpLimit] }];
  }),
);
