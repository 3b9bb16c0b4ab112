/** Options of an HTTP endpoint: limits and timeouts with their defaults. */
import type { AuthorizationOptions } from './auth/options.ts';
import type { Stores } from './nodes/stores.ts';
import { defaultsOf, limitTable } from '../../../src/actors/limits.ts';
import type { LimitRow } from '../../../src/actors/limits.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { McpServer, ListenOptions } from '../../../src/server/create-server.ts';
import type { ServedHttpRequest } from '../../../src/protocol/request-origin.ts';
import type { SessionEnvironment } from '../../../src/server/session/session-environment.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const second = 1000;
const minute = 60 * second;

/** Limits of an endpoint. {@link HttpOptions.session} has the limits of its sessions. */
export interface HttpLimits {
  /** Maximum request body, bytes; a longer body is rejected with 413. */
  readonly maxBodyBytes: number;
  /**
   * Maximum bytes of unfinished bodies per client; the next body is rejected with 503. The total
   * for all clients is four times as much.
   */
  readonly maxUnfinishedBytes: number;
  /** Time to receive a complete body, milliseconds; a slower one is rejected with 408. */
  readonly bodyTimeoutMs: number;
  /**
   * Maximum open sessions. One more evicts a session: first those unused since `initialize`, then
   * the one idle the longest.
   */
  readonly maxSessions: number;
  /** Idle time without a request or an open stream after which a session ends, milliseconds. */
  readonly sessionIdleTimeoutMs: number;
  /**
   * Time without a response after which the answer becomes a stream, milliseconds. The client can
   * resume a stream if its connection is cut.
   */
  readonly streamAfterMs: number;
  /** Silence on a stream after which a keepalive comment is sent, milliseconds; 0 disables it. */
  readonly keepaliveIntervalMs: number;
  /** Reconnection delay suggested to clients (SSE `retry`), milliseconds. */
  readonly retryMs: number;
  /** Maximum unsent bytes of a stream; beyond it the stream is cut. */
  readonly maxUnreadBytes: number;
  /** Time a client may read nothing of its unsent bytes, milliseconds; then the stream is cut. */
  readonly unreadTimeoutMs: number;
  /** Maximum messages queued for a client without an open stream. */
  readonly maxWaitingPushes: number;
  /** Maximum total bytes of messages queued for a client without an open stream. */
  readonly maxWaitingPushBytes: number;
  /** Maximum bytes of stream events that a session keeps for replay. */
  readonly maxEventBytes: number;
  /** Maximum number of stream events that a session keeps for replay. */
  readonly maxEvents: number;
  /** Time a stream event is kept for replay, milliseconds. */
  readonly eventTtlMs: number;
}

/** All limits of an endpoint, with the help text shown by the command and the docs. */
const httpLimitTable: { readonly [name in keyof HttpLimits]: LimitRow } = {
  maxBodyBytes: {
    default: 16 * MiB,
    help: 'Maximum size of a request body; a larger one is rejected with 413.',
  },
  maxUnfinishedBytes: {
    default: 64 * MiB,
    help: "Maximum size of one client's unfinished bodies, four times as much for all clients; beyond it bodies are rejected with 503.",
  },
  bodyTimeoutMs: {
    default: 1 * minute,
    help: 'Time to receive a complete body; a slower one is rejected with 408.',
  },
  maxSessions: {
    default: 10_000,
    help: 'Maximum open sessions. One more evicts a session unused since initialize, or the one idle the longest; without one it is rejected.',
  },
  sessionIdleTimeoutMs: {
    default: 30 * minute,
    help: 'Time without a request or an open stream after which a session ends.',
  },
  streamAfterMs: {
    default: 5 * second,
    help: 'Time after which a pending answer becomes a stream, which the client can resume.',
  },
  keepaliveIntervalMs: {
    default: 15 * second,
    min: 0,
    help: 'Silence after which a stream carries a keepalive comment; 0 means never.',
  },
  retryMs: {
    default: 1 * second,
    help: 'Reconnection delay suggested to clients.',
  },
  maxUnreadBytes: {
    default: 4 * MiB,
    help: 'Maximum unread bytes of a stream; beyond it the stream is cut.',
  },
  unreadTimeoutMs: {
    default: 30 * second,
    help: 'Time a client may leave output unread; then its stream is cut.',
  },
  maxWaitingPushes: {
    default: 256,
    help: 'Maximum messages queued for a client without an open stream; the oldest are dropped.',
  },
  maxWaitingPushBytes: {
    default: 1 * MiB,
    help: 'Maximum total size of these messages.',
  },
  maxEventBytes: {
    default: 4 * MiB,
    help: 'Maximum size of the messages that a session keeps for replay.',
  },
  maxEvents: {
    default: 1000,
    help: 'Maximum number of messages that a session keeps for replay.',
  },
  eventTtlMs: {
    default: 5 * minute,
    help: 'Time a session keeps them.',
  },
};

/** Default limits of an endpoint. docs/http.md explains each. */
export const defaultHttpLimits: HttpLimits = defaultsOf(httpLimitTable);

export const limitTables = { session: limitTable, http: httpLimitTable } as const;

/** Options of an HTTP endpoint: access, limits and lifecycle. */
export interface HttpOptions {
  /** Limits; missing ones default to {@link defaultHttpLimits}. */
  readonly limits?: Partial<HttpLimits>;
  /**
   * Accepted `Host` values, with their ports, as protection against DNS rebinding; `any` if a proxy
   * in front checks them. Default: loopback names.
   */
  readonly allowedHosts?: readonly string[] | 'any';
  /**
   * Path of the endpoint; requests to other paths get 404. By default any path is accepted, because
   * the mount point already selects it.
   */
  readonly path?: string;
  /** Origins of web pages that may use the endpoint and receive CORS headers. */
  readonly allowedOrigins?: readonly string[] | 'any';
  /** Access token validation. Default: anyone who can reach the endpoint may use it. */
  readonly authorization?: AuthorizationOptions;
  /**
   * Answers every request with JSON and opens no streams. Clients cannot be sent any requests then.
   */
  readonly jsonResponses?: boolean;
  /** Serves revisions with a handshake without keeping sessions. */
  readonly stateless?: boolean;
  /**
   * Stores shared by several processes, so that each can serve every session. By default this
   * process owns all its sessions. The endpoint takes exclusive ownership of `stores` and closes
   * them with itself.
   */
  readonly stores?: Stores;
  /** Addresses for traffic between nodes. Required with `stores`. */
  readonly node?: NodeOptions;
  /** Clock of the endpoint and its sessions. Tests pass a clock they control. */
  readonly clock?: Clock;
  /** Receives the endpoint's reports. Default: warnings and errors go to stderr. */
  readonly report?: Report;
  /**
   * Also serves the deprecated HTTP+SSE transport of 2024-11-05 below the endpoint's path: `GET
   * …/sse` opens the session's stream, and the client posts its messages to `…/messages`.
   */
  readonly sse?: boolean;
  /**
   * Options of each new session, or a function that returns them for the request that starts the
   * session.
   */
  readonly session?: SessionOptions | ((request: ServedHttpRequest) => SessionOptions);
  /**
   * Environment of each new session, such as a recorder: `environment` of `listen`. Requests
   * without a session share one environment per server.
   */
  readonly environment?: () => SessionEnvironment | undefined;
}

/** Addresses and trust for traffic between nodes that share sessions. */
export interface NodeOptions {
  /**
   * URL at which other nodes reach this endpoint, such as `http://10.0.0.7:3000/mcp`. Pass a
   * promise if the server starts listening later; other nodes do not see this one until it
   * resolves.
   */
  readonly url: string | Promise<string>;
  /** CA certificates (PEM) trusted for nodes over HTTPS, instead of Node's defaults. */
  readonly ca?: string | readonly string[];
  /**
   * Hosts (with or without a port) and networks such as `10.0.0.0/8` that requests may be forwarded
   * to. By default any address in the store is accepted, so anyone who can write to the store
   * chooses where signed requests go.
   */
  readonly peers?: readonly string[];
}

type SessionOptions = Omit<ListenOptions, 'environment' | 'clock'>;

/** A server with session options for one request. */
export interface ServerWithOptions {
  readonly server: McpServer;
  /** Options of its session. They override the endpoint's `session` options. */
  readonly session: SessionOptions;
}

/** Options to start a session with, including its environment. */
export function listenOptionsFor(
  { session }: ServerWithOptions,
  { environment }: Pick<HttpOptions, 'environment'>,
): ListenOptions {
  const given = environment?.();
  return given ? { ...session, environment: given } : session;
}

/**
 * Purpose of the server: one new session, or any number of requests without a session. Requests
 * that get the same server share the options given with the first one.
 */
export type ServerUse = 'session' | 'requests';

/** The server to serve, or a function that picks one for each request. */
export type ServerFactory =
  | McpServer
  | ((request: ServedHttpRequest, use: ServerUse) => McpServer | ServerWithOptions);

/** Resolves the server for a request and merges its session options. */
export function serverResolver(
  server: ServerFactory,
  { session = {} }: HttpOptions,
): (request: ServedHttpRequest, use: ServerUse) => ServerWithOptions {
  return (request, use) => {
    const given = typeof server === 'function' ? server(request, use) : server;
    const common = typeof session === 'function' ? session(request) : session;
    if (!('server' in given)) return { server: given, session: common };
    return { server: given.server, session: { ...common, ...given.session } };
  };
}
