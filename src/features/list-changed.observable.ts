/**
 * Tells a client that a list has changed: many changes in a row are told once.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import { Observable, Subject, exhaustMap, race, startWith, switchMap, take } from 'rxjs';
import type { Clock } from '../actors/clock.ts';
import { PerSession } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';

/** Anything that calls back when it changes, such as a registry. */
export interface Changing {
  onChange(listener: () => void): () => void;
}

/** A list that never stops changing is told of nevertheless, each so many quiet times. */
const longestQuietTimes = 20;

/**
 * Tells the clients of all sessions that a list has changed, once it has not changed for a while and not before the session is in operation.
 *
 * @param sessions those that are open
 * @param changed the notification that tells
 */
export function tellChanges(
  sources: readonly Changing[],
  sessions: Iterable<SessionScope>,
  changed: string,
): void {
  // Most lists never change: what waits for quiet is put together at the first change.
  const changes = new PerSession((session) => changesFor(session, changed));
  for (const source of sources) {
    source.onChange(() => {
      for (const session of sessions) changes.of(session).next();
    });
  }
}

/** Takes the changes of a list for one session, until its end. */
function changesFor(session: SessionScope, changed: string): Subject<void> {
  const { hostClock: clock, limits } = session;
  const quietMs = limits.listChangedQuietMs;
  const changes$ = new Subject<void>();
  const operating$ = new Observable<void>((subscriber) =>
    session.whenOperating(() => subscriber.next()),
  ).pipe(take(1));
  const quiet$ = changes$.pipe(
    startWith(undefined),
    switchMap(() => after(quietMs, clock)),
  );
  const settled$ = operating$.pipe(
    switchMap(() => race(quiet$, after(quietMs * longestQuietTimes, clock))),
    take(1),
  );
  const told = changes$.pipe(exhaustMap(() => settled$)).subscribe(() => session.notify(changed));
  session.atEnd(() => told.unsubscribe());
  return changes$;
}

/** RxJS's own timer would not know the session's clock. */
function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
