/**
 * The edge of a session: everything that comes to it from outside passes here, the bytes apart. A recorder notes what passes; a player stands in for the world.
 * A session without an edge pays nothing for it.
 */
import type { ResolveRoots } from '../actors/ask-roots.actor.ts';
import type { RequestHandler } from '../actors/call.ts';
import type { Clock } from '../actors/clock.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import type { Report } from '../protocol/facts.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { TaskSupport } from '../protocol/tasks.ts';
import type { Limits } from './limits.ts';
import type { Transitions } from './transitions.ts';
import type { Transport } from './transport.ts';

/** What a session's core is made of, as its edge gets to know it before the session starts. */
export interface SessionOutset {
  readonly server: ServerDescription;
  readonly limits: Limits;
  /** Methods whose handlers load something before their first call. */
  readonly prepared: readonly string[];
  /** The methods that run code of the server's author. */
  readonly methods: readonly string[];
  /** Tools that may run as tasks. */
  readonly taskTools: { readonly [name: string]: TaskSupport };
  readonly resolvesRoots: boolean;
  readonly report: Report;
}

/** Sends a notification that belongs to no call. */
export type Notify = (method: string, params?: JsonObject) => void;

/** Stands between one session and everything outside of it. Each method gives the same thing, heard or replaced. */
export interface SessionEdge {
  /** The time of the session's core: its machines, its requests, its tasks. */
  clock(clock: Clock): Clock;
  /** The time of day in tasks, ISO 8601. */
  timeOfDay(timeOfDay: () => string): () => string;
  /** Random ids of tasks and of the session's requests. */
  randomId(of: 'request' | 'task', make: () => string): string;
  transport(transport: Transport): Transport;
  /**
   * Called once, before the session starts; what it gives is what `initialize` is answered with.
   * @param transitions what the session's machines do, from the first event on
   */
  begin(outset: SessionOutset, transitions: Pick<Transitions, 'listen'>): ServerDescription;
  /** The handlers that run code of the author's, by method; called once, after `begin`. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  resolveRoots(resolve: ResolveRoots | undefined): ResolveRoots | undefined;
  /** How the author's code and the host notify the client on no call's behalf. */
  notify(notify: Notify): Notify;
  shutdown(shutdown: (reason: string) => void): (reason: string) => void;
  /** How the host asks whether the client is there. */
  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T>;
  /** Code of the host's that hears of something. */
  listener(name: string, call: () => void): void;
  closed(cause: CloseCause): void;
}
