/** A connection as observables. A stream without subscribers costs nothing. */
import type { SnapshotFrom } from 'xstate';
import type { Loss, UnreadInput } from '../../../../src/protocol/disconnects.ts';
import type { DevicePrompt } from '../channel/connection-ports.ts';
import type { connectionMachine } from './connection.machine.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { Observable } from 'rxjs';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import { Listeners } from '../../../../src/actors/listeners.ts';
import type { Traffic } from '../../../../src/actors/traffic.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import { itemsOfInbound, itemsOfOutbound } from '../../../../src/server/session/traffic-item.ts';
import type { TrafficItem } from '../../../../src/server/session/traffic-item.ts';
import type { Lists } from '../lists/lists.ts';
import type { ListReport } from '../lists/list-results.ts';
import type { ConnectionActorRef } from './connection-scope.ts';

export type { ServerProfile } from './connection-context.ts';

/** The state of a connection. Times are milliseconds of the connection's clock. */
export interface ConnectionState {
  /**
   * `lost`: the rest of the last channel is being ended. `backoff`: the next attempt comes after
   * `delayMs`. `failed`: there are no more attempts until `reconnect()` is called.
   */
  readonly value: 'connecting' | 'ready' | 'lost' | 'backoff' | 'failed' | 'closing' | 'closed';
  /** When it entered this state, the clock's milliseconds. */
  readonly since: number;
  /** Attempts since the connection was last stable; 0 for the first. */
  readonly attempt: number;
  /** Only in `backoff`. */
  readonly delayMs?: number;
  /** Why there is no connection; in `connecting`, why the previous one ended. */
  readonly loss?: Loss;
}

/** The state shown to a host for a machine's state. A failed actor counts as closed. */
export function stateValueOf({
  value,
  status,
}: Pick<SnapshotFrom<typeof connectionMachine>, 'value' | 'status'>): ConnectionState['value'] {
  if (status === 'error' || value === 'ended') return 'closed';
  if (value === 'stopping') return 'closing';
  if (typeof value === 'string') return value;
  return 'connecting' in value ? 'connecting' : 'lost' in value ? 'lost' : 'ready';
}

/** What happens on a connection besides changes of its state. */
export type ConnectionEvent =
  | { readonly type: 'state'; readonly state: ConnectionState }
  /** A notification from the server. Those about lists have already been acted on. */
  | {
      readonly type: 'notification';
      readonly method: string;
      readonly params: JsonObject | undefined;
    }
  /** The server has sent a request to the host. */
  | { readonly type: 'asked'; readonly method: string; readonly params: JsonObject | undefined }
  /** The server no longer wants the answer, or cannot get it. */
  | { readonly type: 'withdrawn'; readonly method: string }
  /** The server broke the protocol. `count`: how often in this way so far. */
  | {
      readonly type: 'problem';
      readonly name: string;
      readonly message: string;
      readonly count: number;
    }
  /** The process has written to stderr. */
  | { readonly type: 'stderr'; readonly text: string }
  /**
   * A person must open this URL to log in. `device`: they may do so on any device, and enter the code
   * there; show them all of it.
   */
  | { readonly type: 'authorize'; readonly url: string; readonly device?: DevicePrompt };

/** All of them complete when the connection is closed, and never fail. */
export interface ConnectionStreams {
  /** Begins with the present state. */
  readonly state$: Observable<ConnectionState>;
  /** Begins with what is known of the tools; each later report is whole. */
  readonly tools$: Observable<ListReport<ListedTool>>;
  /** Events before the first listener are kept for it, up to a bound. */
  readonly events$: Observable<ConnectionEvent>;
  /** The messages from now on. */
  readonly traffic$: Observable<TrafficItem>;
}

export interface ConnectionStreamSource {
  readonly actor: ConnectionActorRef;
  state(): ConnectionState;
  readonly traffic: Pick<Traffic, 'listen'>;
  readonly clock: Clock;
  readonly events: Pick<EventLog, 'listen'>;
  readonly tools: () => Pick<Lists['tools'], 'report' | 'watch'>;
}

export function connectionStreams(source: ConnectionStreamSource): ConnectionStreams {
  const { actor, clock } = source;
  /** @param begin emits the present value and listens; returns a function that stops listening */
  const untilTheEnd = <T>(begin: (next: (value: T) => void) => () => void): Observable<T> =>
    new Observable<T>((subscriber) => {
      const end = begin((value) => subscriber.next(value));
      const complete = () => subscriber.complete();
      if (actor.getSnapshot().status !== 'active') {
        complete();
        return end;
      }
      const subscription = actor.subscribe({ error: complete, complete });
      return () => {
        subscription.unsubscribe();
        end();
      };
    });
  return {
    state$: untilTheEnd((next) => {
      let last: ConnectionState | undefined;
      const tell = () => {
        const state = source.state();
        if (state === last) return;
        last = state;
        next(state);
      };
      tell();
      const subscription = actor.subscribe({ next: tell, error: tell });
      return () => subscription.unsubscribe();
    }),
    tools$: untilTheEnd((next) => {
      const tools = source.tools();
      next(tools.report);
      return tools.watch(next);
    }),
    events$: untilTheEnd((next) => source.events.listen(next)),
    traffic$: untilTheEnd((next) =>
      source.traffic.listen({
        received: (frames) => {
          const at = clock.now();
          for (const frame of frames) itemsOfInbound(frame, at).forEach(next);
        },
        sent: (frames) => {
          const at = clock.now();
          for (const frame of frames) itemsOfOutbound(frame, at).forEach(next);
        },
      }),
    ),
  };
}

export type EventListener = (event: ConnectionEvent) => void;

export class EventLog {
  readonly #listeners: Listeners<EventListener>;
  readonly #maxKept: number;
  /** Undefined once there was a listener. */
  #kept: ConnectionEvent[] | undefined = [];
  /** How many were dropped for want of a listener. */
  #dropped = 0;
  #problems: Map<string, number> | undefined = undefined;
  /** The invalid frames so far. */
  unreadInput: UnreadInput | undefined = undefined;

  constructor(maxKept: number, report: Report) {
    this.#maxKept = maxKept;
    this.#listeners = new Listeners("A listener to the connection's events", report);
  }

  tell(event: ConnectionEvent): void {
    const kept = this.#kept;
    if (!kept) return this.#listeners.tell((listener) => listener(event));
    kept.push(event);
    if (kept.length <= this.#maxKept) return;
    // The oldest events say the least about the present state.
    kept.shift();
    this.#dropped += 1;
  }

  /** The server broke the protocol. Counted by name. */
  problem(name: string, message: string): void {
    this.#problems ??= new Map();
    const count = (this.#problems.get(name) ?? 0) + 1;
    this.#problems.set(name, count);
    if (name === 'frame.invalid') this.unreadInput = { count, message };
    this.tell({ type: 'problem', name, message, count });
  }

  /** Passes on the kept events, then each new one. Returns a function that stops listening. */
  listen(listener: EventListener): () => void {
    const stop = this.#listeners.add(listener);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const event of kept) this.tell(event);
    if (this.#dropped > 0) {
      const message = `${this.#dropped} events came before anybody listened, and were dropped`;
      this.#dropped = 0;
      this.problem('events.dropped', message);
    }
    return stop;
  }
}
