/**
 * List change notifications, debounced: consecutive changes cause one notification.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import { Observable, Subject, exhaustMap, race, startWith, switchMap, take } from 'rxjs';
import type { Clock } from '../../actors/clock.ts';
import { PerSession } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';

/** Source of changes, such as a registry. */
export interface ChangeSource {
  /** Subscribes to changes for all sessions. @returns a function that unsubscribes */
  onChange(listener: () => void): () => void;
  /** Announces a change. */
  announce(): void;
  /** Subscribes to changes for a single session. */
  onSessionChange?(listener: (session: SessionScope) => void): void;
}

/** Maximum delay of a notification, in multiples of `listChangedQuietMs`. */
const maxQuietPeriods = 20;

/** Recipients of list changes. */
export interface ChangeAudience {
  /** Open sessions. */
  readonly sessions: Iterable<SessionScope>;
  /** Calls back when a session can be notified. @returns a function that cancels the callback */
  whenReady(session: SessionScope, callback: () => void): () => void;
  /** Notifies a session. */
  notify(session: SessionScope): void;
}

/** Notifies sessions of changes when the list has been quiet for a while and the session is ready. */
export function notifyChanges(
  sources: readonly Omit<ChangeSource, 'announce'>[],
  audience: ChangeAudience,
): void {
  // Created at the first change, because most lists never change.
  const changes = new PerSession((session) => changesFor(session, audience));
  for (const source of sources) {
    source.onChange(() => {
      for (const session of audience.sessions) changes.of(session).next();
    });
    source.onSessionChange?.((session) => changes.of(session).next());
  }
}

/** Creates the change pipeline of one session, which ends with the session. */
function changesFor(session: SessionScope, { whenReady, notify }: ChangeAudience): Subject<void> {
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
    switchMap(() => race(quiet$, after(quietMs * maxQuietPeriods, clock))),
    take(1),
  );
  const told = changes$.pipe(exhaustMap(() => settled$)).subscribe(() => notify(session));
  session.atEnd(() => told.unsubscribe());
  return changes$;
}

/** Timer on the session's clock, which RxJS's own timer does not use. */
function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
