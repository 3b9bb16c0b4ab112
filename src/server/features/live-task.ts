/**
 * One task of a session: its machine, its handler's run, and the requests that wait for its result.
 */
import type { ActorRefFrom } from 'xstate';
import type { CancelRun, RequestContext, DurableRunStatus } from '../../actors/request-context.ts';
import type { Reservation } from '../../actors/memory-budget.ts';
import { taskIn } from '../../../packages/tasks/src/task.machine.ts';
import type { taskMachine } from '../../../packages/tasks/src/task.machine.ts';
import { ProtocolError, RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject, OutboundResponse, RelatedRequest } from '../../protocol/frames.ts';
import type { DetailedTask, Task } from '../../protocol/tasks.ts';
import {
  answerOf,
  cancelledByClient,
  expired,
  resultOf,
} from '../../../packages/tasks/src/task-view.ts';
import type { TaskView, TaskAnswer } from '../../../packages/tasks/src/task-view.ts';
import { isCallRecord } from '../../../packages/tasks/src/task-ids.ts';
import type { TaskJournal } from '../../../packages/tasks/src/task-journal.ts';
import type { TaskStep } from '../../../packages/tasks/src/task-store.ts';

type TaskRef = ActorRefFrom<typeof taskMachine>;

/** A pending `tasks/result` request. */
interface ResultWaiter {
  readonly request: RelatedRequest;
  settle(answer: TaskAnswer): void;
  /** The task now runs in another process. */
  redirect(find: (call: RequestContext) => Promise<TaskView>): void;
}

/** Questions of a task whose client polls for them. */
export interface AskedQuestions {
  /** Open questions, as `inputRequests`. */
  readonly inputRequests: JsonObject;
  /** Takes answers. @throws {ProtocolError} -32602 naming the malformed answer */
  answer(answers: JsonObject): Promise<void>;
}

/** True if the task's status is final. */
export function hasEnded({ status }: Task): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export class LiveTask implements TaskView {
  readonly taskId: string;
  /** Id of the principal that owns the task; undefined without authentication. */
  readonly owner: string | undefined;
  /** Whose share of the bounds it counts towards; see `RequestOrigin.clientKey`. */
  readonly party: string | undefined;
  /** Position in the session's list of tasks; see `RegistryEntry`. */
  readonly place: number;
  readonly #actor: TaskRef;
  /** Questions of a task whose client polls for them. */
  readonly questions: AskedQuestions;
  /** Memory reserved for the params while the handler runs, then for the result. */
  readonly retained: Reservation;
  readonly journal: TaskJournal | undefined;
  readonly firstSteps: readonly TaskStep[] | undefined;
  /** Number of processes that ended while running the task. */
  restarts = 0;
  readonly #waiters = new Set<ResultWaiter>();
  /** Ends the handler's run, once it has started. */
  #cancelRun: CancelRun = () => {};

  constructor(
    taskId: string,
    { request: { origin } }: RequestContext,
    place: number,
    actor: TaskRef,
    parts: Pick<LiveTask, 'questions' | 'retained' | 'journal' | 'firstSteps'>,
  ) {
    this.taskId = taskId;
    this.owner = origin?.principal?.id;
    this.party = origin?.clientKey;
    this.place = place;
    this.#actor = actor;
    this.questions = parts.questions;
    this.retained = parts.retained;
    this.journal = parts.journal;
    this.firstSteps = parts.firstSteps;
  }

  /** True for an ordinary durable call, which clients cannot access as a task. */
  get isCall(): boolean {
    return isCallRecord(this.taskId);
  }

  /** True if the caller of a request owns the task. */
  isVisibleTo({ request: { origin } }: RequestContext): boolean {
    return this.owner === origin?.principal?.id;
  }

  get item(): Task {
    const task = taskIn(this.#actor.getSnapshot());
    if (task) return task;
    throw expired(this.taskId);
  }

  get detailed(): DetailedTask {
    return this.latest(this.item);
  }

  /** The current task; `before` if its time to live is over. */
  latest(before: Task): DetailedTask {
    const snapshot = this.#actor.getSnapshot();
    const { response } = snapshot.context;
    const inputRequests = this.questions.inputRequests;
    return { ...(taskIn(snapshot) ?? before), inputRequests, response };
  }

  /** Status of the journal; undefined without one or after the end. */
  get runStatus(): DurableRunStatus | undefined {
    return this.hasEnded ? undefined : this.journal?.status;
  }

  get hasEnded(): boolean {
    const task = taskIn(this.#actor.getSnapshot());
    return !task || hasEnded(task);
  }

  /** The oldest pending request for the result. */
  get waiting(): RelatedRequest | undefined {
    for (const { request } of this.#waiters) return request;
    return undefined;
  }

  /** Sets the function that ends the handler's run. */
  setCancelRun(end: CancelRun): void {
    this.#cancelRun = end;
  }

  cancel(at?: string): boolean {
    if (this.hasEnded) return false;
    this.#actor.send({ type: 'task.cancel', reason: cancelledByClient, at });
    this.#cancelRun(new RuntimeError('CANCELLED', cancelledByClient));
    return true;
  }

  /** Ends the task with the response of its handler. */
  answered(response: OutboundResponse, at?: string): void {
    this.#actor.send({ type: 'run.answered', response, at });
  }

  /** Sets the status message. */
  described(message: string, at?: string): void {
    this.#actor.send({ type: 'task.describe', message, at });
  }

  /** Takes over an end that another process stored. Without a response the task was cancelled. */
  endedElsewhere(response: OutboundResponse | undefined, at: string): void {
    if (!response) return void this.cancel(at);
    this.answered(response, at);
    this.#cancelRun(new RuntimeError('CANCELLED', 'Another process has ended the task'));
  }

  result(call: RequestContext): JsonObject | Promise<JsonObject> {
    if (!this.hasEnded) return this.#wait(call);
    return resultOf(this.#answer());
  }

  /** Number of pending requests for the result. */
  get waiters(): number {
    return this.#waiters.size;
  }

  /** Answers all pending requests for the result. */
  settleWaiters(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(this.#answer());
  }

  /**
   * Ends the handler, because the task has expired or its session has ended.
   * @param answer error for the pending requests for the result
   */
  dispose(reason: RuntimeError, answer: ProtocolError): void {
    this.#cancelRun(reason);
    this.retained.release();
    this.#actor.stop();
    for (const waiter of [...this.#waiters]) waiter.settle(answer);
  }

  /**
   * Stops the task here, because another process may resume it.
   * @param find finds the task there, for pending requests for its result
   */
  moveElsewhere(find: (call: RequestContext) => Promise<TaskView>): void {
    this.#cancelRun();
    this.retained.release();
    this.#actor.stop();
    for (const waiter of [...this.#waiters]) waiter.redirect(find);
  }

  #wait(call: RequestContext): Promise<JsonObject> {
    call.park();
    const { signal } = call;
    return new Promise((resolve, reject) => {
      const waiter: ResultWaiter = {
        request: call.request,
        settle: (answer) => {
          this.#waiters.delete(waiter);
          signal.removeEventListener('abort', giveUp);
          if (answer instanceof ProtocolError) reject(answer);
          else resolve(answer);
        },
        redirect: (find) => {
          this.#waiters.delete(waiter);
          signal.removeEventListener('abort', giveUp);
          resolve(find(call).then((task) => task.result(call)));
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

  #answer(): TaskAnswer {
    return answerOf(this.taskId, this.#actor.getSnapshot().context.response);
  }
}
