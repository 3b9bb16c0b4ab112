/** The options of an HTTP endpoint: every bound and every time, with its default. */
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

/** Bounds of an endpoint. Those of its sessions are `limits` of {@link HttpOptions.session}. */
export interface HttpLimits {
  /** Longest body of a request, bytes; a longer one is refused with 413. */
  readonly maxBodyBytes: number;
  /**
   * What bodies of one client that are not at their end may come to together, bytes; the next one is
   * refused with 503. All clients together have four times as much.
   */
  readonly maxUnfinishedBytes: number;
  /** How long a body may take to come to its end, milliseconds; then it is refused with 408. */
  readonly bodyTimeoutMs: number;
  /**
   * Sessions that are open at once. One more ends one: first those whose clients have said nothing
   * since they were greeted, then those that are idle for longest.
   */
  readonly maxSessions: number;
  /** How long a session may be without a request or an open stream, milliseconds; then it ends. */
  readonly sessionIdleTimeoutMs: number;
  /**
   * How long a request may be without an answer before its answer becomes a stream, milliseconds:
   * the client then knows what to resume if it is cut.
   */
  readonly streamAfterMs: number;
  /** How long a stream may be silent before a comment is sent, milliseconds; 0 = never. */
  readonly keepaliveIntervalMs: number;
  /** How long a client should wait before it opens a stream again, milliseconds. */
  readonly retryMs: number;
  /** What may wait for a client that does not read a stream, bytes; past it the stream is cut. */
  readonly maxUnreadBytes: number;
  /** How long a client may take nothing of what waits for it, milliseconds; then it is cut, too. */
  readonly unreadTimeoutMs: number;
  /** What waits for a client that has no stream open: messages, and their bytes together. */
  readonly maxWaitingPushes: number;
  /** The bytes of the messages that wait for a client without a stream. */
  readonly maxWaitingPushBytes: number;
  /** What a session keeps of its streams to repeat it, bytes, events and milliseconds. */
  readonly maxEventBytes: number;
  /** The most events of a session that are kept to be repeated. */
  readonly maxEvents: number;
  /** How long an event is kept to be repeated, milliseconds. */
  readonly eventTtlMs: number;
}

/** All limits of an endpoint, with what the command and the docs say of them. */
const httpLimitTable: { readonly [name in keyof HttpLimits]: LimitRow } = {
  maxBodyBytes: {
    default: 16 * MiB,
    help: 'The longest body of a request; a longer one is refused with 413.',
  },
  maxUnfinishedBytes: {
    default: 64 * MiB,
    help: 'How much one client may have sent of bodies that are not at their end; all together have four times as much. The next one is refused with 503.',
  },
  bodyTimeoutMs: {
    default: 1 * minute,
    help: 'How long a body may take to come to its end; then it is refused with 408.',
  },
  maxSessions: {
    default: 10_000,
    help: 'How many sessions are open at once. One more ends one whose client has said nothing since its greeting, or the one that is idle for longest; if there is none, it is refused.',
  },
  sessionIdleTimeoutMs: {
    default: 30 * minute,
    help: 'How long a session may be without a request or an open stream; then it ends.',
  },
  streamAfterMs: {
    default: 5 * second,
    help: 'How long an answer may take before it becomes a stream, which its client can resume.',
  },
  keepaliveIntervalMs: {
    default: 15 * second,
    least: 0,
    help: 'How long a stream may be silent before it carries a comment; 0 means never.',
  },
  retryMs: {
    default: 1 * second,
    help: 'How long a client should wait before it opens a stream again.',
  },
  maxUnreadBytes: {
    default: 4 * MiB,
    help: 'How much may wait for a client that does not read a stream; past it the stream is cut.',
  },
  unreadTimeoutMs: {
    default: 30 * second,
    help: 'How long a client may take nothing of what waits for it; then its stream is cut.',
  },
  maxWaitingPushes: {
    default: 256,
    help: 'How many messages wait for a client that has no stream open; the oldest of more are dropped.',
  },
  maxWaitingPushBytes: {
    default: 1 * MiB,
    help: 'How long these may be, together.',
  },
  maxEventBytes: {
    default: 4 * MiB,
    help: 'How much of its streams a session keeps to repeat it.',
  },
  maxEvents: {
    default: 1000,
    help: 'How many messages of its streams a session keeps.',
  },
  eventTtlMs: {
    default: 5 * minute,
    help: 'How long a session keeps them.',
  },
};

/** The limits of an endpoint that sets none itself. docs/http.md explains each. */
export const defaultHttpLimits: HttpLimits = defaultsOf(httpLimitTable);

/** All limits of a server over HTTP. */
export const limitTables = { session: limitTable, http: httpLimitTable } as const;

/** How a server is reached over HTTP: who may, how much, and how it ends. */
export interface HttpOptions {
  /** Bounds and times; what is left out is as in {@link defaultHttpLimits}. */
  readonly limits?: Partial<HttpLimits>;
  /**
   * The hosts that a request may name, with their ports, against DNS rebinding; `any` if a proxy in
   * front checks it.
   */
  readonly allowedHosts?: readonly string[] | 'any';
  /**
   * The path of the endpoint: any other is answered with 404. By default every path is the endpoint,
   * because what mounts the handler has chosen one.
   */
  readonly path?: string;
  /** The origins of web pages that may use the endpoint, and that CORS headers are sent for. */
  readonly allowedOrigins?: readonly string[] | 'any';
  /** Who may use it, by their access tokens; by default everybody who can reach it. */
  readonly authorization?: AuthorizationOptions;
  /** Every request is answered with JSON, never with a stream. No client can be asked anything. */
  readonly jsonResponses?: boolean;
  /** No session is kept for clients of the revisions that have them. */
  readonly stateless?: boolean;
  /**
   * What several processes share, so that each can serve every session; by default sessions are this
   * endpoint's alone. Only this endpoint may use them, and it closes them at its end.
   */
  readonly stores?: Stores;
  /** How the other nodes reach this one, and it reaches them. Needed beside `stores`. */
  readonly node?: NodeOptions;
  /** The endpoint's time, and that of its sessions. Tests give a clock that they drive. */
  readonly clock?: Clock;
  /** Hears what the endpoint refuses. By default, warnings and errors go to stderr. */
  readonly report?: Report;
  /**
   * Serves the deprecated HTTP+SSE of 2024-11-05 as well: `GET …/sse` opens the stream of a session,
   * which names `…/messages` for what the client has to say. Beside the endpoint's own path.
   */
  readonly sse?: boolean;
  /** Options for each session that begins, or what gives them for the request that begins it. */
  readonly session?: SessionOptions | ((request: ServedHttpRequest) => SessionOptions);
  /**
   * Gives each session that begins what it gets from outside, such as a recorder: `environment` of
   * `listen`. The requests of one server that have no session have one environment for all.
   */
  readonly environment?: () => SessionEnvironment | undefined;
}

/** How nodes that share their sessions reach each other. */
export interface NodeOptions {
  /**
   * The URL at which other nodes reach this endpoint, such as `http://10.0.0.7:3000/mcp`. A promise of it if the
   * server listens later: until then, other nodes do not know this one.
   */
  readonly url: string | Promise<string>;
  /** Certificates, in PEM, that nodes over HTTPS are trusted by, in place of those that Node knows. */
  readonly ca?: string | readonly string[];
  /**
   * Where requests may be forwarded to: hosts, with ports or without, and networks such as `10.0.0.0/8`. By default
   * wherever the store says: whoever can write to it chooses where signed requests go.
   */
  readonly peers?: readonly string[];
}

type SessionOptions = Omit<ListenOptions, 'environment' | 'clock'>;

/** A server, and options for the session that serves it, beside those for all. */
export interface Served {
  /** The server. */
  readonly server: McpServer;
  /** Options for the session that serves it. */
  readonly session: SessionOptions;
}

/** Options for a session that begins now. */
export function beginning(
  { session }: Served,
  { environment }: Pick<HttpOptions, 'environment'>,
): ListenOptions {
  const given = environment?.();
  return given ? { ...session, environment: given } : session;
}

/**
 * What a server is wanted for: a session that begins, or any number of requests without one. Those
 * that get the same server are served together, with the options that came with the first.
 */
export type ServedFor = 'session' | 'requests';

/** The server that an endpoint serves, or what gives the one for a request. */
export type ServerFactory =
  | McpServer
  | ((request: ServedHttpRequest, use: ServedFor) => McpServer | Served);

/** What is served to a request, and with which options. */
export function servedBy(
  server: ServerFactory,
  { session = {} }: HttpOptions,
): (request: ServedHttpRequest, use: ServedFor) => Served {
  return (request, use) => {
    const given = typeof server === 'function' ? server(request, use) : server;
    const common = typeof session === 'function' ? session(request) : session;
    if (!('server' in given)) return { server: given, session: common };
    return { server: given.server, session: { ...common, ...given.session } };
  };
}
