/** The host's view of a tool call that runs as a task. */
import { inspectOptions } from '../../../../src/actors/transitions.ts';
import { Observable } from 'rxjs';
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
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
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** Status of a task. */
export interface ToolTaskStatus {
  /** Status reported by the server; also `cancelled` once the host has cancelled the task. */
  readonly status: TaskStatus;
  /** The server's status message, for a person or a model. */
  readonly message?: string;
}

/** A call that runs as a task. The task is followed until it ends, even if nothing awaits it. */
export interface ToolTask {
  /** Task id of the server; undefined if the server answered the call at once. */
  readonly id: string | undefined;
  /** Current status. */
  readonly status: ToolTaskStatus;
  /** Starts with the current status; completes when the task ends, and never fails. */
  readonly status$: Observable<ToolTaskStatus>;
  /**
   * Waits for the result of the call. The `signal` only stops waiting.
   *
   * @throws {ProtocolError} the server's own error
   * @throws {RuntimeError} CANCELLED; REMOTE_CANCELLED: the server cancelled the task; CLOSED: the
   *   connection was closed; REQUEST_FAILED: an input request of the task failed; as a request
   */
  result(options?: { readonly signal?: AbortSignal | undefined }): Promise<CallToolResult>;
  /**
   * Cancels the task; `result` rejects with CANCELLED at once. Resolves when the server has been
   * notified.
   */
  cancel(): Promise<void>;
}

/** Dependencies of a task. */
export interface ToolTaskPort {
  readonly observed: ObservedScope;
  readonly clock: Clock;
  /** The machine with its actors. */
  readonly machine: typeof followedTaskMachine;
  readonly input: FollowedTaskInput;
  readonly read: (result: JsonObject) => CallToolResult;
  /** Cancels one of the connection's tasks by id. */
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
      ...inspectOptions('followed', port.observed),
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
    const abortError = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Waiting for the task ${this.id} was cancelled`, { cause });
    // The server decides the time limit of a task.
    return this.settled({ timeoutMs: maxDelayMs, signal, abortError }).then(this.#port.read);
  }

  /** The raw result of the call, within the given time. */
  settled(bounds: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
    readonly abortError: (reason: unknown) => Error;
    readonly overdue?: () => Error;
  }): Promise<JsonObject> {
    const { clock } = this.#port;
    const { overdue, ...wait } = bounds;
    return waitFor(
      { clock, ...wait, onTimeout: ({ reject }) => overdue && reject(overdue()) },
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

  /** Handles a status notification. */
  told(task: TaskReport): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.told', task });
  }

  /** Called once the server sends status notifications. */
  listened(): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.listened' });
  }

  /** Abandons the task. Resolves when the server was notified, or cannot be. */
  abandon(error: Error): Promise<void> {
    if (this.#isFollowed) this.#actor.send({ type: 'task.abandon', error });
    return this.over;
  }

  /** Resolves when the task is no longer followed. */
  get over(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => resolve();
      this.#actor.subscribe({ complete: done, error: done });
    });
  }
}

/** The final status, even if the server did not report it. */
function endOf(task: TaskReport, outcome: TaskOutcome): TaskStatus {
  if (task.status !== 'working' && task.status !== 'input_required') return task.status;
  if (outcome.ok) return 'completed';
  const { error } = outcome;
  return error instanceof RuntimeError && error.code === 'CANCELLED' ? 'cancelled' : 'failed';
}

/** Handle of a call that the server answered at once. */
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
