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

/** A request for a result that does not exist yet. */
interface ResultWaiter {
  readonly request: RelatedRequest;
  settle(answer: TaskAnswer): void;
  /** The task goes on elsewhere. */
  redirect(find: (call: RequestContext) => Promise<TaskView>): void;
}

/** What the work of a task asks a client that is sent no questions. */
export interface AskedQuestions {
  /** What is open. */
  readonly inputRequests: JsonObject;
  /** Takes answers. @throws {ProtocolError} -32602 naming the answer that is malformed */
  answer(answers: JsonObject): Promise<void>;
}

/** True if the task's status will not change again. */
export function hasEnded({ status }: Task): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export class LiveTask implements TaskView {
  readonly taskId: string;
  /** The id of the principal whose task it is; undefined without authentication. */
  readonly owner: string | undefined;
  /** Whose share of the bounds it counts towards; see `RequestOrigin.clientKey`. */
  readonly party: string | undefined;
  /** Its place in the list of the session's tasks; see `RegistryEntry`. */
  readonly place: number;
  readonly #actor: TaskRef;
  /** What its work asks a client that is sent no questions. */
  readonly questions: AskedQuestions;
  /** Its params while its handler runs, its result after that, as they are counted. */
  readonly retained: Reservation;
  readonly journal: TaskJournal | undefined;
  readonly firstSteps: readonly TaskStep[] | undefined;
  /** Processes that ended while running it. */
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

  /** True for the work of an ordinary call, which no client finds as a task. */
  get isCall(): boolean {
    return isCallRecord(this.taskId);
  }

  /** Whether the caller of this request may see it. */
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

  /** The task as it is now; as it was, if its time to live is over. */
  latest(before: Task): DetailedTask {
    const snapshot = this.#actor.getSnapshot();
    const { response } = snapshot.context;
    const inputRequests = this.questions.inputRequests;
    return { ...(taskIn(snapshot) ?? before), inputRequests, response };
  }

  /** Where its work stands, if that can go on in another process. */
  get runStatus(): DurableRunStatus | undefined {
    return this.hasEnded ? undefined : this.journal?.status;
  }

  get hasEnded(): boolean {
    const task = taskIn(this.#actor.getSnapshot());
    return !task || hasEnded(task);
  }

  /** The request that has waited longest for the result. */
  get waiting(): RelatedRequest | undefined {
    for (const { request } of this.#waiters) return request;
    return undefined;
  }

  /** Sets how the handler's run is ended. */
  setCancelRun(end: CancelRun): void {
    this.#cancelRun = end;
  }

  cancel(at?: string): boolean {
    if (this.hasEnded) return false;
    this.#actor.send({ type: 'task.cancel', reason: cancelledByClient, at });
    this.#cancelRun(new RuntimeError('CANCELLED', cancelledByClient));
    return true;
  }

  /** The run has ended with this response. */
  answered(response: OutboundResponse, at?: string): void {
    this.#actor.send({ type: 'run.answered', response, at });
  }

  /** The handler has said how far it is. */
  described(message: string, at?: string): void {
    this.#actor.send({ type: 'task.describe', message, at });
  }

  /** Somebody else has ended it; without a response it was cancelled. */
  endedElsewhere(response: OutboundResponse | undefined, at: string): void {
    if (!response) return void this.cancel(at);
    this.answered(response, at);
    this.#cancelRun(new RuntimeError('CANCELLED', 'Another process has ended the task'));
  }

  result(call: RequestContext): JsonObject | Promise<JsonObject> {
    if (!this.hasEnded) return this.#wait(call);
    return resultOf(this.#answer());
  }

  /** How many requests wait for the result. */
  get waiters(): number {
    return this.#waiters.size;
  }

  /** Answers the requests that wait for the result. */
  settleWaiters(): void {
    for (const waiter of [...this.#waiters]) waiter.settle(this.#answer());
  }

  /**
   * Ends whatever still runs, because the task has expired or its session has ended.
   * @param answer for the requests that wait for the result
   */
  dispose(reason: RuntimeError, answer: ProtocolError): void {
    this.#cancelRun(reason);
    this.retained.release();
    this.#actor.stop();
    for (const waiter of [...this.#waiters]) waiter.settle(answer);
  }

  /**
   * It no longer runs here, and may go on elsewhere.
   * @param find finds it there, for a request that waits for its result
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
