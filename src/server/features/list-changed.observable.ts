/**
 * Notifies clients that a list has changed. Many changes in a row make one notification.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import { Observable, Subject, exhaustMap, race, startWith, switchMap, take } from 'rxjs';
import type { Clock } from '../../actors/clock.ts';
import { PerSession } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';

/** Something that calls back when it changes, such as a registry. */
export interface Changing {
  onChange(listener: () => void): () => void;
  /** Says that it has changed. */
  announce(): void;
  /** Calls back when it changes for one session alone. */
  onChangeFor?(listener: (session: SessionScope) => void): void;
}

/** If a list never stops changing, its clients are notified after this many quiet times. */
const longestQuietTimes = 20;

/** Who is told of a list's changes. */
export interface Audience {
  /** The open sessions. */
  readonly sessions: Iterable<SessionScope>;
  /** Calls back once a session can be told; gives what ends that. */
  whenReady(session: SessionScope, callback: () => void): () => void;
  tell(session: SessionScope): void;
}

/**
 * Tells each session's audience that a list has changed: once it has not changed for a while, and
 * not before the session is ready.
 */
export function tellChanges(
  sources: readonly Omit<Changing, 'announce'>[],
  audience: Audience,
): void {
  // Most lists never change, so a session's pipeline is built at the first change.
  const changes = new PerSession((session) => changesFor(session, audience));
  for (const source of sources) {
    source.onChange(() => {
      for (const session of audience.sessions) changes.of(session).next();
    });
    source.onChangeFor?.((session) => changes.of(session).next());
  }
}

/** Takes the changes of a list for one session, until the session ends. */
function changesFor(session: SessionScope, { whenReady, tell }: Audience): Subject<void> {
  const { hostClock: clock, limits } = session;
  const quietMs = limits.listChangedQuietMs;
  const changes$ = new Subject<void>();
  const ready$ = new Observable<void>((subscriber) =>
    whenReady(session, () => subscriber.next()),
  ).pipe(take(1));
  const quiet$ = changes$.pipe(
    startWith(undefined),
    switchMap(() => after(quietMs, clock)),
  );
  const settled$ = ready$.pipe(
    switchMap(() => race(quiet$, after(quietMs * longestQuietTimes, clock))),
    take(1),
  );
  const told = changes$.pipe(exhaustMap(() => settled$)).subscribe(() => tell(session));
  session.atEnd(() => told.unsubscribe());
  return changes$;
}

/** RxJS's own timer does not use the session's clock. */
function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
