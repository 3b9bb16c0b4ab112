/**
 * Runs tools that are machines. The states of one that waits for its client say what they ask, and its
 * snapshot and its timers are all that has to be kept meanwhile: it goes on in the same state in any
 * process, and what it had invoked starts anew. Loaded when a tool that is a machine is defined.
 */
import { createActor, waitFor } from 'xstate';
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, InputFrom } from 'xstate';
import { stateName } from '../../machines/names.ts';
import type { FormAnswer, UrlAnswer } from '../context/elicitation.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { RuntimeError, ToolError } from '../../protocol/errors.ts';
import { MachineTimers, checkpointOf, fitting, resumableMachine } from './machine-checkpoint.ts';
import type { MachineCheckpoint } from './machine-checkpoint.ts';
import { machineOfTool, migrationOf } from './tool-machine.ts';
import type { MachineHost, Migrate } from './tool-machine.ts';
import { validateQuestion, waiting } from './tool-question.ts';
import type { ToolAnswer, ToolQuestion, WaitingMeta } from './tool-question.ts';

/** Tells the machines of a process apart, for those who watch. */
let begun = 0;

/** By the machines of their authors. */
const resumable = new WeakMap<AnyStateMachine, AnyStateMachine>();

function runnableOf(machine: AnyStateMachine): AnyStateMachine {
  const runnable = resumable.get(machine) ?? resumableMachine(machine);
  resumable.set(machine, runnable);
  return runnable;
}

/** Runs a machine: its input is the arguments, its output the result. */
export async function runMachine(
  {
    machine,
    migrate,
  }: { readonly machine: AnyStateMachine; readonly migrate?: Migrate | undefined },
  input: unknown,
  context: HandlerContext,
  host: MachineHost,
): Promise<unknown> {
  const runnable = runnableOf(machine);
  const { journal } = host;
  const earlier = context.checkpoint as MachineCheckpoint | undefined;
  const timers = new MachineTimers(host);
  const options = { id: `${machine.id}-${++begun}`, clock: timers };
  const actor =
    earlier === undefined
      ? createActor(runnable, { ...options, input: input as InputFrom<AnyStateMachine> })
      : createActor(runnable, { ...options, snapshot: fitting(runnable, earlier, migrate) });
  timers.follow(actor);
  host.started?.(actor);
  if (journal) {
    const children = () => Object.values((actor.getSnapshot() as Invoking).children);
    journal.probe = {
      isIdle: () => !children().some((child) => isActive(child)),
    };
  }
  const restored = earlier && actor.getSnapshot();
  const faults: unknown[] = [];
  // The error is thrown below, by the code that waits for the actor.
  actor.subscribe({
    next: (snapshot) => {
      if (!journal || snapshot.status !== 'active' || snapshot === restored) return;
      try {
        context.checkpoint = checkpointOf(actor, snapshot as AnyMachineSnapshot, timers);
        journal.suspendIfIdle();
      } catch (error) {
        faults.push(error);
        actor.stop();
      }
    },
    error: () => {},
  });
  const { signal } = context;
  const stop = () => actor.stop();
  signal.addEventListener('abort', stop);
  actor.start();
  if (earlier) timers.goOn(actor, earlier.timers ?? []);
  try {
    let snapshot = await pauseOf(actor, signal);
    // A new checkpoint would drop the answer that the client may have brought for this state.
    if (earlier !== undefined && snapshot.status === 'active') {
      snapshot = await answered(actor, snapshot, context);
    }
    while (snapshot.status === 'active') {
      if (!journal) context.checkpoint = checkpointOf(actor, snapshot, timers);
      snapshot = await answered(actor, snapshot, context);
    }
    if (faults.length > 0) throw faults[0];
    if (snapshot.status === 'error') throw snapshot.error;
    return snapshot.output as unknown;
  } finally {
    signal.removeEventListener('abort', stop);
    actor.stop();
  }
}

/** Why a task of a tool cannot go on from this checkpoint; undefined if it can. */
export function validateResumption(
  tool: { readonly handler: object },
  checkpoint: unknown,
): string | undefined {
  const machine = machineOfTool(tool);
  if (!machine || checkpoint === undefined) return undefined;
  try {
    fitting(machine, checkpoint as MachineCheckpoint, migrationOf(tool));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The actors that a machine has invoked. */
interface Invoking {
  readonly children: { readonly [id: string]: AnyActorRef | undefined };
}

function isActive(child: AnyActorRef | undefined): boolean {
  return (child?.getSnapshot() as { readonly status?: string } | undefined)?.status === 'active';
}

/** The snapshot in which the machine waits or has ended. */
async function pauseOf(actor: AnyActorRef, signal: AbortSignal): Promise<AnyMachineSnapshot> {
  const isPause = (snapshot: AnyMachineSnapshot) =>
    snapshot.status !== 'active' || snapshot.hasTag(waiting);
  const now = actor.getSnapshot() as AnyMachineSnapshot;
  if (isPause(now)) return now;
  return (await waitFor(actor, isPause, { signal, timeout: Infinity })) as AnyMachineSnapshot;
}

/**
 * Asks what the state in which it waits asks, and gives the next snapshot of {@link pauseOf}. A timer, or an actor
 * that it has invoked, may lead it out of that state first.
 */
async function answered(
  actor: AnyActorRef,
  snapshot: AnyMachineSnapshot,
  context: HandlerContext,
): Promise<AnyMachineSnapshot> {
  const asks = askingState(snapshot);
  const leaving = new AbortController();
  const leave = (next: AnyMachineSnapshot) => {
    if (next.status !== 'active' || askingState(next) !== asks) leaving.abort();
  };
  const subscription = actor.subscribe({
    next: leave,
    error: () => leaving.abort(),
    complete: () => leaving.abort(),
  });
  try {
    const event = await outcomeOf(snapshot, context, leaving.signal);
    if (leaving.signal.aborted || !event) return await pauseOf(actor, context.signal);
    subscription.unsubscribe();
    const now = actor.getSnapshot() as AnyMachineSnapshot;
    // To ask again and again a client that answers by itself would have no end.
    if (!now.can(event)) {
      if (event.type === 'answer.failed') throw event.error;
      const message = `The call has ended: the state "${stateName(now)}" goes nowhere from "${event.type}"`;
      throw new ToolError(message, { code: 'UNANSWERED' });
    }
    actor.send(event);
    return await pauseOf(actor, context.signal);
  } finally {
    subscription.unsubscribe();
  }
}

/** What comes of its question; undefined if it was left before. */
async function outcomeOf(
  snapshot: AnyMachineSnapshot,
  context: HandlerContext,
  leaving: AbortSignal,
): Promise<ToolAnswer | undefined> {
  const left = new Promise<undefined>((resolve) => {
    leaving.addEventListener('abort', () => resolve(undefined));
  });
  const answer = answerTo(questionOf(snapshot), context, leaving).catch(
    (error: unknown): ToolAnswer => {
      if (error instanceof RuntimeError) return { type: 'answer.failed', error };
      throw error;
    },
  );
  return await Promise.race([answer, left]);
}

/** The state that asks, by its id; undefined if none does. */
function askingState(snapshot: AnyMachineSnapshot): string | undefined {
  return snapshot.hasTag(waiting) ? innermostAsking(snapshot)?.[0] : undefined;
}

async function answerTo(
  question: ToolQuestion,
  context: HandlerContext,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if ('elicit' in question) return eventOf(await context.elicit(question.elicit, { signal }));
  if ('elicitUrl' in question) {
    return eventOf(await context.elicitUrl(question.elicitUrl, { signal }));
  }
  if ('sample' in question) {
    return { type: 'answer.sampled', sample: await context.sample(question.sample, { signal }) };
  }
  return { type: 'answer.roots', report: await context.roots() };
}

function eventOf(answer: FormAnswer<unknown> | UrlAnswer): ToolAnswer {
  switch (answer.action) {
    case 'accept':
      return { type: 'answer.accepted', content: 'content' in answer ? answer.content : undefined };
    case 'decline':
      return { type: 'answer.declined' };
    case 'cancel':
      return { type: 'answer.cancelled' };
  }
}

/** Of the states that ask, the innermost. */
function innermostAsking(snapshot: AnyMachineSnapshot) {
  const metas = Object.entries(snapshot.getMeta() as { [id: string]: WaitingMeta | undefined });
  const asking = metas.filter(([, meta]) => meta?.ask !== undefined);
  return asking.toSorted(([a], [b]) => b.length - a.length)[0];
}

/** What the state that waits asks. */
function questionOf(snapshot: AnyMachineSnapshot): ToolQuestion {
  const [, meta] = innermostAsking(snapshot) ?? [];
  const ask = meta?.ask;
  if (!ask) throw new TypeError(`The state "${stateName(snapshot)}" waits, and asks nothing`);
  const question = typeof ask === 'function' ? ask({ context: snapshot.context as never }) : ask;
  const fault = validateQuestion(question);
  if (fault === undefined) return question;
  throw new TypeError(`meta.ask of the state "${stateName(snapshot)}" ${fault}`);
}
