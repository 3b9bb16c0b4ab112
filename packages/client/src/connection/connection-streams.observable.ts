/** A connection as observables. Streams without subscribers cost nothing. */
import type { SnapshotFrom } from 'xstate';
import type { ConnectionLoss, InvalidInput } from '../../../../src/protocol/disconnects.ts';
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

/** State of a connection. Times are ms of the connection's clock. */
export interface ConnectionState {
  /**
   * `lost`: the last channel is shutting down. `backoff`: the next attempt starts after `delayMs`.
   * `failed`: no more attempts until `reconnect()`.
   */
  readonly value: 'connecting' | 'ready' | 'lost' | 'backoff' | 'failed' | 'closing' | 'closed';
  /** Time of entering this state, clock ms. */
  readonly since: number;
  /** Retries since the connection was last stable; 0 for the first attempt. */
  readonly attempt: number;
  /** Only in `backoff`. */
  readonly delayMs?: number;
  /** Reason for having no connection; in `connecting`, for the previous disconnect. */
  readonly loss?: ConnectionLoss;
}

/** Maps the machine's state to the one shown to a host. A failed actor counts as closed. */
export function stateValueOf({
  value,
  status,
}: Pick<SnapshotFrom<typeof connectionMachine>, 'value' | 'status'>): ConnectionState['value'] {
  if (status === 'error' || value === 'ended') return 'closed';
  if (value === 'stopping') return 'closing';
  if (typeof value === 'string') return value;
  return 'connecting' in value ? 'connecting' : 'lost' in value ? 'lost' : 'ready';
}

/** Events on a connection. */
export type ConnectionEvent =
  | { readonly type: 'state'; readonly state: ConnectionState }
  /** A notification from the server. List changes have already been handled. */
  | {
      readonly type: 'notification';
      readonly method: string;
      readonly params: JsonObject | undefined;
    }
  /** The server sent a request to the host. */
  | { readonly type: 'asked'; readonly method: string; readonly params: JsonObject | undefined }
  /** The server cancelled its request, or can no longer receive the answer. */
  | { readonly type: 'withdrawn'; readonly method: string }
  /** The server violated the protocol. `count`: occurrences of this problem so far. */
  | {
      readonly type: 'problem';
      readonly name: string;
      readonly message: string;
      readonly count: number;
    }
  /** The process wrote to stderr. */
  | { readonly type: 'stderr'; readonly text: string }
  /**
   * A person must open this URL to log in. `device`: the URL may be opened on any device; show the
   * code as well.
   */
  | { readonly type: 'authorize'; readonly url: string; readonly device?: DevicePrompt };

/** Observables of a connection. All complete when the connection is closed, and never fail. */
export interface ConnectionStreams {
  /** Starts with the current state. */
  readonly state$: Observable<ConnectionState>;
  /** Starts with the cached tools; each later report is complete. */
  readonly tools$: Observable<ListReport<ListedTool>>;
  /** Events before the first listener are buffered, up to a limit. */
  readonly events$: Observable<ConnectionEvent>;
  /** Messages from the time of subscription. */
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
  /** @param begin emits the current value and listens; returns a function that stops listening */
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
  /** Buffered events; undefined once a listener was added. */
  #kept: ConnectionEvent[] | undefined = [];
  /** Number of events dropped before the first listener. */
  #dropped = 0;
  #problems: Map<string, number> | undefined = undefined;
  /** Invalid frames so far. */
  unreadInput: InvalidInput | undefined = undefined;

  constructor(maxKept: number, report: Report) {
    this.#maxKept = maxKept;
    this.#listeners = new Listeners("A listener to the connection's events", report);
  }

  tell(event: ConnectionEvent): void {
    const kept = this.#kept;
    if (!kept) return this.#listeners.notify((listener) => listener(event));
    kept.push(event);
    if (kept.length <= this.#maxKept) return;
    // The oldest events say the least about the current state.
    kept.shift();
    this.#dropped += 1;
  }

  /** Records a protocol violation, counted by name. */
  problem(name: string, message: string): void {
    this.#problems ??= new Map();
    const count = (this.#problems.get(name) ?? 0) + 1;
    this.#problems.set(name, count);
    if (name === 'frame.invalid') this.unreadInput = { count, message };
    this.tell({ type: 'problem', name, message, count });
  }

  /** Delivers buffered events, then each new one. Returns a function that stops listening. */
  listen(listener: EventListener): () => void {
    const stop = this.#listeners.add(listener);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const event of kept) this.tell(event);
    if (this.#dropped > 0) {
      const message = `${this.#dropped} events before the first listener were dropped`;
      this.#dropped = 0;
      this.problem('events.dropped', message);
    }
    return stop;
  }
}
