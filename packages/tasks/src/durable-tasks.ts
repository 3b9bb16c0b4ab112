/**
 * The tasks of one session that are written down, and those that the store has of other sessions and
 * processes. What a client hears is written first: that a task has begun, and how it has ended.
 */
import { maxDelayMs } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { RequestContext } from '../../../src/actors/request-context.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { TaskLimits } from '../../../src/actors/limits.ts';
import { failureMessage, isFailure, longestMessage } from './task.machine.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  invalidParams,
  textOfError,
} from '../../../src/protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../../../src/protocol/frames.ts';
import { validateAnswer } from '../../../src/protocol/input-required.ts';
import { withMeta } from '../../../src/protocol/meta.ts';
import { relatedTask } from '../../../src/protocol/tasks.ts';
import type { DetailedTask, Task } from '../../../src/protocol/tasks.ts';
import { answerOf, cancelledByClient, expired, notFound, resultOf } from './seen-task.ts';
import type { SeenTask } from './seen-task.ts';
import type { LedgerLimits, LedgerPort, TaskLedger } from './task-ledger.ts';
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import { RecordedProgress } from './recorded-progress.ts';
import { isCallRecord } from './task-ids.ts';
import { answerStep, answersTooLong, stepKeys } from './written-steps.ts';
import type { AskedStep, DescribedStep, ProgressStep, StepLimits } from './written-steps.ts';
import { laterOf } from './written-task.ts';
import type {
  FoundWrittenTask,
  Attendant,
  ResumedTask,
  TaskKeeperFactName,
  TaskRunner,
  TaskWriter,
  WrittenTask,
} from './written-task.ts';
import type { TaskClaim, TaskProgress, TaskStep } from './task-store.ts';

/** A session, as its durable tasks know it. */
export interface TaskSession {
  /** Its time. */
  readonly clock: Clock;
  /** Hears what happens. */
  readonly report: Report<TaskKeeperFactName>;
  /** Bounds of the session's tasks and of their steps. */
  readonly limits: Pick<TaskLimits, 'maxKeptTasks'> & StepLimits;
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
  /** The handler has said how far it is. @param at ISO 8601 */
  described(message: string, at: string): void;
  /** The run has ended with this response. @param at ISO 8601 */
  answered(response: OutboundResponse, at: string): void;
  /** Its client has cancelled it. @param at ISO 8601 */
  cancel(at: string): void;
  /** Somebody else has ended it; without a response it was cancelled. @param at ISO 8601 */
  endedElsewhere(response: OutboundResponse | undefined, at: string): void;
  /** What has happened in its work, if that can go on in another process. */
  readonly ledger: TaskLedger | undefined;
  /** What its work goes on from, if it can. */
  readonly firstSteps: readonly TaskStep[] | undefined;
}

/** The book that a task of this session stands in. */
export interface DurableBook<TTask extends RunningTask> {
  /** Whether it is still there. */
  has(task: TTask): boolean;
  /** It does not run here, or no longer. */
  forget(task: TTask, answer?: ProtocolError): void;
  /** What a client hears that has so many. */
  full(max: number): ProtocolError;
}

/** Writes the tasks of one session down, and finds those of others. */
export class DurableTasks<TTask extends RunningTask> {
  readonly #session: TaskSession;
  readonly #keeper: TaskWriter;
  readonly #book: DurableBook<TTask>;
  readonly #claims = new WeakMap<TTask, TaskClaim>();
  readonly #progress = new WeakMap<TTask, RecordedProgress>();
  /** What is being written of how far tasks are, and what is to be written next. */
  readonly #descriptions = new Map<TTask, string>();
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
   * @throws {ProtocolError} -32000, retryable: it cannot be written, or its share has no room
   */
  async #create(task: TTask, share: string): Promise<void> {
    const written = { task: task.item, principal: task.owner ?? null };
    const { maxKeptTasks: max } = this.#session.limits;
    try {
      const of = [share, max] as const;
      const claim = await this.#keeper.create(written, this.#runnerOf(task), of, task.firstSteps);
      this.#claims.set(task, claim);
    } catch (error) {
      if (isFull(error)) throw this.#book.full(max);
      throw this.#unavailable('Tasks cannot be written down at present', error);
    }
  }

  #runnerOf(task: TTask): TaskRunner {
    return {
      item: () => task.item,
      overtaken: () => void this.#overtaken(task),
      heard: (steps) => void task.ledger?.heard(steps),
    };
  }

  /** The store's time, ISO 8601. */
  timeOfDay(): string {
    return new Date(this.#keeper.now()).toISOString();
  }

  /** Whether tasks that begin can go on after their process. */
  get canResume(): boolean {
    return this.#keeper.canResume;
  }

  /** A task that was claimed goes on in this session. */
  resumes(task: TTask, { claim, steps }: ResumedTask): void {
    this.#claims.set(task, claim);
    if (isCallRecord(task.taskId)) this.#progressOf(task, steps.progress);
    this.#keeper.runs(claim, this.#runnerOf(task));
  }

  /** Brings a recorded call to this session; see {@link TaskWriter.attend}. @throws {ProtocolError} -32000, retryable */
  async attend(taskId: string, attendant: Attendant): Promise<FoundWrittenTask | undefined> {
    try {
      return await this.#keeper.attend(taskId, attendant);
    } catch (error) {
      throw this.#unavailable('Calls cannot be resumed at present', error);
    }
  }

  /** Time that a call waits for an absent host, ms. */
  get abandonedMs(): number {
    return this.#keeper.abandonedMs;
  }

  /** The host of a call no longer waits here. */
  unattend(taskId: string): void {
    this.#keeper.unattend(taskId);
  }

  /** Records progress of a call, then sends it. */
  report(task: TTask, report: ProgressReport, send: (report: ProgressReport) => void): void {
    if (!task.hasEnded) this.#progressOf(task, undefined).report(report, send);
  }

  #progressOf(task: TTask, earlier: ProgressStep | undefined): RecordedProgress {
    const known = this.#progress.get(task);
    if (known) return known;
    const made = new RecordedProgress(earlier, async (step) => {
      const claim = this.#claims.get(task);
      const isAwaited = () => this.#book.has(task) && !task.hasEnded;
      if (!claim) return false;
      return (await this.#keeper.append(claim, { steps: [step] }, isAwaited)) === 'written';
    });
    this.#progress.set(task, made);
    return made;
  }

  /** The steps of a new call: which process its host is connected to. */
  hostSteps(): readonly TaskStep[] {
    return [this.#keeper.hostStep()];
  }

  /** Releases a call, which then waits for its host. */
  #callParking(): TaskProgress {
    const { abandonedMs } = this.#keeper;
    const away = { key: stepKeys.host, text: JSON.stringify({ awaySince: this.#keeper.now() }) };
    return { steps: [away], parkForMs: abandonedMs };
  }

  /** What the ledger of a task stands on. It is asked once the task is written down. */
  ledgerPort(
    task: () => TTask,
    limits: LedgerLimits,
    heard: Pick<LedgerPort, 'inputRequested' | 'inputReceived' | 'parked' | 'metaOf'>,
  ): LedgerPort {
    const keeper = this.#keeper;
    const { appendWith } = keeper;
    const claimOf = () => this.#claims.get(task()) as TaskClaim;
    return {
      ...heard,
      clock: this.#session.clock,
      limits,
      now: () => keeper.now(),
      append: (progress) => {
        const isParkedCall = progress.parkForMs !== undefined && isCallRecord(task().taskId);
        const written = isParkedCall ? this.#callParking() : progress;
        return keeper.append(claimOf(), written, () => this.#book.has(task()));
      },
      appendWith: appendWith && ((key, make) => appendWith(claimOf(), key, make)),
      overtaken: () => {
        keeper.forget(task().taskId);
        void this.#overtaken(task());
      },
      unsaved: (error) => {
        const message = `A step of the task ${task().taskId} was not saved, and is repeated after a restart: ${textOfError(error)}`;
        this.#session.report({ level: 'warning', name: 'task.unsaved', message });
      },
      answerElsewhere: (answers) => this.answer(task().taskId, answers),
    };
  }

  /**
   * Answers what a task asks that does not run in this session.
   * @throws {ProtocolError} -32602 naming the answer that is malformed, or the bound that they exceed; -32000, retryable
   */
  async answer(taskId: string, answers: JsonObject): Promise<void> {
    const found = await this.read(taskId);
    const steps: TaskStep[] = [];
    for (const { key, method } of found?.steps.open ?? []) {
      if (!Object.hasOwn(answers, key)) continue;
      const fault = validateAnswer(method, answers[key]);
      if (fault !== undefined) throw invalidParams(`"inputResponses.${key}" ${fault}`);
      const at = this.#keeper.now();
      steps.push(answerStep(key, { answer: answers[key] as JsonObject, at }));
    }
    if (!found || steps.length === 0) return;
    const excess = found.steps.sizes.excessOfAnswers(steps, this.#session.limits);
    if (excess !== undefined) throw answersTooLong(excess);
    try {
      await this.#keeper.appendElsewhere(taskId, steps);
    } catch (error) {
      throw this.#unavailable('Tasks cannot be answered at present', error);
    }
  }

  /** Writes a task down, then begins it. @param share whose it is, at all nodes */
  async begin(task: TTask, call: RequestContext, begin: () => Task, share: string): Promise<Task> {
    try {
      await this.#create(task, share);
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

  /**
   * Writes down how far a task is, then shows it: what a client has seen of it, every node shows from then on. Of
   * several descriptions that wait to be written, the last is enough.
   */
  describe(task: TTask, message: string): void {
    // An earlier run has said so, and more.
    if (task.ledger?.isRepeating) return;
    const isWriting = this.#descriptions.has(task);
    this.#descriptions.set(task, message.slice(0, longestMessage));
    if (!isWriting) void this.#writeDescriptions(task);
  }

  async #writeDescriptions(task: TTask): Promise<void> {
    const claim = this.#claims.get(task);
    for (let written: string | undefined; claim && !task.hasEnded;) {
      const message = this.#descriptions.get(task);
      if (message === undefined || message === written) break;
      const described: DescribedStep = { message, at: this.#keeper.now() };
      const step = { key: stepKeys.described, text: JSON.stringify(described) };
      const isAwaited = () => this.#book.has(task) && !task.hasEnded;
      const became = await this.#keeper.append(claim, { steps: [step] }, isAwaited);
      // Whoever has the task now describes it.
      if (became !== 'written') break;
      task.described(message, laterOf(task.item.lastUpdatedAt, described.at));
      written = message;
    }
    this.#descriptions.delete(task);
  }

  /** Writes down how a task has ended, then tells it. Without a response it is cancelled. */
  async end(task: TTask, response?: OutboundResponse): Promise<void> {
    task.ledger?.end();
    // Reports that came before the result are sent before it.
    await this.#progress.get(task)?.settled;
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
    const { lastUpdatedAt } = written.task;
    if (response) task.answered(response, lastUpdatedAt);
    else task.cancel(lastUpdatedAt);
  }

  /** Nobody waits for its end. */
  forget({ taskId }: TTask): void {
    this.#keeper.forget(taskId);
  }

  /**
   * A task that does not run in this session.
   * @throws {ProtocolError} -32602 there is none with this id for this caller; -32000, retryable
   */
  async find(taskId: string, call: RequestContext): Promise<WrittenTaskView> {
    if (isCallRecord(taskId)) throw notFound(taskId);
    const found = await this.read(taskId);
    if (found && found.principal === (call.request.origin?.principal?.id ?? null)) {
      return new WrittenTaskView(this, found);
    }
    throw notFound(taskId);
  }

  /**
   * A task of this session as it is now: somebody else may have ended or claimed it, and this process may not
   * have heard of it.
   * @throws {ProtocolError} -32000, retryable
   */
  async latest(task: TTask & SeenTask): Promise<SeenTask> {
    const found = await this.read(task.taskId);
    return task.hasEnded || !found || found.isHere ? task : new WrittenTaskView(this, found);
  }

  /** A task as it is written. @throws {ProtocolError} -32000, retryable */
  async read(taskId: string): Promise<FoundWrittenTask | undefined> {
    try {
      return await this.#keeper.find(taskId);
    } catch (error) {
      throw this.#unavailable('Tasks cannot be looked up at present', error);
    }
  }

  /** Calls back when others may have changed a task. @returns ends it */
  listen(listener: (taskId: string) => void): () => void {
    return this.#keeper.listen(listener);
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

  /**
   * The end of a task that runs elsewhere. It is looked at as often as clients are told to look; what it asks
   * meanwhile, the client of this call is asked.
   */
  async untilEnded(given: FoundWrittenTask, call: RequestContext) {
    const { taskId, pollInterval } = given.task;
    const asked = new Set<string>();
    const { clock } = this.#session;
    call.park();
    this.waiters++;
    try {
      for (let now = given; ;) {
        for (const question of now.steps.open) {
          if (!asked.has(question.key)) void this.askThrough(call, taskId, question);
          asked.add(question.key);
        }
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
        now = found;
      }
    } finally {
      this.waiters--;
    }
  }

  /** Asks the client of a call what a task asks that has no session of its own. */
  async askThrough(
    call: RequestContext,
    taskId: string,
    question: AskedStep,
    meta: JsonObject | undefined = relatedTask(taskId),
  ): Promise<void> {
    const { key, method, params, until } = question;
    const timeoutMs = Math.min((until ?? Infinity) - this.#keeper.now(), maxDelayMs);
    try {
      const related = withMeta(params ?? {}, meta);
      const answer = await call.sendRequest({
        method,
        params: related,
        timeoutMs,
        maxTotalMs: timeoutMs,
      });
      await this.answer(taskId, { [key]: answer });
    } catch (error) {
      // The task waits on: the client may ask for its result again.
      const message = `The client was not asked ${question.label} for the task ${taskId}: ${textOfError(error)}`;
      this.#session.report({ level: 'warning', name: 'tasks.away', message, details: { error } });
    }
  }

  #ended(written: WrittenTask, response: OutboundResponse | undefined): WrittenTask {
    const task = endedTask(written.task, this.#keeper.now(), response, cancelledByClient);
    return { task, principal: written.principal, response };
  }

  /** Somebody else has ended or claimed a task of this session. */
  async #overtaken(task: TTask): Promise<void> {
    const found = await this.read(task.taskId).catch(() => undefined);
    if (!this.#book.has(task) || task.hasEnded) return;
    if (found?.hasEnded) return task.endedElsewhere(found.response, found.task.lastUpdatedAt);
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

type AnyTasks = Pick<DurableTasks<never>, 'answer' | 'cancel' | 'untilEnded'>;

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
    const { steps, response } = this.#found;
    return { ...this.item, inputRequests: steps.inputRequests, response };
  }

  readonly questions = {
    answer: (answers: JsonObject) => this.#tasks.answer(this.item.taskId, answers),
  };

  result(call: RequestContext): JsonObject | Promise<JsonObject> {
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

/** Whether a creation has found no room. */
export const isFull = (error: unknown): boolean =>
  error instanceof RuntimeError && error.code === 'LIMIT_EXCEEDED';

function unavailable(message: string): ProtocolError {
  const data = { reason: 'tasks-unavailable', retryable: true };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

/** A task as it is once it has ended with this response; without one, it was cancelled for the reason. */
export function endedTask(
  { statusMessage: _, ...task }: Task,
  now: number,
  response: OutboundResponse | undefined,
  reason?: string,
): Task {
  const lastUpdatedAt = laterOf(task.lastUpdatedAt, now);
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
