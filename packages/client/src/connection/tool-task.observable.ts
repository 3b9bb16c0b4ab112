/** A tool call that runs as a task, as its host sees it. */
import { inspectedAs } from '../../../../src/actors/transitions.ts';
import { Observable } from 'rxjs';
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { waitFor } from '../../../../src/actors/waiting.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import type {
  followedTaskMachine,
  FollowedTaskInput,
  TaskOutcome,
} from './followed-task.machine.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { TaskReport, TaskStatus } from '../../../../src/protocol/tasks.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import { longestDelayMs } from '../../../../src/actors/clock.ts';

/** The status of a task. */
export interface ToolTaskStatus {
  /** As the server reports it; `cancelled` also once the host has cancelled it. */
  readonly status: TaskStatus;
  /** The server's message about it, for a person or a model. */
  readonly message?: string;
}

/** A call that runs as a task. It is followed until it ends, even if no one waits for it. */
export interface ToolTask {
  /** The server's id for it; undefined if the call was answered at once. */
  readonly id: string | undefined;
  /** Its present status. */
  readonly status: ToolTaskStatus;
  /** Begins with the present status; completes when the task has ended, and never fails. */
  readonly status$: Observable<ToolTaskStatus>;
  /**
   * The result of the call, once the task has ended. The `signal` ends only the waiting.
   *
   * @throws {ProtocolError} the server's own error
   * @throws {RuntimeError} CANCELLED; REMOTE_CANCELLED: the server has cancelled it; CLOSED: the
   *   connection was closed; REQUEST_FAILED: what it asked could not be answered; as a request
   */
  result(options?: { readonly signal?: AbortSignal | undefined }): Promise<CallToolResult>;
  /** Cancels it; `result` rejects with CANCELLED at once. Resolves when the server has been told. */
  cancel(): Promise<void>;
}

/** What a task needs from its connection. */
export interface ToolTaskPort {
  readonly observed: ObservedScope;
  readonly clock: Clock;
  /** The machine with its actors. */
  readonly machine: typeof followedTaskMachine;
  readonly input: FollowedTaskInput;
  readonly read: (result: JsonObject) => CallToolResult;
  /** Cancels a task of the connection, by its id. */
  readonly cancel: (id: string) => Promise<void>;
}

export class FollowedTask implements ToolTask {
  readonly id: string;
  readonly #port: ToolTaskPort;
  readonly #actor: ActorRefFrom<typeof followedTaskMachine>;

  constructor(port: ToolTaskPort) {
    const { input, clock, machine } = port;
    this.id = input.task.taskId;
    this.#port = port;
    this.#actor = createActor(machine, {
      id: this.id,
      input,
      clock,
      ...inspectedAs('followed', port.observed),
    });
    this.#actor.start();
  }

  get machine(): MachineActor {
    return { machine: 'followed', actor: this.#actor };
  }

  get status(): ToolTaskStatus {
    const { task, outcome } = this.#actor.getSnapshot().context;
    const message = task.statusMessage === undefined ? {} : { message: task.statusMessage };
    return { status: outcome ? endOf(task, outcome) : task.status, ...message };
  }

  get status$(): Observable<ToolTaskStatus> {
    return new Observable((subscriber) => {
      let last: ToolTaskStatus | undefined;
      const tell = (): void => {
        const now = this.status;
        const isNew = now.status !== last?.status || now.message !== last.message;
        last = now;
        if (isNew) subscriber.next(now);
      };
      tell();
      const complete = (): void => subscriber.complete();
      const subscription = this.#actor.subscribe({ next: tell, complete, error: complete });
      return () => subscription.unsubscribe();
    });
  }

  result({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<CallToolResult> {
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Nobody waits any more for the task ${this.id}`, { cause });
    // The server decides how long a task may take.
    return this.settled({ timeoutMs: longestDelayMs, signal, cancelled }).then(this.#port.read);
  }

  /** The unread result of the call, if it comes in time. */
  settled(bounds: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
    readonly cancelled: (reason: unknown) => Error;
    readonly overdue?: () => Error;
  }): Promise<JsonObject> {
    const { clock } = this.#port;
    const { overdue, ...wait } = bounds;
    return waitFor(
      { clock, ...wait, overdue: ({ reject }) => overdue && reject(overdue()) },
      ({ resolve, reject }) => {
        const look = (): void => {
          const { outcome } = this.#actor.getSnapshot().context;
          if (outcome?.ok === false) reject(outcome.error);
          else if (outcome) resolve(outcome.result);
        };
        const subscription = this.#actor.subscribe(look);
        look();
        return () => subscription.unsubscribe();
      },
    );
  }

  get #isFollowed(): boolean {
    return this.#actor.getSnapshot().status === 'active';
  }

  cancel(): Promise<void> {
    return this.#port.cancel(this.id);
  }

  /** The server has sent news of it. */
  told(task: TaskReport): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.told', task });
  }

  /** The server sends news of it from now on. */
  listened(): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.listened' });
  }

  /** The host no longer wants it. Resolves when the server was told, or cannot be told. */
  abandon(error: Error): Promise<void> {
    if (this.#isFollowed) this.#actor.send({ type: 'task.abandon', error });
    return this.over;
  }

  /** Resolves when it is no longer followed. */
  get over(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => resolve();
      this.#actor.subscribe({ complete: done, error: done });
    });
  }
}

/** The final status, which the server may not have reported. */
function endOf(task: TaskReport, outcome: TaskOutcome): TaskStatus {
  if (task.status !== 'working' && task.status !== 'input_required') return task.status;
  if (outcome.ok) return 'completed';
  const { error } = outcome;
  return error instanceof RuntimeError && error.code === 'CANCELLED' ? 'cancelled' : 'failed';
}

/** The handle of a call that the server answered at once. */
export function answeredTask(result: CallToolResult): ToolTask {
  const status: ToolTaskStatus = { status: 'completed' };
  return {
    id: undefined,
    status,
    status$: new Observable((subscriber) => {
      subscriber.next(status);
      subscriber.complete();
    }),
    result: () => Promise.resolve(result),
    cancel: () => Promise.resolve(),
  };
}
