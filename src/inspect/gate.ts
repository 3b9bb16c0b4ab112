/**
 * The one gate that everything which shows the machines stands behind: machines only, changes of value only, each with the event that
 * caused it, redacted and bounded. XState tells of every event of every actor; the traffic must not pay for being converted.
 */
import type { AnyActorRef, InspectionEvent, StateValue } from 'xstate';
import { stateName } from '../server/session-dump.ts';
import { redact } from './redaction.ts';

/** A machine's change from one state to another. */
export interface Transition {
  /** The machine's actor: the same object each time. */
  readonly actor: AnyActorRef;
  /** Its id among its siblings, and the name of its chart: `session`, `roots`, `keepalive`, `task`. */
  readonly machine: string;
  /** With the inner states: `querying.fresh`. Undefined where it was not known before. */
  readonly from: string | undefined;
  readonly to: string;
  /** XState's own form of `to`. */
  readonly value: StateValue;
  /** What caused it, redacted and bounded. Has at least a `type`. */
  readonly event: { readonly [key: string]: unknown };
}

interface MachineSnapshot {
  readonly machine: { readonly id: string };
  readonly value: StateValue;
}

/** Undefined for actors that are no machines. */
function machineSnapshot(snapshot: unknown): MachineSnapshot | undefined {
  const isMachine = typeof snapshot === 'object' && snapshot !== null && 'machine' in snapshot;
  return isMachine ? (snapshot as MachineSnapshot) : undefined;
}

/**
 * Gives an observer for XState's `inspect` that tells of transitions alone.
 *
 * @param known actors whose present states are where their first transition comes from
 */
function transitionGate(
  tell: (transition: Transition) => void,
  known: Iterable<AnyActorRef> = [],
): (event: InspectionEvent) => void {
  const values = new WeakMap<AnyActorRef, string>();
  for (const actor of known) {
    const snapshot = machineSnapshot(actor.getSnapshot());
    if (snapshot) values.set(actor, stateName(snapshot.value));
  }
  return (inspected) => {
    if (inspected.type !== '@xstate.snapshot') return;
    const snapshot = machineSnapshot(inspected.snapshot);
    if (!snapshot) return;
    const actor = inspected.actorRef as AnyActorRef;
    const { value } = snapshot;
    const [from, to] = [values.get(actor), stateName(value)];
    if (from === to) return;
    values.set(actor, to);
    const event = redact(inspected.event) as Transition['event'];
    tell({ actor, machine: snapshot.machine.id, from, to, value, event });
  };
}

/**
 * Tells of the transitions in an actor's system from now on, whenever that is.
 *
 * @param root the system's first actor; it and its children are known with their present states
 * @returns what ends it; from then on it costs nothing
 */
export function watchTransitions(
  root: AnyActorRef,
  tell: (transition: Transition) => void,
): () => void {
  const { children = {} } = root.getSnapshot() as {
    readonly children?: { readonly [id: string]: AnyActorRef | undefined };
  };
  const known = [root, ...Object.values(children).filter((child) => child !== undefined)];
  const subscription = root.system.inspect(transitionGate(tell, known));
  return () => subscription.unsubscribe();
}
