/** A connection as observables. A stream without subscribers costs nothing. */
import type { Observable } from 'rxjs';
import type { Clock } from '../../actors/clock.ts';
import type { Traffic } from '../../actors/traffic.ts';
import type { Guard } from '../../session/guarded-listeners.ts';
import { GuardedObservable } from '../../session/guarded.observable.ts';
import { itemsOfInbound, itemsOfOutbound } from '../../session/traffic-item.ts';
import type { TrafficItem } from '../../session/traffic-item.ts';
import type { Lists } from '../lists/lists.ts';
import type { ListReport } from '../lists/offered.ts';
import type { ListedTool } from '../../protocol/listed.ts';
import type { ConnectionActorRef } from './connection-scope.ts';
import type { ConnectionEvent, ConnectionState } from './connection-state.ts';
import type { EventLog } from './event-log.ts';

/** All of them complete when the connection is closed, and never fail. */
export interface ConnectionStreams {
  /** Begins with the present state. */
  readonly state$: Observable<ConnectionState>;
  /** Begins with what is known of the tools; each later report is whole. */
  readonly tools$: Observable<ListReport<ListedTool>>;
  /** What came before anybody listened is kept, up to a bound, for the first listener. */
  readonly events$: Observable<ConnectionEvent>;
  /** The messages that pass, from now on. */
  readonly traffic$: Observable<TrafficItem>;
}

export interface StreamSource {
  readonly actor: ConnectionActorRef;
  state(): ConnectionState;
  readonly traffic: Pick<Traffic, 'listen'>;
  readonly clock: Clock;
  readonly events: Pick<EventLog, 'listen'>;
  readonly tools: { readonly tools: Pick<Lists['tools'], 'report' | 'watch'> };
  readonly guard: Guard;
}

export function connectionStreams(source: StreamSource): ConnectionStreams {
  const { actor, clock, guard } = source;
  /** @param begin gives the present value and listens; returns what ends that */
  const untilTheEnd = <T>(begin: (next: (value: T) => void) => () => void): Observable<T> =>
    new GuardedObservable<T>(guard, (subscriber) => {
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
      const subscription = actor.subscribe(tell);
      return () => subscription.unsubscribe();
    }),
    tools$: untilTheEnd((next) => {
      const { tools } = source.tools;
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
