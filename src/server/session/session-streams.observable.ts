/** Observables of a session, for hosts without XState. Streams without subscribers cost nothing. */
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
 * Observables of a session. Each emits its current value, if any, synchronously on subscription,
 * completes when the session ends, and never fails. A late subscriber gets the last value and the
 * completion.
 */
export interface SessionStreams {
  /** States of the session, starting with the current one. */
  readonly state$: Observable<SessionState>;
  /** Roots of the client, starting with the latest report. */
  readonly roots$: Observable<RootsReport>;
  /** Events emitted by the session, starting with the last one. */
  readonly events$: Observable<SessionEmitted>;
  /** Messages in both directions, starting with the last one (of a batch, its last member). */
  readonly traffic$: Observable<TrafficItem>;
}

/** Subject of the events that a session emits. */
export type Emissions = Subject<SessionEmitted>;

export const emissions = (): Emissions => new Subject();

export interface SessionStreamSource {
  readonly actor: SessionActorRef;
  readonly traffic: Pick<Traffic, 'listen' | 'last'>;
  /** Last emitted event. */
  emitted(): SessionEmitted | undefined;
  /** Emitted events, each after {@link emitted} returns it. */
  readonly emitted$: Observable<SessionEmitted>;
  readonly clock: Clock;
}

/** Source of one subscriber. */
interface StreamFeed {
  /** Emits the current value, if any. */
  present(now: SessionSnapshot): void;
  /** Handles each later snapshot. */
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
  /** @param begin called before the current value is emitted, so that no change is missed */
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

/** Emits the selected value whenever it changes. */
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
