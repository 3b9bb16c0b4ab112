/**
 * An observable whose subscribers' errors are reported. RxJS throws them from a timer, which ends a
 * process that does not expect it.
 */
import { Observable } from 'rxjs';
import type { Observer, Operator, Subscriber, Subscription } from 'rxjs';
import type { Guard } from './guarded-listeners.ts';

/** True for an operator's own subscriber, from any copy of RxJS. It handles errors itself. */
function isSubscriber(observer: object | null | undefined): boolean {
  return (
    typeof observer === 'object' && observer !== null && 'closed' in observer && 'add' in observer
  );
}

/**
 * Guards its own subscribers and those of observables piped from it, with operators from any copy
 * of RxJS 7. If an operator fails because a function of the host threw, the error goes to the
 * subscriber's `error`, or is reported if there is none.
 */
export class GuardedObservable<T> extends Observable<T> {
  readonly #guard: Guard;

  constructor(guard: Guard, subscribe?: (subscriber: Subscriber<T>) => (() => void) | void) {
    super(subscribe);
    this.#guard = guard;
  }

  /** Called by `pipe`. */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new GuardedObservable<R>(this.#guard);
    lifted.source = this;
    lifted.operator = operator as Operator<unknown, R> | undefined;
    return lifted;
  }

  override subscribe(
    observer?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    if (isSubscriber(observer)) return super.subscribe(observer as Subscriber<T>);
    const given: Partial<Observer<T>> =
      typeof observer === 'function' || !observer
        ? {
            ...(observer ? { next: observer } : {}),
            ...(error ? { error } : {}),
            ...(complete ? { complete } : {}),
          }
        : observer;
    const guard = this.#guard;
    return super.subscribe({
      next: (value) => guard(() => given.next?.(value)),
      error: (failure: unknown) =>
        guard(() => {
          if (!given.error) throw failure;
          given.error(failure);
        }),
      complete: () => guard(() => given.complete?.()),
    });
  }
}
