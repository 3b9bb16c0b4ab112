/**
 * Ordinary calls of durable tools. Their work is recorded and resumed like that of a task, while the host's request
 * waits for the result. A host that retries after a crash sends the id of the call, and the session claims the work from
 * its journal.
 */
import { ignoreUnhandled } from '../../actors/request-context.ts';
import type {
  CalledRequest,
  RequestContext,
  RequestHandler,
} from '../../actors/request-context.ts';
import { isJsonObject, isRequestId } from '../../protocol/classify.ts';
import { questionMeta, readSupervisedCall, resendableKey } from '../../protocol/durable-calls.ts';
import { RuntimeError, invalidParams } from '../../protocol/errors.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import { roundParams, readRetry } from '../../protocol/input-required.ts';
import { Method } from '../../protocol/methods.ts';
import type { Limits } from '../../actors/limits.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import type { AskedStep } from '../../../packages/tasks/src/step-history.ts';
import { digestOf, invalidStateError } from '../../rounds/request-state.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { DurableTasks } from '../../../packages/tasks/src/durable-tasks.ts';
import { answerOf, expired, resultOf } from '../../../packages/tasks/src/task-view.ts';
import { callIdOf, callRecordId, isCallRecord } from '../../../packages/tasks/src/task-ids.ts';
import type { LoadedTask, ResumedTask } from '../../../packages/tasks/src/stored-task.ts';
import type { LiveTask } from './live-task.ts';

/** Durable tool of a call. */
export interface DurableTool {
  /** Runs the tool. */
  readonly handler: RequestHandler;
  /** Reason why this version cannot resume from a checkpoint; undefined if it can. */
  faultOf(checkpoint: unknown): string | undefined;
}

/** Task operations that calls need. */
export interface CallRegistry {
  find(taskId: string): LiveTask | undefined;
  /** Records a call, then starts its work. @throws {ProtocolError} -32000, retryable */
  begin(call: DurableCall, host: RequestContext, handler: RequestHandler): Promise<unknown>;
  /** Resumes the work of a claimed call. */
  resume(
    call: DurableCall,
    host: RequestContext,
    handler: RequestHandler,
    resumed: ResumedTask,
  ): void;
  /** Removes an ended call. */
  release(task: LiveTask): void;
}

/** A call and the waiting requests of its host. */
export class DurableCall {
  readonly taskId: string;
  /** True if the host can resend the call to another process. */
  readonly isResendable: boolean;
  /** Waiting requests, oldest first. */
  readonly hosts: RequestContext[] = [];
  /** Abandonment timer, set while the work runs without a waiting host. */
  abandonment: unknown = undefined;
  #change: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(taskId: string, isResendable: boolean) {
    this.taskId = taskId;
    this.isResendable = isResendable;
  }

  /** Newest waiting request, which receives progress and questions. */
  get host(): CalledRequest | undefined {
    return this.hosts.at(-1)?.request;
  }

  /** Resolves at the next change, after which waiters check the state again. */
  get change(): Promise<void> {
    if (this.#change) return this.#change.promise;
    let resolve = () => {};
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#change = { promise, resolve };
    return promise;
  }

  changed(): void {
    const change = this.#change;
    this.#change = undefined;
    change?.resolve();
  }
}

/** Durable calls of one session. */
export class DurableCalls {
  readonly #session: SessionScope;
  readonly #durable: DurableTasks<LiveTask>;
  readonly #registry: CallRegistry;
  readonly #calls = new Map<string, DurableCall>();

  constructor(session: SessionScope, durable: DurableTasks<LiveTask>, book: CallRegistry) {
    this.#session = session;
    this.#durable = durable;
    this.#registry = book;
  }

  /**
   * Serves a call. Resumes a call that an earlier process recorded, or returns its recorded result.
   *
   * @param isInRounds true if the host polls for the result and answers questions with retries
   */
  async serve(host: RequestContext, tool: DurableTool, isInRounds: boolean): Promise<JsonObject> {
    const { request } = host;
    const poll = isInRounds ? pollIn(request.params) : undefined;
    const supervised = this.#session.isSupervised ? readSupervisedCall(request.params) : undefined;
    const named = supervised ?? (isInRounds ? undefined : await request.origin?.nameCall?.());
    const taskId = poll?.taskId ?? callRecordId(named?.id ?? this.#session.randomId('call'));
    const isPolled = isInRounds && request.origin !== undefined;
    const call =
      this.#calls.get(taskId) ?? new DurableCall(taskId, named !== undefined || isPolled);
    if (named) host.isResendable = true;
    this.#addHost(call, host);
    try {
      const isRecorded =
        (poll !== undefined || named?.isResent === true) &&
        (await this.#findRecorded(call, host, poll));
      if (poll && !isRecorded) throw invalidStateError();
      if (!isRecorded) await this.#registry.begin(call, host, tool.handler);
      named?.begun?.();
      const wait = new HostRequest(host, { isInRounds, isPolled, round: poll?.round ?? 0 });
      return await this.#waitForResult(call, wait, tool);
    } finally {
      named?.begun?.();
      this.#removeHost(call, host);
    }
  }

  /** Checks for a recorded call and delivers the answers of a poll. @throws {ProtocolError} -32602 */
  async #findRecorded(
    call: DurableCall,
    host: RequestContext,
    poll: Poll | undefined,
  ): Promise<boolean> {
    const { taskId } = call;
    const { request } = host;
    const answers = poll?.answers ?? {};
    const task = this.#registry.find(taskId);
    if (task) {
      if (!task.isVisibleTo(host)) return false;
      await task.questions.answer(answers);
      return true;
    }
    const found = await this.#durable.read(taskId);
    if (!found || found.principal !== (request.origin?.principal?.id ?? null)) return false;
    const { call: written } = found.steps;
    if (!written) return found.hasEnded;
    const begun = roundParams({ method: request.method, params: written.params });
    if ((await digestOf(begun)) !== (await digestOf(roundParams(request)))) {
      throw invalidParams('a retry must have the same tool and arguments as the original call');
    }
    await this.#durable.answer(taskId, answers);
    return true;
  }

  async #waitForResult(
    call: DurableCall,
    wait: HostRequest,
    tool: DurableTool,
  ): Promise<JsonObject> {
    const { taskId } = call;
    const { host } = wait;
    const { clock, limits } = this.#session;
    host.whenEnded(() => call.changed());
    host.whenClosing(() => {
      wait.isClosing = true;
      call.changed();
    });
    const holdMs = wait.holdMs(limits);
    const hold = Number.isFinite(holdMs)
      ? clock.setTimeout(() => {
          wait.isHeld = true;
          call.changed();
        }, holdMs)
      : undefined;
    try {
      for (;;) {
        const { change } = call;
        if (host.hasEnded) return await this.#onHostGone(call, wait);
        const task = this.#registry.find(taskId);
        if (task?.hasEnded) return await task.result(host);
        if (task && wait.mustEnd(task.journal?.awaitsClient === true)) {
          return inputRequired(task.questions.inputRequests, wait.nextState(taskId));
        }
        if (task) {
          await change;
          continue;
        }
        if (wait.isClosing) return await this.#redirectHost(call, wait);
        const found = await this.#claimFor(call, tool);
        if (!found) throw expired(taskId);
        if (found.hasEnded) return resultOf(answerOf(taskId, found.response));
        if (this.#registry.find(taskId) || host.hasEnded) continue;
        if (wait.mustEnd(found.steps.openQuestions.length > 0)) {
          return inputRequired(found.steps.inputRequests, wait.nextState(taskId));
        }
        wait.follow(found, (question) =>
          this.#durable
            .askThrough(host, taskId, question, this.questionMeta(taskId, question.key))
            .finally(() => call.changed()),
        );
        await this.#nextChange(call, change, found.task.pollInterval);
      }
    } finally {
      clock.clearTimeout(hold);
    }
  }

  /** Wire `_meta` of a question of a call; undefined if not needed. */
  questionMeta(taskId: string, key: string): JsonObject | undefined {
    return this.#session.isSupervised ? questionMeta(callIdOf(taskId), key) : undefined;
  }

  /** Claims the work for this session unless a live process runs it. */
  #claimFor(call: DurableCall, tool: DurableTool): Promise<LoadedTask | undefined> {
    const resume = (resumed: ResumedTask) => {
      const fault = tool.faultOf(resumed.steps.checkpoint?.value);
      const host = call.hosts.at(-1);
      if (fault !== undefined || !host) return fault ?? 'the host has disconnected';
      this.#registry.resume(call, host, tool.handler, resumed);
      call.changed();
      return undefined;
    };
    // A host that resumes a named call comes from a process that ended or lost the session.
    const isOwnerDead = call.hosts.some(({ isResendable }) => isResendable);
    return this.#durable.attachHost(call.taskId, { resume, isOwnerDead });
  }

  /** Waits for a change of work that runs in another process or is queued. */
  async #nextChange(call: DurableCall, change: Promise<void>, pollMs: number): Promise<void> {
    const { clock } = this.#session;
    const timer = clock.setTimeout(() => call.changed(), pollMs);
    const unlisten = this.#durable.listen((taskId) => {
      if (taskId === call.taskId) call.changed();
    });
    try {
      await change;
    } finally {
      unlisten();
      clock.clearTimeout(timer);
    }
  }

  /** The session is ending and the work was released: the host retries at another process. */
  #redirectHost(call: DurableCall, wait: HostRequest): Promise<JsonObject> | JsonObject {
    if (wait.isPolled) return inputRequired({}, wait.nextState(call.taskId));
    wait.host.drop?.();
    return Promise.reject(wait.host.signal.reason as Error);
  }

  /** Handles a request that ended without a response. A host that can retry may only have lost its connection. */
  async #onHostGone(call: DurableCall, { host, canComeBack }: HostRequest): Promise<never> {
    const reason = host.signal.reason as Error;
    const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
    const isAlone = call.hosts.length === 1;
    if (isCancelled && isAlone && !canComeBack) await this.#cancel(call);
    throw reason;
  }

  async #cancel({ taskId }: DurableCall): Promise<void> {
    const task = this.#registry.find(taskId);
    if (task) return void (await this.#durable.cancelOwn(task));
    const found = await this.#durable.read(taskId);
    if (found && !found.hasEnded) await this.#durable.cancelElsewhere(found);
  }

  #addHost(call: DurableCall, host: RequestContext): void {
    this.#calls.set(call.taskId, call);
    call.hosts.push(host);
    this.#session.clock.clearTimeout(call.abandonment);
    call.abandonment = undefined;
  }

  #removeHost(call: DurableCall, host: RequestContext): void {
    call.hosts.splice(call.hosts.indexOf(host), 1);
    if (call.hosts.length > 0) return;
    this.#durable.detachHost(call.taskId);
    const task = this.#registry.find(call.taskId);
    if (task && !task.hasEnded) return this.#startAbandonTimer(call);
    this.#calls.delete(call.taskId);
    if (task) this.#registry.release(task);
  }

  /** Cancels the work if no host returns within `abandonedMs`. */
  #startAbandonTimer(call: DurableCall): void {
    const { abandonedMs } = this.#durable;
    const abandon = () => {
      const message = `The call ${call.taskId} was cancelled: no host waited for it for ${abandonedMs} ms`;
      this.#session.report({ level: 'warning', name: 'call.abandoned', message });
      // Store failures are reported by the store client.
      void ignoreUnhandled(this.#cancel(call));
    };
    call.abandonment = this.#session.clock.setTimeout(abandon, abandonedMs);
  }

  /** Handles a change of the work: progress, end, or release to another process. */
  changed(taskId: string): void {
    const call = this.#calls.get(taskId);
    if (!call) return;
    call.changed();
    const task = this.#registry.find(taskId);
    if (call.hosts.length > 0 || (task && !task.hasEnded)) return;
    this.#session.clock.clearTimeout(call.abandonment);
    this.#calls.delete(taskId);
    if (task) this.#registry.release(task);
  }

  get(taskId: string): DurableCall | undefined {
    return this.#calls.get(taskId);
  }

  /** Stops the timers at the end of the session. */
  stop(): void {
    for (const { abandonment } of this.#calls.values()) {
      this.#session.clock.clearTimeout(abandonment);
    }
    this.#calls.clear();
  }
}

/** A host's poll for its call. */
interface Poll {
  readonly taskId: string;
  /** Number of interim results sent so far. */
  readonly round: number;
  readonly answers: JsonObject;
}

/** Parses a poll; undefined for an initial request. @throws {ProtocolError} -32602 if the state is not that of a durable call */
function pollIn(params: JsonObject | undefined): Poll | undefined {
  const retry = readRetry(params);
  if (!retry) return undefined;
  const [, taskId = '', round] = /^(call\.[\w.-]{1,80})~(\d{1,6})$/.exec(retry.requestState) ?? [];
  if (!isCallRecord(taskId)) throw invalidStateError();
  return { taskId, round: Number(round), answers: retry.inputResponses };
}

/** Interim result with questions, or without any if the host should poll again. */
function inputRequired(inputRequests: JsonObject, requestState: string): JsonObject {
  const asks = Object.keys(inputRequests).length > 0;
  const _meta = { [resendableKey]: true };
  return { resultType: 'input_required', ...(asks ? { inputRequests } : {}), requestState, _meta };
}

/** Maximum number of polls. The official client stops after 10 rounds, so later requests wait for the end of the call. */
const maxPolls = 9;

/** A request that waits for a call. */
class HostRequest {
  readonly host: RequestContext;
  /** True if questions are sent in results and answered with retries. */
  readonly isInRounds: boolean;
  /** True if the host also polls, because its connection does not survive the process. */
  readonly isPolled: boolean;
  readonly #round: number;
  /** True when the session is closing. */
  isClosing = false;
  /** True when the hold time is over and the host must poll. */
  isHeld = false;
  /** Keys of questions from another process that were forwarded to this host. */
  readonly #asked = new Set<string>();
  /** Last progress sent to the host; undefined before the first check. */
  #seen: number | undefined = undefined;

  constructor(
    host: RequestContext,
    of: { readonly isInRounds: boolean; readonly isPolled: boolean; readonly round: number },
  ) {
    this.host = host;
    this.isInRounds = of.isInRounds;
    this.isPolled = of.isPolled;
    this.#round = of.round;
  }

  /** True if the host knows the id of the call and can return after a lost connection. */
  get canComeBack(): boolean {
    return this.isPolled && this.#round > 0;
  }

  /** Time to hold the host before it must poll, ms. */
  holdMs({ holdMs }: Pick<Limits, 'holdMs'>): number {
    if (!this.isPolled || this.#round >= maxPolls) return Infinity;
    // The host learns the id of the call with the first result, so send it early, unless the host wants progress: the
    // official client receives none in later rounds.
    const isFirst = this.#round === 0 && this.#progressToken === undefined;
    return isFirst ? Math.min(holdMs, firstHoldMs) : holdMs;
  }

  /** True if the request must be answered with an interim result. */
  mustEnd(isAsking: boolean): boolean {
    return this.isInRounds && (isAsking || (this.isPolled && (this.isHeld || this.isClosing)));
  }

  get #progressToken(): RequestId | undefined {
    const meta = this.host.request.params?.['_meta'];
    const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
    return isRequestId(token) ? token : undefined;
  }

  nextState(taskId: string): string {
    return `${taskId}~${this.#round + 1}`;
  }

  /** Forwards recorded progress and questions of work in another process. */
  follow({ steps }: LoadedTask, ask: (question: AskedStep) => Promise<void>): void {
    const { progress } = steps;
    const known = progress?.progress ?? -Infinity;
    const seen = (this.#seen ??= known);
    const token = this.#progressToken;
    if (progress && known > seen && token !== undefined) {
      this.#seen = known;
      const report = this.host.request.peer.dialect.progress(token, progress as ProgressReport);
      this.host.notify(Method.progress, report);
    }
    if (this.isInRounds) return;
    for (const question of steps.openQuestions) {
      if (this.#asked.has(question.key)) continue;
      this.#asked.add(question.key);
      void ignoreUnhandled(ask(question));
    }
  }
}

/** Time to hold a call before its host gets an id for polling, ms. */
const firstHoldMs = 1000;
