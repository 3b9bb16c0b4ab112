/**
 * The checkpoint of a tool that is a machine: XState's persisted snapshot, and when its timers fire.
 *
 * `getPersistedSnapshot` and `createActor({ snapshot })` keep and restore the states, the context and
 * the children, which may have come from an earlier version of the machine. This file adds three
 * things that XState leaves out:
 *
 * - Timers. A persisted snapshot has none, and the `after` timers of a restored state never fire.
 *   XState lists scheduled events only in the snapshot of the system (`_scheduledEvents`), and their
 *   types (`xstate.after.*`) tell which state they belong to.
 * - Invoked actors that were running. A restored promise or callback does not run again: it starts
 *   anew, with its input computed from the restored context.
 * - Actors invoked without a name. XState restores actors by the names in `setup` alone, so each
 *   gets one.
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
import { durationOf, validateContext } from './machine-faults.ts';

/** A timer of a machine. */
interface KeptTimer {
  readonly id: string;
  readonly event: { readonly type: string };
  /** Milliseconds since 1970. */
  readonly dueAt: number;
}

/** What XState keeps of an actor that a state invokes. */
interface PersistedChild {
  readonly src?: unknown;
  readonly systemId?: string | undefined;
  readonly syncSnapshot?: boolean;
  readonly snapshot?: unknown;
}

/** What is kept of a machine: XState's persisted snapshot, and its timers. */
export interface MachineCheckpoint {
  readonly value: StateValue;
  readonly context: unknown;
  readonly children?: { readonly [id: string]: PersistedChild };
  readonly timers?: readonly KeptTimer[];
}

/** Maps the state of an earlier version. */
type Mapping = (earlier: { readonly value: StateValue; readonly context: unknown }) => {
  readonly value: StateValue;
  readonly context: unknown;
};

/** @throws {TypeError} JSON would not give the machine's context back as it is */
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
  // What has no value is not there: its output, before it has one.
  return JSON.parse(JSON.stringify(kept.length > 0 ? { ...checkpoint, timers: kept } : checkpoint));
}

/**
 * The snapshot to go on from. Another version of the machine may have kept it. Nothing has been run yet, so the
 * call can still go on where the state is known.
 * @throws {ToolError} naming the state, if the machine has none of its name, and `migrate` maps it to none
 */
export function fitting(
  machine: AnyStateMachine,
  checkpoint: MachineCheckpoint,
  migrate: Mapping | undefined,
): Snapshot<unknown> {
  const { value, context } = checkpoint;
  if (hasState(machine.root, value)) return startedAnew(machine, checkpoint);
  const mapped = migrate?.({ value, context });
  if (!mapped || !hasState(machine.root, mapped.value)) {
    const { id } = machine;
    const named = (other: StateValue) => `"${stateName({ machine, value: other })}"`;
    const tried = mapped ? `, nor ${named(mapped.value)}, to which "migrate" maps it` : '';
    throw new ToolError(
      `The call waits in the state ${named(value)}, which the machine "${id}" does not have any more${tried}. Call the tool anew, from the beginning`,
      { code: 'NOT_RESUMABLE' },
    );
  }
  const resolved = machine.getPersistedSnapshot(machine.resolveState(mapped as never));
  // The states that it was mapped to have not invoked anything yet.
  const children = activeNodes(machine.root, mapped.value)
    .flatMap(({ invoke }) => invoke)
    .map(({ id, src, systemId, onSnapshot }) => {
      const child: PersistedChild = { src, systemId, syncSnapshot: onSnapshot !== undefined };
      return [id, child] as const;
    });
  return startedAnew(machine, {
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

/** What an actor begins from that starts anew. */
interface Anew {
  readonly anew: true;
  readonly input: unknown;
}

/** The actors that it had invoked start anew, with the input that they would get now. */
function startedAnew(machine: AnyStateMachine, checkpoint: MachineCheckpoint): Snapshot<unknown> {
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
    const snapshot: Anew = { anew: true, input: inputs.get(id) };
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

/** The machine, with delays that say how long they are, and with actors that start anew if it is restored. */
export function resumableMachine(given: AnyStateMachine): AnyStateMachine {
  const machine = withNamedActors(given);
  const { actors, delays } = machine.implementations;
  const said = delayNames(machine.root)
    .filter((name) => !Object.hasOwn(delays, name))
    .map((name) => [name, durationOf(name)] as const);
  const renewed = Object.entries(actors as { readonly [name: string]: AnyActorLogic }).map(
    ([name, logic]) => [name, renewable(logic)] as const,
  );
  if (said.length === 0 && renewed.length === 0) return machine;
  return machine.provide({
    delays: Object.fromEntries(said),
    actors: Object.fromEntries(renewed),
  } as never);
}

/** The part of a state's configuration that is read here. */
interface StateConfig {
  readonly invoke?: Invoked | readonly Invoked[];
  readonly states?: { readonly [name: string]: StateConfig };
}

interface Invoked {
  readonly src: string | AnyActorLogic;
}

/** XState finds actors that a state invokes without a name in its configuration alone: here each gets a name. */
function withNamedActors(machine: AnyStateMachine): AnyStateMachine {
  const found: { [name: string]: AnyActorLogic } = {};
  const named = (state: StateConfig): StateConfig => {
    const { invoke = [], states = {} } = state;
    const invoked = [invoke].flat().map((each: Invoked) => {
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

function renewable(logic: AnyActorLogic): AnyActorLogic {
  const restore = (snapshot: unknown, scope: never): unknown => {
    const { anew, input } = snapshot as Partial<Anew>;
    if (anew) return logic.getInitialSnapshot(scope, input) as unknown;
    return (logic.restoreSnapshot?.(snapshot as never, scope) as unknown) ?? snapshot;
  };
  return Object.create(logic, { restoreSnapshot: { value: restore } }) as AnyActorLogic;
}

/** What XState says of a machine that runs. */
interface Running {
  readonly machine: AnyStateMachine;
  readonly context: unknown;
  readonly value: StateValue;
  readonly status: string;
}

/** A transition after a time, as XState keeps it: the delay is a name, or milliseconds. */
interface Delayed {
  readonly eventType: string;
  readonly delay: string | number;
}

/** How long a delay is. */
type Duration = number | ((args: { readonly context: unknown }, params: undefined) => number);

/** What XState knows of a timer. */
interface Scheduled {
  readonly id: string;
  readonly event: { readonly type: string };
  readonly source: AnyActorRef;
  readonly target: AnyActorRef;
}

/** The timers of a machine: they are kept with it, and go on after the process. */
export class MachineTimers {
  readonly #clock: Clock;
  readonly #journal: StepJournal | undefined;
  #actor: AnyActorRef | undefined = undefined;
  readonly #due = new WeakMap<Scheduled, number>();

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

  /** The time of day that they go by, milliseconds since 1970. */
  get #now(): number {
    return this.#journal?.now() ?? Date.now();
  }

  /** Call it before the actor is started. */
  follow(actor: AnyActorRef): void {
    this.#actor = actor;
  }

  /**
   * Sets the timers that were kept of the actor; those of its states that were not kept begin now. Call it after the
   * actor was started: its start would set them a second time.
   */
  goOn(actor: AnyActorRef, kept: readonly KeptTimer[]): void {
    const { machine, context, value, status } = actor.getSnapshot() as Running;
    if (status !== 'active') return;
    const set = (id: string, event: KeptTimer['event'], delayMs: number) =>
      actor.system.scheduler.schedule(actor, actor, event, Math.max(0, delayMs), id);
    const nodes = activeNodes(machine.root, value);
    const own = nodes.flatMap(({ after }) => after as readonly Delayed[]);
    const types = new Set(own.map(({ eventType }) => eventType));
    for (const { id, event, dueAt } of kept) {
      const isOfState = !event.type.startsWith('xstate.after.') || types.has(event.type);
      if (isOfState) set(id, event, dueAt - this.#now);
    }
    const known = new Set(this.#scheduled.map(({ event }) => event.type));
    for (const { eventType: type, delay } of own) {
      if (known.has(type)) continue;
      // Of a state that has another name now.
      const earlier = kept.find(
        ({ event }) => event.type.startsWith(`xstate.after.${delay}.`) && !types.has(event.type),
      );
      if (earlier) {
        set(type, { type }, earlier.dueAt - this.#now);
        continue;
      }
      const { delays } = machine.implementations as { delays: { [name: string]: Duration } };
      const given = typeof delay === 'string' ? delays[delay] : delay;
      const delayMs = typeof given === 'function' ? given({ context }, undefined) : given;
      if (typeof delayMs === 'number') set(type, { type }, delayMs);
    }
  }

  /** Those that its machine has set for itself. */
  get kept(): readonly KeptTimer[] {
    return this.#scheduled.flatMap((scheduled) => {
      const dueAt = this.#due.get(scheduled);
      const { id, event, source, target } = scheduled;
      const isOwn = source === this.#actor && target === this.#actor;
      return isOwn && dueAt !== undefined ? [{ id, event, dueAt }] : [];
    });
  }

  get #scheduled(): readonly Scheduled[] {
    const { _scheduledEvents: events } = this.#actor?.system.getSnapshot() ?? {};
    return Object.values((events ?? {}) as { readonly [id: string]: Scheduled });
  }

  /** As XState asks for it. */
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
