/**
 * Ordinary calls of durable tools. The work is recorded and resumed as a task's is; the request of its host waits for
 * the result. If the host comes back after a crash, with the call's id, this session claims the work from its journal.
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

/** A durable tool, as its calls need it. */
export interface DurableTool {
  /** Runs it. */
  readonly handler: RequestHandler;
  /** Why this version cannot continue from a checkpoint; undefined if it can. */
  faultOf(checkpoint: unknown): string | undefined;
}

/** The session's tasks, as its calls need them. */
export interface CallRegistry {
  find(taskId: string): LiveTask | undefined;
  /** Records a call, then begins its work. @throws {ProtocolError} -32000, retryable */
  begin(call: DurableCall, host: RequestContext, handler: RequestHandler): Promise<unknown>;
  /** Continues the work of a claimed call. */
  resume(
    call: DurableCall,
    host: RequestContext,
    handler: RequestHandler,
    resumed: ResumedTask,
  ): void;
  /** Forgets a call that has ended. */
  release(task: LiveTask): void;
}

/** A call and the requests of its host that wait for it. */
export class DurableCall {
  readonly taskId: string;
  /** True if the host can send the call again to another process. */
  readonly isResendable: boolean;
  /** The oldest first. */
  readonly hosts: RequestContext[] = [];
  /** Set while no host waits and the work runs. */
  abandonment: unknown = undefined;
  #change: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(taskId: string, isResendable: boolean) {
    this.taskId = taskId;
    this.isResendable = isResendable;
  }

  /** The request that progress and questions go to. */
  get host(): CalledRequest | undefined {
    return this.hosts.at(-1)?.request;
  }

  /** Resolves at the next change: all that waits looks again. */
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

/** The calls of one session. */
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
   * Serves a call. A call that an earlier process has recorded continues, or gives its recorded result.
   * @param isInRounds whether the host polls for the result, and answers questions by calling again
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
      const wait = new HostRequest(host, { isInRounds, isPolled, round: poll?.round ?? 0 });
      return await this.#waitForResult(call, wait, tool);
    } finally {
      this.#removeHost(call, host);
    }
  }

  /** Whether there is such a call. Takes the answers that a poll brings. @throws {ProtocolError} -32602 */
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
      throw invalidParams('the call was begun with another tool or other arguments');
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

  /** The `_meta` that a question of a call carries on the wire; undefined if it needs none. */
  questionMeta(taskId: string, key: string): JsonObject | undefined {
    return this.#session.isSupervised ? questionMeta(callIdOf(taskId), key) : undefined;
  }

  /** Claims the work for this session, if no living process runs it. */
  #claimFor(call: DurableCall, tool: DurableTool): Promise<LoadedTask | undefined> {
    const resume = (resumed: ResumedTask) => {
      const fault = tool.faultOf(resumed.steps.checkpoint?.value);
      const host = call.hosts.at(-1);
      if (fault !== undefined || !host) return fault ?? 'its host has left';
      this.#registry.resume(call, host, tool.handler, resumed);
      call.changed();
      return undefined;
    };
    // A host that resumes a named call comes from a process that ended or lost the session.
    const isOwnerDead = call.hosts.some(({ isResendable }) => isResendable);
    return this.#durable.attachHost(call.taskId, { resume, isOwnerDead });
  }

  /** The work runs in another process, or waits for its turn. */
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

  /** The session ends, and the work was given up: the host asks another process for it. */
  #redirectHost(call: DurableCall, wait: HostRequest): Promise<JsonObject> | JsonObject {
    if (wait.isPolled) return inputRequired({}, wait.nextState(call.taskId));
    wait.host.drop?.();
    return Promise.reject(wait.host.signal.reason as Error);
  }

  /** The request has ended without an answer. A host that can come back may only have lost its connection. */
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

  /** The work goes on for a while without a host. */
  #startAbandonTimer(call: DurableCall): void {
    const { abandonedMs } = this.#durable;
    const abandon = () => {
      const message = `The call ${call.taskId} was cancelled: its host stayed away for ${abandonedMs} ms`;
      this.#session.report({ level: 'warning', name: 'call.abandoned', message });
      // The store's failure is reported where it is asked.
      void ignoreUnhandled(this.#cancel(call));
    };
    call.abandonment = this.#session.clock.setTimeout(abandon, abandonedMs);
  }

  /** The work of a call has ended or changed, or no longer runs here. */
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

  /** The session has ended. */
  stop(): void {
    for (const { abandonment } of this.#calls.values()) {
      this.#session.clock.clearTimeout(abandonment);
    }
    this.#calls.clear();
  }
}

/** Poll of a host for its call. */
interface Poll {
  readonly taskId: string;
  /** Number of interim results sent to the host. */
  readonly round: number;
  readonly answers: JsonObject;
}

/** Undefined for a request that begins a call. @throws {ProtocolError} -32602 for a state that no durable call has */
function pollIn(params: JsonObject | undefined): Poll | undefined {
  const retry = readRetry(params);
  if (!retry) return undefined;
  const [, taskId = '', round] = /^(call\.[\w.-]{1,80})~(\d{1,6})$/.exec(retry.requestState) ?? [];
  if (!isCallRecord(taskId)) throw invalidStateError();
  return { taskId, round: Number(round), answers: retry.inputResponses };
}

/** A result that is not the last: questions, or none if the host is to ask again. */
function inputRequired(inputRequests: JsonObject, requestState: string): JsonObject {
  const asks = Object.keys(inputRequests).length > 0;
  const _meta = { [resendableKey]: true };
  return { resultType: 'input_required', ...(asks ? { inputRequests } : {}), requestState, _meta };
}

/**
 * Rounds that a host may be asked to poll. The official client gives up after 10, so a later one is held until the
 * call has ended.
 */
const maxPolls = 9;

/** A request that waits for its call. */
class HostRequest {
  readonly host: RequestContext;
  /** True if the host gets questions in results, and answers by calling again. */
  readonly isInRounds: boolean;
  /** True if the host also polls: its connection does not outlive a process. */
  readonly isPolled: boolean;
  readonly #round: number;
  /** True once the session begins to end. */
  isClosing = false;
  /** True once the host has been held long enough, and is to poll. */
  isHeld = false;
  /** The questions of work in another process that this host was asked. */
  readonly #asked = new Set<string>();
  /** The progress that the host may have seen; undefined before the first look. */
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

  /** True if the host knows the id of the call, so that a lost connection need not be its end. */
  get canComeBack(): boolean {
    return this.isPolled && this.#round > 0;
  }

  /** Time to hold the host before it must poll, ms. */
  holdMs({ holdMs }: Pick<Limits, 'holdMs'>): number {
    if (!this.isPolled || this.#round >= maxPolls) return Infinity;
    // Until the first result the host has no id to come back with. Progress may end with the first result: the
    // official client hears none in later rounds.
    const isFirst = this.#round === 0 && this.#progressToken === undefined;
    return isFirst ? Math.min(holdMs, firstHoldMs) : holdMs;
  }

  /** Whether the request is answered before the call has ended. */
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

  /** Passes on what work in another process has recorded. */
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
