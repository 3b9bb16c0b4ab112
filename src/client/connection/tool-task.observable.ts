/** A tool's call that runs as a task, as its host holds it. */
import type { Observable } from 'rxjs';
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import { waitFor } from '../../actors/waiting.ts';
import type { MachineActor } from '../../actors/transitions.ts';
import type {
  followedTaskMachine,
  FollowedTaskInput,
  TaskOutcome,
} from '../../machines/followed-task.machine.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { TaskReport, TaskStatus } from '../../protocol/tasks.ts';
import type { Guard } from '../../session/guarded-listeners.ts';
import { GuardedObservable } from '../../session/guarded.observable.ts';
import type { CallToolResult } from '../lists/offered.ts';

/** How far a task is. */
export interface ToolTaskStatus {
  /** As the server tells it; `cancelled` also once the host has cancelled it. */
  readonly status: TaskStatus;
  /** What the server says of it, for a person or a model. */
  readonly message?: string;
}

/** A call that runs as a task. It is followed until it ends, whoever waits for it. */
export interface ToolTask {
  /** What the server calls it; undefined if it has answered the call at once. */
  readonly id: string | undefined;
  /** How far it is now. */
  readonly status: ToolTaskStatus;
  /** Begins with the present status; completes when the task has ended, and never fails. */
  readonly status$: Observable<ToolTaskStatus>;
  /**
   * What the call is answered with, once the task has ended. The `signal` ends the waiting alone.
   *
   * @throws {ProtocolError} the server's own error
   * @throws {RuntimeError} CANCELLED; REMOTE_CANCELLED: the server has cancelled it; CLOSED: the
   *   connection was closed; REQUEST_FAILED: what it asked could not be answered; as a request
   */
  result(options?: { readonly signal?: AbortSignal | undefined }): Promise<CallToolResult>;
  /** Cancels it; `result` rejects with CANCELLED at once. Resolves when the server has been told. */
  cancel(): Promise<void>;
}

/** What stands around a task. */
export interface ToolTaskPort {
  readonly clock: Clock;
  readonly guard: Guard;
  /** With its actors. */
  readonly machine: typeof followedTaskMachine;
  readonly input: FollowedTaskInput;
  readonly read: (result: JsonObject) => CallToolResult;
  /** Cancels a task of the connection, by its id. */
  readonly cancel: (id: string) => Promise<void>;
}

/** As long as a timer can be: a task has the time that its server gives it. */
const longestMs = 2 ** 31 - 1;

export class FollowedTask implements ToolTask {
  readonly id: string;
  readonly #port: ToolTaskPort;
  readonly #actor: ActorRefFrom<typeof followedTaskMachine>;

  constructor(port: ToolTaskPort) {
    const { input, clock, machine } = port;
    this.id = input.task.taskId;
    this.#port = port;
    this.#actor = createActor(machine, { id: this.id, input, clock });
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
    return new GuardedObservable(this.#port.guard, (subscriber) => {
      let last: ToolTaskStatus | undefined;
      const tell = (): void => {
        const now = this.status;
        const isNew = now.status !== last?.status || now.message !== last.message;
        last = now;
        if (isNew) subscriber.next(now);
      };
      tell();
      const complete = (): void => subscriber.complete();
      if (!this.#isFollowed) return complete();
      const subscription = this.#actor.subscribe({ next: tell, complete, error: complete });
      return () => subscription.unsubscribe();
    });
  }

  result({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<CallToolResult> {
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Nobody waits any more for the task ${this.id}`, { cause });
    return this.settled({ timeoutMs: longestMs, signal, cancelled }).then(this.#port.read);
  }

  /**
   * What the call is answered with, unread, if that comes in time.
   */
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

  /** Hears of it. */
  told(task: TaskReport): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.told', task });
  }

  /** Hears of it from now on. */
  listened(): void {
    if (this.#isFollowed) this.#actor.send({ type: 'task.listened' });
  }

  /** The host wants it no more. Resolves when the server has been told, or cannot be. */
  abandon(error: Error): Promise<void> {
    if (this.#isFollowed) this.#actor.send({ type: 'task.abandon', error });
    return this.over;
  }

  /** Resolves when it is not followed any more. */
  get over(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => resolve();
      if (!this.#isFollowed) return done();
      this.#actor.subscribe({ complete: done, error: done });
    });
  }
}

/** What has become of it: the server may not have said so. */
function endOf(task: TaskReport, outcome: TaskOutcome): TaskStatus {
  if (task.status !== 'working' && task.status !== 'input_required') return task.status;
  if (outcome.ok) return 'completed';
  const { error } = outcome;
  return error instanceof RuntimeError && error.code === 'CANCELLED' ? 'cancelled' : 'failed';
}

/** The handle of a call that the server has answered at once. */
export function answeredTask(guard: Guard, result: CallToolResult): ToolTask {
  const status: ToolTaskStatus = { status: 'completed' };
  return {
    id: undefined,
    status,
    status$: new GuardedObservable(guard, (subscriber) => {
      subscriber.next(status);
      subscriber.complete();
    }),
    result: () => Promise.resolve(result),
    cancel: () => Promise.resolve(),
  };
}
