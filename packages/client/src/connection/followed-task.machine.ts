/**
 * Follows a server's task until it ends: polls at the interval the server requests, and immediately
 * after each status notification.
 *
 * Input requests are answered in between. The context keeps the outcome as soon as it is known: a
 * host that cancels does not wait for the server's confirmation. The actors `look`, `answer`,
 * `collect` and `cancel` are provided.
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

/** Outcome of the task's call. */
export type TaskOutcome =
  | { readonly ok: true; readonly result: JsonObject }
  | { readonly ok: false; readonly error: Error };

/** Outcome of answering input requests. */
export type TaskAnswered =
  /** Keys of the answered input requests. */
  | { readonly kind: 'answered'; readonly keys: readonly string[] }
  /** The task ended meanwhile. */
  | { readonly kind: 'result'; readonly result: JsonObject };

export interface FollowedTaskInput extends InputScope {
  readonly task: TaskReport;
  /** Legacy tasks request input with ordinary requests while their result is awaited. */
  readonly era: 'legacy' | 'modern';
  /** Maximum number of input rounds. */
  readonly maxRounds: number;
}

/** Events of a followed task. */
export type FollowedTaskEvent =
  /** A status notification arrived. */
  | { readonly type: 'task.told'; readonly task: TaskReport }
  /** Status notifications are active from now on: polls for any earlier change. */
  | { readonly type: 'task.listened' }
  /** The host abandons the task for this reason. */
  | { readonly type: 'task.abandon'; readonly error: Error };

export interface FollowedTaskContext extends FollowedTaskInput {
  /** Undefined until known. */
  readonly outcome: TaskOutcome | undefined;
  /** Consecutive polls without a response. */
  readonly failures: number;
  /** Input rounds so far. */
  readonly rounds: number;
  /** Keys of answered input requests: a server repeats them until it has processed the answers. */
  readonly answered: readonly string[];
}

/** Maximum consecutive polls without a response. */
const maxFailures = 10;

const [defaultPollMs, minPollMs, maxPollMs] = [1000, 50, 60_000];
/** Longest timer delay, ms. */
const longestMs = 2 ** 31 - 1;

const unprovided = <T>(name: string): PromiseActorLogic<T, FollowedTaskContext> =>
  fromPromise(() => Promise.reject(new Error(`followedTaskMachine needs a "${name}" actor`)));

/** True if the server returned an error, or no response can come. */
function isFinal(error: unknown): boolean {
  if (error instanceof ProtocolError || !(error instanceof RuntimeError)) return true;
  return !['CLOSED', 'REQUEST_TIMEOUT', 'HTTP_STATUS', 'LIMIT_EXCEEDED'].includes(error.code);
}

const failed = (error: Error): TaskOutcome => ({ ok: false, error });
const errorIn = ({ event }: { event: ErrorActorEvent }) => ({ error: event.error as Error });

/** Transitions for an actor's error: final errors lead to this state, others to another poll. */
const failedTo = <const T extends 'ended' | 'cancelling'>(state: T) =>
  [
    {
      guard: { type: 'isFinal', params: errorIn },
      target: `#followed.${state}`,
      actions: { type: 'keepError', params: errorIn },
    },
    { target: 'pausing', actions: 'countFailure' },
  ] as const;

/** Input requests that are not answered yet. */
export function openQuestions({ task, answered }: FollowedTaskContext): JsonObject {
  const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.includes(key));
  return Object.fromEntries(open);
}

/** One followed task. */
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
      // Backoff after failures, bounded, and never below the server's interval.
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
      const message = `The server cancelled the task ${task.taskId}${why}`;
      return { outcome: failed(new RuntimeError('REMOTE_CANCELLED', message)) };
    }),
    keepTooOften: assign(({ context: { task, maxRounds } }) => {
      const message = `The task ${task.taskId} requested input more than ${maxRounds} times`;
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
      description: 'The task is running, as far as the host knows.',
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
          description: 'Waiting for the poll interval or a status notification.',
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
          description: 'Answering input requests.',
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
          description: 'Fetching the result of the ended task.',
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
      description: 'Cancelling the task at the server.',
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
