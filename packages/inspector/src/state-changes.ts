/**
 * State changes of a session's machines as every view may see them: with their cause, redacted and
 * bounded.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import { stateName } from 'mcp-actors';
import type { WatchedSession } from 'mcp-actors';
import type { MachineName } from 'mcp-actors/internal';
import { redact } from 'mcp-actors/internal';

/** A machine's change from one state to another. */
export interface Transition {
  /**
   * The machine's actor, the same object each time. During the callback, its snapshot is still the
   * earlier one.
   */
  readonly actor: AnyActorRef;
  readonly machine: MachineName;
  /** Full state name, such as `querying.fresh`. */
  readonly from: string;
  readonly to: string;
  readonly before: AnyMachineSnapshot;
  readonly after: AnyMachineSnapshot;
  /** Type of the causing event. */
  readonly cause: string;
  /** Returns the causing event, redacted and bounded. */
  event(): { readonly type: string };
}

/**
 * Calls back on each later state change.
 *
 * @returns unsubscribe function
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
