/**
 * What any view may see of a session's machines: changes of state only, each with the event that
 * caused it, redacted and bounded.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import { stateName } from 'mcp-actors';
import type { WatchedSession } from 'mcp-actors';
import type { MachineName } from 'mcp-actors/internal';
import { redact } from 'mcp-actors/internal';

/** A machine's change from one state to another. */
export interface Transition {
  /** The machine's actor, the same object each time. Its own snapshot is still the earlier one. */
  readonly actor: AnyActorRef;
  readonly machine: MachineName;
  /** The whole state, such as `querying.fresh`. */
  readonly from: string;
  readonly to: string;
  readonly before: AnyMachineSnapshot;
  readonly after: AnyMachineSnapshot;
  /** The type of the event that caused it. */
  readonly cause: string;
  /** The event, redacted and bounded, made on demand. */
  event(): { readonly type: string };
}

/**
 * Calls back with each change of state from now on.
 *
 * @returns what stops it; afterwards it costs nothing
 */
export function watchTransitions(
  transitions: Pick<WatchedSession['transitions'], 'listen'>,
  tell: (transition: Transition) => void,
): () => void {
  return transitions.listen(({ machine, actor, event, before, after }) => {
    const [from, to] = [stateName(before), stateName(after)];
    if (from === to) return;
    const shown = () => redact(event) as { readonly type: string };
    tell({ actor, machine, from, to, before, after, cause: event.type, event: shown });
  });
}
