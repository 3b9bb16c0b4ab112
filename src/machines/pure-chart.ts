/**
 * State machines without context, actions or actors, for objects that exist in thousands. Objects in
 * the same state share one snapshot, and transitions are cached.
 */
import { initialTransition, transition } from 'xstate';
import type { ActorLogic, AnyActorRef, AnyMachineSnapshot, EventObject } from 'xstate';

/** Pure transition function of a machine. */
export interface PureChart<TSnapshot, TEvent> {
  /** Initial snapshot. */
  readonly initial: TSnapshot;
  /** Returns the next snapshot, or `from` if the state does not handle the event. */
  next(from: TSnapshot, event: TEvent): TSnapshot;
}

/** @param machine must have no context: transitions may only depend on state and event type */
export function pureChart<TSnapshot extends AnyMachineSnapshot, TEvent extends EventObject>(
  machine: ActorLogic<TSnapshot, TEvent, undefined, AnyActorRef['system']>,
): PureChart<TSnapshot, TEvent> {
  /** Shared snapshots by state value. */
  const reached = new Map<string, TSnapshot>();
  /** Cached transitions by snapshot and event type. */
  const taken = new Map<TSnapshot, Map<string, TSnapshot>>();
  const shared = (made: TSnapshot): TSnapshot => {
    const state = JSON.stringify(made.value);
    const known = reached.get(state) ?? made;
    reached.set(state, known);
    return known;
  };
  return {
    initial: shared(initialTransition(machine, undefined)[0]),
    next: (from, event) => {
      const known = taken.get(from)?.get(event.type);
      if (known) return known;
      const next = shared(transition(machine, from, event)[0]);
      const row = taken.get(from);
      if (row) row.set(event.type, next);
      else taken.set(from, new Map([[event.type, next]]));
      return next;
    },
  };
}
