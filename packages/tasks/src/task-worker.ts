/**
 * Runs the durable tasks of one process. A worker holds one lease for all its tasks, follows the changes that other
 * processes make to them, and claims tasks that are due or whose process has ended.
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

/** Options of a task worker. */
export interface TaskWorkerOptions {
  /** Store of the tasks. Closed with the worker. */
  readonly store: TaskStore;
  /** Name of the server whose tasks the worker can run. */
  readonly server: string;
  readonly clock: Clock;
  /** Receives log facts. */
  readonly report: Report<TaskWorkerFactName>;
  /** Creates the resumer of claimed tasks. Without it, this process resumes none. */
  readonly resumer?: ((worker: TaskWorker) => TaskResumer) | undefined;
  /** Limits on resumed tasks. */
  readonly limits?: TaskWorkerLimits | undefined;
}

/** Limits on the tasks that a process resumes. */
export interface TaskWorkerLimits {
  /** Maximum number of restarts of a task after its process has ended. */
  readonly maxRestarts: number;
  /** Maximum number of resumed tasks that run at once. */
  readonly maxTasks: number;
  /** Time after which a call without a host is cancelled, ms. Default: 5 minutes. */
  readonly abandonedMs?: number | undefined;
}

/** Delay between retries while the store is unavailable, milliseconds. */
const retryMs = 1000;
/** Maximum interval between heartbeats, milliseconds. */
const heartbeatMs = 3000;
/** Maximum number of tasks per claim. */
const claimBatchSize = 100;
/** Time for which a task that cannot be resumed here is left to other processes, milliseconds. */
const refusalMs = 30_000;
/** Maximum backoff before resuming a task whose process keeps ending, milliseconds. */
const maxBackoffMs = 60_000;

const processEnded = (message: string): WireError => ({
  code: ErrorCode.serverUnavailable,
  message,
  data: { reason: 'process-ended', retryable: false },
});

const noLimits: TaskWorkerLimits = { maxRestarts: 5, maxTasks: 64 };

/** The worker of one process: stores, claims and resumes tasks. See {@link TaskStore}. */
export class TaskWorker {
  readonly #options: TaskWorkerOptions;
  readonly #owner = crypto.randomUUID();
  /** Tasks that run here. */
  readonly #running = new Map<string, TaskClaim & TaskRunner>();
  /** Writes to finish before the worker closes. */
  readonly #pendingWrites = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #heartbeat: unknown = undefined;
  /** The poll begun by a heartbeat, with the claims that follow it. */
  #polling: Promise<void> | undefined = undefined;
  #changesSeen: number | undefined = undefined;
  /** Changed tasks that were not read yet. */
  readonly #changed = new Set<string>();
  /** Settles after the last read of changes. Reads are sequential, so no change is delivered twice. */
  #reads: Promise<void> = Promise.resolve();
  #nextRead: Promise<void> | undefined = undefined;
  readonly #resumer: TaskResumer | undefined;
  readonly #limits: TaskWorkerLimits;
  /** Ids of resumed tasks that run here. */
  readonly #resumed = new Set<string>();
  /** Operations in progress per task that does not, or not yet, run here. */
  readonly #inProgress = new Map<string, number>();
  /** Claims are sequential: the tasks of one are known before the next. */
  #claims: Promise<void> = Promise.resolve();
  /**
   * Clock time until which the store may hold tasks of this process that it does not know of, because the reply to a
   * claim or creation was lost. Infinity until the store answers again.
   */
  #uncertainUntil = -Infinity;
  /** Tasks whose creation was reported as failed. The store may hold them nevertheless. */
  readonly #failedCreations = new BoundedMap<string, true>(1000);
  /** Tasks that cannot be resumed here, with the clock time until which only other processes may try. */
  readonly #refused = new BoundedMap<string, number>(100);
  /** Timer for a parked task that is due before the next heartbeat. */
  #claimTimer: unknown = undefined;
  /** The store's clock minus ours, milliseconds. */
  #aheadMs = 0;
  #unwatch: (() => void) | undefined = undefined;
  readonly #listeners = new Set<(taskId: string) => void>();
  /** Hosts that wait here for recorded calls, by task id. */
  readonly #waitingHosts = new Map<string, WaitingHost>();

  /** Call {@link start} before any other method. */
  constructor(options: TaskWorkerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? noLimits;
    this.#resumer = options.resumer?.(this);
  }

  /** True if this process resumes tasks. */
  get canResume(): boolean {
    return this.#resumer !== undefined;
  }

  /** The store's clock, milliseconds since 1970. */
  now(): number {
    return this.#options.clock.now() + this.#aheadMs;
  }

  /** Name of this process's lease in the store. */
  get owner(): string {
    return this.#owner;
  }

  /** Calls back when another process may have changed a task. @returns unsubscribes */
  listen(listener: (taskId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Lists all tasks of the store, in pages. @throws the store's error */
  list(request: TaskListRequest): Promise<readonly FoundTask[]> {
    return this.#options.store.list(request);
  }

  /** Takes the lease, and claims due and abandoned tasks. @throws the store's error */
  async start(): Promise<void> {
    const { store } = this.#options;
    await store.lease(this.#owner);
    // Claiming abandoned tasks may take longer than a lease lasts.
    this.#scheduleHeartbeat();
    await this.#readChanges();
    await this.#claimDue();
    this.#unwatch = store.watch?.(() => void this.#onStoreChange());
  }

  /**
   * Claims a recorded call for a host that waits here, and resumes it, unless a live process runs it. Until
   * {@link detachHost}, the host also gets the call if it becomes claimable later.
   * @returns the call as stored afterwards; undefined if it does not exist
   * @throws the store's error
   */
  async attachHost(taskId: string, attendant: WaitingHost): Promise<LoadedTask | undefined> {
    this.#waitingHosts.set(taskId, attendant);
    const { store } = this.#options;
    // A concurrent claim may have parked the call before its host was registered here.
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
      // A write without a fence makes the call due.
      if (isAway && record.dueInMs) await store.append({ taskId }, { steps: [] });
      await this.#claimDue(taskId);
    }
  }

  /** The step that records that a call's host is connected to this process. */
  hostStep(): TaskStep {
    const here: HostStep = { here: this.now(), owner: this.#owner };
    return { key: stepKeys.host, text: JSON.stringify(here) };
  }

  /** The host of a call no longer waits here. */
  detachHost(taskId: string): void {
    this.#waitingHosts.delete(taskId);
  }

  /** Time after which a call without a host is cancelled, ms. */
  get abandonedMs(): number {
    return this.#limits.abandonedMs ?? 300_000;
  }

  /** Stores a new task. @throws the store's error */
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

  /** Marks own tasks as in progress during an operation. */
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

  /** Registers a claimed task as running here. */
  track(claim: TaskClaim, runner: TaskRunner): void {
    const { taskId } = claim;
    this.#running.set(taskId, {
      ...claim,
      item: () => runner.item(),
      onOvertaken: () => runner.onOvertaken(),
      onSteps: (steps) => runner.onSteps(steps),
    });
  }

  /**
   * Stores the end of a task that runs here. Retries while the store is unavailable.
   * @returns `ended` also if the end is no longer awaited
   */
  finish(claim: TaskClaim, written: StoredTask, isAwaited: () => boolean): Promise<WriteResult> {
    // Later changes are this process's own.
    this.forget(claim.taskId);
    const what = `End of task ${claim.taskId}`;
    const finish = () => this.#finish(claim, written);
    return this.#trackWhile([claim.taskId], () => this.#write(what, finish, isAwaited));
  }

  /** Stores progress of a task that runs here. Retries while the store is unavailable. */
  async append(
    claim: TaskClaim,
    progress: TaskProgress,
    isAwaited: () => boolean,
  ): Promise<WriteResult> {
    const { taskId } = claim;
    const { parkForMs } = progress;
    if (parkForMs !== undefined) this.forget(taskId);
    const what = `Step of task ${taskId}`;
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
        this.#reportStoreError(`${what} is not stored yet, retrying`, error);
      }
      if (this.#closing.signal.aborted || !isAwaited()) return 'ended';
      await this.#pause();
    }
  }

  /** Ends a stored task. Cancelled tasks and ended calls become evictable. */
  #finish(claim: UnfencedClaim | TaskClaim, written: StoredTask): Promise<WriteResult> {
    const text = JSON.stringify(written);
    // A call's result is kept only for a host that missed it.
    const letsGo = written.task.status === 'cancelled' || isCallRecord(claim.taskId);
    return this.#options.store.finish(claim, text, letsGo);
  }

  /** Ends a task that runs in another process. @throws the store's error */
  async finishElsewhere(written: StoredTask): Promise<WriteResult> {
    const { taskId } = written.task;
    const became = await this.#finish({ taskId }, written);
    await this.#refresh(taskId);
    return became;
  }

  /** Adds steps to a task that runs in another process. @throws the store's error */
  async appendElsewhere(taskId: string, steps: readonly TaskStep[]): Promise<WriteResult> {
    const became = await this.#options.store.append({ taskId }, { steps });
    await this.#refresh(taskId);
    // A parked task is now due.
    if (became === 'written') this.#scheduleClaim(0);
    return became;
  }

  /** Stops tracking a task that runs here. */
  forget(taskId: string): void {
    this.#running.delete(taskId);
    // A slot is free for another task.
    if (this.#resumed.delete(taskId)) this.#scheduleClaim(0);
  }

  /** Finds a task; undefined if it does not exist. @throws the store's error */
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

  /** True for tasks of this server that a state key opens. Clients cannot see others. */
  #isKnown({ server, text }: TaskRecord): boolean {
    return server === this.#options.server && !isSealed(text);
  }

  /** Decodes a record. A task that runs here without a journal has a more recent state in memory. */
  #withLiveStatus(record: TaskRecord): LoadedTask {
    const found = loadTask(record);
    const running = this.#running.get(record.taskId);
    if (found.hasEnded || found.steps.call || running?.fence !== record.fence) return found;
    return { ...found, task: running.item(), isHere: true };
  }

  /** Releases the tasks and the store. Resolves once pending writes have settled; never rejects. */
  async close(): Promise<void> {
    const { store, clock } = this.#options;
    clock.clearTimeout(this.#heartbeat);
    clock.clearTimeout(this.#claimTimer);
    this.#unwatch?.();
    await this.#resumer?.close();
    this.#closing.abort();
    // A heartbeat in progress may have scheduled the next.
    clock.clearTimeout(this.#heartbeat);
    await Promise.allSettled(this.#pendingWrites);
    try {
      await store.leave(this.#owner);
    } catch (error) {
      this.#reportStoreError('The lease was not released and will expire', error);
    }
    try {
      await store.close();
    } catch (error) {
      this.#reportStoreError('The store did not close cleanly; the last writes may be lost', error);
    }
  }

  /** Claims abandoned and due tasks, and resumes or fails each. */
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

  /** Also claims tasks that the store assigned to us in a reply we never received. */
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
      // Requests sent earlier may still reach the store.
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
      const why = `Restart limit reached: its process ended ${times} (maxRestarts ${maxRestarts})`;
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
      const message = `Resumed task ${taskId}`;
      return report({ level: 'debug', name: 'task.resumed', message, details });
    }
    this.#resumed.delete(taskId);
    if (isCallRecord(taskId)) return this.#failOrphan(record, `Call cannot be resumed: ${refusal}`);
    return this.#refuse(record, refusal);
  }

  /** Parks a call until its host returns, or cancels it once the host has been away too long. */
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
    const why = `Its host did not return within ${this.abandonedMs} ms`;
    await this.#finish(record, { task: endedTask(task, now, undefined, why), principal });
    const message = `Cancelled call ${record.taskId}: ${why}`;
    this.#options.report({ level: 'warning', name: 'call.abandoned', message });
  }

  /** Parks a claimed task, and leaves it to other processes for a while. */
  async #refuse(record: TaskRecord, why: string): Promise<void> {
    const { store, report, clock } = this.#options;
    const { taskId } = record;
    const message = `Cannot resume task ${taskId} here: ${why}`;
    report({ level: 'warning', name: 'task.refused', message, details: { taskId } });
    this.#refused.delete(taskId);
    this.#refused.set(taskId, clock.now() + refusalMs);
    await store.append(record, { steps: [], parkForMs: 0, isAnnounced: true });
  }

  /** Cancels a task whose creation was reported to its client as failed. */
  async #cancelFailedCreation(record: TaskRecord): Promise<void> {
    const { task, principal } = loadTask(record);
    const why = 'Its creation was reported as failed';
    const ended = endedTask(task, this.now(), undefined, why);
    await this.#finish(record, { task: ended, principal });
  }

  async #failOrphan(record: TaskRecord, why: string): Promise<void> {
    const { report } = this.#options;
    const { task, principal } = loadTask(record);
    const response = errorResponse(undefined, processEnded(why));
    const ended = endedTask(task, this.now(), response);
    await this.#finish(record, { task: ended, principal, response });
    const message = `Process of task ${record.taskId} has ended`;
    report({ level: 'warning', name: 'task.orphaned', message });
  }

  /** Schedules a claim, unless the next heartbeat comes first. */
  #scheduleClaim(ms: number): void {
    const { clock } = this.#options;
    if (ms >= heartbeatMs || this.#closing.signal.aborted || !this.#resumer) return;
    const due = async () => {
      try {
        await this.#claimDue();
      } catch (error) {
        this.#reportStoreError('Could not claim due tasks', error);
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

  /** Renews the lease, independently of other operations. */
  async #sendHeartbeat(): Promise<void> {
    try {
      await this.#options.store.lease(this.#owner);
      if (this.#polling === undefined) this.#polling = this.#poll();
    } catch (error) {
      this.#reportStoreError('Could not renew the lease of this process', error);
    }
    if (!this.#closing.signal.aborted) this.#scheduleHeartbeat();
  }

  /** Reads changes of other processes, and claims due tasks. Never rejects. */
  async #poll(): Promise<void> {
    try {
      await this.#readChanges();
      await this.#claimDue();
    } catch (error) {
      this.#reportStoreError('What others have done is not known', error);
    }
    this.#polling = undefined;
  }

  /** Reads changes and the store's clock. Concurrent calls share one read after the current one. */
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

  /** Handles a change notification of the store. */
  async #onStoreChange(): Promise<void> {
    try {
      await this.#readChanges();
      this.#scheduleClaim(0);
    } catch (error) {
      this.#reportStoreError('What others have done is not known', error);
    }
  }

  /** Checks a running task after another process has changed it. */
  async #refresh(taskId: string): Promise<void> {
    const running = this.#running.get(taskId);
    if (!running) return;
    const record = (await this.#options.store.read(taskId))?.record;
    if (this.#running.get(taskId) !== running) return;
    if (record?.state === 'open' && record.fence === running.fence) {
      return running.onSteps(loadTask(record).steps);
    }
    this.forget(taskId);
    const message = `Another process has ended or claimed task ${taskId}`;
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
