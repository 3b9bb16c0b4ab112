/**
 * The durable tasks of one session, and the stored tasks of other sessions and processes.
 * The start and the end of a task are stored before the client learns of them.
 */
import { maxDelayMs } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { RequestContext } from '../../../src/actors/request-context.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { TaskLimits } from '../../../src/actors/limits.ts';
import { longestMessage } from './task.machine.ts';
import {
  ErrorCode,
  ProtocolError,
  invalidParams,
  textOfError,
} from '../../../src/protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../../../src/protocol/frames.ts';
import { validateAnswer } from '../../../src/protocol/input-required.ts';
import { withMeta } from '../../../src/protocol/meta.ts';
import { relatedTask } from '../../../src/protocol/tasks.ts';
import type { DetailedTask, Task } from '../../../src/protocol/tasks.ts';
import { answerOf, cancelledByClient, expired, notFound, resultOf } from './task-view.ts';
import type { TaskView } from './task-view.ts';
import type { JournalLimits, JournalPort, TaskJournal } from './task-journal.ts';
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import { RecordedProgress } from './recorded-progress.ts';
import { isCallRecord } from './task-ids.ts';
import { answerStep, answersTooLong, stepKeys } from './step-history.ts';
import type { AskedStep, DescribedStep, ProgressStep, StepLimits } from './step-history.ts';
import { endedTask, isQuotaExceeded, laterOf } from './stored-task.ts';
import type {
  LoadedTask,
  WaitingHost,
  ResumedTask,
  TaskWorkerFactName,
  TaskRunner,
  StoredTask,
} from './stored-task.ts';
import type { TaskClaim, TaskProgress, TaskStep } from './task-store.ts';
import type { TaskWorker } from './task-worker.ts';

/** The parts of a session that its durable tasks use. */
export interface TaskSession {
  readonly clock: Clock;
  /** Receives log facts. */
  readonly report: Report<TaskWorkerFactName>;
  /** Limits on the session's tasks and their steps. */
  readonly limits: Pick<TaskLimits, 'maxKeptTasks'> & StepLimits;
  /** Current time, ISO 8601. */
  wallTime(): string;
}

/** A task whose handler runs in this session. */
export interface RunningTask {
  readonly taskId: string;
  /** Id of the principal that owns the task; undefined without authentication. */
  readonly owner: string | undefined;
  /** The task as sent to its client. */
  readonly item: Task;
  /** True once its status is final. */
  readonly hasEnded: boolean;
  /** Sets the status message. @param at ISO 8601 */
  described(message: string, at: string): void;
  /** Ends the task with the response of its handler. @param at ISO 8601 */
  answered(response: OutboundResponse, at: string): void;
  /** Cancels the task for its client. @param at ISO 8601 */
  cancel(at: string): void;
  /** Takes over an end that another process stored. Without a response the task was cancelled. @param at ISO 8601 */
  endedElsewhere(response: OutboundResponse | undefined, at: string): void;
  /** Journal of the task's steps; undefined if the task cannot be resumed by another process. */
  readonly journal: TaskJournal | undefined;
  /** Steps stored with the task, from which another process resumes it; undefined if none can. */
  readonly firstSteps: readonly TaskStep[] | undefined;
}

/** The session's own list of running tasks. */
export interface TaskRegistry<TTask extends RunningTask> {
  /** True while the task is in the list. */
  has(task: TTask): boolean;
  /** Removes a task that does not run here. @param answer error for the requests that wait for its result */
  forget(task: TTask, answer?: ProtocolError): void;
  /** Creates the error for a client that already has `max` tasks. */
  full(max: number): ProtocolError;
}

/** Stores the tasks of one session, and reads the stored tasks of others. */
export class DurableTasks<TTask extends RunningTask> {
  readonly #session: TaskSession;
  readonly #worker: TaskWorker;
  readonly #registry: TaskRegistry<TTask>;
  readonly #claims = new WeakMap<TTask, TaskClaim>();
  readonly #progress = new WeakMap<TTask, RecordedProgress>();
  /** The next status message to store, per task with a write in progress. */
  readonly #descriptions = new Map<TTask, string>();
  /** Writes of task ends in progress. */
  readonly #ends = new WeakMap<TTask, Promise<void>>();
  /** Number of requests that wait for the result of a task in another process. */
  waiters = 0;

  constructor(session: TaskSession, worker: TaskWorker, registry: TaskRegistry<TTask>) {
    this.#session = session;
    this.#worker = worker;
    this.#registry = registry;
  }

  /**
   * Stores a task before its client learns of it.
   * @throws {ProtocolError} -32000, retryable: the store is unavailable, or the client's quota is used up
   */
  async #create(task: TTask, share: string): Promise<void> {
    const written = { task: task.item, principal: task.owner ?? null };
    const { maxKeptTasks: max } = this.#session.limits;
    try {
      const of = [share, max] as const;
      const claim = await this.#worker.create(written, this.#runnerOf(task), of, task.firstSteps);
      this.#claims.set(task, claim);
    } catch (error) {
      if (isQuotaExceeded(error)) throw this.#registry.full(max);
      throw this.#unavailable('Tasks cannot be stored at present', error);
    }
  }

  #runnerOf(task: TTask): TaskRunner {
    return {
      item: () => task.item,
      onOvertaken: () => void this.#overtaken(task),
      onSteps: (steps) => void task.journal?.onSteps(steps),
    };
  }

  /** The store's current time, ISO 8601. */
  timeOfDay(): string {
    return new Date(this.#worker.now()).toISOString();
  }

  /** True if other processes can resume tasks created here. */
  get canResume(): boolean {
    return this.#worker.canResume;
  }

  /** Registers a claimed task that this session resumes. */
  adopt(task: TTask, { claim, steps }: ResumedTask): void {
    this.#claims.set(task, claim);
    if (isCallRecord(task.taskId)) this.#progressOf(task, steps.progress);
    this.#worker.track(claim, this.#runnerOf(task));
  }

  /** Resumes a recorded call in this session; see {@link TaskWorker.attachHost}. @throws {ProtocolError} -32000, retryable */
  async attachHost(taskId: string, attendant: WaitingHost): Promise<LoadedTask | undefined> {
    try {
      return await this.#worker.attachHost(taskId, attendant);
    } catch (error) {
      throw this.#unavailable('Calls cannot be resumed at present', error);
    }
  }

  /** Time after which a call without a host is cancelled, ms. */
  get abandonedMs(): number {
    return this.#worker.abandonedMs;
  }

  /** The host of a call no longer waits here. */
  detachHost(taskId: string): void {
    this.#worker.detachHost(taskId);
  }

  /** Stores progress of a call, then sends it. */
  report(task: TTask, report: ProgressReport, send: (report: ProgressReport) => void): void {
    if (!task.hasEnded) this.#progressOf(task, undefined).report(report, send);
  }

  #progressOf(task: TTask, earlier: ProgressStep | undefined): RecordedProgress {
    const known = this.#progress.get(task);
    if (known) return known;
    const made = new RecordedProgress(earlier, async (step) => {
      const claim = this.#claims.get(task);
      const isAwaited = () => this.#registry.has(task) && !task.hasEnded;
      if (!claim) return false;
      return (await this.#worker.append(claim, { steps: [step] }, isAwaited)) === 'written';
    });
    this.#progress.set(task, made);
    return made;
  }

  /** The steps of a new call: which process its host is connected to. */
  hostSteps(): readonly TaskStep[] {
    return [this.#worker.hostStep()];
  }

  /** The progress that parks a call until its host returns. */
  #callParking(): TaskProgress {
    const { abandonedMs } = this.#worker;
    const away = { key: stepKeys.host, text: JSON.stringify({ awaySince: this.#worker.now() }) };
    return { steps: [away], parkForMs: abandonedMs };
  }

  /** The port of a task's journal. Used only after the task is stored. */
  journalPort(
    task: () => TTask,
    limits: JournalLimits,
    callbacks: Pick<JournalPort, 'inputRequested' | 'inputReceived' | 'onParked' | 'metaOf'>,
  ): JournalPort {
    const worker = this.#worker;
    const { appendWith } = worker;
    const claimOf = () => this.#claims.get(task()) as TaskClaim;
    return {
      ...callbacks,
      clock: this.#session.clock,
      limits,
      now: () => worker.now(),
      append: (progress) => {
        const isParkedCall = progress.parkForMs !== undefined && isCallRecord(task().taskId);
        const written = isParkedCall ? this.#callParking() : progress;
        return worker.append(claimOf(), written, () => this.#registry.has(task()));
      },
      appendWith: appendWith && ((key, make) => appendWith(claimOf(), key, make)),
      onOvertaken: () => {
        worker.forget(task().taskId);
        void this.#overtaken(task());
      },
      onUnsaved: (error) => {
        const message = `A step of task ${task().taskId} was not saved and is repeated after a restart: ${textOfError(error)}`;
        this.#session.report({ level: 'warning', name: 'task.unsaved', message });
      },
      answerElsewhere: (answers) => this.answer(task().taskId, answers),
    };
  }

  /**
   * Answers questions of a task that does not run in this session.
   * @throws {ProtocolError} -32602 naming the malformed answer or the exceeded limit; -32000, retryable
   */
  async answer(taskId: string, answers: JsonObject): Promise<void> {
    const found = await this.read(taskId);
    const steps: TaskStep[] = [];
    for (const { key, method } of found?.steps.openQuestions ?? []) {
      if (!Object.hasOwn(answers, key)) continue;
      const fault = validateAnswer(method, answers[key]);
      if (fault !== undefined) throw invalidParams(`"inputResponses.${key}" ${fault}`);
      const at = this.#worker.now();
      steps.push(answerStep(key, { answer: answers[key] as JsonObject, at }));
    }
    if (!found || steps.length === 0) return;
    const excess = found.steps.sizes.excessOfAnswers(steps, this.#session.limits);
    if (excess !== undefined) throw answersTooLong(excess);
    try {
      await this.#worker.appendElsewhere(taskId, steps);
    } catch (error) {
      throw this.#unavailable('Tasks cannot be answered at present', error);
    }
  }

  /** Stores a task, then starts its handler. @param share quota key, the same at all nodes */
  async begin(task: TTask, call: RequestContext, begin: () => Task, share: string): Promise<Task> {
    try {
      await this.#create(task, share);
      if (!call.hasEnded) return begin();
      // The client left before it received the task id.
      await this.end(task);
      throw call.signal.reason as Error;
    } catch (error) {
      this.#registry.forget(task);
      throw error;
    }
  }

  /** Cancels a task of this session. @returns false if the task had already ended */
  async cancelOwn(task: TTask): Promise<boolean> {
    const { hasEnded: before } = task;
    await this.end(task);
    return !before && task.item.status === 'cancelled';
  }

  /**
   * Stores a status message, then shows it: after a client has seen a message, every node shows it. Messages that
   * arrive during a write are coalesced to the last.
   */
  describe(task: TTask, message: string): void {
    // The stored message of an earlier run is more recent.
    if (task.journal?.isRepeating) return;
    const isWriting = this.#descriptions.has(task);
    this.#descriptions.set(task, message.slice(0, longestMessage));
    if (!isWriting) void this.#writeDescriptions(task);
  }

  async #writeDescriptions(task: TTask): Promise<void> {
    const claim = this.#claims.get(task);
    for (let written: string | undefined; claim && !task.hasEnded;) {
      const message = this.#descriptions.get(task);
      if (message === undefined || message === written) break;
      const described: DescribedStep = { message, at: this.#worker.now() };
      const step = { key: stepKeys.described, text: JSON.stringify(described) };
      const isAwaited = () => this.#registry.has(task) && !task.hasEnded;
      const became = await this.#worker.append(claim, { steps: [step] }, isAwaited);
      // The task belongs to another process, which sets its message.
      if (became !== 'written') break;
      task.described(message, laterOf(task.item.lastUpdatedAt, described.at));
      written = message;
    }
    this.#descriptions.delete(task);
  }

  /** Stores the end of a task, then ends it. Without a response the task is cancelled. */
  async end(task: TTask, response?: OutboundResponse): Promise<void> {
    task.journal?.end();
    // Progress reported before the result is sent before it.
    await this.#progress.get(task)?.settled;
    await this.#ends.get(task);
    const claim = this.#claims.get(task);
    if (!claim || task.hasEnded) return;
    const ending = this.#end(task, claim, response);
    this.#ends.set(task, ending);
    await ending;
  }

  async #end(task: TTask, claim: TaskClaim, response: OutboundResponse | undefined): Promise<void> {
    const isAwaited = () => this.#registry.has(task);
    const written = this.#ended({ task: task.item, principal: task.owner ?? null }, response);
    const became = await this.#worker.finish(claim, written, isAwaited);
    if (!isAwaited()) return;
    if (became !== 'written') return await this.#overtaken(task);
    const { lastUpdatedAt } = written.task;
    if (response) task.answered(response, lastUpdatedAt);
    else task.cancel(lastUpdatedAt);
  }

  /** Stops tracking a task whose end no request awaits. */
  forget({ taskId }: TTask): void {
    this.#worker.forget(taskId);
  }

  /**
   * Finds a task that does not run in this session.
   * @throws {ProtocolError} -32602: this caller has no task with the id; -32000, retryable
   */
  async find(taskId: string, call: RequestContext): Promise<StoredTaskView> {
    if (isCallRecord(taskId)) throw notFound(taskId);
    const found = await this.read(taskId);
    if (found && found.principal === (call.request.origin?.principal?.id ?? null)) {
      return new StoredTaskView(this, found);
    }
    throw notFound(taskId);
  }

  /**
   * The current state of a task of this session. Another process may have ended or claimed it unnoticed.
   * @throws {ProtocolError} -32000, retryable
   */
  async latest(task: TTask & TaskView): Promise<TaskView> {
    const found = await this.read(task.taskId);
    return task.hasEnded || !found || found.isHere ? task : new StoredTaskView(this, found);
  }

  /** Reads a task from the store. @throws {ProtocolError} -32000, retryable */
  async read(taskId: string): Promise<LoadedTask | undefined> {
    try {
      return await this.#worker.find(taskId);
    } catch (error) {
      throw this.#unavailable('Tasks cannot be looked up at present', error);
    }
  }

  /** Calls back when another process may have changed a task. @returns unsubscribes */
  listen(listener: (taskId: string) => void): () => void {
    return this.#worker.listen(listener);
  }

  /** Cancels a task that runs in another process. @returns false if the task had already ended */
  async cancelElsewhere(found: LoadedTask): Promise<boolean> {
    try {
      const became = await this.#worker.finishElsewhere(this.#ended(found, undefined));
      return became === 'written';
    } catch (error) {
      throw this.#unavailable('Tasks cannot be cancelled at present', error);
    }
  }

  /**
   * Waits for the end of a task in another process: reads it at its poll interval, and forwards its questions to the
   * client of this call.
   */
  async waitForEnd(given: LoadedTask, call: RequestContext) {
    const { taskId, pollInterval } = given.task;
    const asked = new Set<string>();
    const { clock } = this.#session;
    call.park();
    this.waiters++;
    try {
      for (let now = given; ;) {
        for (const question of now.steps.openQuestions) {
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

  /** Forwards a task's question to the client of this call, and stores the answer. */
  async askThrough(
    call: RequestContext,
    taskId: string,
    question: AskedStep,
    meta: JsonObject | undefined = relatedTask(taskId),
  ): Promise<void> {
    const { key, method, params, until } = question;
    const timeoutMs = Math.min((until ?? Infinity) - this.#worker.now(), maxDelayMs);
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
      // The task keeps waiting: the client can request its result again.
      const message = `Could not ask the client ${question.label} for task ${taskId}: ${textOfError(error)}`;
      this.#session.report({ level: 'warning', name: 'tasks.away', message, details: { error } });
    }
  }

  #ended(written: StoredTask, response: OutboundResponse | undefined): StoredTask {
    const task = endedTask(written.task, this.#worker.now(), response, cancelledByClient);
    return { task, principal: written.principal, response };
  }

  /** Drops a task of this session that another process has ended or claimed. */
  async #overtaken(task: TTask): Promise<void> {
    const found = await this.read(task.taskId).catch(() => undefined);
    if (!this.#registry.has(task) || task.hasEnded) return;
    if (found?.hasEnded) return task.endedElsewhere(found.response, found.task.lastUpdatedAt);
    const message = `Task ${task.taskId} now runs in another process; try again`;
    this.#registry.forget(task, unavailable(message));
  }

  #unavailable(what: string, error: unknown): ProtocolError {
    const details = { error };
    const message = `${what}: ${textOfError(error)}`;
    this.#session.report({ level: 'error', name: 'tasks.away', message, details });
    return unavailable(`${what}; try again`);
  }
}

type AnyTasks = Pick<DurableTasks<never>, 'answer' | 'cancelElsewhere' | 'waitForEnd'>;

/** A task of another session, as last read from the store. */
class StoredTaskView implements TaskView {
  readonly #tasks: AnyTasks;
  readonly #found: LoadedTask;

  constructor(tasks: AnyTasks, found: LoadedTask) {
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
      .waitForEnd(this.#found, call)
      .then(({ response }) => resultOf(answerOf(taskId, response)));
  }

  cancel(): Promise<boolean> {
    return this.#tasks.cancelElsewhere(this.#found);
  }
}

function unavailable(message: string): ProtocolError {
  const data = { reason: 'tasks-unavailable', retryable: true };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}
