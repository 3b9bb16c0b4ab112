/** A host's error in code of its own that listens to a session is reported, and ends neither the session nor the process. */
import type { ActorRef, EventObject, Observer, Snapshot } from 'xstate';
import type { ActorFactName, Report } from '../actors/facts.ts';
import { callListener } from '../actors/listeners.ts';

/** Calls the host's code. */
export type Guard = (listener: () => void) => void;

export function guardOf(report: Report<ActorFactName>): Guard {
  return (listener) => callListener("A listener of the host's", report, listener);
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

/** For whom an actor's listeners are guarded. */
export interface Guarding<T> {
  readonly report: Report<ActorFactName>;
  /** Called with each event that anybody listens to, before the first of them is told. */
  emitting(event: T): void;
}

const guarding = new WeakMap<object, Guarding<never>>();

/**
 * Guards all that listen to an actor, by `on` or by `subscribe`, from now on: XState throws what they throw by a timer, where nobody can
 * catch it. So it does with the actor's own failure if a subscriber has no `error`; the session's `closed` tells of that.
 */
export function guardListeners<T>(actor: object, by: Guarding<T>): void {
  guarding.set(actor, by);
  // The same two functions for all actors: a closure each would be two for every session.
  Object.assign(actor, { on: guardedOn, subscribe: guardedSubscribe });
}

/** For whom an actor's listeners are guarded, if they are. */
export function guardingOf(actor: object): object | undefined {
  return guarding.get(actor);
}

const guardedOn: Heard['on'] = function guardedOn(this: Heard, type, listener) {
  const [unguarded, by] = [unguardedOf(this), guarding.get(this)];
  const guard = guardOf(by?.report ?? (() => {}));
  return unguarded.on.call(this, type, (event) => {
    by?.emitting(event as never);
    guard(() => listener(event as never));
  });
};

const guardedSubscribe: Heard['subscribe'] = function guardedSubscribe(
  this: Heard,
  observer,
  error,
  complete,
) {
  const guard = guardOf(guarding.get(this)?.report ?? (() => {}));
  const given: Partial<Observer<unknown>> =
    typeof observer === 'function' ? { next: observer, error, complete } : observer;
  return unguardedOf(this).subscribe.call(this, {
    next: (snapshot) => guard(() => given.next?.(snapshot)),
    error: (failure) => guard(() => given.error?.(failure)),
    complete: () => guard(() => given.complete?.()),
  });
};

/** The methods that every actor has. */
function unguardedOf(actor: Heard): Heard {
  return Object.getPrototypeOf(actor) as Heard;
}
