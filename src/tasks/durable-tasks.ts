/**
 * The tasks of one session that are written down, and those that the store has of other sessions and
 * processes. What a client hears is written first: that a task has begun, and how it has ended.
 */
import type { Clock } from '../actors/clock.ts';
import type { Exchange } from '../actors/exchange.ts';
import type { Report } from '../actors/facts.ts';
import { failureMessage, isFailure, longestMessage } from '../machines/task.machine.ts';
import { ErrorCode, ProtocolError, textOfError } from '../protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../protocol/frames.ts';
import type { DetailedTask, Task } from '../protocol/tasks.ts';
import { answerOf, cancelledByClient, expired, notFound, resultOf } from './seen-task.ts';
import type { SeenTask } from './seen-task.ts';
import type {
  FoundWrittenTask,
  TaskKeeperFactName,
  TaskWriter,
  WrittenTask,
} from './written-task.ts';
import type { TaskClaim } from './task-store.ts';

/** A session, as its durable tasks know it. */
export interface TaskSession {
  /** Its time. */
  readonly clock: Clock;
  /** Hears what happens. */
  readonly report: Report<TaskKeeperFactName>;
  /** The time of day, ISO 8601. */
  wallTime(): string;
}

/** A task that runs in a session. */
export interface RunningTask {
  /** What clients ask for it by. */
  readonly taskId: string;
  /** The id of the principal whose task it is; undefined without authentication. */
  readonly owner: string | undefined;
  /** As its client sees it. */
  readonly item: Task;
  /** True once its status is final. */
  readonly hasEnded: boolean;
  /** The run has ended with this response. */
  answered(response: OutboundResponse): void;
  /** Its client has cancelled it. */
  cancel(): void;
  /** Somebody else has ended it; without a response it was cancelled. */
  endedElsewhere(response: OutboundResponse | undefined): void;
}

/** The book that a task of this session stands in. */
export interface DurableBook<TTask extends RunningTask> {
  /** Whether it is still there. */
  has(task: TTask): boolean;
  /** It does not run here, or no longer. */
  forget(task: TTask, answer?: ProtocolError): void;
}

/** Writes the tasks of one session down, and finds those of others. */
export class DurableTasks<TTask extends RunningTask> {
  readonly #session: TaskSession;
  readonly #keeper: TaskWriter;
  readonly #book: DurableBook<TTask>;
  /** Those that are being written down: their clients have not heard of them. */
  readonly beginning = new Set<TTask>();
  readonly #claims = new WeakMap<TTask, TaskClaim>();
  /** The ends that are being written down. */
  readonly #ends = new WeakMap<TTask, Promise<void>>();
  /** How many requests wait for the result of a task that runs elsewhere. */
  waiters = 0;

  constructor(session: TaskSession, keeper: TaskWriter, book: DurableBook<TTask>) {
    this.#session = session;
    this.#keeper = keeper;
    this.#book = book;
  }

  /**
   * Writes a task down before its client hears of it.
   * @throws {ProtocolError} -32000, retryable: it cannot be written
   */
  async #create(task: TTask): Promise<void> {
    this.beginning.add(task);
    try {
      const written = { task: task.item, principal: task.owner ?? null };
      const overtaken = () => void this.#overtaken(task);
      this.#claims.set(task, await this.#keeper.create(written, { overtaken }));
    } catch (error) {
      throw this.#unavailable('Tasks cannot be written down at present', error);
    } finally {
      this.beginning.delete(task);
    }
  }

  /** Writes a task down, then begins it. */
  async begin(task: TTask, call: Exchange, begin: () => Task): Promise<Task> {
    try {
      await this.#create(task);
      if (!call.hasEnded) return begin();
      // Nobody knows its id.
      await this.end(task);
      throw call.signal.reason as Error;
    } catch (error) {
      this.#book.forget(task);
      throw error;
    }
  }

  /** Stops the work of a task of this session. @returns false if it has ended already */
  async cancelled(task: TTask): Promise<boolean> {
    const { hasEnded: before } = task;
    await this.end(task);
    return !before && task.item.status === 'cancelled';
  }

  /** Writes down how a task has ended, then tells it. Without a response it is cancelled. */
  async end(task: TTask, response?: OutboundResponse): Promise<void> {
    await this.#ends.get(task);
    const claim = this.#claims.get(task);
    if (!claim || task.hasEnded) return;
    const ending = this.#end(task, claim, response);
    this.#ends.set(task, ending);
    await ending;
  }

  async #end(task: TTask, claim: TaskClaim, response: OutboundResponse | undefined): Promise<void> {
    const isAwaited = () => this.#book.has(task);
    const written = this.#ended({ task: task.item, principal: task.owner ?? null }, response);
    const became = await this.#keeper.finish(claim, written, isAwaited);
    if (!isAwaited()) return;
    if (became !== 'written') return await this.#overtaken(task);
    if (response) task.answered(response);
    else task.cancel();
  }

  /** Nobody waits for its end. */
  forget({ taskId }: TTask): void {
    this.#keeper.forget(taskId);
  }

  /**
   * A task that does not run in this session.
   * @throws {ProtocolError} -32602 there is none with this id for this caller; -32000, retryable
   */
  async find(taskId: string, call: Exchange): Promise<WrittenTaskView> {
    const found = await this.read(taskId);
    if (found && found.principal === (call.request.origin?.principal?.id ?? null)) {
      return new WrittenTaskView(this, found);
    }
    throw notFound(taskId);
  }

  /** A task as it is written. @throws {ProtocolError} -32000, retryable */
  async read(taskId: string): Promise<FoundWrittenTask | undefined> {
    try {
      return await this.#keeper.find(taskId);
    } catch (error) {
      throw this.#unavailable('Tasks cannot be looked up at present', error);
    }
  }

  /** Cancels a task that runs elsewhere. @returns false if it has ended */
  async cancel(found: FoundWrittenTask): Promise<boolean> {
    try {
      const became = await this.#keeper.finishElsewhere(this.#ended(found, undefined));
      return became === 'written';
    } catch (error) {
      throw this.#unavailable('Tasks cannot be cancelled at present', error);
    }
  }

  /** The end of a task that runs elsewhere. It is looked at as often as clients are told to look. */
  async untilEnded({ task: { taskId, pollInterval } }: WrittenTask, call: Exchange) {
    const { clock } = this.#session;
    call.park();
    this.waiters++;
    try {
      for (;;) {
        await new Promise<void>((resolve, reject) => {
          const timer = clock.setTimeout(resolve, pollInterval);
          call.whenEnded(() => {
            clock.clearTimeout(timer);
            reject(call.signal.reason as Error);
          });
        });
        const found = await this.read(taskId);
        if (!found) throw expired(taskId);
        if (found.hasEnded) return found;
      }
    } finally {
      this.waiters--;
    }
  }

  #ended(written: WrittenTask, response: OutboundResponse | undefined): WrittenTask {
    const task = endedTask(written.task, this.#session.wallTime(), response, cancelledByClient);
    return { task, principal: written.principal, response };
  }

  /** Somebody else has ended or claimed a task of this session. */
  async #overtaken(task: TTask): Promise<void> {
    const found = await this.read(task.taskId).catch(() => undefined);
    if (!this.#book.has(task) || task.hasEnded) return;
    if (found?.hasEnded) return task.endedElsewhere(found.response);
    const message = `The task ${task.taskId} goes on in another process; ask again`;
    this.#book.forget(task, unavailable(message));
  }

  #unavailable(what: string, error: unknown): ProtocolError {
    const details = { error };
    const message = `${what}: ${textOfError(error)}`;
    this.#session.report({ level: 'error', name: 'tasks.away', message, details });
    return unavailable(`${what}; try again`);
  }
}

type AnyTasks = Pick<DurableTasks<never>, 'cancel' | 'untilEnded'>;

/** A task that does not run in this session, as it was when it was read. */
class WrittenTaskView implements SeenTask {
  readonly #tasks: AnyTasks;
  readonly #found: FoundWrittenTask;

  constructor(tasks: AnyTasks, found: FoundWrittenTask) {
    this.#tasks = tasks;
    this.#found = found;
  }

  get hasEnded(): boolean {
    return this.#found.hasEnded;
  }

  get item(): Task {
    return this.#found.task;
  }

  get detailed(): DetailedTask {
    return { ...this.item, inputRequests: {}, response: this.#found.response };
  }

  readonly questions = {
    answer: async () => {
      if (this.hasEnded) return;
      throw unavailable(`The task ${this.item.taskId} runs elsewhere; answer where it was begun`);
    },
  };

  result(call: Exchange): JsonObject | Promise<JsonObject> {
    const { taskId } = this.item;
    if (this.hasEnded) return resultOf(answerOf(taskId, this.#found.response));
    return this.#tasks
      .untilEnded(this.#found, call)
      .then(({ response }) => resultOf(answerOf(taskId, response)));
  }

  cancel(): Promise<boolean> {
    return this.#tasks.cancel(this.#found);
  }
}

function unavailable(message: string): ProtocolError {
  const data = { reason: 'tasks-unavailable', retryable: true };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

/** A task as it is once it has ended with this response; without one, it was cancelled for the reason. */
export function endedTask(
  { statusMessage: _, ...task }: Task,
  lastUpdatedAt: string,
  response: OutboundResponse | undefined,
  reason?: string,
): Task {
  if (!response) {
    return {
      ...task,
      status: 'cancelled',
      lastUpdatedAt,
      ...(reason ? { statusMessage: reason } : {}),
    };
  }
  if (!isFailure(response)) return { ...task, status: 'completed', lastUpdatedAt };
  const statusMessage = failureMessage(response).slice(0, longestMessage);
  return { ...task, status: 'failed', statusMessage, lastUpdatedAt };
}
