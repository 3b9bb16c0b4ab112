/** A session as observables, for hosts without XState. Whoever has not subscribed costs nothing. */
import type { Observable } from 'rxjs';
import type { Passed, Traffic } from '../actors/traffic.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots-report.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';

import type { Guard } from './guarded-listeners.ts';
import { GuardedObservable } from './guarded.observable.ts';
import { stateOf } from '../machines/session-state.ts';
import type { SessionActorRef, SessionSnapshot, SessionState } from '../machines/session-state.ts';
import { itemsOfInbound, itemsOfOutbound } from './traffic-item.ts';
import type { TrafficItem } from './traffic-item.ts';

/**
 * All of them complete when the session has ended, and never give an error. A new subscriber gets what is current first, if there is any, and does so
 * while it subscribes: what comes later is new. One that comes after the end gets what was last, and the completion.
 */
export interface SessionStreams {
  /** The states the session is in; first the present one. */
  readonly state$: Observable<SessionState>;
  /** The client's roots; first the last report. */
  readonly roots$: Observable<RootsReport>;
  /** What the session emits; first the last that it has emitted, although that is over. */
  readonly events$: Observable<SessionEmitted>;
  /** The messages that pass; first the last that has passed, with the time at which it did. Of a batch that is its last member. */
  readonly traffic$: Observable<TrafficItem>;
}

export interface StreamSource {
  readonly actor: SessionActorRef;
  readonly traffic: Pick<Traffic, 'listen' | 'last'>;
  /** What the session has emitted last. */
  emitted(): SessionEmitted | undefined;
  readonly clock: Clock;
  readonly guard: Guard;
}

/** What one subscriber of a stream is told from. */
interface Telling {
  /** Tells what is current, if there is any. */
  present(now: SessionSnapshot): void;
  /** Takes each later snapshot. */
  readonly snapshot?: (now: SessionSnapshot) => void;
  end?(): void;
}

export function sessionStreams({
  actor,
  traffic,
  emitted,
  clock,
  guard,
}: StreamSource): SessionStreams {
  /** @param begin begins what comes later, before the present is told: what a subscriber does about that reaches it, too */
  const untilTheEnd = <T>(begin: (next: (value: T) => void) => Telling): Observable<T> =>
    new GuardedObservable<T>(guard, (subscriber) => {
      const { present, snapshot, end } = begin((value) => subscriber.next(value));
      const complete = () => subscriber.complete();
      const now = actor.getSnapshot();
      if (now.status !== 'active') {
        present(now);
        complete();
        return end;
      }
      const subscription = actor.subscribe({
        ...(snapshot ? { next: snapshot } : {}),
        error: complete,
        complete,
      });
      present(now);
      return () => {
        subscription.unsubscribe();
        end?.();
      };
    });

  return {
    state$: untilTheEnd((next) => changesOf(stateOf, next)),
    roots$: untilTheEnd((next) => changesOf(({ context }) => context.report, next)),
    events$: untilTheEnd((next) => {
      const subscription = actor.on('*', next);
      const present = () => {
        const event = emitted();
        if (event) next(event);
      };
      return { present, end: () => subscription.unsubscribe() };
    }),
    traffic$: untilTheEnd((next) => ({
      present: () => {
        const item = traffic.last && itemsOf(traffic.last).at(-1);
        if (item) next(item);
      },
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

function itemsOf(passed: Passed): readonly TrafficItem[] {
  const { direction, frame, at } = passed;
  return direction === 'in' ? itemsOfInbound(frame, at) : itemsOfOutbound(frame, at);
}

/** Tells what a snapshot shows, where it is something else than before. */
function changesOf<T extends string | object>(
  select: (snapshot: SessionSnapshot) => T | undefined,
  next: (value: T) => void,
): Telling {
  let last: T | undefined;
  const tell = (snapshot: SessionSnapshot) => {
    const value = select(snapshot);
    if (value === undefined || value === last) return;
    last = value;
    next(value);
  };
  return { present: tell, snapshot: tell };
}
