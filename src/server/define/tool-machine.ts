/** Tools that are machines, and how they are told from others. */
import type { AnyActorRef, AnyStateMachine, StateValue } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import type { StepJournal } from '../../actors/request-context.ts';
import type { HandlerContext } from '../context/handler-context.ts';

/** By the handlers that run them. */
const machines = new WeakMap<object, AnyStateMachine>();

/** The machine that a tool is, if it is one. */
export function machineOfTool({ handler }: { readonly handler: object }) {
  return machines.get(handler);
}

/** What a machine runs on. */
export interface MachineHost {
  readonly clock: Clock;
  /** Set if the work can go on in another process: then each state is written down. */
  readonly journal?: StepJournal | undefined;
  /** Called with the actor as it starts. */
  started?(actor: AnyActorRef): void;
}

/** The handler of a machine. */
export type MachineRun = (
  input: unknown,
  context: HandlerContext,
  host?: MachineHost,
) => Promise<unknown>;

/** Maps the state of an earlier version of a machine to one that this version has. */
export type Migrate = (earlier: { readonly value: StateValue; readonly context: unknown }) => {
  readonly value: StateValue;
  readonly context: unknown;
};

/** How the states of earlier versions are mapped, by the handlers. */
const migrations = new WeakMap<object, Migrate>();

/** Maps states of earlier versions of a tool's machine to current ones. */
export function migrationOf({ handler }: { readonly handler: object }): Migrate | undefined {
  return migrations.get(handler);
}

/** Makes a handler that of a machine. */
export function setMachine(
  handler: MachineRun,
  machine: AnyStateMachine,
  migrate: Migrate | undefined,
): void {
  machines.set(handler, machine);
  if (migrate) migrations.set(handler, migrate);
}

/** Runs a tool that is a machine. */
export function runMachine(
  { handler }: { readonly handler: object },
  input: unknown,
  context: HandlerContext,
  host: MachineHost,
): Promise<unknown> {
  return (handler as MachineRun)(input, context, host);
}
