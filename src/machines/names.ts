/**
 * XState's own names of events, which version 6 changes, and the names of states as they are shown
 * outside of a machine.
 */
import type { AnyMachineSnapshot, AnyStateNode, ErrorActorEvent, StateValue } from 'xstate';

/** Any child actor that failed. */
export const anyActorFailed = 'xstate.error.actor.*';

/** What a parent hears of a child that failed. */
export function actorFailed(actorId: string, error: unknown): ErrorActorEvent {
  return { type: `xstate.error.actor.${actorId}`, error, actorId };
}

/** The event with which XState starts an actor. */
export const actorStarted = 'xstate.init';

/** What an actor's logic receives last. */
export const actorStopped = 'xstate.stop';

/** The `meta` of a state. */
export interface StateMeta {
  /** The state only groups others, which are shown by their own names. */
  readonly isNameless?: true;
  /**
   * This region, or the inside of this state, is not shown: other regions say where the machine is.
   */
  readonly isAside?: true;
}

/** The name of the state that a machine is in, with its inner states: `draining.flushing`. */
export function stateName({
  machine,
  value,
}: Pick<AnyMachineSnapshot, 'machine' | 'value'>): string {
  return nameIn(machine.root as AnyStateNode, value as StateValue);
}

/** The same of a state whose machine is not at hand: every state in it is named. */
export function stateValueName(value: StateValue): string {
  return nameIn(undefined, value);
}

function nameIn(node: AnyStateNode | undefined, value: StateValue): string {
  const states = typeof value === 'string' ? { [value]: undefined } : value;
  return Object.entries(states)
    .flatMap(([name, inner]) => {
      const child = node?.states[name];
      const meta = child?.meta as StateMeta | undefined;
      if (meta?.isAside) return [];
      const rest = inner === undefined ? '' : nameIn(child, inner);
      if (meta?.isNameless) return [rest];
      return [rest === '' ? name : `${name}.${rest}`];
    })
    .join(',');
}

/** What the states of a session mean outside of its machine: code asks for tags, not for state names. */
export const sessionTags = [
  /** The client has not said who it is. */
  'awaitsInitialize',
  /** The client has not said that it is ready: no requests may be sent to it. */
  'awaitsInitialized',
  /** Both sides may send requests and notifications. */
  'operating',
  /** Each request identifies its client, and nothing is sent outside of requests. */
  'stateless',
  /** The session is ending: calls may still finish. */
  'settling',
  /** The session is ending: the remaining calls were cancelled, and clean up. */
  'aborting',
  /** The session is ending: the rest of the output is written. */
  'flushing',
  'closed',
] as const;

export type SessionTag = (typeof sessionTags)[number];
