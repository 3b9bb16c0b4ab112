/**
 * Machine as normalized JSON: an XState machine config with names in place of functions.
 * `createMachine` and Stately's tools accept it, and scripts find every part in a fixed place.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { guardName } from './diagram.ts';

export interface StateDefinition {
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly description?: string;
  /**
   * Set only if it differs from the default, the dot-joined keys of the state and its ancestors.
   */
  readonly id?: string;
  /** Key of the initial state in `states`. */
  readonly initial?: string;
  /**
   * Names of actions, in order; XState's own appear as `xstate.emit`, `xstate.sendTo` and so on.
   */
  readonly entry?: readonly string[];
  readonly exit?: readonly string[];
  readonly invoke?: readonly InvokeDefinition[];
  /**
   * Transitions by event type. In every list of transitions, the first whose guard holds is taken.
   */
  readonly on?: Transitions;
  /** Transitions by delay: a delay name, resolved from the limits, or milliseconds. */
  readonly after?: Transitions;
  readonly always?: readonly TransitionDefinition[];
  /** Taken when a child final state is reached. */
  readonly onDone?: readonly TransitionDefinition[];
  readonly states?: { readonly [key: string]: StateDefinition };
}

export interface MachineDefinition extends StateDefinition {
  /** Machine id, the first part of absolute targets. */
  readonly id: string;
}

interface Transitions {
  readonly [name: string]: readonly TransitionDefinition[];
}

export interface TransitionDefinition {
  /** Absolute ids, such as `#roots.querying.stale`. Absent for an internal transition. */
  readonly target?: readonly string[];
  /** Guard name; `a and b` if both must hold. */
  readonly guard?: string;
  readonly actions?: readonly string[];
  /** Set if the state is exited and re-entered. */
  readonly reenter?: true;
}

interface InvokeDefinition {
  readonly id: string;
  /** Name of the actor in the machine's setup. */
  readonly src: string;
  readonly onDone?: readonly TransitionDefinition[];
  readonly onError?: readonly TransitionDefinition[];
}

/** Parts of an XState transition that are read here. */
interface Transition {
  readonly target: readonly AnyStateNode[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
}

export function machineDefinition(machine: AnyStateMachine): MachineDefinition {
  return { id: machine.id, ...definitionOf(machine.root) };
}

function definitionOf(node: AnyStateNode): StateDefinition {
  const { type, initial, states, always = [], description } = node;
  const config = node.config as { readonly entry?: unknown; readonly exit?: unknown };
  const [first] = initial?.target ?? [];
  const after: { [delay: string]: readonly TransitionDefinition[] } = {};
  const on: { [event: string]: readonly TransitionDefinition[] } = {};
  const ends = new Map<string, readonly TransitionDefinition[]>();
  for (const [event, transitions] of node.transitions as Map<string, Transition[]>) {
    const definitions = transitions.map(transitionOf);
    const delay = delayIn(event, node);
    if (delay !== undefined) after[delay] = definitions;
    else if (completionEvents(node).includes(event)) ends.set(event, definitions);
    else on[event] = definitions;
  }
  const invoke = node.invoke.map(({ id, src }): InvokeDefinition => {
    const [done, failed] = [ends.get(doneActor(id)), ends.get(failedActor(id))];
    return {
      id,
      src: nameOf(src),
      ...(done ? { onDone: done } : {}),
      ...(failed ? { onError: failed } : {}),
    };
  });
  const ownId = node.id === [node.machine.id, ...node.path].join('.') ? undefined : node.id;
  const inner = Object.entries(states).map(([key, state]) => [key, definitionOf(state)]);
  return omitEmpty({
    id: ownId,
    type,
    description,
    initial: first?.key,
    entry: namesOf(config.entry),
    exit: namesOf(config.exit),
    invoke,
    on,
    after,
    always: (always as readonly Transition[]).map(transitionOf),
    onDone: ends.get(doneState(node)) ?? [],
    states: Object.fromEntries(inner) as { [key: string]: StateDefinition },
  });
}

function transitionOf({ target, guard, actions, reenter }: Transition): TransitionDefinition {
  return {
    ...(target ? { target: target.map(({ id }) => `#${id}`) } : {}),
    ...(guard === undefined ? {} : { guard: guardName(guard) }),
    ...(actions.length > 0 ? { actions: namesOf(actions) } : {}),
    ...(reenter ? { reenter: true as const } : {}),
  };
}

const doneActor = (id: string) => `xstate.done.actor.${id}`;
const failedActor = (id: string) => `xstate.error.actor.${id}`;
const doneState = ({ id }: AnyStateNode) => `xstate.done.state.${id}`;

/** Completion events of a state and its invoked actors, listed as `onDone` and `onError`. */
function completionEvents(node: AnyStateNode): readonly string[] {
  return [doneState(node), ...node.invoke.flatMap(({ id }) => [doneActor(id), failedActor(id)])];
}

/** XState names the event of a delay `xstate.after.DELAY.STATE`. */
function delayIn(event: string, { id }: AnyStateNode): string | undefined {
  const [head, end] = ['xstate.after.', `.${id}`];
  return event.startsWith(head) && event.endsWith(end)
    ? event.slice(head.length, -end.length)
    : undefined;
}

function namesOf(actions: unknown): readonly string[] {
  return (Array.isArray(actions) ? actions : [actions])
    .filter((action) => action !== undefined)
    .map(nameOf);
}

/**
 * XState's built-in actions are functions with a `type`; a machine's own actions are named in its
 * setup.
 */
function nameOf(named: unknown): string {
  if (typeof named === 'string') return named;
  const { type, name } = named as { readonly type?: string; readonly name?: string };
  return [type, name].find((text) => typeof text === 'string' && text !== '') ?? 'inline';
}

function omitEmpty(definition: { readonly [key: string]: unknown }): StateDefinition {
  const kept = Object.entries(definition).filter(
    ([, value]) =>
      value !== undefined && (typeof value !== 'object' || Object.keys(value as object).length > 0),
  );
  return Object.fromEntries(kept) as unknown as StateDefinition;
}
