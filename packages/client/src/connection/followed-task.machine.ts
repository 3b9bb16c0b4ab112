/**
 * A host follows a server's task until it ends: it polls as often as the server says, and at once
 * if the server sends news.
 *
 * The task's questions are answered in between. The outcome is kept in the context as soon as it is
 * known: a host that cancels does not wait until the server confirms. The machine does not know how
 * a server is asked: `look`, `answer`, `collect` and `cancel` are provided.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 * @see the extension io.modelcontextprotocol/tasks, "Task Polling"
 */
import { assign, fromPromise, setup } from 'xstate';
import type { ErrorActorEvent, PromiseActorLogic } from 'xstate';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';
import { ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { TaskReport } from '../../../../src/protocol/tasks.ts';

/** The outcome of the task's call. */
export type TaskOutcome =
  | { readonly ok: true; readonly result: JsonObject }
  | { readonly ok: false; readonly error: Error };

/** The outcome of answering the task's questions. */
export type TaskAnswered =
  /** The keys of the questions that were answered. */
  | { readonly kind: 'answered'; readonly keys: readonly string[] }
  /** The task has ended meanwhile. */
  | { readonly kind: 'result'; readonly result: JsonObject };

export interface FollowedTaskInput extends InputScope {
  readonly task: TaskReport;
  /** In the legacy era the task asks by requests, which come while its result is waited for. */
  readonly era: 'legacy' | 'modern';
  /** How often it may ask for input. */
  readonly maxRounds: number;
}

/** What the machine takes. */
export type FollowedTaskEvent =
  /** The server has sent news of it. */
  | { readonly type: 'task.told'; readonly task: TaskReport }
  /** The server sends news from now on: the task is polled for anything that came before. */
  | { readonly type: 'task.listened' }
  /** The host no longer wants it, for this reason. */
  | { readonly type: 'task.abandon'; readonly error: Error };

export interface FollowedTaskContext extends FollowedTaskInput {
  /** Undefined until it is known. */
  readonly outcome: TaskOutcome | undefined;
  /** How many polls in a row had no answer. */
  readonly failures: number;
  /** How often it has asked for input. */
  readonly rounds: number;
  /**
   * The keys of the answered questions: a server repeats them until it has processed the answers.
   */
  readonly answered: readonly string[];
}

/** How many polls in a row may have no answer. */
const maxFailures = 10;

const [defaultPollMs, minPollMs, maxPollMs] = [1000, 50, 60_000];
/** The longest delay of a timer, milliseconds. */
const longestMs = 2 ** 31 - 1;

const unprovided = <T>(name: string): PromiseActorLogic<T, FollowedTaskContext> =>
  fromPromise(() => Promise.reject(new Error(`followedTaskMachine needs a "${name}" actor`)));

/** The server has answered with an error, or no answer can come. */
function isFinal(error: unknown): boolean {
  if (error instanceof ProtocolError || !(error instanceof RuntimeError)) return true;
  return !['CLOSED', 'REQUEST_TIMEOUT', 'HTTP_STATUS', 'LIMIT_EXCEEDED'].includes(error.code);
}

const failed = (error: Error): TaskOutcome => ({ ok: false, error });
const errorIn = ({ event }: { event: ErrorActorEvent }) => ({ error: event.error as Error });

/** An error that is final leads to this state; after any other the host looks again later. */
const failedTo = <const T extends 'ended' | 'cancelling'>(state: T) =>
  [
    {
      guard: { type: 'isFinal', params: errorIn },
      target: `#followed.${state}`,
      actions: { type: 'keepError', params: errorIn },
    },
    { target: 'pausing', actions: 'countFailure' },
  ] as const;

/** The questions of a task that were not answered yet. */
export function openQuestions({ task, answered }: FollowedTaskContext): JsonObject {
  const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.includes(key));
  return Object.fromEntries(open);
}

/** One task that a host follows. */
export const followedTaskMachine = setup({
  types: {
    input: {} as FollowedTaskInput,
    context: {} as FollowedTaskContext,
    events: {} as FollowedTaskEvent,
  },
  actors: {
    look: unprovided<TaskReport>('look'),
    answer: unprovided<TaskAnswered>('answer'),
    collect: unprovided<JsonObject>('collect'),
    cancel: unprovided<void>('cancel'),
  },
  guards: {
    hasEnded: ({ context }) => ['completed', 'failed'].includes(context.task.status),
    wasCancelled: ({ context }) => context.task.status === 'cancelled',
    isAsking: ({ context }) =>
      context.task.status === 'input_required' &&
      (context.era === 'legacy' || Object.keys(openQuestions(context)).length > 0),
    asksTooOften: ({ context }) => context.rounds >= context.maxRounds,
    isResult: (_, { kind }: TaskAnswered) => kind === 'result',
    isFinal: ({ context }, { error }: { readonly error: Error }) =>
      isFinal(error) || context.failures >= maxFailures,
  },
  delays: {
    pollTimeout: ({ context: { task, failures } }) => {
      const { pollIntervalMs = defaultPollMs } = task;
      const askedMs = Math.min(longestMs, Math.max(minPollMs, pollIntervalMs));
      // After failures the host polls less often, up to a maximum; never more often than the server
      // asks.
      const spacedMs = Math.min(maxPollMs, askedMs * 2 ** Math.min(failures, maxFailures));
      return Math.max(askedMs, spacedMs);
    },
  },
  actions: {
    keep: assign((_, { task }: { readonly task: TaskReport }) => ({ task, failures: 0 })),
    keepResult: assign((_, { result }: { readonly result: JsonObject }) => ({
      outcome: { ok: true as const, result },
    })),
    keepAnswered: assign(({ context }, answered: TaskAnswered) => {
      if (answered.kind === 'result') return { outcome: { ok: true, result: answered.result } };
      return { answered: [...context.answered, ...answered.keys], failures: 0 };
    }),
    keepError: assign((_, { error }: { readonly error: Error }) => ({ outcome: failed(error) })),
    keepCancellation: assign(({ context: { task } }) => {
      const why = task.statusMessage === undefined ? '' : `: ${task.statusMessage}`;
      const message = `The server has cancelled the task ${task.taskId}${why}`;
      return { outcome: failed(new RuntimeError('REMOTE_CANCELLED', message)) };
    }),
    keepTooOften: assign(({ context: { task, maxRounds } }) => {
      const message = `The task ${task.taskId} has asked for input ${maxRounds} times, and asks again`;
      return { outcome: failed(new RuntimeError('PROTOCOL_VIOLATION', message)) };
    }),
    countRound: assign({ rounds: ({ context }) => context.rounds + 1 }),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
  },
}).createMachine({
  id: 'followed',
  context: ({ input }) => ({ ...input, outcome: undefined, failures: 0, rounds: 0, answered: [] }),
  initial: 'open',
  states: {
    open: {
      description: 'The server works on it, as far as the host knows.',
      on: {
        'task.abandon': {
          target: 'cancelling',
          actions: { type: 'keepError', params: ({ event }) => event },
        },
        'task.told': { actions: { type: 'keep', params: ({ event }) => event } },
      },
      initial: 'judging',
      states: {
        judging: {
          always: [
            { guard: 'hasEnded', target: 'collecting' },
            { guard: 'wasCancelled', target: '#followed.ended', actions: 'keepCancellation' },
            { guard: 'isAsking', target: 'asked' },
            { target: 'pausing' },
          ],
        },
        asked: {
          always: [
            { guard: 'asksTooOften', target: '#followed.cancelling', actions: 'keepTooOften' },
            { target: 'answering', actions: 'countRound' },
          ],
        },
        pausing: {
          description: 'As long as the server says, or until it tells of the task.',
          after: { pollTimeout: 'looking' },
          on: {
            'task.listened': 'looking',
            'task.told': {
              target: 'judging',
              actions: { type: 'keep', params: ({ event }) => event },
            },
          },
        },
        looking: {
          invoke: {
            id: 'look',
            src: 'look',
            input: ({ context }) => context,
            onDone: {
              target: 'judging',
              actions: { type: 'keep', params: ({ event }) => ({ task: event.output }) },
            },
            onError: failedTo('ended'),
          },
        },
        answering: {
          description: 'It asks for input, and the host answers.',
          invoke: {
            id: 'answer',
            src: 'answer',
            input: ({ context }) => context,
            onDone: [
              {
                guard: { type: 'isResult', params: ({ event }) => event.output },
                target: '#followed.ended',
                actions: { type: 'keepAnswered', params: ({ event }) => event.output },
              },
              {
                target: 'looking',
                actions: { type: 'keepAnswered', params: ({ event }) => event.output },
              },
            ],
            onError: failedTo('cancelling'),
          },
        },
        collecting: {
          description: 'It has ended, and the host asks for what the call is answered with.',
          invoke: {
            id: 'collect',
            src: 'collect',
            input: ({ context }) => context,
            onDone: {
              target: '#followed.ended',
              actions: { type: 'keepResult', params: ({ event }) => ({ result: event.output }) },
            },
            onError: failedTo('ended'),
          },
        },
      },
    },
    cancelling: {
      description: 'The host wants it no more, and tells the server.',
      invoke: {
        id: 'cancel',
        src: 'cancel',
        input: ({ context }) => context,
        onDone: 'ended',
        onError: 'ended',
      },
    },
    ended: { type: 'final' },
  },
});
