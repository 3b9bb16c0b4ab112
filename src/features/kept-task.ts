/** One task of a session's: its machine's actor, the run of its handler, and the requests that wait for its result. */
import type { ActorRefFrom } from 'xstate';
import type { Exchange } from '../actors/exchange.ts';
import { taskIn } from '../machines/task.machine.ts';
import type { taskMachine } from '../machines/task.machine.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../protocol/errors.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import { withMeta } from '../protocol/meta.ts';
import { relatedTask } from '../protocol/tasks.ts';
import type { Task } from '../protocol/tasks.ts';

/** What a request for a result is answered with. */
type Outcome = JsonObject | ProtocolError;

type TaskRef = ActorRefFrom<typeof taskMachine>;

/** A request for a result that is not there yet. */
interface Waiter {
  readonly requestId: RequestId;
  settle(outcome: Outcome): void;
}

/** True where nothing more becomes of a task. */
export function hasEnded({ status }: Task): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export class KeptTask {
  readonly taskId: string;
  /** Counts a session's tasks; see `RegistryEntry`. */
  readonly place: number;
  readonly #actor: TaskRef;
  readonly #waiters = new Set<Waiter>();
  /** Ends the handler's run; nothing until there is one. */
  #cancelRun: (reason: Error) => void = () => {};

  constructor(taskId: string, place: number, actor: TaskRef) {
    this.taskId = taskId;
    this.place = place;
    this.#actor = actor;
  }

  /** As its client sees it. @throws {ProtocolError} -32602 once its time to live is over */
  get item(): Task {
    const task = taskIn(this.#actor.getSnapshot());
    if (task) return task;
    throw expired(this.taskId);
  }

  get hasEnded(): boolean {
    const task = taskIn(this.#actor.getSnapshot());
    return !task || hasEnded(task);
  }

  /** The request that has waited longest for the result. */
  get waiting(): RequestId | undefined {
    for (const { requestId } of this.#waiters) return requestId;
    return undefined;
  }

  /** Sets how the handler's run is ended. */
  startedRun(cancel: (reason: Error) => void): void {
    this.#cancelRun = cancel;
  }

  /**
   * Stops the work, and says so.
   * @throws {ProtocolError} -32602 where the task has ended already
   */
  cancel(): Task {
    const { status } = this.item;
    if (this.hasEnded) {
      const message = `Cannot cancel task ${this.taskId}: already in terminal status '${status}'`;
      throw new ProtocolError(ErrorCode.invalidParams, message);
    }
    this.#actor.send({ type: 'task.cancel', reason: 'The client cancelled the task' });
    this.#cancelRun(new RuntimeError('CANCELLED', 'The client cancelled the task'));
    return this.item;
  }

  /** The result, as soon as there is one; what it throws is the request's own error. */
  result(call: Exchange): JsonObject | Promise<JsonObject> {
    if (!this.hasEnded) return this.#wait(call);
    const outcome = this.#outcome();
    if (outcome instanceof ProtocolError) throw outcome;
    return outcome;
  }

  /** How many requests wait for the result. */
  get waiters(): number {
    return this.#waiters.size;
  }

  /** Answers those that wait for the result. */
  settleWaiters(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(this.#outcome());
  }

  /**
   * Ends what is left of it: its time is over, or its session.
   * @param answer what those get that wait for the result
   */
  dispose(reason: RuntimeError, answer: ProtocolError): void {
    this.#cancelRun(reason);
    this.#actor.stop();
    for (const waiter of [...this.#waiters]) waiter.settle(answer);
  }

  #wait(call: Exchange): Promise<JsonObject> {
    call.park();
    const { signal } = call;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        requestId: call.id,
        settle: (outcome) => {
          this.#waiters.delete(waiter);
          signal.removeEventListener('abort', giveUp);
          if (outcome instanceof ProtocolError) reject(outcome);
          else resolve(outcome);
        },
      };
      const giveUp = () => {
        this.#waiters.delete(waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp);
      this.#waiters.add(waiter);
    });
  }

  #outcome(): Outcome {
    const { response } = this.#actor.getSnapshot().context;
    if (!response) {
      const data = { reason: 'cancelled', retryable: false };
      const message = `The task ${this.taskId} was cancelled`;
      return new ProtocolError(ErrorCode.serverUnavailable, message, data);
    }
    if ('result' in response) {
      return withMeta(response.result as JsonObject, relatedTask(this.taskId));
    }
    const { code, message, data } = response.error;
    return new ProtocolError(code, message, data);
  }
}

/** What is said of a task whose time to live is over. */
export function expired(taskId: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidParams, `The task ${taskId} has expired`);
}
