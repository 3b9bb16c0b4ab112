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

/** The view of a plain actor; undefined if another kind of actor is provided. */
export function viewOf<T>(actor: { getSnapshot(): unknown }): T | undefined {
  const { behaviour } = actor.getSnapshot() as { readonly behaviour?: Behaviour<never> };
  return behaviour?.view as T | undefined;
}

/** The part of a plain actor's logic that is the same for all of them. */
const plainLogic: Pick<
  Port<EventObject, unknown>,
  'getInitialSnapshot' | 'transition' | 'getPersistedSnapshot'
> = {
  getInitialSnapshot: (_, input) => ({
    status: 'active',
    output: undefined,
    error: undefined,
    input,
    behaviour: undefined,
  }),
  transition: (snapshot, event) => {
    const { behaviour } = snapshot;
    if (event.type === actorStopped) {
      behaviour?.stop?.();
      return { ...snapshot, status: 'stopped' } as typeof snapshot;
    }
    try {
      behaviour?.receive(event);
    } catch (error) {
      // XState does not stop an actor that fails, so it releases what it owns here.
      behaviour?.stop?.();
      throw error;
    }
    return snapshot;
  },
  getPersistedSnapshot: ({ status }) =>
    ({ status, output: undefined, error: undefined }) as Snapshot<unknown>,
};

/**
 * Actor logic from a function that starts a behaviour. The snapshot carries the behaviour from the
 * start on, and changes only when the actor stops.
 */
export function plainActor<TEvent extends EventObject, TInput>(
  start: (scope: { readonly input: TInput; readonly self: Ref<TEvent> }) => Behaviour<TEvent>,
): Port<TEvent, TInput> {
  return {
    ...(plainLogic as unknown as Port<TEvent, TInput>),
    start: (snapshot, { self }) => {
      const started = snapshot as { behaviour: Behaviour<TEvent> | undefined };
      started.behaviour = start({ input: snapshot.input, self: self as unknown as Ref<TEvent> });
    },
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
