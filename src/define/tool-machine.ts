/**
 * Tools that are machines. The states of one that waits for its client say what they ask, and its
 * snapshot is all that has to be kept meanwhile: it goes on in the same state in any process, with
 * nothing run again.
 */
import { createActor, waitFor } from 'xstate';
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, InputFrom, Snapshot } from 'xstate';
import type { RootsReport } from '../machines/roots-report.ts';
import { stateName } from '../machines/state-name.ts';
import type { FormAnswer, UrlAnswer, UrlRequest } from '../context/elicitation.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { Sample, SamplingRequest } from '../context/sampling.ts';
import { RuntimeError, ToolError } from '../protocol/errors.ts';
import type { Form, FormSource } from '../schema/forms/form.ts';

/** What a waiting state asks: one of these. */
export type ToolQuestion =
  /** See {@link HandlerContext.elicit}. */
  | { readonly elicit: { readonly message: string; readonly schema: FormSource | Form<unknown> } }
  /** See {@link HandlerContext.elicitUrl}. */
  | { readonly elicitUrl: UrlRequest }
  /** See {@link HandlerContext.sample}. */
  | { readonly sample: SamplingRequest }
  /** See {@link HandlerContext.roots}. */
  | { readonly roots: true };

/** The `meta` of a waiting state. The machine's other states may have any. */
export interface WaitingMeta<TContext = never> {
  readonly ask?: ToolQuestion | ((state: { readonly context: TContext }) => ToolQuestion);
}

/** What a waiting state hears. If it has no transition for it the call fails. */
export type ToolAnswer<TContent = unknown> =
  | { readonly type: 'answer.accepted'; readonly content: TContent }
  | { readonly type: 'answer.declined' }
  /** Nobody chose. */
  | { readonly type: 'answer.cancelled' }
  | { readonly type: 'answer.sampled'; readonly sample: Sample }
  | { readonly type: 'answer.roots'; readonly report: RootsReport }
  /** It could not be asked, or the answer was of no use. */
  | { readonly type: 'answer.failed'; readonly error: RuntimeError };

/** The tag of the states that wait for the client. */
const waiting = 'waiting';

/**
 * Refuses a machine that could not go on from its snapshot, or would not know what to ask.
 *
 * @throws {TypeError} naming the tool and the state
 */
export function checkToolMachine(machine: AnyStateMachine, tool: string): void {
  const refuse = (node: AnyStateMachine['root'], why: string): never => {
    throw new TypeError(`The machine of ${tool} cannot be resumed: the state "${node.id}" ${why}`);
  };
  const { context } = machine.config as { readonly context?: unknown };
  const member = typeof context === 'function' ? undefined : functionIn(context);
  if (member !== undefined) {
    throw new TypeError(
      `The machine of ${tool} cannot be resumed: "${member}" in its context is a function`,
    );
  }
  const visit = (node: AnyStateMachine['root'], outer: readonly AnyStateMachine['root'][]) => {
    const active = [...outer, node];
    if (node.tags.includes(waiting)) {
      const { ask } = (node.meta ?? {}) as WaitingMeta;
      if (ask === undefined) refuse(node, 'waits, and its meta.ask does not say for what');
      for (const each of active) {
        const around = each === node ? '' : ` while "${node.id}" waits`;
        if (each.invoke.length > 0) refuse(each, `invokes an actor${around}`);
        if (each.after.length > 0) refuse(each, `has delayed transitions${around}`);
      }
    }
    for (const child of Object.values(node.states)) visit(child, active);
  };
  visit(machine.root, []);
}

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
    const actor = createActor(machine, {
      id: `${machine.id}-${++begun}`,
      ...(checkpoint === undefined
        ? { input: input as InputFrom<AnyStateMachine> }
        : { snapshot: checkpoint as Snapshot<unknown> }),
    });
    running.set(context, actor);
    // The error is thrown below, by whoever waits for the actor.
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
  return typeof ask === 'function' ? ask({ context: snapshot.context as never }) : ask;
}

/** @throws {TypeError} JSON cannot hold the machine's context */
function checkpointOf(actor: AnyActorRef, snapshot: AnyMachineSnapshot): unknown {
  const member = functionIn(snapshot.context);
  if (member === undefined) return actor.getPersistedSnapshot();
  throw new TypeError(
    `The machine cannot be resumed from "${stateName(snapshot)}": "${member}" in its context is a function`,
  );
}

/** The member that holds a function, however deep; undefined if none does. */
function functionIn(value: unknown): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (name, member: unknown) => {
    if (typeof member === 'function') found ??= name;
    return member;
  });
  return found;
}
