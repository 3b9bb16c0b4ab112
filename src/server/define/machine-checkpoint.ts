/**
 * Checkpoints of machine tools: XState's persisted snapshot plus the due times of its timers.
 *
 * `getPersistedSnapshot` and `createActor({ snapshot })` persist and restore the states, the context and
 * the children, possibly those of an earlier version of the machine. This file adds what XState omits:
 *
 * - Timers. A persisted snapshot has none, and the `after` timers of a restored state never fire.
 *   XState lists scheduled events only in the snapshot of the system (`_scheduledEvents`); their
 *   types (`xstate.after.*`) identify the state that they belong to.
 * - Invoked actors that were running. XState does not rerun a restored promise or callback, so it is
 *   restarted, with its input computed from the restored context.
 * - Inline actors. XState restores actors only by their names in `setup`, so each gets a name.
 */
import { createMachine } from 'xstate';
import type {
  AnyActorLogic,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  Snapshot,
  StateValue,
} from 'xstate';
import { maxDelayMs } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import type { StepJournal } from '../../actors/request-context.ts';
import { stateName } from '../../machines/names.ts';
import { ToolError } from '../../protocol/errors.ts';
import { parseDuration, validateContext } from './machine-validation.ts';

/** A pending timer of a machine. */
interface SavedTimer {
  readonly id: string;
  readonly event: { readonly type: string };
  /** Due time, epoch ms. */
  readonly dueAt: number;
}

/** Persisted form of an invoked actor in XState. */
interface PersistedChild {
  readonly src?: unknown;
  readonly systemId?: string | undefined;
  readonly syncSnapshot?: boolean;
  readonly snapshot?: unknown;
}

/** XState's persisted snapshot of a machine, and its timers. */
export interface MachineCheckpoint {
  readonly value: StateValue;
  readonly context: unknown;
  readonly children?: { readonly [id: string]: PersistedChild };
  readonly timers?: readonly SavedTimer[];
}

/** Maps a state of an earlier version of the machine. */
type Mapping = (earlier: { readonly value: StateValue; readonly context: unknown }) => {
  readonly value: StateValue;
  readonly context: unknown;
};

/** @throws {TypeError} if the machine's context does not survive JSON */
export function checkpointOf(
  actor: AnyActorRef,
  snapshot: AnyMachineSnapshot,
  timers: MachineTimers,
): unknown {
  const fault = validateContext(snapshot.context);
  if (fault !== undefined) {
    throw new TypeError(`The machine cannot be resumed from "${stateName(snapshot)}": ${fault}`);
  }
  const kept = timers.kept;
  const checkpoint = actor.getPersistedSnapshot() as unknown as object;
  // Drops undefined members, such as the output of a running machine.
  return JSON.parse(JSON.stringify(kept.length > 0 ? { ...checkpoint, timers: kept } : checkpoint));
}

/**
 * Converts a checkpoint, possibly of another version of the machine, to a snapshot of this version. Runs before the
 * machine starts, so after an error another process that knows the state can still resume the call.
 * @throws {ToolError} NOT_RESUMABLE, naming the state, if the machine lacks the state and `migrate` maps it to no existing one
 */
export function snapshotToResume(
  machine: AnyStateMachine,
  checkpoint: MachineCheckpoint,
  migrate: Mapping | undefined,
): Snapshot<unknown> {
  const { value, context } = checkpoint;
  if (hasState(machine.root, value)) return restartChildren(machine, checkpoint);
  const mapped = migrate?.({ value, context });
  if (!mapped || !hasState(machine.root, mapped.value)) {
    const { id } = machine;
    const named = (other: StateValue) => `"${stateName({ machine, value: other })}"`;
    const tried = mapped ? `, nor ${named(mapped.value)}, the result of "migrate"` : '';
    throw new ToolError(
      `The call cannot be resumed: the machine "${id}" no longer has its state ${named(value)}${tried}. Call the tool again`,
      { code: 'NOT_RESUMABLE' },
    );
  }
  const resolved = machine.getPersistedSnapshot(machine.resolveState(mapped as never));
  // The mapped states have not invoked their actors yet.
  const children = activeNodes(machine.root, mapped.value)
    .flatMap(({ invoke }) => invoke)
    .map(({ id, src, systemId, onSnapshot }) => {
      const child: PersistedChild = { src, systemId, syncSnapshot: onSnapshot !== undefined };
      return [id, child] as const;
    });
  return restartChildren(machine, {
    ...(resolved as unknown as MachineCheckpoint),
    children: Object.fromEntries(children),
  });
}

function hasState({ states }: AnyStateNode, value: StateValue): boolean {
  const inner = typeof value === 'string' ? { [value]: undefined } : value;
  return Object.entries(inner).every(([name, within]) => {
    const child = states[name] as AnyStateNode | undefined;
    return child !== undefined && (within === undefined || hasState(child, within));
  });
}

/** Snapshot of an actor that is to be restarted. */
interface Restart {
  readonly anew: true;
  readonly input: unknown;
}

/** Marks the invoked actors for a restart, with inputs computed from the restored context. */
function restartChildren(
  machine: AnyStateMachine,
  checkpoint: MachineCheckpoint,
): Snapshot<unknown> {
  const { value, context, children = {} } = checkpoint;
  const event = { type: 'xstate.init' };
  const inputs = new Map(
    activeNodes(machine.root, value)
      .flatMap(({ invoke }) => invoke)
      .map(({ id, input }) => [
        id,
        typeof input === 'function' ? (input({ context, event } as never) as unknown) : input,
      ]),
  );
  const begun = Object.entries(children).map(([id, child]) => {
    const { src } = child;
    const isNamed = typeof src === 'string' && Object.hasOwn(machine.implementations.actors, src);
    if (!isNamed || !inputs.has(id)) return [id, child] as const;
    const snapshot: Restart = { anew: true, input: inputs.get(id) };
    return [id, { ...child, snapshot }] as const;
  });
  const anew = { ...checkpoint, timers: undefined, children: Object.fromEntries(begun) };
  return anew as unknown as Snapshot<unknown>;
}

function activeNodes(node: AnyStateNode, value: StateValue | undefined): readonly AnyStateNode[] {
  if (value === undefined) return [node];
  const inner = typeof value === 'string' ? { [value]: undefined } : value;
  return [
    node,
    ...Object.entries(inner).flatMap(([name, rest]) => {
      const child = node.states[name];
      return child ? activeNodes(child as AnyStateNode, rest) : [];
    }),
  ];
}

/** Adds delays such as `24h`, and makes invoked actors restart when the machine is restored. */
export function resumableMachine(given: AnyStateMachine): AnyStateMachine {
  const machine = withNamedActors(given);
  const { actors, delays } = machine.implementations;
  const said = delayNames(machine.root)
    .filter((name) => !Object.hasOwn(delays, name))
    .map((name) => [name, parseDuration(name)] as const);
  const renewed = Object.entries(actors as { readonly [name: string]: AnyActorLogic }).map(
    ([name, logic]) => [name, restartable(logic)] as const,
  );
  if (said.length === 0 && renewed.length === 0) return machine;
  return machine.provide({
    delays: Object.fromEntries(said),
    actors: Object.fromEntries(renewed),
  } as never);
}

/** The members of a state's configuration used here. */
interface StateConfig {
  readonly invoke?: InvokeConfig | readonly InvokeConfig[];
  readonly states?: { readonly [name: string]: StateConfig };
}

interface InvokeConfig {
  readonly src: string | AnyActorLogic;
}

/** Names inline actors, because XState restores actors only by name. */
function withNamedActors(machine: AnyStateMachine): AnyStateMachine {
  const found: { [name: string]: AnyActorLogic } = {};
  const named = (state: StateConfig): StateConfig => {
    const { invoke = [], states = {} } = state;
    const invoked = [invoke].flat().map((each: InvokeConfig) => {
      if (typeof each.src === 'string') return each;
      const src = `unnamed ${Object.keys(found).length}`;
      found[src] = each.src;
      return { ...each, src };
    });
    const inner = Object.entries(states).map(([name, child]) => [name, named(child)] as const);
    return {
      ...state,
      ...(invoked.length > 0 ? { invoke: invoked } : {}),
      ...(inner.length > 0 ? { states: Object.fromEntries(inner) } : {}),
    };
  };
  const config = named(machine.config as unknown as StateConfig);
  if (Object.keys(found).length === 0) return machine;
  const { actors, ...others } = machine.implementations;
  return createMachine(config as never, { ...others, actors: { ...actors, ...found } } as never);
}

function delayNames(node: AnyStateNode): readonly string[] {
  const own = node.after.flatMap(({ delay }) => (typeof delay === 'string' ? [delay] : []));
  return [
    ...own,
    ...Object.values(node.states).flatMap((child) => delayNames(child as AnyStateNode)),
  ];
}

function restartable(logic: AnyActorLogic): AnyActorLogic {
  const restore = (snapshot: unknown, scope: never): unknown => {
    const { anew, input } = snapshot as Partial<Restart>;
    if (anew) return logic.getInitialSnapshot(scope, input) as unknown;
    return (logic.restoreSnapshot?.(snapshot as never, scope) as unknown) ?? snapshot;
  };
  return Object.create(logic, { restoreSnapshot: { value: restore } }) as AnyActorLogic;
}

/** Snapshot of a machine, as far as timers need it. */
interface RunningMachine {
  readonly machine: AnyStateMachine;
  readonly context: unknown;
  readonly value: StateValue;
  readonly status: string;
}

/** XState's delayed transition. The delay is a name or a number of milliseconds. */
interface DelayedTransition {
  readonly eventType: string;
  readonly delay: string | number;
}

/** Implementation of a delay, milliseconds. */
type Delay = number | ((args: { readonly context: unknown }, params: undefined) => number);

/** XState's scheduled event. */
interface ScheduledEvent {
  readonly id: string;
  readonly event: { readonly type: string };
  readonly source: AnyActorRef;
  readonly target: AnyActorRef;
}

/** Clock of a machine whose timers survive its process. */
export class MachineTimers {
  readonly #clock: Clock;
  readonly #journal: StepJournal | undefined;
  #actor: AnyActorRef | undefined = undefined;
  readonly #due = new WeakMap<ScheduledEvent, number>();

  constructor({
    clock,
    journal,
  }: {
    readonly clock: Clock;
    readonly journal?: StepJournal | undefined;
  }) {
    this.#clock = clock;
    this.#journal = journal;
  }

  /** Current time, epoch ms. */
  get #now(): number {
    return this.#journal?.now() ?? Date.now();
  }

  /** Must be called before the actor starts. */
  attach(actor: AnyActorRef): void {
    this.#actor = actor;
  }

  /**
   * Reschedules the saved timers, and starts the timers of active states that have none saved. Must be called after
   * the actor has started, because its start would schedule them again.
   */
  restore(actor: AnyActorRef, saved: readonly SavedTimer[]): void {
    const { machine, context, value, status } = actor.getSnapshot() as RunningMachine;
    if (status !== 'active') return;
    const set = (id: string, event: SavedTimer['event'], delayMs: number) =>
      actor.system.scheduler.schedule(actor, actor, event, Math.max(0, delayMs), id);
    const nodes = activeNodes(machine.root, value);
    const own = nodes.flatMap(({ after }) => after as readonly DelayedTransition[]);
    const types = new Set(own.map(({ eventType }) => eventType));
    for (const { id, event, dueAt } of saved) {
      const isOfState = !event.type.startsWith('xstate.after.') || types.has(event.type);
      if (isOfState) set(id, event, dueAt - this.#now);
    }
    const known = new Set(this.#scheduled.map(({ event }) => event.type));
    for (const { eventType: type, delay } of own) {
      if (known.has(type)) continue;
      // The saved timer may belong to a state that has been renamed.
      const earlier = saved.find(
        ({ event }) => event.type.startsWith(`xstate.after.${delay}.`) && !types.has(event.type),
      );
      if (earlier) {
        set(type, { type }, earlier.dueAt - this.#now);
        continue;
      }
      const { delays } = machine.implementations as { delays: { [name: string]: Delay } };
      const given = typeof delay === 'string' ? delays[delay] : delay;
      const delayMs = typeof given === 'function' ? given({ context }, undefined) : given;
      if (typeof delayMs === 'number') set(type, { type }, delayMs);
    }
  }

  /** Timers that the machine scheduled for itself. */
  get kept(): readonly SavedTimer[] {
    return this.#scheduled.flatMap((scheduled) => {
      const dueAt = this.#due.get(scheduled);
      const { id, event, source, target } = scheduled;
      const isOwn = source === this.#actor && target === this.#actor;
      return isOwn && dueAt !== undefined ? [{ id, event, dueAt }] : [];
    });
  }

  get #scheduled(): readonly ScheduledEvent[] {
    const { _scheduledEvents: events } = this.#actor?.system.getSnapshot() ?? {};
    return Object.values((events ?? {}) as { readonly [id: string]: ScheduledEvent });
  }

  /** Implements the clock of XState. */
  readonly setTimeout = (callback: () => void, delayMs: number): unknown => {
    const dueAt = this.#now + delayMs;
    for (const scheduled of this.#scheduled) {
      if (!this.#due.has(scheduled)) this.#due.set(scheduled, dueAt);
    }
    if (this.#journal) return this.#journal.setTimer(callback, dueAt);
    return this.#clock.setTimeout(callback, Math.min(delayMs, maxDelayMs));
  };

  readonly clearTimeout = (timer: unknown): void => {
    if (this.#journal) this.#journal.clearTimer(timer);
    else this.#clock.clearTimeout(timer);
  };
}
