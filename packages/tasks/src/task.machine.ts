/**
 * The life of one task: a request whose handler runs on after its answer. The task is kept until
 * its time to live is over.
 *
 * It is `kept` for its time to live, which counts from its creation, whatever its status. Final
 * states of the work do not change: a handler that succeeds after its task was cancelled has no
 * effect. `expired` is the end of the record.
 *
 * The machine does not run the handler. It hears how the handler goes on, and emits `task.changed`
 * for each change that the client gets.
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
  /** How long the task is kept from now, milliseconds. */
  readonly ttlMs: number;
  /** See {@link Task.pollInterval}. */
  readonly pollIntervalMs: number;
  /** The time of day, ISO 8601. */
  readonly timeOfDay: () => string;
  /** Set if the task was begun before: when, how long it is kept from then, and what its handler has said. */
  readonly begun?: BegunTask | undefined;
}

/** A task that goes on. */
type BegunTask = Pick<Task, 'createdAt' | 'ttl' | 'lastUpdatedAt'> & {
  readonly statusMessage: string | undefined;
};

/** When an event has happened, ISO 8601; by default now. */
interface Dated {
  readonly at?: string | undefined;
}

/** What the machine takes. */
export type TaskEvent = Dated &
  /** The handler asks the client something and waits for the answer. */
  (
    | { readonly type: 'input.requested'; readonly method: string }
    /** One of its questions has its outcome. */
    | { readonly type: 'input.received' }
    /**
     * The handler says how far it is. The status does not change and no notification is sent: a
     * handler may do this often.
     */
    | { readonly type: 'task.describe'; readonly message: string }
    /** The handler has ended with this response to its request. */
    | { readonly type: 'run.answered'; readonly response: OutboundResponse }
    | { readonly type: 'task.cancel'; readonly reason: string }
  );

/** What the keeper of the task hears. */
export type TaskEmitted =
  | { readonly type: 'task.changed'; readonly task: Task }
  /** Its time to live is over: the keeper drops it. */
  | { readonly type: 'task.expired'; readonly taskId: string };

export interface TaskContext extends TaskInput {
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** What the handler said last, or how the work ended. */
  readonly statusMessage: string | undefined;
  /** The method of its last question to the client. */
  readonly question: string | undefined;
  /** How many of its questions have no outcome yet. */
  readonly openInputs: number;
  /** The response to the request; undefined if the task was cancelled. */
  readonly response: OutboundResponse | undefined;
}

type Answered = Extract<TaskEvent, { readonly type: 'run.answered' }>;

/** Longest status message, characters. */
export const longestMessage = 500;

/** True if the request did not succeed; a tool's result may say so itself. */
export function isFailure(response: OutboundResponse): boolean {
  return 'error' in response || (response.result as { isError?: unknown }).isError === true;
}

/** Why a request failed, for the status of its task. */
export function failureMessage(response: OutboundResponse): string {
  if ('error' in response) return response.error.message;
  const { content } = response.result as { readonly content?: readonly { text?: unknown }[] };
  const text = content?.find((block) => typeof block.text === 'string')?.text;
  return typeof text === 'string' ? text : 'The result is an error without a text';
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

/** One task. Its innermost state inside `kept` is the status that its client sees. */
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
        // The clock of the store may be behind that of this node.
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
      description: 'The client may look at it and fetch its result, whatever its status.',
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
              description: 'It waits for at least one answer of the client.',
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
          description: 'The request was answered with an error, or with a result that says so.',
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
      description: 'Its time to live is over: there is no such task any more.',
      entry: 'tellExpired',
    },
  },
});

export type TaskSnapshot = SnapshotFrom<typeof taskMachine>;

/** A task as its client sees it; undefined once it has expired. */
export function taskIn({ value, context }: TaskSnapshot): Task | undefined {
  if (typeof value === 'string') return undefined;
  const { kept } = value;
  return taskOf(context, typeof kept === 'string' ? kept : kept.open);
}
