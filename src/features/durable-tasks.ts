/**
 * The tasks of one session that are written down, and those that the store has of other sessions and
 * processes. What a client hears is written first: that a task has begun, and how it has ended.
 */
import type { Exchange } from '../actors/exchange.ts';
import { endedTask } from '../machines/task.machine.ts';
import { ErrorCode, ProtocolError, textOfError } from '../protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../protocol/frames.ts';
import type { DetailedTask, Task } from '../protocol/tasks.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { FoundWrittenTask, TaskKeeper, WrittenTask } from '../tasks/task-keeper.ts';
import type { TaskClaim } from '../tasks/task-store.ts';
import { answerOf, cancelledByClient, expired, notFound, resultOf } from './kept-task.ts';
import type { KeptTask, SeenTask } from './kept-task.ts';

/** The book that a task of this session stands in. */
export interface DurableBook {
  /** Whether it is still there. */
  has(task: KeptTask): boolean;
  /** Another process runs it now. */
  forget(task: KeptTask, answer: ProtocolError): void;
}

export class DurableTasks {
  readonly #session: SessionScope;
  readonly #keeper: TaskKeeper;
  readonly #book: DurableBook;
  /** Those that are being written down: their clients have not heard of them. */
  readonly beginning = new Set<KeptTask>();
  readonly #claims = new WeakMap<KeptTask, TaskClaim>();
  /** The ends that are being written down. */
  readonly #ends = new WeakMap<KeptTask, Promise<void>>();
  /** How many requests wait for the result of a task that runs elsewhere. */
  waiters = 0;

  constructor(session: SessionScope, keeper: TaskKeeper, book: DurableBook) {
    this.#session = session;
    this.#keeper = keeper;
    this.#book = book;
  }

  /**
   * Writes a task down before its client hears of it.
   * @throws {ProtocolError} -32000, retryable: it cannot be written
   */
  async create(task: KeptTask): Promise<void> {
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

  /** Writes down how a task has ended, then tells it. Without a response it is cancelled. */
  async end(task: KeptTask, response?: OutboundResponse): Promise<void> {
    await this.#ends.get(task);
    const claim = this.#claims.get(task);
    if (!claim || task.hasEnded) return;
    const ending = this.#end(task, claim, response);
    this.#ends.set(task, ending);
    await ending;
  }

  async #end(
    task: KeptTask,
    claim: TaskClaim,
    response: OutboundResponse | undefined,
  ): Promise<void> {
    const isAwaited = () => this.#book.has(task);
    const written = this.#ended({ task: task.item, principal: task.owner ?? null }, response);
    const became = await this.#keeper.finish(claim, written, isAwaited);
    if (!isAwaited()) return;
    if (became !== 'written') return await this.#overtaken(task);
    if (response) task.answered(response);
    else task.cancel();
  }

  /** Nobody waits for its end. */
  forget({ taskId }: KeptTask): void {
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
  async #overtaken(task: KeptTask): Promise<void> {
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

/** A task that does not run in this session, as it was when it was read. */
class WrittenTaskView implements SeenTask {
  readonly #tasks: DurableTasks;
  readonly #found: FoundWrittenTask;

  constructor(tasks: DurableTasks, found: FoundWrittenTask) {
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
