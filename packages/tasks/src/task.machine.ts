/**
 * The lifecycle of one task: a request whose handler keeps running after the request is answered.
 *
 * A task is `kept` for its time to live, counted from its creation, whatever its status. Final statuses do not change:
 * a handler that succeeds after its task was cancelled has no effect. `expired` ends the record.
 *
 * The machine does not run the handler. It receives the handler's progress, and emits `task.changed` for each change
 * that the client is notified of.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks, "Task Status Lifecycle"
 */
import { assign, emit, setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import type { InputScope } from '../../../src/machines/peer-ports.ts';
import type { OutboundResponse } from '../../../src/protocol/frames.ts';
import type { Task, TaskStatus } from '../../../src/protocol/tasks.ts';

export interface TaskInput extends InputScope {
  readonly taskId: string;
  /** Time to live from now, milliseconds. */
  readonly ttlMs: number;
  /** See {@link Task.pollInterval}. */
  readonly pollIntervalMs: number;
  /** Current time, ISO 8601. */
  readonly timeOfDay: () => string;
  /** Set for a resumed task: when it was created, its time to live from then, and its status message. */
  readonly begun?: BegunTask | undefined;
}

/** A resumed task. */
type BegunTask = Pick<Task, 'createdAt' | 'ttl' | 'lastUpdatedAt'> & {
  readonly statusMessage: string | undefined;
};

/** Time of an event, ISO 8601. Default: now. */
interface Dated {
  readonly at?: string | undefined;
}

export type TaskEvent = Dated &
  /** The handler asks the client a question. */
  (
    | { readonly type: 'input.requested'; readonly method: string }
    /** A question was answered or has failed. */
    | { readonly type: 'input.received' }
    /**
     * The handler sets the status message. The status does not change and no notification is sent, because a handler
     * may do this often.
     */
    | { readonly type: 'task.describe'; readonly message: string }
    /** The handler has returned or thrown: the response to its request. */
    | { readonly type: 'run.answered'; readonly response: OutboundResponse }
    | { readonly type: 'task.cancel'; readonly reason: string }
  );

export type TaskEmitted =
  | { readonly type: 'task.changed'; readonly task: Task }
  /** The time to live is over: the owner forgets the task. */
  | { readonly type: 'task.expired'; readonly taskId: string };

export interface TaskContext extends TaskInput {
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** The handler's last message, or how the task ended. */
  readonly statusMessage: string | undefined;
  /** Method of the last question to the client. */
  readonly question: string | undefined;
  /** Number of open questions. */
  readonly openInputs: number;
  /** The response to the request; undefined if the task was cancelled. */
  readonly response: OutboundResponse | undefined;
}

type Answered = Extract<TaskEvent, { readonly type: 'run.answered' }>;

/** Maximum length of a status message, characters. */
export const longestMessage = 500;

/** True for an error response, and for a tool result with `isError`. */
export function isFailure(response: OutboundResponse): boolean {
  return 'error' in response || (response.result as { isError?: unknown }).isError === true;
}

/** The status message of a failed task. */
export function failureMessage(response: OutboundResponse): string {
  if ('error' in response) return response.error.message;
  const { content } = response.result as { readonly content?: readonly { text?: unknown }[] };
  const text = content?.find((block) => typeof block.text === 'string')?.text;
  return typeof text === 'string' ? text : 'The tool returned an error without text';
}

function taskOf(context: TaskContext, status: TaskStatus): Task {
  const { taskId, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, begun } = context;
  const statusMessage =
    status === 'input_required'
      ? `Waiting for the client's answer to ${context.question}`
      : context.statusMessage?.slice(0, longestMessage);
  return {
    taskId,
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl: begun?.ttl ?? ttlMs,
    pollInterval: pollIntervalMs,
  };
}

const paramsOfEvent = <T>({ event }: { readonly event: T }): T => event;

/** The machine of one task. The innermost state inside `kept` is the status sent to its client. */
export const taskMachine = setup({
  types: {
    input: {} as TaskInput,
    context: {} as TaskContext,
    events: {} as TaskEvent,
    emitted: {} as TaskEmitted,
  },
  delays: {
    ttlTimeout: ({ context }) => context.ttlMs,
  },
  guards: {
    isLastInput: ({ context }) => context.openInputs === 1,
    isFailure: (_, { response }: Answered) => isFailure(response),
  },
  actions: {
    openInput: assign({
      openInputs: ({ context }) => context.openInputs + 1,
      question: (_, { method }: { readonly method: string }) => method,
    }),
    closeInput: assign({ openInputs: ({ context }) => context.openInputs - 1 }),
    describe: assign({ statusMessage: (_, { message }: { readonly message: string }) => message }),
    keepResult: assign({
      response: (_, { response }: Answered) => response,
      statusMessage: undefined,
    }),
    keepFailure: assign({
      response: (_, { response }: Answered) => response,
      statusMessage: (_, { response }: Answered) => failureMessage(response),
    }),
    keepReason: assign({ statusMessage: (_, { reason }: { readonly reason: string }) => reason }),
    touch: assign({
      lastUpdatedAt: ({ context: { lastUpdatedAt, timeOfDay, begun }, event: { at, type } }) => {
        const isInitial = (type as string) === 'xstate.init';
        if (begun && isInitial) return lastUpdatedAt;
        if (at === undefined) return timeOfDay();
        // The store's clock may be behind this node's.
        return at > lastUpdatedAt ? at : lastUpdatedAt;
      },
    }),
    tell: emit(({ context }, { status }: { readonly status: TaskStatus }) => ({
      type: 'task.changed',
      task: taskOf(context, status),
    })),
    tellExpired: emit(({ context }) => ({ type: 'task.expired', taskId: context.taskId })),
  },
}).createMachine({
  id: 'task',
  context: ({ input }) => {
    const now = input.timeOfDay();
    return {
      ...input,
      createdAt: input.begun?.createdAt ?? now,
      lastUpdatedAt: input.begun?.lastUpdatedAt ?? now,
      statusMessage: input.begun?.statusMessage,
      question: undefined,
      openInputs: 0,
      response: undefined,
    };
  },
  initial: 'kept',
  states: {
    kept: {
      description: 'The client can read the task and fetch its result, whatever its status.',
      after: { ttlTimeout: 'expired' },
      initial: 'open',
      states: {
        open: {
          description: 'The handler runs.',
          on: {
            'task.describe': {
              actions: [{ type: 'describe', params: paramsOfEvent }, 'touch'],
            },
            'run.answered': [
              {
                guard: { type: 'isFailure', params: paramsOfEvent },
                target: 'failed',
                actions: { type: 'keepFailure', params: paramsOfEvent },
              },
              { target: 'completed', actions: { type: 'keepResult', params: paramsOfEvent } },
            ],
            'task.cancel': {
              target: 'cancelled',
              actions: { type: 'keepReason', params: paramsOfEvent },
            },
          },
          initial: 'working',
          states: {
            working: {
              entry: ['touch', { type: 'tell', params: { status: 'working' } }],
              on: {
                'input.requested': {
                  target: 'input_required',
                  actions: { type: 'openInput', params: paramsOfEvent },
                },
              },
            },
            input_required: {
              description: 'The handler waits for at least one answer of the client.',
              entry: ['touch', { type: 'tell', params: { status: 'input_required' } }],
              on: {
                'input.requested': { actions: { type: 'openInput', params: paramsOfEvent } },
                'input.received': [
                  { guard: 'isLastInput', target: 'working', actions: 'closeInput' },
                  { actions: 'closeInput' },
                ],
              },
            },
          },
        },
        completed: {
          type: 'final',
          entry: ['touch', { type: 'tell', params: { status: 'completed' } }],
        },
        failed: {
          type: 'final',
          description: 'The response is an error, or a tool result with `isError`.',
          entry: ['touch', { type: 'tell', params: { status: 'failed' } }],
        },
        cancelled: {
          type: 'final',
          entry: ['touch', { type: 'tell', params: { status: 'cancelled' } }],
        },
      },
    },
    expired: {
      type: 'final',
      description: 'The time to live is over: the task no longer exists.',
      entry: 'tellExpired',
    },
  },
});

export type TaskSnapshot = SnapshotFrom<typeof taskMachine>;

/** The task as sent to its client; undefined once it has expired. */
export function taskIn({ value, context }: TaskSnapshot): Task | undefined {
  if (typeof value === 'string') return undefined;
  const { kept } = value;
  return taskOf(context, typeof kept === 'string' ? kept : kept.open);
}
