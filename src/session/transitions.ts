/**
 * What a session's machines do, for whoever looks: the live page, the official inspector, a recorder. Each machine is heard at its
 * `transition`, not by XState's inspection, which makes every event of every actor dearer.
 */
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { actorStopped } from '../machines/xstate-events.ts';
import type { ActorFactName, Report } from '../actors/facts.ts';
import { Listeners } from '../actors/listeners.ts';

/** The machines of a session. */
export type MachineName = 'session' | 'roots' | 'keepalive' | 'task';

/** One event that a machine has taken. Keep nothing of it and change nothing: it is the session's own. */
export interface MachineTransition {
  readonly machine: MachineName;
  /** Whose machine it is; a task's has the task's id. Its own snapshot is still the one before. */
  readonly actor: AnyActorRef;
  readonly event: EventObject;
  readonly before: AnyMachineSnapshot;
  /** In the same state as before, where the event changes none. */
  readonly after: AnyMachineSnapshot;
}

/**
 * Hears of each event that a machine takes, once its own actions have run and before what they send arrives. The event that stops an actor
 * is left out.
 */
export type TransitionListener = (transition: MachineTransition) => void;

/** Whose machine it is that is heard. */
interface Hearer {
  /** Those who listen, if anybody ever has. */
  readonly heardTransitions: Transitions | undefined;
}

/**
 * A machine with the same behaviour whose transitions are told to whom its actor belongs to. The given one stays as it is, and each may serve
 * many sessions: one to which nobody listens costs a look per event of a machine.
 *
 * @param hearerOf tells whom, by the actor's input
 */
export function heardMachine<T extends AnyStateMachine>(
  name: MachineName,
  machine: T,
  hearerOf: (input: object) => Hearer,
): T {
  const hearers = new WeakMap<AnyActorRef, Hearer>();
  const getInitialSnapshot: AnyStateMachine['getInitialSnapshot'] = (scope, input: object) => {
    hearers.set(scope.self, hearerOf(input));
    return machine.getInitialSnapshot(scope, input);
  };
  const transition: AnyStateMachine['transition'] = (before, event: EventObject, scope) => {
    const after = machine.transition(before, event, scope);
    const heard = hearers.get(scope.self)?.heardTransitions;
    if (heard && event.type !== actorStopped) {
      heard.tell({ machine: name, actor: scope.self, event, before, after });
    }
    return after;
  };
  return Object.assign(Object.create(machine) as T, { getInitialSnapshot, transition });
}

/** True for a state machine of whatever copy of XState, among actor logic of all kinds. */
export function isMachine(logic: object | undefined): logic is AnyStateMachine {
  return logic !== undefined && 'implementations' in logic && 'transition' in logic;
}

export class Transitions {
  readonly #listeners: Listeners<TransitionListener>;

  constructor(report: Report<ActorFactName>) {
    this.#listeners = new Listeners("A listener to the session's machines", report);
  }

  /** Returns what ends the listening. If a listener throws, that is reported and ends nothing. */
  listen(listener: TransitionListener): () => void {
    return this.#listeners.add(listener);
  }

  tell(transition: MachineTransition): void {
    this.#listeners.tell((listener) => listener(transition));
  }
}
