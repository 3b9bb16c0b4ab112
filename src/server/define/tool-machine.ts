/** Registry of machine tools. */
import type { AnyActorRef, AnyStateMachine, StateValue } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import type { StepJournal } from '../../actors/request-context.ts';
import type { HandlerContext } from '../context/handler-context.ts';

/** Machines by handler. */
const machines = new WeakMap<object, AnyStateMachine>();

/** The machine of a tool; undefined for an ordinary tool. */
export function machineOfTool({ handler }: { readonly handler: object }) {
  return machines.get(handler);
}

/** Environment of a running machine. */
export interface MachineHost {
  readonly clock: Clock;
  /** Step journal, set if each state is persisted so that another process can resume the machine. */
  readonly journal?: StepJournal | undefined;
  /** Called with the actor before it starts. */
  onStarted?(actor: AnyActorRef): void;
}

/** Handler of a machine tool. */
export type MachineHandler = (
  input: unknown,
  context: HandlerContext,
  host?: MachineHost,
) => Promise<unknown>;

/** Maps a state of an earlier version of a machine to a state of this version. */
export type Migrate = (earlier: { readonly value: StateValue; readonly context: unknown }) => {
  readonly value: StateValue;
  readonly context: unknown;
};

/** Migrations by handler. */
const migrations = new WeakMap<object, Migrate>();

/** The migration of a tool's machine, if it has one. */
export function migrationOf({ handler }: { readonly handler: object }): Migrate | undefined {
  return migrations.get(handler);
}

/** Marks a handler as one of a machine. */
export function registerMachine(
  handler: MachineHandler,
  machine: AnyStateMachine,
  migrate: Migrate | undefined,
): void {
  machines.set(handler, machine);
  if (migrate) migrations.set(handler, migrate);
}

/** Runs a machine tool. */
export function runMachine(
  { handler }: { readonly handler: object },
  input: unknown,
  context: HandlerContext,
  host: MachineHost,
): Promise<unknown> {
  return (handler as MachineHandler)(input, context, host);
}
