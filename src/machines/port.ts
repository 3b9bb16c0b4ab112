/**
 * A port: the seam at which an actor is provided to a machine, and the smallest actor logic that
 * fits it.
 *
 * A plain actor keeps its state to itself and shows a `view` of it in its snapshot, for an
 * inspector or a test. It costs less per event than `fromCallback`, and the machines can be typed
 * by what a port takes without knowing who stands there.
 */
import type { ActorLogic, ActorRef, AnyActorRef, EventObject, Snapshot } from 'xstate';
import { actorStopped } from './xstate-events.ts';

/** A reference to an actor that takes these events. */
export type Ref<TEvent extends EventObject> = ActorRef<Snapshot<unknown>, TEvent>;

/** What a started actor does. */
export interface Behaviour<TEvent extends EventObject> {
  /** Takes one event. What it throws ends the actor, and its parent hears of it. */
  receive(event: TEvent): void;
  /** Releases what the actor owns. */
  stop?(): void;
  /** Shown in the snapshot. Live, not a copy: read it, keep nothing of it. */
  readonly view?: unknown;
}

export type PortSnapshot<TEvent extends EventObject, TInput> = Snapshot<undefined> & {
  readonly input: TInput;
  /** Set once the actor is started. */
  readonly behaviour: Behaviour<TEvent> | undefined;
};

/** Any logic that takes these events and this input. */
export type Port<TEvent extends EventObject, TInput> = ActorLogic<
  PortSnapshot<TEvent, TInput>,
  TEvent,
  TInput,
  AnyActorRef['system']
>;

/**
 * Gives the options of an actor that is being made a hidden class that others have too. XState makes
 * them with two spreads. Node 20's V8 gives each result of that a hidden class of its own, with
 * descriptors, larger than the options themselves (docs/performance.md).
 */
export function shareShape(actor: object): void {
  const made = actor as { options?: object };
  if (made.options) made.options = Object.assign({}, made.options);
}

/**
 * Everything of a plain actor's logic but how it starts: a session makes logic of its own for its
 * transport, and has no copies of this.
 */
const plainLogic: Pick<
  Port<EventObject, unknown>,
  'getInitialSnapshot' | 'transition' | 'getPersistedSnapshot'
> = {
  getInitialSnapshot: ({ self }, input) => {
    shareShape(self);
    return {
      status: 'active',
      output: undefined,
      error: undefined,
      input,
      behaviour: undefined,
    };
  },
  transition: (snapshot, event) => {
    if (event.type === actorStopped) {
      const { input, behaviour } = snapshot;
      behaviour?.stop?.();
      return { status: 'stopped', output: undefined, error: undefined, input, behaviour };
    }
    try {
      snapshot.behaviour?.receive(event);
    } catch (error) {
      // XState does not stop an actor that fails, so it gives back here what it owns.
      snapshot.behaviour?.stop?.();
      throw error;
    }
    return snapshot;
  },
  getPersistedSnapshot: ({ status }) =>
    ({ status, output: undefined, error: undefined }) as Snapshot<unknown>,
};

/** What a plain actor shows of itself; undefined if somebody else's actor stands at the port. */
export function viewOf<T>(actor: { getSnapshot(): unknown }): T | undefined {
  const snapshot = actor.getSnapshot() as { readonly behaviour?: { readonly view?: T } };
  return snapshot.behaviour?.view;
}

/** Actor logic from a function that starts it. */
export function plainActor<TEvent extends EventObject, TInput>(
  start: (scope: { readonly input: TInput; readonly self: Ref<TEvent> }) => Behaviour<TEvent>,
): Port<TEvent, TInput> {
  // What the rest of the logic does depends on neither type.
  const { getInitialSnapshot, transition, getPersistedSnapshot } = plainLogic as unknown as Port<
    TEvent,
    TInput
  >;
  return {
    getInitialSnapshot,
    start: (snapshot, { self }) => {
      const started = snapshot as { behaviour: Behaviour<TEvent> | undefined };
      started.behaviour = start({ input: snapshot.input, self: self as unknown as Ref<TEvent> });
    },
    transition,
    getPersistedSnapshot,
  };
}

/** Stands at a port until something is provided, and says so when it is started. */
export function unprovided<TEvent extends EventObject, TInput>(name: string): Port<TEvent, TInput> {
  return plainActor<TEvent, TInput>(() => {
    throw new Error(`No "${name}" actor is provided: use machine.provide({ actors: { ${name} } })`);
  });
}
