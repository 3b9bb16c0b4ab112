/**
 * Transitions of the machines of a session or a connection, for the inspector page, the official
 * inspector and recorders. They come from XState's inspection, which slows down every event of an
 * inspected system, so inspection starts with the scope's first listener.
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

/** Names of a session's machines. */
type SessionMachineName = 'session' | 'roots' | 'keepalive' | 'task' | 'subscription';

/** Names of a connection's machines. */
type ConnectionMachineName =
  | 'connection'
  | 'process'
  | 'authorization'
  | 'stream'
  | 'catalog'
  | 'listening'
  | 'followed'
  | 'slot';

/** Names of the observed machines, which are those of their charts. */
export type MachineName = SessionMachineName | ConnectionMachineName;

/** An event processed by a machine. Everything in it is the machine's: do not keep or modify it. */
export interface MachineTransition {
  /** The machine's name. */
  readonly machine: MachineName;
  /**
   * The machine's actor. A task's actor has the task's id, a list's names the list. `getSnapshot()`
   * still returns the previous snapshot.
   */
  readonly actor: AnyActorRef;
  /** The processed event. */
  readonly event: EventObject;
  /** Snapshot before the event. */
  readonly before: AnyMachineSnapshot;
  /** Snapshot after the event; in the same state if the event changes nothing. */
  readonly after: AnyMachineSnapshot;
}

/**
 * Called for each event that a machine processes: after its actions, before the events they send
 * arrive. Not called for the event that stops an actor.
 */
export type TransitionListener = (transition: MachineTransition) => void;

/** An actor or other object, with the name of its chart. */
export interface MachineActor {
  /** Name of the chart in diagrams. */
  readonly machine: string;
  readonly actor: Pick<AnyActorRef, 'id' | 'getSnapshot'>;
}

/** Presents the state of a pure chart as an actor. @param id default: the chart's name */
export function chartActor(
  machine: string,
  getSnapshot: () => AnyMachineSnapshot,
  id = machine,
): MachineActor {
  return { machine, actor: { id, getSnapshot } };
}

/** The session or connection that a machine belongs to. */
export interface ObservedScope {
  /** Undefined if there never was a listener. */
  readonly observedTransitions: Transitions | undefined;
}

/** The `inspect` option of actors. */
type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/**
 * `createActor` options that observe a root actor for a scope.
 *
 * @param inspect the embedding program's own inspector
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

/** The scope of unobserved machines. */
export const unobserved: ObservedScope = { observedTransitions: undefined };

export class Transitions {
  readonly #listeners: Listeners<TransitionListener>;
  /** Starts inspections once there is a listener; undefined afterwards. */
  #waiting: (() => void)[] | undefined = [];

  constructor(report: Report<ActorFactName>) {
    this.#listeners = new Listeners('A listener to the machines', report);
  }

  /** Adds a listener. Returns the function that removes it. Errors of listeners are reported. */
  listen(listener: TransitionListener): () => void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const begin of waiting ?? []) begin();
    return this.#listeners.add(listener);
  }

  /**
   * Inspects an actor's system as soon as there is a listener.
   *
   * @param nameOf undefined for actors of other scopes in the same system
   * @param begun receives a function that ends the inspection
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
    // The microsteps of one event so far. They are complete at the next event or snapshot.
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
