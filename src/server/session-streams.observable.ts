/** A session as observables, for hosts without XState. Whoever has not subscribed costs nothing. */
import type { Observable } from 'rxjs';
import type { Traffic } from '../actors/traffic.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots.machine.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { SessionState } from './context/session-view.ts';
import type { Guard } from './guarded-listeners.ts';
import { GuardedObservable } from './guarded.observable.ts';
import { stateOf } from './session-state.ts';
import type { SessionActorRef, SessionSnapshot } from './session-state.ts';
import { itemsOfInbound, itemsOfOutbound } from './traffic-item.ts';
import type { TrafficItem } from './traffic-item.ts';

/** All of them complete when the session has ended, and never give an error. */
export interface SessionStreams {
  /** The states the session is in. A subscriber gets the present one first, one that comes after the end the last. */
  readonly state$: Observable<SessionState>;
  /** The client's roots. A subscriber gets the last report first, where there is one. */
  readonly roots$: Observable<RootsReport>;
  /** What the session emits, from the subscription on: an event that is over is not told again. */
  readonly events$: Observable<SessionEmitted>;
  /** The messages that pass, from the subscription on. */
  readonly traffic$: Observable<TrafficItem>;
}

export interface StreamSource {
  readonly actor: SessionActorRef;
  readonly traffic: Pick<Traffic, 'listen'>;
  readonly clock: Clock;
  readonly guard: Guard;
}

export function sessionStreams({ actor, traffic, clock, guard }: StreamSource): SessionStreams {
  /** @param begin gives what ends it */
  const untilTheEnd = <T>(
    begin: (next: (value: T) => void) => {
      readonly snapshot?: (now: SessionSnapshot) => void;
      end?(): void;
    },
  ): Observable<T> =>
    new GuardedObservable<T>(guard, (subscriber) => {
      const { snapshot, end } = begin((value) => subscriber.next(value));
      const complete = () => subscriber.complete();
      const now = actor.getSnapshot();
      if (now.status !== 'active') {
        snapshot?.(now);
        complete();
        return end;
      }
      // Before the present state is told, so that what a subscriber does about it reaches it, too.
      const subscription = actor.subscribe({
        ...(snapshot ? { next: snapshot } : {}),
        error: complete,
        complete,
      });
      snapshot?.(now);
      return () => {
        subscription.unsubscribe();
        end?.();
      };
    });

  return {
    state$: untilTheEnd((next) => ({ snapshot: changesOf(stateOf, next) })),
    roots$: untilTheEnd((next) => ({ snapshot: changesOf(({ context }) => context.report, next) })),
    events$: untilTheEnd((next) => {
      const subscription = actor.on('*', next);
      return { end: () => subscription.unsubscribe() };
    }),
    traffic$: untilTheEnd((next) => ({
      end: traffic.listen({
        received: (frames) => {
          const at = clock.now();
          for (const frame of frames) for (const item of itemsOfInbound(frame, at)) next(item);
        },
        sent: (frames) => {
          const at = clock.now();
          for (const frame of frames) for (const item of itemsOfOutbound(frame, at)) next(item);
        },
      }),
    })),
  };
}

/** Tells what a snapshot shows, where it is something else than before. */
function changesOf<T extends string | object>(
  select: (snapshot: SessionSnapshot) => T | undefined,
  next: (value: T) => void,
): (snapshot: SessionSnapshot) => void {
  let last: T | undefined;
  return (snapshot) => {
    const value = select(snapshot);
    if (value === undefined || value === last) return;
    last = value;
    next(value);
  };
}
