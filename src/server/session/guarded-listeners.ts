/**
 * Guards a session against its host's listeners: an error that one throws is reported, and ends
 * neither the session nor the process.
 */
import type { ActorRef, EventObject, Observer, Snapshot } from 'xstate';
import type { ActorFactName, Fact, Report } from '../../actors/facts.ts';
import { callListener } from '../../actors/listeners.ts';

/** Calls a listener and reports what it throws. */
export type Guard = (listener: () => void) => void;

const hostsListener = "A listener of the host's";

export function guardOf(report: Report<ActorFactName>): Guard {
  return (listener) => callListener(hostsListener, report, listener);
}

const safeReports = new WeakMap<Report, Report>();

/**
 * A report that never throws: the session goes on even if its host's report fails. Sessions with
 * the same report share it.
 */
export function safeReport(report: Report): Report {
  const known = safeReports.get(report);
  if (known) return known;
  const { threshold = 'debug' } = report;
  const safe = (fact: Fact): void => {
    try {
      report(fact);
    } catch {
      // Only the host could be told, and the host's code is what failed.
    }
  };
  const made = Object.assign(safe, { threshold });
  safeReports.set(report, made);
  return made;
}

/** How XState's actors take listeners, whatever their logic. */
interface ListenableActor {
  on: ActorRef<Snapshot<unknown>, EventObject, EventObject>['on'];
  subscribe(
    observer: ((snapshot: unknown) => void) | Observer<unknown>,
    error?: (error: unknown) => void,
    complete?: () => void,
  ): { unsubscribe(): void };
}

/** The session that an actor's listeners are guarded for. */
export interface GuardedOwner<T> {
  readonly report: Report<ActorFactName>;
  /** Called with each event that has a listener, before the first listener is called. */
  emitting(event: T): void;
}

const owners = new WeakMap<object, GuardedOwner<never>>();

/**
 * Guards the listeners that an actor gets from now on, by `on` or `subscribe`. XState throws their
 * errors from a timer, where they cannot be caught. It does the same with the actor's own failure
 * if a subscriber has no `error`; the session's `closed` tells of that failure.
 */
export function guardListeners<T>(actor: object, owner: GuardedOwner<T>): void {
  owners.set(actor, owner);
  // The same two functions for all actors, because closures would cost every session.
  Object.assign(actor, { on: guardedOn, subscribe: guardedSubscribe });
}

/** The owner of an actor whose listeners are guarded. */
export function ownerOf(actor: object): object | undefined {
  return owners.get(actor);
}

const guardedOn: ListenableActor['on'] = function guardedOn(this: ListenableActor, type, listener) {
  const [unguarded, owner] = [unguardedOf(this), owners.get(this)];
  const guard = guardOf(owner?.report ?? (() => {}));
  return unguarded.on.call(this, type, (event) => {
    owner?.emitting(event as never);
    guard(() => listener(event as never));
  });
};

const guardedSubscribe: ListenableActor['subscribe'] = function guardedSubscribe(
  this: ListenableActor,
  observer,
  error,
  complete,
) {
  const given: Partial<Observer<unknown>> =
    typeof observer === 'function' ? { next: observer, error, complete } : observer;
  const guarded = new GuardedObserver(given, owners.get(this)?.report ?? (() => {}));
  return unguardedOf(this).subscribe.call(this, guarded);
};

class GuardedObserver implements Observer<unknown> {
  readonly #given: Partial<Observer<unknown>>;
  readonly #report: Report<ActorFactName>;

  constructor(given: Partial<Observer<unknown>>, report: Report<ActorFactName>) {
    this.#given = given;
    this.#report = report;
  }

  next(snapshot: unknown): void {
    if (this.#given.next) this.#call(() => this.#given.next?.(snapshot));
  }

  error(failure: unknown): void {
    this.#call(() => this.#given.error?.(failure));
  }

  complete(): void {
    this.#call(() => this.#given.complete?.());
  }

  #call(listener: () => void): void {
    callListener(hostsListener, this.#report, listener);
  }
}

/** The methods of all actors, which the guarded ones hide. */
function unguardedOf(actor: ListenableActor): ListenableActor {
  return Object.getPrototypeOf(actor) as ListenableActor;
}
