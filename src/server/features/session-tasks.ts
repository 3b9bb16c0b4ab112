/**
 * The tasks of one session: creates them within the limits, finds them, and forgets expired ones.
 */
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import type {
  BackgroundRun,
  RequestContext,
  RequestHandler,
} from '../../actors/request-context.ts';
import { maxClientsAtLimit } from '../../actors/limits.ts';
import type { Reservation } from '../../actors/memory-budget.ts';
import { taskMachine } from '../../../packages/tasks/src/task.machine.ts';
import type { TaskInput } from '../../../packages/tasks/src/task.machine.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  errorResponse,
  fromWireError,
  internalError,
  shuttingDown,
  textOfError,
} from '../../protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../../protocol/frames.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { taskChanged } from '../../protocol/subscriptions.ts';
import type { ChangeNotification } from '../../protocol/subscriptions.ts';
import type { Task } from '../../protocol/tasks.ts';
import { requestRoots } from '../../rounds/input-requests.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { inspectOptions } from '../../actors/transitions.ts';
import { stringParam } from './feature.ts';
import { DurableTasks } from '../../../packages/tasks/src/durable-tasks.ts';
import { expired, notFound, notFoundHere } from '../../../packages/tasks/src/task-view.ts';
import type { TaskView } from '../../../packages/tasks/src/task-view.ts';
import { TaskJournal } from '../../../packages/tasks/src/task-journal.ts';
import type { TaskStep } from '../../../packages/tasks/src/task-store.ts';
import { StepHistory, stepKeys } from '../../../packages/tasks/src/step-history.ts';
import type { StoredCall } from '../../../packages/tasks/src/step-history.ts';
import { ResumedTask } from '../../../packages/tasks/src/stored-task.ts';
import { isCallRecord } from '../../../packages/tasks/src/task-ids.ts';
import type { JournalLimits, JournalPort } from '../../../packages/tasks/src/task-journal.ts';
import type { NamedCall } from '../../protocol/request-origin.ts';
import { DurableCalls } from './durable-calls.ts';
import type { DurableCall } from './durable-calls.ts';
import { LiveTask, hasEnded } from './live-task.ts';
import type { RegistryEntry } from './registry.ts';
import { PolledQuestions } from './task-questions.ts';
import { TaskCounts } from './task-counts.ts';
import type { TaskCount } from './task-counts.ts';

/** Names of the log facts of tasks. */
export type TaskFactName =
  | 'task.created'
  /** A task has completed, failed or been cancelled. */
  | 'task.ended'
  /** The time to live of a task is over. */
  | 'task.expired';

/** Minimum interval between expiry checks of parked tasks, milliseconds. */
const expiryCheckMs = 1000;

/** A task that was parked here, and may run in another process. */
interface ParkedTask extends Pick<LiveTask, 'taskId' | 'owner' | 'place'> {
  /** End of its time to live, milliseconds since 1970. */
  readonly endsAt: number;
  /** True if its client can call `tasks/list`. */
  readonly isListed: boolean;
}

/** Inputs of a new or resumed task. */
interface Preparation extends Pick<LiveTask, 'taskId' | 'retained' | 'firstSteps'> {
  readonly ttlMs: number;
  /** Set for an ordinary durable call. */
  readonly durableCall?: DurableCall | undefined;
  /** Set for a resumed task. */
  readonly begun?: TaskInput['begun'];
  readonly steps?: StepHistory;
}

/** A requested task. */
interface NewTaskOptions {
  /** Time to live requested by the client, ms. Clamped between one poll interval and the maximum. */
  readonly requestedTtlMs: number | undefined;
  /** True if another process can resume the handler. */
  readonly isResumable: boolean;
  /** Set if a supervisor resends the call under its id until it is answered. */
  readonly supervised: NamedCall | undefined;
}

/** The step that stores the request, from which the task is resumed. */
function callStep({ request }: RequestContext, isResendable = false): TaskStep {
  const { params = {}, size, peer, origin } = request;
  const { dialect, info, capabilities } = peer;
  const { clientKey: party, principal } = origin ?? {};
  const call: StoredCall = {
    ...{ params, size, version: dialect.version, info, capabilities },
    ...{ party, principal },
    ...(isResendable ? { isResendable } : {}),
  };
  return { key: stepKeys.call, text: JSON.stringify(call) };
}

export class SessionTasks {
  readonly #session: SessionScope;
  readonly #notice: (notice: ChangeNotification) => void;
  /** By id, oldest first. */
  readonly #tasks = new Map<string, LiveTask>();
  #nextPlace = 1;
  /** Counts of tasks, including parked ones. */
  readonly #counts = new TaskCounts();
  /** Tasks parked here. They count towards the limits, and are listed. */
  readonly #parkedTasks = new Map<string, ParkedTask>();
  /** Earliest end of a parked task's time to live, milliseconds since 1970. */
  #nextParkedExpiry = Infinity;
  /** Stores the tasks; undefined without a task store. */
  readonly #durable: DurableTasks<LiveTask> | undefined;
  /** Ordinary durable calls; undefined if calls cannot be resumed. */
  readonly #calls: DurableCalls | undefined;

  #limitsOfCalls: JournalLimits | undefined = undefined;

  /** Subscribed tasks that run in other processes, with the subscribing client. */
  readonly #watched = new Map<string, PeerDescription>();
  /** Unsubscribes from the store's changes. */
  #unlisten: (() => void) | undefined = undefined;

  /** @param notice notifies the session's subscriptions */
  constructor(session: SessionScope, notice: (notice: ChangeNotification) => void) {
    this.#session = session;
    this.#notice = notice;
    const { durable } = session;
    this.#durable =
      durable &&
      new DurableTasks<LiveTask>(session, durable, {
        has: (task) => this.#tasks.get(task.taskId) === task,
        forget: (task, answer) => this.#forget(task, answer),
        full: (max) => this.#tooManyKept(max),
      });
    if (this.#durable?.canResume !== true) return;
    this.#calls = new DurableCalls(session, this.#durable, {
      find: (taskId) => this.#tasks.get(taskId),
      begin: (call, host, handler) => this.#beginCall(call, host, handler),
      resume: (call, host, handler, resumed) => void this.#resume(host, handler, resumed, call),
      release: (task) => this.#forget(task),
    });
  }

  /** Ordinary durable calls; undefined if calls cannot be resumed. */
  get calls(): DurableCalls | undefined {
    return this.#calls;
  }

  /** Records an ordinary call, and starts its handler. The handler takes the concurrency slot of the request. */
  async #beginCall(
    call: DurableCall,
    host: RequestContext,
    handler: RequestHandler,
  ): Promise<unknown> {
    const { taskId, isResendable } = call;
    const { task, begin } = this.#prepare(host, handler, {
      taskId,
      // The host decides how long it waits.
      ttlMs: this.#session.limits.maxTaskTtlMs,
      retained: this.#retain(host),
      firstSteps: [callStep(host, isResendable), ...(this.#durable?.hostSteps() ?? [])],
      durableCall: call,
    });
    const of = this.#session.quotas.keyOf(host.request.origin?.clientKey);
    return this.#durable?.begin(task, host, begin, of);
  }

  /**
   * Creates a task for a request. The handler starts once the request is answered.
   * @throws {ProtocolError} -32000, retryable: too many running or stored tasks
   */
  create(
    call: RequestContext,
    handler: RequestHandler,
    options: NewTaskOptions,
  ): Task | Promise<Task> {
    const { origin } = call.request;
    if (origin?.resumes instanceof ResumedTask) return this.#resume(call, handler, origin.resumes);
    const { supervised } = options;
    if (!supervised?.isResent || !this.#durable) return this.#create(call, handler, options);
    // An earlier process may have created the task without answering the request.
    return this.#durable
      .read(supervised.id)
      .then((found) => found?.task ?? this.#create(call, handler, options));
  }

  #create(
    call: RequestContext,
    handler: RequestHandler,
    { requestedTtlMs, isResumable, supervised }: NewTaskOptions,
  ): Task | Promise<Task> {
    const { origin } = call.request;
    this.#ensureQuota(origin?.clientKey);
    const retained = this.#retain(call);
    const { taskTtlMs, maxTaskTtlMs, taskPollIntervalMs } = this.#session.limits;
    const wantedMs = Math.max(requestedTtlMs ?? taskTtlMs, taskPollIntervalMs);
    const ttlMs = Math.min(wantedMs, maxTaskTtlMs);
    const taskId = (this.#durable && supervised?.id) ?? this.#session.randomId('task');
    const firstSteps =
      isResumable && this.#durable?.canResume === true ? [callStep(call)] : undefined;
    const { task, begin } = this.#prepare(call, handler, { taskId, ttlMs, retained, firstSteps });
    const of = this.#session.quotas.keyOf(origin?.clientKey);
    return this.#durable?.begin(task, call, begin, of) ?? begin();
  }

  /** Resumes a claimed task. */
  #resume(
    call: RequestContext,
    handler: RequestHandler,
    resumed: ResumedTask,
    durableCall?: DurableCall,
  ): Task {
    const { claim, task: begun, ttlMs, steps } = resumed;
    const { clientKey: party } = call.request.origin ?? {};
    const retained = this.#session.quotas.reserve(party, call.request.size, Infinity);
    if (!retained) throw this.#tooMany('what is kept for clients has no room for it');
    const { taskId } = claim;
    const { task, begin } = this.#prepare(call, handler, {
      ...{ taskId, ttlMs, retained },
      begun: { ...begun, statusMessage: steps.described?.message },
      firstSteps: [callStep(call)],
      ...{ steps, durableCall },
    });
    task.restarts = resumed.restarts;
    this.#durable?.adopt(task, resumed);
    this.#parkedTasks.delete(taskId);
    return begin();
  }

  #prepare(
    call: RequestContext,
    handler: RequestHandler,
    {
      taskId,
      ttlMs,
      retained,
      begun,
      firstSteps,
      steps = new StepHistory([]),
      durableCall,
    }: Preparation,
  ): { readonly task: LiveTask; readonly begin: () => Task } {
    const session = this.#session;
    const { clock, inspect, limits } = session;
    // A separate actor system per task keeps the cost of timers independent of the number of tasks.
    const actor = createActor(taskMachine, {
      id: taskId,
      input: {
        scope: session,
        taskId,
        ttlMs,
        pollIntervalMs: limits.taskPollIntervalMs,
        timeOfDay: () => session.timeOfDay(),
        begun,
      },
      clock,
      logger: (...words: unknown[]) =>
        this.#report({ level: 'debug', name: 'machine.log', message: words.map(String).join(' ') }),
      ...inspectOptions('task', session, inspect),
    });
    const journal =
      firstSteps &&
      this.#durable &&
      new TaskJournal(
        steps,
        this.#durable.journalPort(() => task, durableCall ? this.#callLimits : limits, {
          inputRequested: (method, at) =>
            actor.send({ type: 'input.requested', method, at: new Date(at).toISOString() }),
          inputReceived: (at) =>
            actor.send({ type: 'input.received', at: new Date(at).toISOString() }),
          onParked: () => this.#onParked(task, call.request.peer),
          ...(durableCall && this.#callPort(durableCall)),
        }),
      );
    const polled = journal ? undefined : new PolledQuestions(clock);
    const task: LiveTask = new LiveTask(taskId, call, this.#nextPlace++, actor, {
      questions: journal ?? (polled as PolledQuestions),
      ...{ retained, journal, firstSteps },
    });
    actor.subscribe({ error: (error) => this.#onFailed(task, error) });
    actor.start();
    if (!durableCall) this.#counts.add(taskId, task.party);
    const begin = () => {
      const { dialect } = call.request.peer;
      // Subscribed late on purpose: the initial state is the answer to the request, not a change.
      actor.on('task.changed', ({ task: now }) => this.#onChanged(task, now, dialect));
      actor.on('task.expired', () => this.#onExpired(task));
      this.#tasks.set(taskId, task);
      task.setCancelRun(call.detach(handler, this.#runOf(task, actor, polled, durableCall)));
      this.#reportTask('task.created', task, `${call.request.method}, kept for ${ttlMs} ms`);
      return task.item;
    };
    return { task, begin };
  }

  /** Limits of calls, which stay in memory for their hosts while they wait. */
  get #callLimits(): JournalLimits {
    return (this.#limitsOfCalls ??= { ...this.#session.limits, taskParkMs: Infinity });
  }

  #callPort(call: DurableCall): Pick<JournalPort, 'onIdle' | 'metaOf'> {
    return {
      onIdle: () => call.changed(),
      metaOf: (key) => this.#calls?.questionMeta(call.taskId, key),
    };
  }

  /** Parks a task at the end of the session, or ends a call whose host cannot return. */
  #sessionEnded(task: LiveTask, call = this.#calls?.get(task.taskId)): void {
    if (!task.isCall || call?.isResendable) task.journal?.sessionEnded();
    else void this.#durable?.end(task);
  }

  #runOf(
    task: LiveTask,
    actor: ActorRefFrom<typeof taskMachine>,
    polled: PolledQuestions | undefined,
    durableCall: DurableCall | undefined,
  ): BackgroundRun {
    const session = this.#session;
    const { journal } = task;
    return {
      taskId: task.taskId,
      onResponse: (response) => {
        const kept = this.#copyResponse(task, response);
        if (this.#durable) void this.#durable.end(task, kept);
        else task.answered(kept);
      },
      relatedRequest: () => task.waiting,
      onStatusMessage: (message) => {
        if (this.#durable) this.#durable.describe(task, message);
        else task.described(message);
      },
      onInputRequested: (method) =>
        actor.send({ type: 'input.requested', method, at: this.#durable?.timeOfDay() }),
      onInputReceived: () => actor.send({ type: 'input.received', at: this.#durable?.timeOfDay() }),
      polled: {
        ask: (question) => (journal ?? (polled as PolledQuestions)).ask(question),
        end: (reason) => polled?.end(reason),
        get openQuestions() {
          return (journal ?? polled)?.openQuestions ?? 0;
        },
        roots: (run) => {
          const { environment, resolveRoots } = session;
          const resolve = environment.resolveRoots(resolveRoots);
          return requestRoots(run, (question) => run.sendRequest(question), resolve);
        },
      },
      durable: journal && {
        journal: journal,
        request: (question, send) => journal.ask(question, send),
        onSessionClosing: () => {
          if (!durableCall || durableCall.isResendable) journal.closing();
        },
        onSessionEnded: () => this.#sessionEnded(task, durableCall),
      },
      call: durableCall && {
        get hostRequest() {
          return durableCall.host;
        },
        reportProgress: (report, send) => this.#durable?.report(task, report, send),
      },
    };
  }

  /** Moves a parked task out of memory. The process that claims it when it is due resumes it. */
  #onParked(task: LiveTask, peer: PeerDescription): void {
    if (!this.#durable || !this.#tasks.delete(task.taskId)) return;
    const { taskId, owner, place, item } = task;
    if (task.isCall) {
      task.moveElsewhere(() => Promise.reject(expired(taskId)));
      return this.#calls?.changed(taskId);
    }
    const isListed = peer.dialect.offers('tasks/list');
    const endsAt = Date.parse(item.createdAt) + item.ttl;
    this.#parkedTasks.set(taskId, { taskId, owner, place, endsAt, isListed });
    this.#nextParkedExpiry = Math.min(this.#nextParkedExpiry, endsAt);
    this.#counts.move(taskId, 'parked');
    this.#watch(taskId, peer);
    const durable = this.#durable;
    task.moveElsewhere((call) => durable.find(taskId, call));
  }

  /**
   * Finds a task of this session or of the store.
   * @throws {ProtocolError} -32602: this caller has no task with the id
   */
  find(params: JsonObject | undefined, call: RequestContext): TaskView | Promise<TaskView> {
    const taskId = stringParam(params, 'taskId');
    if (isCallRecord(taskId)) throw notFound(taskId);
    const task = this.#tasks.get(taskId);
    if (task?.isVisibleTo(call)) return task;
    if (task) throw notFound(taskId);
    if (this.#durable) return this.#durable.find(taskId, call);
    throw notFoundHere(taskId);
  }

  /** Finds a task with its current state, whichever process runs it. @throws as {@link find}; -32000, retryable */
  async findLatest(params: JsonObject | undefined, call: RequestContext): Promise<TaskView> {
    const task = await this.find(params, call);
    const isSure = !this.#durable || !(task instanceof LiveTask) || task.hasEnded;
    return isSure ? task : this.#durable.latest(task);
  }

  /** Subscribes a caller to a task, whichever process runs it. @returns false if the caller has no such task */
  async listenTo(taskId: string, call: RequestContext): Promise<boolean> {
    if (isCallRecord(taskId)) return false;
    const task = this.#tasks.get(taskId);
    if (task || !this.#durable) return task?.isVisibleTo(call) ?? false;
    const found = await this.#durable.read(taskId);
    if (!found || found.principal !== (call.request.origin?.principal?.id ?? null)) return false;
    if (!found.hasEnded) this.#watch(taskId, call.request.peer);
    return true;
  }

  #watch(taskId: string, peer: PeerDescription): void {
    this.#watched.set(taskId, peer);
    this.#unlisten ??= this.#durable?.listen((changed) => void this.#notifyParked(changed));
  }

  /** Notifies subscribers of a change of a task in another process. */
  async #notifyParked(taskId: string): Promise<void> {
    const peer = this.#watched.get(taskId);
    if (!peer || this.#tasks.has(taskId)) return;
    const found = await this.#durable?.read(taskId).catch(() => undefined);
    // Another read may have announced the end meanwhile.
    if (!found || this.#watched.get(taskId) !== peer) return;
    if (found.hasEnded) this.#watched.delete(taskId);
    const { task, steps, response } = found;
    const detailed = { ...task, inputRequests: steps.inputRequests, response };
    this.#notice({
      method: taskChanged,
      subject: taskId,
      params: () => peer.dialect.task(detailed),
    });
  }

  /** Cancels a task. @returns false if the task had already ended */
  async cancel(task: TaskView, call: RequestContext): Promise<boolean> {
    if (!this.#durable || !(task instanceof LiveTask)) return task.cancel();
    if (await this.#durable.cancelOwn(task)) return true;
    // Another process may have claimed it.
    return !task.hasEnded && (await this.#durable.find(task.taskId, call)).cancel();
  }

  /** Number of pending `tasks/result` requests. */
  get waiters(): number {
    const elsewhere = this.#durable?.waiters ?? 0;
    return this.list().reduce((sum, { waiters }) => sum + waiters, elsewhere);
  }

  /** Number of parked tasks. */
  get parkedCount(): number {
    this.#forgetExpiredParked();
    return this.#parkedTasks.size;
  }

  /** Tasks in memory, oldest first. */
  list(): readonly LiveTask[] {
    return [...this.#tasks.values()];
  }

  /** The caller's tasks for `tasks/list`, oldest first. Parked tasks are read from the store on access. */
  listFor(call: RequestContext): readonly RegistryEntry<Promise<Task | undefined>>[] {
    const durable = this.#durable;
    const own = this.list()
      .filter((task) => task.isVisibleTo(call) && !task.isCall)
      .map((task) => ({
        position: task.place,
        get item(): Promise<Task | undefined> {
          if (!durable || task.hasEnded) return Promise.resolve(task.item);
          return durable.latest(task).then(({ item }) => item);
        },
      }));
    this.#forgetExpiredParked();
    if (!durable || this.#parkedTasks.size === 0) return own;
    const owner = call.request.origin?.principal?.id;
    const elsewhere = [...this.#parkedTasks.values()]
      .filter((task) => task.isListed && task.owner === owner)
      .map(({ place, taskId }) => ({
        position: place,
        get item() {
          return durable.read(taskId).then((found) => found?.task);
        },
      }));
    return [...own, ...elsewhere].toSorted((a, b) => a.position - b.position);
  }

  #forgetExpiredParked(): void {
    if (this.#parkedTasks.size === 0) return;
    const now = Date.parse(this.#session.timeOfDay());
    if (now < this.#nextParkedExpiry) return;
    let next = Infinity;
    for (const { taskId, endsAt } of this.#parkedTasks.values()) {
      if (endsAt > now) {
        next = Math.min(next, endsAt);
        continue;
      }
      this.#parkedTasks.delete(taskId);
      this.#watched.delete(taskId);
      this.#counts.delete(taskId);
    }
    // Limits how often creations check for expired tasks.
    this.#nextParkedExpiry = Math.max(next, now + expiryCheckMs);
  }

  /** Ends and forgets all tasks, at the end of the session. */
  stop(): void {
    const reason = new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
    this.#unlisten?.();
    for (const task of this.#tasks.values()) this.#sessionEnded(task);
    for (const task of this.#tasks.values()) task.dispose(reason, fromWireError(shuttingDown));
    this.#tasks.clear();
    this.#calls?.stop();
  }

  #ensureQuota(party: string | undefined): void {
    if (party !== undefined) this.#ensureQuotaOf(this.#counts.of(party), 1);
    this.#ensureQuotaOf(this.#counts.all, party === undefined ? 1 : maxClientsAtLimit);
  }

  /** @param times multiple of the limits of one client */
  #ensureQuotaOf(tally: TaskCount, times: number): void {
    const { limits } = this.#session;
    const [maxTasks, maxKeptTasks] = [limits.maxTasks * times, limits.maxKeptTasks * times];
    if (tally.running >= maxTasks) {
      throw this.#tooMany(`${maxTasks} tasks run; try again when one of them has ended`);
    }
    if (tally.kept >= maxKeptTasks) this.#forgetExpiredParked();
    if (tally.kept < maxKeptTasks) return;
    // Only cancelled tasks are evicted: the time to live of others was promised to their clients.
    const [oldest = ''] = tally.cancelled;
    const cancelled = this.#tasks.get(oldest);
    if (!cancelled) throw this.#tooManyKept(maxKeptTasks);
    this.#forget(cancelled);
  }

  /** Reserves memory for the request that becomes a task. */
  #retain({ request: { origin, size } }: RequestContext): Reservation {
    const { quotas, limits } = this.#session;
    const { maxRetainedBytes: max } = limits;
    const retained = quotas.reserve(origin?.clientKey, size, max);
    if (retained) return retained;
    throw this.#tooMany(
      `what is kept for the client may come to ${max} bytes, and this task of ${size} would be more; try again when another one has ended or expired`,
    );
  }

  #tooManyKept(max: number): ProtocolError {
    return this.#tooMany(`${max} tasks are kept; try again when one of them has expired`);
  }

  #tooMany(message: string): ProtocolError {
    this.#report({ level: 'warning', name: 'request.refused', message });
    const data = { reason: 'too-many-tasks', retryable: true };
    return new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }

  /**
   * Copies a response, so that the handler cannot change it later. Replaces a result that JSON cannot represent, or
   * that exceeds the client's memory limit, by an error.
   */
  #copyResponse(task: LiveTask, response: OutboundResponse): OutboundResponse {
    try {
      const text = JSON.stringify(response);
      const { maxRetainedBytes: max } = this.#session.limits;
      if (!task.retained.resize(text.length, max)) {
        const message = `Task result of ${text.length} bytes exceeds the client's retained bytes (maxRetainedBytes ${max})`;
        this.#report({ level: 'warning', name: 'request.refused', message });
        return errorResponse(response.id, { code: ErrorCode.internalError, message });
      }
      const copy: unknown = JSON.parse(text);
      const { result, error }: JsonObject = isJsonObject(copy) ? copy : {};
      if ('error' in response) {
        const data = isJsonObject(error) ? error['data'] : undefined;
        return { ...response, error: { ...response.error, data } };
      }
      if (isJsonObject(result)) return { ...response, result };
      throw new TypeError(`as JSON it is ${inspectValue(result)}`);
    } catch (error) {
      this.#report({
        level: 'error',
        name: 'response.unserializable',
        message: `Task result is not serializable as JSON: ${textOfError(error)}`,
        details: { error },
      });
      return errorResponse(response.id, internalError);
    }
  }

  #onChanged(task: LiveTask, now: Task, dialect: Dialect): void {
    if (task.isCall) {
      if (hasEnded(now)) this.#reportTask('task.ended', task, now.status);
      return this.#calls?.changed(task.taskId);
    }
    this.#notice({
      method: taskChanged,
      subject: task.taskId,
      params: () => dialect.task(task.latest(now)),
    });
    this.#session.send('notifications/tasks/status', { ...now });
    if (!hasEnded(now)) return;
    const isCancelled = now.status === 'cancelled';
    if (isCancelled) task.retained.resize(0, Infinity);
    this.#counts.move(task.taskId, isCancelled ? 'cancelled' : 'ended');
    this.#reportTask('task.ended', task, now.status);
    task.settleWaiters();
  }

  #onExpired(task: LiveTask): void {
    this.#reportTask('task.expired', task, 'its time to live is over');
    this.#forget(task);
  }

  /** Handles a crash of the machine, such as an invalid time: the task is lost, the session continues. */
  #onFailed(task: LiveTask, error: unknown): void {
    this.#report({
      level: 'error',
      name: 'handler.failed',
      message: `The task ${task.taskId} failed: ${textOfError(error)}`,
      details: { error },
    });
    this.#forget(task, fromWireError(internalError));
  }

  #forget(task: LiveTask, answer: ProtocolError = expired(task.taskId)): void {
    this.#tasks.delete(task.taskId);
    this.#counts.delete(task.taskId);
    this.#durable?.forget(task);
    task.dispose(new RuntimeError('CANCELLED', 'The time to live of the task is over'), answer);
    if (task.isCall) this.#calls?.changed(task.taskId);
  }

  get #report(): Report<TaskFactName | ActorFactName | 'machine.log'> {
    return this.#session.report;
  }

  #reportTask(
    name: 'task.created' | 'task.ended' | 'task.expired',
    { taskId }: LiveTask,
    what: string,
  ) {
    const message = `${isCallRecord(taskId) ? 'The call' : 'The task'} ${taskId}: ${what}`;
    this.#report({ level: 'debug', name, message, details: { taskId } });
  }
}
