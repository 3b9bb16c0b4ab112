/**
 * The edge of a session: everything that comes to it from outside passes here, the bytes apart. It always stands there. The plain one hands on what it is
 * given; a recorder notes what passes; a player stands in for the world.
 */
import type { RootsResolver } from '../machines/roots-report.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import type { SessionShutdown } from '../machines/session-end.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import type { Report } from '../actors/facts.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { TaskSupport } from '../protocol/tasks.ts';
import type { Limits } from '../actors/limits.ts';
import type { Transitions } from './transitions.ts';
import type { Transport } from '../transports/transport.ts';

/** What a session starts with. A recording's header holds it. */
export interface SessionSetup {
  /** What `initialize` is answered with. */
  readonly server: ServerDescription;
  readonly limits: Limits;
  /** The methods that run the author's code. */
  readonly methods: readonly string[];
  /** The methods whose handlers load something before their first call. */
  readonly prepared: readonly string[];
  /** The tools that may run as tasks. */
  readonly taskTools: { readonly [name: string]: TaskSupport };
  /** Whether the server resolves the client's roots to directories. */
  readonly resolvesRoots: boolean;
}

/** Sends a notification that belongs to no call. */
export type Notify = (method: string, params?: JsonObject) => void;

/** A session that is about to start, as its edge gets to know it. */
export interface BeginningSession {
  readonly server: ServerDescription;
  readonly setup: SessionSetup;
  readonly report: Report;
  /** What its machines do, from the first event on. */
  readonly transitions: Pick<Transitions, 'listen'>;
  /** The time of day, ISO 8601. */
  timeOfDay(): string;
  /** Notifies the client past the edge. */
  readonly notify: Notify;
}

/** Stands between one session and everything outside of it. Each method does or gives the same thing, heard or replaced. */
export interface SessionEdge {
  /** The time of the session's own actors: its machines, its requests, its tasks. Asked for first. */
  clock(hostClock: Clock): Clock;
  /** Called once, before the session starts; what it gives is what `initialize` is answered with. */
  begin(session: BeginningSession): ServerDescription;
  /** The handlers that run code of the author's, by method; called once, after `begin`. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  /** Called once, after `begin`. */
  transport(transport: Transport): Transport;
  /** The time of day in a task, ISO 8601. */
  timeOfDay(timeOfDay: () => string): string;
  /** A random id of a task or of the session's requests. */
  randomId(of: 'request' | 'task', make: () => string): string;
  /** Called for each query of the client's roots. */
  resolveRoots(resolve: RootsResolver | undefined): RootsResolver | undefined;
  /** The author's code or the host notifies the client on no call's behalf. */
  notify(notify: Notify, method: string, params?: JsonObject): void;
  /** The host ends the session. */
  shutdown(event: SessionShutdown, shutdown: () => void): void;
  /** The host asks whether the client is there. */
  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T>;
  /** Code of the host's hears of something. */
  listener(name: string, call: () => void): void;
  closed(cause: CloseCause): void;
}

/** The edge of a session that nobody records and that is no replay: one for all of them. */
export const plainEdge: SessionEdge = {
  clock: (hostClock) => hostClock,
  begin: ({ server }) => server,
  handlers: (handlers) => handlers,
  transport: (transport) => transport,
  timeOfDay: (timeOfDay) => timeOfDay(),
  randomId: (_, make) => make(),
  resolveRoots: (resolve) => resolve,
  notify: (notify, method, params) => notify(method, params),
  shutdown: (_, shutdown) => shutdown(),
  ping: (_, signal, send) => send(signal),
  listener: (_, call) => call(),
  closed: () => {},
};
