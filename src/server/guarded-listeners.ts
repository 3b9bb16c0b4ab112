/** A host's error in code of its own that listens to a session is reported, and ends neither the session nor the process. */
import type { ActorRef, EventObject, Observer, Snapshot } from 'xstate';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import type { FactName } from './facts.ts';

/** Calls the host's code. */
export type Guard = (listener: () => void) => void;

export function guardOf(report: Report<FactName>): Guard {
  return (listener) => {
    try {
      listener();
    } catch (error) {
      report({
        level: 'error',
        name: 'listener.failed',
        message: `A listener of the host's failed: ${textOfError(error)}`,
        details: { error },
      });
    }
  };
}

/** A report that may throw: who reports has nobody else to report that to, and must go on. */
export function safeReport(report: Report): Report {
  return (fact) => {
    try {
      report(fact);
    } catch {
      // Only the host could be told, and it is the host that has failed.
    }
  };
}

/** What XState's actors have for listeners, whatever their logic. */
interface Heard {
  on: ActorRef<Snapshot<unknown>, EventObject, EventObject>['on'];
  subscribe(
    observer: ((snapshot: unknown) => void) | Observer<unknown>,
    error?: (error: unknown) => void,
    complete?: () => void,
  ): { unsubscribe(): void };
}

/**
 * Guards whoever listens to an actor, by `on` or by `subscribe`, from now on: XState throws what they throw by a timer, where nobody can
 * catch it. So it does with the actor's own failure where a subscriber has no `error`; the session's `closed` tells of that.
 *
 * @param emitting called with each event that anybody listens to, before the first of them is told
 */
export function guardListeners<T>(
  actor: object,
  guard: Guard,
  emitting: (event: T) => void = () => {},
): void {
  const heard = actor as Heard;
  const { on, subscribe } = heard;
  heard.on = (type, listener) =>
    on.call(actor, type, (event) => {
      emitting(event as T);
      guard(() => listener(event as never));
    });
  heard.subscribe = (observer, error, complete) => {
    const given: Partial<Observer<unknown>> =
      typeof observer === 'function' ? { next: observer, error, complete } : observer;
    return subscribe.call(actor, {
      next: (snapshot) => guard(() => given.next?.(snapshot)),
      error: (failure) => guard(() => given.error?.(failure)),
      complete: () => guard(() => given.complete?.()),
    });
  };
}
