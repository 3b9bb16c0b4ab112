/**
 * Tools that are machines. The states of one that waits for its client say what they ask, and its
 * snapshot is all that has to be kept meanwhile: it goes on in the same state in any process, with
 * nothing run again.
 */
import { createActor, waitFor } from 'xstate';
import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  InputFrom,
  Snapshot,
  StateValue,
} from 'xstate';
import { stateName } from '../machines/names.ts';
import type { FormAnswer, UrlAnswer } from '../context/elicitation.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { RuntimeError, ToolError } from '../protocol/errors.ts';
import { faultOfContext } from './machine-faults.ts';
import { faultOfQuestion, waiting } from './tool-question.ts';
import type { ToolAnswer, ToolQuestion, WaitingMeta } from './tool-question.ts';

/** By the handlers that run them. */
const machines = new WeakMap<object, AnyStateMachine>();

/** The machine that a tool is, if it is one. */
export function machineOfTool({ handler }: { readonly handler: object }) {
  return machines.get(handler);
}

/** The machines of the calls that run, by their contexts. */
const running = new WeakMap<HandlerContext, AnyActorRef>();

/** The machine that serves the call with this context, if its tool is one and has begun. */
export function machineOfCall(context: HandlerContext): AnyActorRef | undefined {
  return running.get(context);
}

/** Tells the machines of a process apart, for those who watch. */
let begun = 0;

/** The handler of a tool that is this machine: its input is the arguments, its output the result. */
export function machineHandler(machine: AnyStateMachine) {
  const run = async (input: unknown, context: HandlerContext): Promise<unknown> => {
    const { checkpoint } = context;
    if (checkpoint !== undefined) refuseLostState(machine, checkpoint as Checkpoint);
    const actor = createActor(machine, {
      id: `${machine.id}-${++begun}`,
      ...(checkpoint === undefined
        ? { input: input as InputFrom<AnyStateMachine> }
        : { snapshot: checkpoint as Snapshot<unknown> }),
    });
    running.set(context, actor);
    // The error is thrown below, by the code that waits for the actor.
    actor.subscribe({ error: () => {} });
    const { signal } = context;
    const stop = () => actor.stop();
    signal.addEventListener('abort', stop);
    actor.start();
    try {
      let snapshot = await pauseOf(actor, signal);
      // A new checkpoint would drop the answer that the client may have brought for this state.
      if (checkpoint !== undefined) snapshot = await answered(actor, snapshot, context);
      while (snapshot.status === 'active') {
        context.checkpoint = checkpointOf(actor, snapshot);
        snapshot = await answered(actor, snapshot, context);
      }
      if (snapshot.status === 'error') throw snapshot.error;
      return snapshot.output;
    } finally {
      signal.removeEventListener('abort', stop);
      actor.stop();
    }
  };
  machines.set(run, machine);
  return run;
}

/** What is read of a checkpoint. */
interface Checkpoint {
  readonly value: StateValue;
}

/**
 * Another version of the machine may have sealed the checkpoint. Nothing has been run yet, so the
 * call can still go on where the state is known.
 *
 * @throws {ToolError} naming the state in which the call waits, if the machine has none of its name
 */
function refuseLostState(machine: AnyStateMachine, { value }: Checkpoint): void {
  if (hasState(machine.root, value)) return;
  throw new ToolError(
    `The call waits in the state "${stateName({ machine, value })}", which the machine "${machine.id}" does not have any more. Call the tool anew, from the beginning`,
    { code: 'NOT_RESUMABLE' },
  );
}

function hasState({ states }: AnyStateMachine['root'], value: StateValue): boolean {
  const inner = typeof value === 'string' ? { [value]: undefined } : value;
  return Object.entries(inner).every(([name, within]) => {
    const child = states[name];
    return child !== undefined && (within === undefined || hasState(child, within));
  });
}

/** The snapshot in which the machine waits or has ended. */
async function pauseOf(actor: AnyActorRef, signal: AbortSignal): Promise<AnyMachineSnapshot> {
  const isPause = (snapshot: AnyMachineSnapshot) =>
    snapshot.status !== 'active' || snapshot.hasTag(waiting);
  const now = actor.getSnapshot() as AnyMachineSnapshot;
  if (isPause(now)) return now;
  return (await waitFor(actor, isPause, { signal, timeout: Infinity })) as AnyMachineSnapshot;
}

/** Asks what the state in which it waits asks, and gives the next snapshot of {@link pauseOf}. */
async function answered(
  actor: AnyActorRef,
  snapshot: AnyMachineSnapshot,
  context: HandlerContext,
): Promise<AnyMachineSnapshot> {
  let event: ToolAnswer;
  try {
    event = await answerTo(questionOf(snapshot), context);
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    event = { type: 'answer.failed', error };
    if (!snapshot.can(event)) throw error;
  }
  // To ask again and again a client that answers by itself would have no end.
  if (!snapshot.can(event)) {
    const message = `The call has ended: the state "${stateName(snapshot)}" goes nowhere from "${event.type}"`;
    throw new ToolError(message, { code: 'UNANSWERED' });
  }
  actor.send(event);
  return await pauseOf(actor, context.signal);
}

async function answerTo(question: ToolQuestion, context: HandlerContext): Promise<ToolAnswer> {
  if ('elicit' in question) return eventOf(await context.elicit(question.elicit));
  if ('elicitUrl' in question) return eventOf(await context.elicitUrl(question.elicitUrl));
  if ('sample' in question) {
    return { type: 'answer.sampled', sample: await context.sample(question.sample) };
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

/** What the state that waits asks; of several at once, the innermost. */
function questionOf(snapshot: AnyMachineSnapshot): ToolQuestion {
  const metas = Object.entries(snapshot.getMeta() as { [id: string]: WaitingMeta | undefined });
  const asking = metas.filter(([, meta]) => meta?.ask !== undefined);
  const [, meta] = asking.toSorted(([a], [b]) => b.length - a.length)[0] ?? [];
  const ask = meta?.ask;
  if (!ask) throw new TypeError(`The state "${stateName(snapshot)}" waits, and asks nothing`);
  const question = typeof ask === 'function' ? ask({ context: snapshot.context as never }) : ask;
  const fault = faultOfQuestion(question);
  if (fault === undefined) return question;
  throw new TypeError(`meta.ask of the state "${stateName(snapshot)}" ${fault}`);
}

/** @throws {TypeError} JSON would not give the machine's context back as it is */
function checkpointOf(actor: AnyActorRef, snapshot: AnyMachineSnapshot): unknown {
  const fault = faultOfContext(snapshot.context);
  // What has no value is not there: its output, before it has one.
  if (fault === undefined) return JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
  throw new TypeError(`The machine cannot be resumed from "${stateName(snapshot)}": ${fault}`);
}
