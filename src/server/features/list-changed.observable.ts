/**
 * Tells a client that a list has changed: many changes in a row are told once.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import {
  Observable,
  Subscription,
  exhaustMap,
  merge,
  race,
  startWith,
  switchMap,
  take,
} from 'rxjs';
import type { Clock } from '../../actors/clock.ts';

/** Anything that calls back when it changes, such as a registry. */
export interface Changing {
  onChange(listener: () => void): () => void;
}

export interface Telling {
  readonly clock: Clock;
  /** How long nothing must change before it is told, milliseconds. */
  readonly quietMs: number;
  /** Calls back once the client may be told, at once where it may already. */
  whenOperating(listener: () => void): () => void;
  tell(): void;
}

/** A list that never stops changing is told of nevertheless, each so many quiet times. */
const longestQuietTimes = 20;

/**
 * Calls `tell` once the sources have not changed for a while, and not before the session is in operation.
 * @returns what stops it
 */
export function tellChanges(
  sources: readonly Changing[],
  { clock, quietMs, whenOperating, tell }: Telling,
): () => void {
  const changes$ = merge(
    ...sources.map((source) => callbacks((listener) => source.onChange(listener))),
  );
  const operating$ = callbacks((listener) => whenOperating(listener)).pipe(take(1));
  const quiet$ = changes$.pipe(
    startWith(undefined),
    switchMap(() => after(quietMs, clock)),
  );
  const settled$ = operating$.pipe(
    switchMap(() => race(quiet$, after(quietMs * longestQuietTimes, clock))),
    take(1),
  );
  const told = new Subscription();
  // Most lists never change: what waits for quiet is put together at the first change.
  const first = sources.map((source) => source.onChange(() => begin()));
  const begin = () => {
    for (const forget of first.splice(0)) forget();
    told.add(
      changes$
        .pipe(
          startWith(undefined),
          exhaustMap(() => settled$),
        )
        .subscribe(tell),
    );
  };
  told.add(() => {
    for (const forget of first) forget();
  });
  return () => told.unsubscribe();
}

function callbacks(listen: (listener: () => void) => () => void): Observable<void> {
  return new Observable((subscriber) => listen(() => subscriber.next()));
}

/** RxJS's own timer would not know the session's clock. */
function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
