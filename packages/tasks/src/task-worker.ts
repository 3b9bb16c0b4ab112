/**
 * The tasks of one process that are written down: it has one lease for all that it runs, hears of what
 * others do to them, and goes on with what is due, and with what processes have left that have ended.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { OnceFn } from '../../../src/actors/request-context.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { ErrorCode, errorResponse, textOfError } from '../../../src/protocol/errors.ts';
import type { WireError } from '../../../src/protocol/frames.ts';
import { ResumedTask, endedTask, isQuotaExceeded, loadTask } from './stored-task.ts';
import type {
  LoadedTask,
  WaitingHost,
  TaskWorkerFactName,
  TaskResumer,
  TaskRunner,
  StoredTask,
} from './stored-task.ts';
import { stepKeys } from './step-history.ts';
import type { HostStep, StepHistory } from './step-history.ts';
import { isCallRecord } from './task-ids.ts';
import { isSealed } from './sealed-task-store.ts';
import type {
  UnfencedClaim,
  ClaimedTasks,
  FoundTask,
  TaskClaim,
  TaskListRequest,
  TaskProgress,
  TaskRecord,
  TaskStep,
  TaskStore,
  WriteResult,
} from './task-store.ts';

/** What a worker of tasks is made of. */
export interface TaskWorkerOptions {
  /** Where they are written down. It is closed with the worker. */
  readonly store: TaskStore;
  /** The server whose tasks it can run. */
  readonly server: string;
  /** When to look after the store. */
  readonly clock: Clock;
  /** Hears what happens. */
  readonly report: Report<TaskWorkerFactName>;
  /** Makes what goes on with tasks; without it none goes on here. */
  readonly resumer?: ((worker: TaskWorker) => TaskResumer) | undefined;
  /** Bounds of the tasks that go on. */
  readonly limits?: TaskWorkerLimits | undefined;
}

/** Bounds of the tasks of a process that go on. */
export interface TaskWorkerLimits {
  /** How many times a task goes on after its process has ended. */
  readonly maxRestarts: number;
  /** How many tasks that go on run here at once. */
  readonly maxTasks: number;
  /** Time that a call waits for an absent host, ms. Default: 5 minutes. */
  readonly abandonedMs?: number | undefined;
}

/** How long to wait for a store that is away, milliseconds. */
const retryMs = 1000;
/** How often to look what others do, at least, milliseconds. */
const heartbeatMs = 3000;
/** How many tasks are claimed at a time. */
const claimBatchSize = 100;
/** How long a task that cannot go on here is left to others alone, milliseconds. */
const refusalMs = 30_000;
/** The longest wait before a task goes on whose process ends again and again, milliseconds. */
const maxBackoffMs = 60_000;

const processEnded = (message: string): WireError => ({
  code: ErrorCode.serverUnavailable,
  message,
  data: { reason: 'process-ended', retryable: false },
});

const noLimits: TaskWorkerLimits = { maxRestarts: 5, maxTasks: 64 };

/** Writes tasks down, and knows of those that others have written: see {@link TaskStore}. */
export class TaskWorker {
  readonly #options: TaskWorkerOptions;
  readonly #owner = crypto.randomUUID();
  /** The tasks that run here. */
  readonly #running = new Map<string, TaskClaim & TaskRunner>();
  /** What is to be written before this ends. */
  readonly #pendingWrites = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #heartbeat: unknown = undefined;
  /** The look at the store that a beat has begun, and the claims that follow it. */
  #polling: Promise<void> | undefined = undefined;
  #changesSeen: number | undefined = undefined;
  /** Tasks that the store has said have changed, until they were read. */
  readonly #changed = new Set<string>();
  /** Settles after the last look at what others have done. Looks are made one after the other: none tells what another has told. */
  #reads: Promise<void> = Promise.resolve();
  #nextRead: Promise<void> | undefined = undefined;
  readonly #resumer: TaskResumer | undefined;
  readonly #limits: TaskWorkerLimits;
  /** The tasks that go on here. */
  readonly #resumed = new Set<string>();
  /** How often something of a task is under way that does not run here, or not yet: it begins, ends, was claimed. */
  readonly #inProgress = new Map<string, number>();
  /** Claims are made one after the other: what one has brought is known before the next. */
  #claims: Promise<void> = Promise.resolve();
  /**
   * Until then, by the clock, the store may have tasks of this process that it knows nothing of: the answer to a claim or a
   * creation was lost. Infinity until the store answers again.
   */
  #uncertainUntil = -Infinity;
  /** Those whose clients were told that they cannot be begun. The store may have them all the same. */
  readonly #failedCreations = new BoundedMap<string, true>(1000);
  /** Those that cannot go on here, and until when others alone may try, by the clock. */
  readonly #refused = new BoundedMap<string, number>(100);
  /** When the next parked task is due, before the next beat. */
  #claimTimer: unknown = undefined;
  /** The store's clock less ours, milliseconds. */
  #aheadMs = 0;
  #unwatch: (() => void) | undefined = undefined;
  readonly #listeners = new Set<(taskId: string) => void>();
  /** The calls whose hosts wait here, and the sessions that continue them. */
  readonly #waitingHosts = new Map<string, WaitingHost>();

  /** Call {@link start} before any other method. */
  constructor(options: TaskWorkerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? noLimits;
    this.#resumer = options.resumer?.(this);
  }

  /** Whether tasks go on here. */
  get canResume(): boolean {
    return this.#resumer !== undefined;
  }

  /** The store's clock, milliseconds since 1970. */
  now(): number {
    return this.#options.clock.now() + this.#aheadMs;
  }

  /** The lease of this process, as records name it. */
  get owner(): string {
    return this.#owner;
  }

  /** Calls back when others may have changed a task. @returns ends it */
  listen(listener: (taskId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All tasks of the store, in pages. @throws what the store throws */
  list(request: TaskListRequest): Promise<readonly FoundTask[]> {
    return this.#options.store.list(request);
  }

  /** Takes the lease, and looks after what others have left. @throws what the store throws */
  async start(): Promise<void> {
    const { store } = this.#options;
    await store.lease(this.#owner);
    // What others have left may take longer than a lease lasts.
    this.#scheduleHeartbeat();
    await this.#readChanges();
    await this.#claimDue();
    this.#unwatch = store.watch?.(() => void this.#onStoreChange());
  }

  /** Brings a recorded call to a session whose host waits: claims it and calls back to resume it, unless a living process
   * runs it. Until {@link detachHost} the callback also gets the call if it becomes free later.
   * @returns the record as it is then; undefined if none is kept
   * @throws what the store throws
   */
  async attachHost(taskId: string, attendant: WaitingHost): Promise<LoadedTask | undefined> {
    this.#waitingHosts.set(taskId, attendant);
    const { store } = this.#options;
    // Another look at what is due may park the call meanwhile, because its host was not here yet.
    for (let attempt = 1; ; attempt++) {
      const found = await store.read(taskId);
      if (!found || !this.#isKnown(found.record)) return undefined;
      const { record, isOwned } = found;
      const written = loadTask(record);
      const { host } = written.steps;
      if (written.hasEnded || this.#running.has(taskId) || attempt > 2) return written;
      if (isOwned && record.owner !== this.#owner) {
        const wasHosts = host !== undefined && 'owner' in host && host.owner === record.owner;
        if (!attendant.isOwnerDead || !wasHosts) return written;
        await store.leave(record.owner);
      }
      const isAway = host !== undefined && 'awaySince' in host;
      // Anybody's write makes it due.
      if (isAway && record.dueInMs) await store.append({ taskId }, { steps: [] });
      await this.#claimDue(taskId);
    }
  }

  /** The step that says that the host of a call is connected to this process. */
  hostStep(): TaskStep {
    const here: HostStep = { here: this.now(), owner: this.#owner };
    return { key: stepKeys.host, text: JSON.stringify(here) };
  }

  /** The host of a call no longer waits here. */
  detachHost(taskId: string): void {
    this.#waitingHosts.delete(taskId);
  }

  /** Time that a call waits for an absent host, ms. */
  get abandonedMs(): number {
    return this.#limits.abandonedMs ?? 300_000;
  }

  /** Writes a new task. @throws what the store throws */
  async create(
    written: StoredTask,
    runner: TaskRunner,
    [name, max]: readonly [name: string, max: number],
    steps: readonly TaskStep[] | undefined,
  ): Promise<TaskClaim> {
    const { store, server } = this.#options;
    const { taskId, ttl: ttlMs } = written.task;
    const text = JSON.stringify(written);
    const quota = { key: JSON.stringify([server, name]), max };
    const record = { taskId, server, owner: this.#owner, text, ttlMs, quota };
    return this.#trackWhile([taskId], async () => {
      try {
        const claim = await store.create(steps ? { ...record, steps } : record);
        this.track(claim, runner);
        return claim;
      } catch (error) {
        if (isQuotaExceeded(error)) throw error;
        this.#failedCreations.set(taskId, true);
        this.#uncertainUntil = Infinity;
        throw error;
      }
    });
  }

  /** What is done to these tasks, which are ours, is under way. */
  async #trackWhile<T>(taskIds: readonly string[], act: () => Promise<T>): Promise<T> {
    for (const id of taskIds) this.#inProgress.set(id, (this.#inProgress.get(id) ?? 0) + 1);
    try {
      return await act();
    } finally {
      for (const id of taskIds) {
        const left = (this.#inProgress.get(id) ?? 1) - 1;
        if (left > 0) this.#inProgress.set(id, left);
        else this.#inProgress.delete(id);
      }
    }
  }

  /** A task that was claimed runs. */
  track(claim: TaskClaim, runner: TaskRunner): void {
    const { taskId } = claim;
    this.#running.set(taskId, {
      ...claim,
      item: () => runner.item(),
      onOvertaken: () => runner.onOvertaken(),
      onSteps: (steps) => runner.onSteps(steps),
    });
  }

  /** Writes down how a task that runs here has ended. While the store is away it waits. */
  finish(claim: TaskClaim, written: StoredTask, isAwaited: () => boolean): Promise<WriteResult> {
    // What follows is its own doing.
    this.forget(claim.taskId);
    const what = `The end of the task ${claim.taskId}`;
    const finish = () => this.#finish(claim, written);
    return this.#trackWhile([claim.taskId], () => this.#write(what, finish, isAwaited));
  }

  /** Writes down how a task that runs here goes on. While the store is away it waits. */
  async append(
    claim: TaskClaim,
    progress: TaskProgress,
    isAwaited: () => boolean,
  ): Promise<WriteResult> {
    const { taskId } = claim;
    const { parkForMs } = progress;
    if (parkForMs !== undefined) this.forget(taskId);
    const what = `A step of the task ${taskId}`;
    const append = () => this.#options.store.append(claim, progress);
    const became = await this.#trackWhile([taskId], () => this.#write(what, append, isAwaited));
    if (parkForMs !== undefined) this.#scheduleClaim(parkForMs);
    return became;
  }

  /** See {@link TaskStore.appendWith}. */
  get appendWith() {
    const { store } = this.#options;
    if (!store.appendWith) return undefined;
    return async (claim: TaskClaim, key: string, make: OnceFn<string>): Promise<WriteResult> =>
      (await store.appendWith?.(claim, key, async (sql) => make({ sql }))) ?? 'ended';
  }

  async #write(
    what: string,
    write: () => Promise<WriteResult>,
    isAwaited: () => boolean,
  ): Promise<WriteResult> {
    const writing = this.#retry(what, write, isAwaited).finally(() =>
      this.#pendingWrites.delete(writing),
    );
    this.#pendingWrites.add(writing);
    return writing;
  }

  async #retry(
    what: string,
    write: () => Promise<WriteResult>,
    isAwaited: () => boolean,
  ): Promise<WriteResult> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        this.#reportStoreError(`${what} is not written yet`, error);
      }
      if (this.#closing.signal.aborted || !isAwaited()) return 'ended';
      await this.#pause();
    }
  }

  /** A cancelled task and an ended call make room for another one. */
  #finish(claim: UnfencedClaim | TaskClaim, written: StoredTask): Promise<WriteResult> {
    const text = JSON.stringify(written);
    // The result of a call is kept only for a host that has missed it.
    const letsGo = written.task.status === 'cancelled' || isCallRecord(claim.taskId);
    return this.#options.store.finish(claim, text, letsGo);
  }

  /** Ends a task that runs elsewhere. @throws what the store throws */
  async finishElsewhere(written: StoredTask): Promise<WriteResult> {
    const { taskId } = written.task;
    const became = await this.#finish({ taskId }, written);
    await this.#refresh(taskId);
    return became;
  }

  /** Adds to a task that runs elsewhere. @throws what the store throws */
  async appendElsewhere(taskId: string, steps: readonly TaskStep[]): Promise<WriteResult> {
    const became = await this.#options.store.append({ taskId }, { steps });
    await this.#refresh(taskId);
    // If it was parked, it is due.
    if (became === 'written') this.#scheduleClaim(0);
    return became;
  }

  /** The end of a task that runs here is no longer awaited. */
  forget(taskId: string): void {
    this.#running.delete(taskId);
    // There is room for another one.
    if (this.#resumed.delete(taskId)) this.#scheduleClaim(0);
  }

  /** The task as it is now; undefined if none is kept. @throws what the store throws */
  async find(taskId: string): Promise<LoadedTask | undefined> {
    const found = await this.#options.store.read(taskId);
    if (!found || !this.#isKnown(found.record)) return undefined;
    const { record, isOwned } = found;
    const isOurs = record.owner === this.#owner || this.#isRefused(taskId);
    const isLeft = record.state === 'open' && !isOwned && record.dueInMs === undefined;
    if (!isLeft || isOurs || isCallRecord(taskId)) return this.#withLiveStatus(record);
    await this.#claimDue(taskId);
    const after = await this.#options.store.read(taskId);
    return after && this.#withLiveStatus(after.record);
  }

  /** True for tasks of this server that a state key opens: others do not exist for its clients. */
  #isKnown({ server, text }: TaskRecord): boolean {
    return server === this.#options.server && !isSealed(text);
  }

  /** What runs here and cannot go on elsewhere says more of itself than is written. */
  #withLiveStatus(record: TaskRecord): LoadedTask {
    const found = loadTask(record);
    const running = this.#running.get(record.taskId);
    if (found.hasEnded || found.steps.call || running?.fence !== record.fence) return found;
    return { ...found, task: running.item(), isHere: true };
  }

  /** Ends when what has to be written is written, or cannot be. Never rejects. */
  async close(): Promise<void> {
    const { store, clock } = this.#options;
    clock.clearTimeout(this.#heartbeat);
    clock.clearTimeout(this.#claimTimer);
    this.#unwatch?.();
    await this.#resumer?.close();
    this.#closing.abort();
    // A beat may have been under way.
    clock.clearTimeout(this.#heartbeat);
    await Promise.allSettled(this.#pendingWrites);
    try {
      await store.leave(this.#owner);
    } catch (error) {
      this.#reportStoreError('The lease is left to end by itself', error);
    }
    try {
      await store.close();
    } catch (error) {
      this.#reportStoreError('The last writes may be lost', error);
    }
  }

  /** Claims what belongs to nobody and what is due, and goes on with it, or says that it cannot go on. */
  #claimDue(taskId?: string): Promise<void> {
    const claims = this.#claims.then(() => this.#claimAll(taskId));
    this.#claims = claims.catch(() => {});
    return claims;
  }

  async #claimAll(taskId: string | undefined): Promise<void> {
    for (;;) {
      const room = this.#resumer ? this.#limits.maxTasks - this.#resumed.size : claimBatchSize;
      const max = taskId === undefined ? Math.min(room, claimBatchSize) : 1;
      if (max <= 0 || this.#closing.signal.aborted) return;
      const { tasks, nextInMs } = await this.#claim(taskId, max);
      const ids = tasks.map((record) => record.taskId);
      await this.#trackWhile(ids, async () => {
        for (const record of tasks) await this.#resume(record);
      });
      if (tasks.length === max && taskId === undefined) continue;
      if (nextInMs !== undefined) this.#scheduleClaim(nextInMs);
      return;
    }
  }

  /** If an answer was lost, what the store has for us and we know nothing of is claimed, too. */
  async #claim(taskId: string | undefined, max: number): Promise<ClaimedTasks> {
    const { store, server, clock } = this.#options;
    const isUnsure = clock.now() < this.#uncertainUntil;
    const known = [this.#running, this.#resumed, this.#inProgress].flatMap((ids) => [
      ...ids.keys(),
    ]);
    const held = isUnsure ? [...new Set(known)] : undefined;
    const except = [...this.#refused.keys()].filter((id) => this.#isRefused(id));
    const request = { owner: this.#owner, server, taskId, max, except, held };
    try {
      const claimed = await store.claim(request);
      // What was sent before may still arrive.
      if (this.#uncertainUntil === Infinity) this.#uncertainUntil = clock.now() + store.leaseMs;
      return claimed;
    } catch (error) {
      this.#uncertainUntil = Infinity;
      throw error;
    }
  }

  #isRefused(taskId: string): boolean {
    return (this.#refused.get(taskId) ?? -Infinity) > this.#options.clock.now();
  }

  async #resume(record: TaskRecord): Promise<void> {
    const { store, report } = this.#options;
    const { taskId, claims } = record;
    if (isSealed(record.text)) return this.#refuse(record, 'no state key of this server opens it');
    const found = loadTask(record);
    const { steps } = found;
    const { call } = steps;
    if (this.#failedCreations.has(taskId)) return this.#cancelFailedCreation(record);
    const resumer = isCallRecord(taskId) ? this.#waitingHosts.get(taskId) : this.#resumer;
    if (call?.isResendable && !resumer) return this.#parkForHost(record, steps);
    if (!call || !resumer) return this.#failOrphan(record, 'The process that ran it has ended');
    if (isCallRecord(taskId)) {
      if ((await store.append(record, { steps: [this.hostStep()] })) !== 'written') return;
    }
    const { maxRestarts } = this.#limits;
    if (claims > maxRestarts) {
      const times = claims === 1 ? 'once' : `${claims} times`;
      const why = `The process that ran it has ended ${times}, and it may go on ${maxRestarts} times`;
      return this.#failOrphan(record, why);
    }
    if (claims > 1 && claims > steps.restarts) {
      const parkForMs = Math.min(1000 * 2 ** (claims - 2), maxBackoffMs);
      const waited = { key: stepKeys.restarts, text: JSON.stringify(claims) };
      await store.append(record, { steps: [waited], parkForMs });
      return this.#scheduleClaim(parkForMs);
    }
    if (!isCallRecord(taskId)) this.#resumed.add(taskId);
    const refusal = resumer.resume(new ResumedTask(record, found.task, steps, call));
    if (refusal === undefined) {
      const details = { taskId, claims };
      const message = `The task ${taskId} goes on`;
      return report({ level: 'debug', name: 'task.resumed', message, details });
    }
    this.#resumed.delete(taskId);
    if (isCallRecord(taskId)) return this.#failOrphan(record, `It cannot be resumed: ${refusal}`);
    return this.#refuse(record, refusal);
  }

  /** Leaves a call to the process that its host comes back to, and cancels a call whose host stays away. */
  async #parkForHost(record: TaskRecord, { host }: StepHistory): Promise<void> {
    const now = this.now();
    const since = host && 'awaySince' in host ? host.awaySince : now;
    const leftMs = since + this.abandonedMs - now;
    if (leftMs > 0) {
      const away = { key: stepKeys.host, text: JSON.stringify({ awaySince: since }) };
      await this.#options.store.append(record, { steps: [away], parkForMs: leftMs });
      return this.#scheduleClaim(leftMs);
    }
    const { task, principal } = loadTask(record);
    const why = `Its host stayed away for ${this.abandonedMs} ms`;
    await this.#finish(record, { task: endedTask(task, now, undefined, why), principal });
    const message = `The call ${record.taskId} was cancelled: ${why}`;
    this.#options.report({ level: 'warning', name: 'call.abandoned', message });
  }

  /** Gives a claimed task back, and leaves it to other processes for a while. */
  async #refuse(record: TaskRecord, why: string): Promise<void> {
    const { store, report, clock } = this.#options;
    const { taskId } = record;
    const message = `The task ${taskId} does not go on here: ${why}`;
    report({ level: 'warning', name: 'task.refused', message, details: { taskId } });
    this.#refused.delete(taskId);
    this.#refused.set(taskId, clock.now() + refusalMs);
    await store.append(record, { steps: [], parkForMs: 0, isAnnounced: true });
  }

  /** Its client was told that it cannot be begun. */
  async #cancelFailedCreation(record: TaskRecord): Promise<void> {
    const { task, principal } = loadTask(record);
    const why = 'Its client was told that it could not be begun';
    const ended = endedTask(task, this.now(), undefined, why);
    await this.#finish(record, { task: ended, principal });
  }

  async #failOrphan(record: TaskRecord, why: string): Promise<void> {
    const { report } = this.#options;
    const { task, principal } = loadTask(record);
    const response = errorResponse(undefined, processEnded(why));
    const ended = endedTask(task, this.now(), response);
    await this.#finish(record, { task: ended, principal, response });
    const message = `The process that ran the task ${record.taskId} has ended`;
    report({ level: 'warning', name: 'task.orphaned', message });
  }

  /** Something is due, perhaps before the next beat. */
  #scheduleClaim(ms: number): void {
    const { clock } = this.#options;
    if (ms >= heartbeatMs || this.#closing.signal.aborted || !this.#resumer) return;
    const due = async () => {
      try {
        await this.#claimDue();
      } catch (error) {
        this.#reportStoreError('What is due waits', error);
      }
    };
    clock.clearTimeout(this.#claimTimer);
    this.#claimTimer = clock.setTimeout(() => void due(), ms);
  }

  #scheduleHeartbeat(): void {
    const { clock, store } = this.#options;
    this.#heartbeat = clock.setTimeout(
      () => void this.#sendHeartbeat(),
      Math.min(store.leaseMs / 3, heartbeatMs),
    );
  }

  /** Prolongs the lease, whatever else is under way. */
  async #sendHeartbeat(): Promise<void> {
    try {
      await this.#options.store.lease(this.#owner);
      if (this.#polling === undefined) this.#polling = this.#poll();
    } catch (error) {
      this.#reportStoreError('The lease of this process is not prolonged', error);
    }
    if (!this.#closing.signal.aborted) this.#scheduleHeartbeat();
  }

  /** Looks what others have done, and claims what is due. Never rejects. */
  async #poll(): Promise<void> {
    try {
      await this.#readChanges();
      await this.#claimDue();
    } catch (error) {
      this.#reportStoreError('What others have done is not known', error);
    }
    this.#polling = undefined;
  }

  /** Looks what others have done, and what time it is: once more after a look that is under way, however many ask. */
  #readChanges(): Promise<void> {
    return (this.#nextRead ??= this.#reads.then(() => {
      this.#nextRead = undefined;
      const looking = this.#readChangesOnce();
      this.#reads = looking.catch(() => {});
      return looking;
    }));
  }

  async #readChangesOnce(): Promise<void> {
    const { store, clock } = this.#options;
    const { upTo, taskIds, now } = await store.changes(this.#changesSeen);
    this.#aheadMs = now - clock.now();
    this.#changesSeen = upTo;
    for (const taskId of taskIds) this.#changed.add(taskId);
    for (const taskId of this.#changed) {
      await this.#refresh(taskId);
      this.#changed.delete(taskId);
      for (const listener of this.#listeners) listener(taskId);
    }
  }

  /** The store has told that something has changed. */
  async #onStoreChange(): Promise<void> {
    try {
      await this.#readChanges();
      this.#scheduleClaim(0);
    } catch (error) {
      this.#reportStoreError('What others have done is not known', error);
    }
  }

  /** Somebody has done something to a task. */
  async #refresh(taskId: string): Promise<void> {
    const running = this.#running.get(taskId);
    if (!running) return;
    const record = (await this.#options.store.read(taskId))?.record;
    if (this.#running.get(taskId) !== running) return;
    if (record?.state === 'open' && record.fence === running.fence) {
      return running.onSteps(loadTask(record).steps);
    }
    this.forget(taskId);
    const message = `Another process has ended or claimed the task ${taskId}`;
    this.#options.report({ level: 'warning', name: 'task.overtaken', message });
    running.onOvertaken();
  }

  #pause(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, retryMs);
      const end = () => {
        clock.clearTimeout(timer);
        resolve();
      };
      signal.addEventListener('abort', end, { once: true });
    });
  }

  #reportStoreError(what: string, error: unknown): void {
    const message = `${what}: ${textOfError(error)}`;
    this.#options.report({ level: 'error', name: 'tasks.away', message, details: { error } });
  }
}
