/** Hears every event that a machine takes, without XState's inspection, which would make each event of every actor dearer. */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { actorStopped } from '../../machines/xstate-events.ts';
import { stateName } from '../../server/session-dump.ts';

/** An event and the states before and after it. */
export interface HeardTransition {
  readonly on: string;
  readonly from: string;
  readonly to: string;
}

/** The same machine; `tell` is called once for each event that it takes, after its own actions and before what they send arrives. */
export function heardMachine<T extends AnyStateMachine>(
  machine: T,
  tell: (transition: HeardTransition) => void,
): T {
  const heard = machine.provide({});
  const transition = heard.transition.bind(heard);
  heard.transition = (snapshot, event, scope) => {
    const next = transition(snapshot, event, scope);
    const { type } = event as { readonly type: string };
    if (type !== actorStopped) {
      tell({ on: type, from: nameOf(snapshot), to: nameOf(next) });
    }
    return next;
  };
  return heard as unknown as T;
}

function nameOf(snapshot: AnyMachineSnapshot): string {
  return stateName(snapshot.value as Parameters<typeof stateName>[0]);
}
