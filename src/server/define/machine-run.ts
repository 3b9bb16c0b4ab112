/**
 * Runs machine tools. Waiting states declare their questions in `meta.ask`. The snapshot and the timers are the whole
 * checkpoint, so any process can resume the machine in its state; invoked actors are restarted. Loaded on demand.
 */
import { createActor, waitFor } from 'xstate';
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, InputFrom } from 'xstate';
import { stateName } from '../../machines/names.ts';
import type { FormAnswer, UrlAnswer } from '../context/elicitation.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { RuntimeError, ToolError } from '../../protocol/errors.ts';
import {
  MachineTimers,
  checkpointOf,
  snapshotToResume,
  resumableMachine,
} from './machine-checkpoint.ts';
import type { MachineCheckpoint } from './machine-checkpoint.ts';
import { machineOfTool, migrationOf } from './tool-machine.ts';
import type { MachineHost, Migrate } from './tool-machine.ts';
import { validateQuestion, waitingTag } from './tool-question.ts';
import type { ToolAnswer, ToolQuestion, WaitingMeta } from './tool-question.ts';

/** Number of machines started by the process, for unique actor ids. */
let machineCount = 0;

/** Resumable variants by the original machine. */
const resumable = new WeakMap<AnyStateMachine, AnyStateMachine>();

function runnableOf(machine: AnyStateMachine): AnyStateMachine {
  const runnable = resumable.get(machine) ?? resumableMachine(machine);
  resumable.set(machine, runnable);
  return runnable;
}

/** Runs a machine with the arguments as its input and returns its output. */
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
  const options = { id: `${machine.id}-${++machineCount}`, clock: timers };
  const actor =
    earlier === undefined
      ? createActor(runnable, { ...options, input: input as InputFrom<AnyStateMachine> })
      : createActor(runnable, {
          ...options,
          snapshot: snapshotToResume(runnable, earlier, migrate),
        });
  timers.attach(actor);
  host.onStarted?.(actor);
  if (journal) {
    const children = () => Object.values((actor.getSnapshot() as MachineChildren).children);
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
  if (earlier) timers.restore(actor, earlier.timers ?? []);
  try {
    let snapshot = await nextPause(actor, signal);
    // A new checkpoint would drop the answer that the client may have brought for this state.
    if (earlier !== undefined && snapshot.status === 'active') {
      snapshot = await askClient(actor, snapshot, context);
    }
    while (snapshot.status === 'active') {
      if (!journal) context.checkpoint = checkpointOf(actor, snapshot, timers);
      snapshot = await askClient(actor, snapshot, context);
    }
    if (faults.length > 0) throw faults[0];
    if (snapshot.status === 'error') throw snapshot.error;
    return snapshot.output as unknown;
  } finally {
    signal.removeEventListener('abort', stop);
    actor.stop();
  }
}

/** The reason why a tool cannot be resumed from this checkpoint; undefined if it can. */
export function validateResumption(
  tool: { readonly handler: object },
  checkpoint: unknown,
): string | undefined {
  const machine = machineOfTool(tool);
  if (!machine || checkpoint === undefined) return undefined;
  try {
    snapshotToResume(machine, checkpoint as MachineCheckpoint, migrationOf(tool));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Snapshot of a machine with its invoked actors. */
interface MachineChildren {
  readonly children: { readonly [id: string]: AnyActorRef | undefined };
}

function isActive(child: AnyActorRef | undefined): boolean {
  return (child?.getSnapshot() as { readonly status?: string } | undefined)?.status === 'active';
}

/** Resolves with the next snapshot in which the machine waits or has ended. */
async function nextPause(actor: AnyActorRef, signal: AbortSignal): Promise<AnyMachineSnapshot> {
  const isPause = (snapshot: AnyMachineSnapshot) =>
    snapshot.status !== 'active' || snapshot.hasTag(waitingTag);
  const now = actor.getSnapshot() as AnyMachineSnapshot;
  if (isPause(now)) return now;
  return (await waitFor(actor, isPause, { signal, timeout: Infinity })) as AnyMachineSnapshot;
}

/**
 * Asks the client the question of the waiting state, and resolves with the next pause. A timer or an invoked actor
 * may leave the state first.
 */
async function askClient(
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
    const event = await answerUnlessLeft(snapshot, context, leaving.signal);
    if (leaving.signal.aborted || !event) return await nextPause(actor, context.signal);
    subscription.unsubscribe();
    const now = actor.getSnapshot() as AnyMachineSnapshot;
    // Asking again could loop forever if the client answers automatically.
    if (!now.can(event)) {
      if (event.type === 'answer.failed') throw event.error;
      const message = `The call has ended: the state "${stateName(now)}" does not handle "${event.type}"`;
      throw new ToolError(message, { code: 'UNANSWERED' });
    }
    actor.send(event);
    return await nextPause(actor, context.signal);
  } finally {
    subscription.unsubscribe();
  }
}

/** The answer event; undefined if the machine leaves the state first. */
async function answerUnlessLeft(
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

/** Id of the waiting state; undefined if the machine is not waiting. */
function askingState(snapshot: AnyMachineSnapshot): string | undefined {
  return snapshot.hasTag(waitingTag) ? innermostAsking(snapshot)?.[0] : undefined;
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

/** The innermost active state with a question. */
function innermostAsking(snapshot: AnyMachineSnapshot) {
  const metas = Object.entries(snapshot.getMeta() as { [id: string]: WaitingMeta | undefined });
  const asking = metas.filter(([, meta]) => meta?.ask !== undefined);
  return asking.toSorted(([a], [b]) => b.length - a.length)[0];
}

/** The question of the waiting state. */
function questionOf(snapshot: AnyMachineSnapshot): ToolQuestion {
  const [, meta] = innermostAsking(snapshot) ?? [];
  const ask = meta?.ask;
  if (!ask) throw new TypeError(`The state "${stateName(snapshot)}" is waiting without a meta.ask`);
  const question = typeof ask === 'function' ? ask({ context: snapshot.context as never }) : ask;
  const fault = validateQuestion(question);
  if (fault === undefined) return question;
  throw new TypeError(`meta.ask of the state "${stateName(snapshot)}" ${fault}`);
}
