/** An observable whose subscribers' errors are reported: RxJS throws them by a timer, which ends a process that does not expect it. */
import { Observable } from 'rxjs';
import type { Observer, Operator, Subscriber, Subscription } from 'rxjs';
import type { Guard } from './guarded-listeners.ts';

/** What RxJS, of whatever copy, hands on as it is: an operator's own subscriber, which deals with errors itself. */
function isSubscriber(observer: object | null | undefined): boolean {
  return (
    typeof observer === 'object' && observer !== null && 'closed' in observer && 'add' in observer
  );
}

/**
 * Guards its own subscribers and those of what is piped from it, by operators of any copy of RxJS 7. An error that an operator gives, because
 * a function of the host's threw, goes to the subscriber's `error`, and where it has none is reported, too.
 */
export class GuardedObservable<T> extends Observable<T> {
  readonly #guard: Guard;

  constructor(guard: Guard, subscribe?: (subscriber: Subscriber<T>) => (() => void) | void) {
    super(subscribe);
    this.#guard = guard;
  }

  /** What `pipe` makes of this. */
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
