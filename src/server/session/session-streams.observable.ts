/**
 * A session as observables, for hosts without XState. A stream without subscribers costs nothing.
 */
import { Observable, Subject } from 'rxjs';
import type { TrafficFrame, Traffic } from '../../actors/traffic.ts';
import type { Clock } from '../../actors/clock.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import type { SessionEmitted } from '../../machines/session.machine.ts';
import type {
  SessionActorRef,
  SessionSnapshot,
  SessionState,
} from '../../machines/session-state.ts';

import { stateOf } from '../../machines/session-state.ts';
import { itemsOfInbound, itemsOfOutbound } from './traffic-item.ts';
import type { TrafficItem } from './traffic-item.ts';

/**
 * All of them complete when the session ends, and never fail. A new subscriber gets the current
 * value first, if there is one, during the subscription itself: everything later is new. A
 * subscriber after the end gets the last value and the completion.
 */
export interface SessionStreams {
  /** The session's states, beginning with the current one. */
  readonly state$: Observable<SessionState>;
  /** The client's roots, beginning with the latest report. */
  readonly roots$: Observable<RootsReport>;
  /** The events that the session emits, beginning with the last one, although that is past. */
  readonly events$: Observable<SessionEmitted>;
  /**
   * The messages that pass, beginning with the last one, with the time at which it passed. Of a
   * batch, that is the last member.
   */
  readonly traffic$: Observable<TrafficItem>;
}

/** The events that a session emits. */
export type Emissions = Subject<SessionEmitted>;

export const emissions = (): Emissions => new Subject();

export interface SessionStreamSource {
  readonly actor: SessionActorRef;
  readonly traffic: Pick<Traffic, 'listen' | 'last'>;
  /** The last emitted event. */
  emitted(): SessionEmitted | undefined;
  /** The emitted events, each after {@link emitted} returns it. */
  readonly emitted$: Observable<SessionEmitted>;
  readonly clock: Clock;
}

/** Feeds one subscriber of a stream. */
interface StreamFeed {
  /** Gives the current value, if there is one. */
  present(now: SessionSnapshot): void;
  /** Takes each later snapshot. */
  readonly snapshot?: (now: SessionSnapshot) => void;
  end?(): void;
}

export function sessionStreams({
  actor,
  traffic,
  emitted,
  emitted$,
  clock,
}: SessionStreamSource): SessionStreams {
  /** @param begin called before the current value is given, so that nothing in between is missed */
  const untilTheEnd = <T>(begin: (next: (value: T) => void) => StreamFeed): Observable<T> =>
    new Observable<T>((subscriber) => {
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
      const subscription = emitted$.subscribe(next);
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

function itemsOf(passed: TrafficFrame): readonly TrafficItem[] {
  const { direction, frame, at } = passed;
  return direction === 'in' ? itemsOfInbound(frame, at) : itemsOfOutbound(frame, at);
}

/** Gives what `select` reads from each snapshot, if it has changed. */
function changesOf<T extends string | object>(
  select: (snapshot: SessionSnapshot) => T | undefined,
  next: (value: T) => void,
): StreamFeed {
  let last: T | undefined;
  const tell = (snapshot: SessionSnapshot) => {
    const value = select(snapshot);
    if (value === undefined || value === last) return;
    last = value;
    next(value);
  };
  return { present: tell, snapshot: tell };
}
