/**
 * The transitions of the machines of a session or a connection, for the live page, the official
 * inspector and recorders.
 * Each machine is observed at its `transition`. XState's inspection would make every event of every
 * actor cost more.
 */
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { actorStopped } from '../machines/names.ts';
import type { ActorFactName, Report } from './facts.ts';
import { Listeners } from './listeners.ts';

/** The machines of a session. */
type SessionMachineName = 'session' | 'roots' | 'keepalive' | 'task' | 'subscription';

/** The machines of a connection. */
type ConnectionMachineName =
  | 'connection'
  | 'process'
  | 'authorization'
  | 'stream'
  | 'catalog'
  | 'listening'
  | 'followed'
  | 'slot';

/** The machines that are observed, as their charts are called. */
export type MachineName = SessionMachineName | ConnectionMachineName;

/**
 * An event that a machine has taken. It belongs to the machine: do not keep or change any of it.
 */
export interface MachineTransition {
  /** Which machine it is. */
  readonly machine: MachineName;
  /**
   * The machine's actor; a task's has the task's id, and a list's says which one it is. Its own
   * snapshot is still the one before.
   */
  readonly actor: AnyActorRef;
  /** What the machine took. */
  readonly event: EventObject;
  /** Its snapshot before the event. */
  readonly before: AnyMachineSnapshot;
  /** In the same state as before, if the event does not change it. */
  readonly after: AnyMachineSnapshot;
}

/**
 * Called with each event that a machine takes: after its actions have run, and before the events
 * that they send arrive. The event that stops an actor is left out.
 */
export type TransitionListener = (transition: MachineTransition) => void;

/** An actor or another object, and the chart that it follows. */
export interface MachineActor {
  /** The name of the chart, as a diagram has it. */
  readonly machine: string;
  readonly actor: Pick<AnyActorRef, 'id' | 'getSnapshot'>;
}

/** Shows where something stands in a pure chart. @param id by default the name of the chart */
export function shownChart(
  machine: string,
  getSnapshot: () => AnyMachineSnapshot,
  id = machine,
): MachineActor {
  return { machine, actor: { id, getSnapshot } };
}

/** The session or the connection that a machine belongs to. */
export interface ObservedScope {
  /** Undefined if nothing has ever listened. */
  readonly observedTransitions: Transitions | undefined;
}

/**
 * A machine with the same behaviour whose transitions the listeners of its scope get. The given
 * machine is not changed, and one machine may serve many scopes. Without listeners, an event costs
 * one look-up.
 *
 * @param scopeOf finds the scope by the actor's input
 */
export function observedMachine<T extends AnyStateMachine>(
  name: MachineName,
  machine: T,
  scopeOf: (input: object) => ObservedScope,
): T {
  const scopes = new WeakMap<AnyActorRef, ObservedScope>();
  const getInitialSnapshot: AnyStateMachine['getInitialSnapshot'] = (scope, input: object) => {
    scopes.set(scope.self, scopeOf(input));
    return machine.getInitialSnapshot(scope, input);
  };
  const transition: AnyStateMachine['transition'] = (before, event: EventObject, scope) => {
    const after = machine.transition(before, event, scope);
    const observed = scopes.get(scope.self)?.observedTransitions;
    if (observed && event.type !== actorStopped) {
      observed.tell({ machine: name, actor: scope.self, event, before, after });
    }
    return after;
  };
  return Object.assign(Object.create(machine) as T, { getInitialSnapshot, transition });
}

/** The scope of a machine that is not observed. */
export const unobserved: ObservedScope = { observedTransitions: undefined };

/** True for actor logic that is a state machine, from any copy of XState. */
export function isMachine(logic: object | undefined): logic is AnyStateMachine {
  return logic !== undefined && 'implementations' in logic && 'transition' in logic;
}

export class Transitions {
  readonly #listeners: Listeners<TransitionListener>;

  constructor(report: Report<ActorFactName>) {
    this.#listeners = new Listeners('A listener to the machines', report);
  }

  /** Returns what ends the listening. If a listener throws, that is reported and ends nothing. */
  listen(listener: TransitionListener): () => void {
    return this.#listeners.add(listener);
  }

  tell(transition: MachineTransition): void {
    this.#listeners.tell((listener) => listener(transition));
  }
}
