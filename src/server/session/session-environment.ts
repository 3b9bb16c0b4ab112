/**
 * Environment of a session: clock, random ids, handlers, transport, roots and host actions. The live
 * environment passes everything through, a recorder records it, and a replay substitutes the recording.
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

/** Configuration of a session, stored in the header of a recording. */
export interface SessionSetup {
  /** Server description in the `initialize` result. */
  readonly server: ServerDescription;
  readonly limits: Limits;
  /** Methods that run the author's code. */
  readonly methods: readonly string[];
  /** Tools that support tasks. */
  readonly taskTools: { readonly [name: string]: TaskSupport };
  /** True if the server resolves the client's roots to directories. */
  readonly resolvesRoots: boolean;
  /** Set if retried calls always rerun their handler. */
  readonly resume?: 'replay';
}

/** Sends a notification that is unrelated to a call. */
export type Notify = (method: string, params?: JsonObject) => void;

/**
 * Notifies the client's subscriptions of a change.
 *
 * @param method method of the notification
 * @param uri changed resource; undefined for a list
 * @param except numbers of subscriptions that must not see the change
 */
export type ChangeNotice = (method: string, uri?: string, except?: readonly number[]) => void;

/** A starting session, passed to its environment. */
export interface BeginningSession {
  readonly server: ServerDescription;
  readonly setup: SessionSetup;
  readonly report: Report;
  /** Transitions of the session's machines, starting with the first event. */
  readonly transitions: Pick<Transitions, 'listen'>;
  /** Current time, ISO 8601. */
  timeOfDay(): string;
  /** Notifies the client, bypassing the environment. */
  readonly notify: Notify;
  /** Notifies the client's subscriptions, bypassing the environment. */
  readonly notice: ChangeNotice;
}

/** Purpose of a random id: a request to the client, a task, a masked error, or a suspendable call. */
export type RandomIdUse = 'request' | 'task' | 'error' | 'call';

/** Boundary between a session and the outside. Each method passes its argument through or replaces it. */
export interface SessionEnvironment {
  /** Provides the clock of the session's machines, requests and tasks. Called first. */
  clock(hostClock: Clock): Clock;
  /** Called once before the session starts. Returns the server description for `initialize`. */
  begin(session: BeginningSession): ServerDescription;
  /** Provides the handlers that run the author's code, by method. Called once, after `begin`. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  /** Provides the transport. Called once, after `begin`. */
  transport(transport: Transport): Transport;
  /** Provides the current time for tasks, ISO 8601. Default: the session's clock. */
  timeOfDay?(): string | undefined;
  /** Provides random ids that leave the session. Default: `make()`. */
  randomId?(of: RandomIdUse, make: () => string): string;
  /** Provides the sealer of request states. Called once, before the first suspendable call. */
  sealer(sealer: StateSealer): StateSealer;
  /** Provides the roots resolver. Called for each `roots/list`. */
  resolveRoots(resolve: RootsResolver | undefined): RootsResolver | undefined;
  /**
   * Queries the client's roots.
   *
   * @param ask sends `roots/list` and returns its result
   */
  listRoots(ask: () => Promise<JsonObject>): Promise<JsonObject>;
  /** Sends a notification of the author's code or the host that is unrelated to a call. */
  notify(notify: Notify, method: string, params?: JsonObject): void;
  /** Notifies the client's subscriptions of a change. */
  notice(notice: ChangeNotice, ...change: Parameters<ChangeNotice>): void;
  /** Called when the host ends the session. */
  shutdown(event: SessionShutdown, shutdown: () => void): void;
  /** Called when the host pings the client. */
  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T>;
  /** Calls a listener of the host. */
  listener(name: string, call: () => void): void;
  /** Called when the session has ended. */
  closed(cause: CloseCause): void;
}

/** Shared environment of sessions that are neither recorded nor replayed. */
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
