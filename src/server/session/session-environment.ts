/**
 * The environment of a session: its clock, random ids, handlers, transport and resolved roots, and
 * what its host does to it. The plain environment hands everything on. A recorder notes what
 * passes; a replay takes it from the recording.
 */
import type { RootsResolver } from '../../protocol/roots.ts';
import type { RequestHandler } from '../../actors/request-context.ts';
import type { Clock } from '../../actors/clock.ts';
import type { SessionShutdown } from '../../machines/session-ports.ts';
import type { CloseCause } from '../../machines/session-ports.ts';
import type { Report } from '../../actors/facts.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { TaskSupport } from '../../protocol/tasks.ts';
import type { StateSealer } from '../../rounds/request-state.ts';
import type { Limits } from '../../actors/limits.ts';
import type { Transitions } from '../../actors/transitions.ts';
import type { Transport } from '../../transports/transport.ts';

/** What a session starts with. A recording's header holds it. */
export interface SessionSetup {
  /** What `initialize` is answered with. */
  readonly server: ServerDescription;
  readonly limits: Limits;
  /** The methods that run the author's code. */
  readonly methods: readonly string[];
  /** The tools that may run as tasks. */
  readonly taskTools: { readonly [name: string]: TaskSupport };
  /** Whether the server resolves the client's roots to directories. */
  readonly resolvesRoots: boolean;
  /** Set if calls that have asked their client are always run again. */
  readonly resume?: 'replay';
}

/** Sends a notification that belongs to no call. */
export type Notify = (method: string, params?: JsonObject) => void;

/**
 * Tells the client's subscriptions that something has changed.
 *
 * @param method of the notification
 * @param uri the resource that has changed; undefined for a list
 * @param except the numbers of the subscriptions that do not see it
 */
export type ChangeNotice = (method: string, uri?: string, except?: readonly number[]) => void;

/** A session that is about to start, as its environment gets it. */
export interface BeginningSession {
  readonly server: ServerDescription;
  readonly setup: SessionSetup;
  readonly report: Report;
  /** The transitions of its machines, from the first event on. */
  readonly transitions: Pick<Transitions, 'listen'>;
  /** The time of day, ISO 8601. */
  timeOfDay(): string;
  /** Notifies the client without passing the environment. */
  readonly notify: Notify;
  /** Tells the client's subscriptions without passing the environment. */
  readonly notice: ChangeNotice;
}

/**
 * What a random id is for: a request to the client, a task, an error that is masked, or a call that
 * goes on in rounds.
 */
export type RandomIdUse = 'request' | 'task' | 'error' | 'call';

/**
 * Stands between one session and everything outside of it. Each method hands on what it is given,
 * or puts something else in its place.
 */
export interface SessionEnvironment {
  /** The clock of the session's own actors: its machines, requests and tasks. Called first. */
  clock(hostClock: Clock): Clock;
  /** Called once, before the session starts. Returns what `initialize` is answered with. */
  begin(session: BeginningSession): ServerDescription;
  /** The handlers that run the author's code, by method. Called once, after `begin`. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  /** Called once, after `begin`. */
  transport(transport: Transport): Transport;
  /** The time of day of a task, ISO 8601. Absent or undefined: the session's own. */
  timeOfDay?(): string | undefined;
  /** A random id that leaves the session, and what it is for. Absent: as it was made. */
  randomId?(of: RandomIdUse, make: () => string): string;
  /** Called once, before the first call that may ask by ending. */
  sealer(sealer: StateSealer): StateSealer;
  /** Called each time the client is asked for its roots. */
  resolveRoots(resolve: RootsResolver | undefined): RootsResolver | undefined;
  /**
   * The session wants to know the client's roots.
   * @param ask asks the client, and gives the result of its answer
   */
  listRoots(ask: () => Promise<JsonObject>): Promise<JsonObject>;
  /** The author's code or the host sends a notification that belongs to no call. */
  notify(notify: Notify, method: string, params?: JsonObject): void;
  /** Something has changed that the client's subscriptions may be for. */
  notice(notice: ChangeNotice, ...change: Parameters<ChangeNotice>): void;
  /** The host ends the session. */
  shutdown(event: SessionShutdown, shutdown: () => void): void;
  /** The host asks whether the client is there. */
  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T>;
  /** A listener of the host is called. */
  listener(name: string, call: () => void): void;
  /** The session has ended. */
  closed(cause: CloseCause): void;
}

/** The environment of sessions that are neither recorded nor replayed; they share it. */
export const liveEnvironment: SessionEnvironment = {
  clock: (hostClock) => hostClock,
  begin: ({ server }) => server,
  handlers: (handlers) => handlers,
  transport: (transport) => transport,
  sealer: (sealer) => sealer,
  resolveRoots: (resolve) => resolve,
  listRoots: (ask) => ask(),
  notify: (notify, method, params) => notify(method, params),
  notice: (notice, ...change) => notice(...change),
  shutdown: (_, shutdown) => shutdown(),
  ping: (_, signal, send) => send(signal),
  listener: (_, call) => call(),
  closed: () => {},
};
