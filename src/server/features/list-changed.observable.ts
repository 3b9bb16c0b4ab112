/**
 * Tells a client that a list has changed: many changes in a row are told once.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import { Observable, debounce, merge } from 'rxjs';
import type { Clock } from '../../actors/clock.ts';

/** Anything that calls back when it changes, such as a registry. */
export interface Changing {
  onChange(listener: () => void): () => void;
}

/**
 * Calls `tell` once the sources have not changed for `quietMs`.
 * @returns what stops it
 */
export function tellChanges(
  sources: readonly Changing[],
  { clock, quietMs, tell }: { clock: Clock; quietMs: number; tell: () => void },
): () => void {
  const subscription = merge(...sources.map(changesOf))
    .pipe(debounce(() => after(quietMs, clock)))
    .subscribe(tell);
  return () => subscription.unsubscribe();
}

function changesOf(source: Changing): Observable<void> {
  return new Observable((subscriber) => source.onChange(() => subscriber.next()));
}

/** RxJS's own timer would not know the session's clock. */
function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
