/**
 * A port: the seam at which an actor is provided to a machine, and the smallest actor logic that
 * fits it.
 *
 * A plain actor keeps its state private and shows a `view` of it in its snapshot, for an inspector
 * or a test. It costs less per event than `fromCallback`, and a machine can be typed by the events
 * of a port without knowing which actor is provided.
 */
import { fromPromise } from 'xstate';
import type {
  ActorLogic,
  ActorRef,
  AnyActorRef,
  EventObject,
  PromiseActorLogic,
  Snapshot,
} from 'xstate';
import { actorStopped } from './names.ts';

/** A reference to an actor that takes these events. */
export type Ref<TEvent extends EventObject> = ActorRef<Snapshot<unknown>, TEvent>;

/** Whatever takes these events, an actor or not. */
export type Recipient<TEvent extends EventObject> = Pick<Ref<TEvent>, 'send'>;

/** What a started actor does. */
export interface Behaviour<TEvent extends EventObject> {
  /** Takes one event. If it throws, the actor ends and its parent gets the error. */
  receive(event: TEvent): void;
  /** Releases what the actor owns. */
  stop?(): void;
  /** Whether nothing is under way: the actor may be stopped, and nothing is lost by that. */
  readonly isAtRest?: boolean;
  /** Shown in the snapshot. It is live, not a copy: read it, but keep no reference to it. */
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
 * Gives an actor's options a hidden class that other actors share. XState makes the options with
 * two spreads, and Node 20's V8 gives each result its own hidden class, which is larger than the
 * options themselves (docs/performance.md).
 */
export function shareShape(actor: object): void {
  const made = actor as { options?: object };
  if (made.options) made.options = Object.assign({}, made.options);
}

/** What XState makes for each actor, and no plain actor uses: one for all of them takes their place. */
const unused = {
  defer: () => {},
  emit: () => {},
  stopChild: () => {},
  actionExecutor: () => {},
};

/**
 * All of a plain actor's logic except how it starts. A session makes its own logic for its
 * transport, and shares this part.
 */
const plainLogic: Pick<
  Port<EventObject, unknown>,
  'getInitialSnapshot' | 'transition' | 'getPersistedSnapshot'
> = {
  getInitialSnapshot: (actorScope, input) => {
    shareShape(actorScope.self);
    Object.assign(actorScope, unused);
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
      // XState does not stop an actor that fails, so it releases what it owns here.
      snapshot.behaviour?.stop?.();
      throw error;
    }
    return snapshot;
  },
  getPersistedSnapshot: ({ status }) =>
    ({ status, output: undefined, error: undefined }) as Snapshot<unknown>,
};

/** The view of a plain actor; undefined if another kind of actor is provided. */
export function viewOf<T>(actor: { getSnapshot(): unknown }): T | undefined {
  return behaviourOf(actor)?.view as T | undefined;
}

/** Whether a plain actor says that nothing is under way. */
export function isAtRest(actor: { getSnapshot(): unknown }): boolean {
  return behaviourOf(actor)?.isAtRest === true;
}

function behaviourOf(actor: { getSnapshot(): unknown }): Behaviour<never> | undefined {
  return (actor.getSnapshot() as { readonly behaviour?: Behaviour<never> }).behaviour;
}

/** Actor logic from a function that starts it. */
export function plainActor<TEvent extends EventObject, TInput>(
  start: (scope: { readonly input: TInput; readonly self: Ref<TEvent> }) => Behaviour<TEvent>,
): Port<TEvent, TInput> {
  // The rest of the logic depends on neither type.
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

/** A port of a shared machine: it runs the logic that each actor's input leads to. */
export function portByInput<TEvent extends EventObject, TInput>(
  logicOf: (input: TInput) => Port<TEvent, TInput>,
): Port<TEvent, TInput> {
  const logicIn = ({ input }: PortSnapshot<TEvent, TInput>) => logicOf(input);
  return {
    getInitialSnapshot: (actorScope, input) => logicOf(input).getInitialSnapshot(actorScope, input),
    start: (snapshot, actorScope) => logicIn(snapshot).start?.(snapshot, actorScope),
    transition: (snapshot, event, actorScope) =>
      logicIn(snapshot).transition(snapshot, event, actorScope),
    getPersistedSnapshot: (snapshot, options) =>
      logicIn(snapshot).getPersistedSnapshot(snapshot, options),
  };
}

/** The placeholder at a port: it throws when it is started, unless an actor was provided. */
export function unprovided<TEvent extends EventObject, TInput>(name: string): Port<TEvent, TInput> {
  return plainActor<TEvent, TInput>(() => {
    throw new Error(`No "${name}" actor is provided: use machine.provide({ actors: { ${name} } })`);
  });
}

/** The same for an actor that gives one answer. */
export function unprovidedPromise(name: string): PromiseActorLogic<never, never> {
  return fromPromise(() => Promise.reject(new Error(`No "${name}" actor is provided`)));
}
