/**
 * The transitions of the machines of a session or a connection, for the live page, the official
 * inspector and recorders. They come from XState's inspection, which makes every event of an
 * inspected system cost more: a system is inspected from its scope's first listener on.
 */
import type {
  AnyActorRef,
  AnyMachineSnapshot,
  EventObject,
  InspectionEvent,
  Observer,
} from 'xstate';
import { actorStarted, actorStopped } from '../machines/names.ts';
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
export function chartActor(
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

/** The `inspect` option of actors. */
type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/**
 * Options of a root actor whose machine belongs to a scope.
 *
 * @param inspect an inspector of the host's
 */
export function inspectOptions(
  machine: MachineName,
  { observedTransitions }: ObservedScope,
  inspect?: Inspect,
): { readonly inspect?: Inspect } {
  const own = observedTransitions?.inspector(() => machine);
  if (!own) return inspect ? { inspect } : {};
  if (!inspect) return { inspect: own };
  return {
    inspect: (event) => {
      if (typeof inspect === 'function') inspect(event);
      else inspect.next?.(event);
      own(event);
    },
  };
}

/** The scope of a machine that is not observed. */
export const unobserved: ObservedScope = { observedTransitions: undefined };

export class Transitions {
  readonly #listeners: Listeners<TransitionListener>;
  /** Begins inspections that wait for the first listener; undefined from then on. */
  #waiting: (() => void)[] | undefined = [];

  constructor(report: Report<ActorFactName>) {
    this.#listeners = new Listeners('A listener to the machines', report);
  }

  /** Returns what ends the listening. If a listener throws, that is reported and ends nothing. */
  listen(listener: TransitionListener): () => void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const begin of waiting ?? []) begin();
    return this.#listeners.add(listener);
  }

  /**
   * Inspects an actor's system, once there is a listener.
   *
   * @param nameOf undefined for actors of other scopes in the system
   * @param begun gets a function that ends the inspection
   */
  observe(
    actor: AnyActorRef,
    nameOf: (actor: AnyActorRef) => MachineName | undefined,
    begun: (end: () => void) => void = () => {},
  ): void {
    const begin = (): void => {
      const inspection = actor.system.inspect({ next: this.inspector(nameOf) });
      begun(() => inspection.unsubscribe());
    };
    if (this.#waiting) this.#waiting.push(begin);
    else begin();
  }

  /** An inspector of one actor system. */
  inspector(
    nameOf: (actor: AnyActorRef) => MachineName | undefined,
  ): (event: InspectionEvent) => void {
    // The steps of one event so far. They are complete at the next event, or at the snapshot.
    let steps: MachineTransition | undefined;
    const flush = (): void => {
      const transition = steps;
      steps = undefined;
      if (transition) this.#listeners.notify((listener) => listener(transition));
    };
    return (inspected) => {
      if (inspected.type === '@xstate.event' || inspected.type === '@xstate.snapshot') {
        return flush();
      }
      if (inspected.type !== '@xstate.microstep') return;
      const actor = inspected.actorRef as AnyActorRef;
      const after = inspected.snapshot as AnyMachineSnapshot;
      if (steps?.actor === actor) {
        steps = { ...steps, after };
        return;
      }
      flush();
      const { event } = inspected;
      if (event.type === actorStarted || event.type === actorStopped) return;
      const machine = nameOf(actor);
      if (!machine) return;
      const before = actor.getSnapshot() as AnyMachineSnapshot;
      steps = { machine, actor, event, before, after };
    };
  }
}
