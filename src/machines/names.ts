/**
 * Event names internal to XState, which version 6 changes, and display names of states.
 */
import type { AnyMachineSnapshot, AnyStateNode, ErrorActorEvent, StateValue } from 'xstate';

/** Event descriptor of any failed child actor. */
export const anyActorFailed = 'xstate.error.actor.*';

/** The event that a parent receives when a child fails. */
export function actorFailed(actorId: string, error: unknown): ErrorActorEvent {
  return { type: `xstate.error.actor.${actorId}`, error, actorId };
}

/** Initial event of an actor. */
export const actorStarted = 'xstate.init';

/** Final event of a stopped actor. */
export const actorStopped = 'xstate.stop';

/** `meta` of a state, for display. */
export interface StateMeta {
  /** True if the state only groups its child states and is omitted from state names. */
  readonly isGroup?: true;
  /** True if this region or these child states are omitted from state names. */
  readonly isHiddenRegion?: true;
}

/** Current state of a machine including child states, such as `draining.flushing`. */
export function stateName({
  machine,
  value,
}: Pick<AnyMachineSnapshot, 'machine' | 'value'>): string {
  return nameIn(machine.root as AnyStateNode, value as StateValue);
}

/** Like {@link stateName}, without a machine: includes every child state. */
export function stateValueName(value: StateValue): string {
  return nameIn(undefined, value);
}

function nameIn(node: AnyStateNode | undefined, value: StateValue): string {
  const states = typeof value === 'string' ? { [value]: undefined } : value;
  return Object.entries(states)
    .flatMap(([name, inner]) => {
      const child = node?.states[name];
      const meta = child?.meta as StateMeta | undefined;
      if (meta?.isHiddenRegion) return [];
      const rest = inner === undefined ? '' : nameIn(child, inner);
      if (meta?.isGroup) return [rest];
      return [rest === '' ? name : `${name}.${rest}`];
    })
    .join(',');
}

/** Tags of session states. Code outside the machine checks tags instead of state names. */
export const sessionTags = [
  /** The client has not sent `initialize`. */
  'awaitsInitialize',
  /** The client has not sent `notifications/initialized`, so the server may not send requests. */
  'awaitsInitialized',
  /** Both sides may send requests and notifications. */
  'operating',
  /** Each request identifies its client, and nothing is sent outside requests. */
  'stateless',
  /** The session is draining: running calls may finish. */
  'settling',
  /** The session is draining: remaining calls were cancelled and clean up. */
  'aborting',
  /** The session is draining: the remaining output is flushed. */
  'flushing',
  'closed',
] as const;

export type SessionTag = (typeof sessionTags)[number];
