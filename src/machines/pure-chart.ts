/**
 * Charts without context and actions, for things that exist in thousands and need no actor.
 * Everything in the same state shares one snapshot, and a transition that was taken before is
 * looked up.
 */
import { initialTransition, transition } from 'xstate';
import type { ActorLogic, AnyActorRef, AnyMachineSnapshot, EventObject } from 'xstate';

/** How something moves through the states of a machine without being an actor. */
export interface PureChart<TSnapshot, TEvent> {
  /** The snapshot in which everything begins. */
  readonly begun: TSnapshot;
  /** The snapshot that an event leads to; the same one if the state does not take the event. */
  next(from: TSnapshot, event: TEvent): TSnapshot;
}

/** @param machine has no context: a transition depends only on the state and the event's type */
export function pureChart<TSnapshot extends AnyMachineSnapshot, TEvent extends EventObject>(
  machine: ActorLogic<TSnapshot, TEvent, undefined, AnyActorRef['system']>,
): PureChart<TSnapshot, TEvent> {
  /** Snapshots by their states. */
  const reached = new Map<string, TSnapshot>();
  /** What each type of event leads to. */
  const taken = new Map<TSnapshot, Map<string, TSnapshot>>();
  const shared = (made: TSnapshot): TSnapshot => {
    const state = JSON.stringify(made.value);
    const known = reached.get(state) ?? made;
    reached.set(state, known);
    return known;
  };
  return {
    begun: shared(initialTransition(machine, undefined)[0]),
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
