/**
 * Ports: typed placeholders for the actors that are provided to a machine, and minimal actor logic for
 * them.
 *
 * A plain actor keeps its state private and exposes a `view` in its snapshot, for inspectors and tests.
 * It is cheaper per event than `fromCallback`. A machine depends only on the events of a port, not on
 * the provided actor.
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

/** Reference to an actor that accepts these events. */
export type Ref<TEvent extends EventObject> = ActorRef<Snapshot<unknown>, TEvent>;

/** Anything that accepts these events, actor or not. */
export type Recipient<TEvent extends EventObject> = Pick<Ref<TEvent>, 'send'>;

/** Behavior of a started plain actor. */
export interface Behaviour<TEvent extends EventObject> {
  /** Handles one event. A thrown error fails the actor and is sent to its parent. */
  receive(event: TEvent): void;
  /** Releases the resources of the actor. */
  stop?(): void;
  /** Live view for the snapshot. Do not keep references to it. */
  readonly view?: unknown;
}

export type PortSnapshot<TEvent extends EventObject, TInput> = Snapshot<undefined> & {
  readonly input: TInput;
  /** Undefined until the actor starts. */
  readonly behaviour: Behaviour<TEvent> | undefined;
};

/** Actor logic with these events and this input. */
export type Port<TEvent extends EventObject, TInput> = ActorLogic<
  PortSnapshot<TEvent, TInput>,
  TEvent,
  TInput,
  AnyActorRef['system']
>;

/** View of a plain actor; undefined for other actors. */
export function viewOf<T>(actor: { getSnapshot(): unknown }): T | undefined {
  const { behaviour } = actor.getSnapshot() as { readonly behaviour?: Behaviour<never> };
  return behaviour?.view as T | undefined;
}

/** Logic shared by all plain actors. */
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
      // XState does not stop a failed actor, so its resources are released here.
      behaviour?.stop?.();
      throw error;
    }
    return snapshot;
  },
  getPersistedSnapshot: ({ status }) =>
    ({ status, output: undefined, error: undefined }) as Snapshot<unknown>,
};

/**
 * Creates actor logic from a function that starts a behavior. The snapshot contains the behavior and
 * changes only when the actor stops.
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

/** Port of a shared machine that selects the logic by the input of each actor. */
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

/** Placeholder of a port that throws when it is started. */
export function unprovided<TEvent extends EventObject, TInput>(name: string): Port<TEvent, TInput> {
  return plainActor<TEvent, TInput>(() => {
    throw new Error(`No "${name}" actor is provided: use machine.provide({ actors: { ${name} } })`);
  });
}

/** Placeholder of a promise actor. */
export function unprovidedPromise(name: string): PromiseActorLogic<never, never> {
  return fromPromise(() => Promise.reject(new Error(`No "${name}" actor is provided`)));
}
