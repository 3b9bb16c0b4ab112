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
import { DurableTasks, endedTask, isFull } from './durable-tasks.ts';
import type { DurableBook, RunningTask, TaskSession } from './durable-tasks.ts';
import { ResumedTask, readWritten } from './written-task.ts';
import type {
  FoundWrittenTask,
  Attendant,
  TaskKeeperFactName,
  TaskResumer,
  TaskRunner,
  TaskWriter,
  WrittenTask,
} from './written-task.ts';
import { stepKeys } from './written-steps.ts';
import type { HostStep, WrittenSteps } from './written-steps.ts';
import { isCallRecord } from './task-ids.ts';
import { isSealed } from './sealed-task-store.ts';
import type {
  AnyClaim,
  ClaimedTasks,
  FoundTask,
  TaskClaim,
  TaskListRequest,
  TaskProgress,
  TaskRecord,
  TaskStep,
  TaskStore,
  TaskWritten,
} from './task-store.ts';

/** What a keeper of tasks is made of. */
export interface TaskKeeperOptions {
  /** Where they are written down. It is closed with the keeper. */
  readonly store: TaskStore;
  /** The server whose tasks it can run. */
  readonly server: string;
  /** When to look after the store. */
  readonly clock: Clock;
  /** Hears what happens. */
  readonly report: Report<TaskKeeperFactName>;
  /** Makes what goes on with tasks; without it none goes on here. */
  readonly resumer?: ((keeper: TaskKeeper) => TaskResumer) | undefined;
  /** Bounds of the tasks that go on. */
  readonly limits?: KeeperLimits | undefined;
}

/** Bounds of the tasks of a process that go on. */
export interface KeeperLimits {
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
const beatMs = 3000;
/** How many tasks are claimed at a time. */
const claimedAtOnce = 100;
/** How long a task that cannot go on here is left to others alone, milliseconds. */
const refusedMs = 30_000;
/** The longest wait before a task goes on whose process ends again and again, milliseconds. */
const longestBackoffMs = 60_000;

const processEnded = (message: string): WireError => ({
  code: ErrorCode.serverUnavailable,
  message,
  data: { reason: 'process-ended', retryable: false },
});

const noLimits: KeeperLimits = { maxRestarts: 5, maxTasks: 64 };

/** Writes tasks down, and knows of those that others have written: see {@link TaskStore}. */
export class TaskKeeper implements TaskWriter {
  readonly #options: TaskKeeperOptions;
  readonly #owner = crypto.randomUUID();
  /** The tasks that run here. */
  readonly #running = new Map<string, TaskClaim & TaskRunner>();
  /** What is to be written before this ends. */
  readonly #unwritten = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #beat: unknown = undefined;
  /** The look at the store that a beat has begun, and the claims that follow it. */
  #tending: Promise<void> | undefined = undefined;
  #seen: number | undefined = undefined;
  /** Tasks that the store has said have changed, until they were read. */
  readonly #changed = new Set<string>();
  /** Settles after the last look at what others have done. Looks are made one after the other: none tells what another has told. */
  #looks: Promise<void> = Promise.resolve();
  #nextLook: Promise<void> | undefined = undefined;
  readonly #resumer: TaskResumer | undefined;
  readonly #limits: KeeperLimits;
  /** The tasks that go on here. */
  readonly #resumed = new Set<string>();
  /** How often something of a task is under way that does not run here, or not yet: it begins, ends, was claimed. */
  readonly #underWay = new Map<string, number>();
  /** Claims are made one after the other: what one has brought is known before the next. */
  #claims: Promise<void> = Promise.resolve();
  /**
   * Until then, by the clock, the store may have tasks of this process that it knows nothing of: the answer to a claim or a
   * creation was lost. Infinity until the store answers again.
   */
  #unsureUntil = -Infinity;
  /** Those whose clients were told that they cannot be begun. The store may have them all the same. */
  readonly #unbegun = new BoundedMap<string, true>(1000);
  /** Those that cannot go on here, and until when others alone may try, by the clock. */
  readonly #refused = new BoundedMap<string, number>(100);
  /** When the next parked task is due, before the next beat. */
  #dueTimer: unknown = undefined;
  /** The store's clock less ours, milliseconds. */
  #aheadMs = 0;
  #unwatch: (() => void) | undefined = undefined;
  readonly #listeners = new Set<(taskId: string) => void>();
  /** The calls whose hosts wait here, and the sessions that continue them. */
  readonly #attended = new Map<string, Attendant>();

  /** Call {@link begin} before any other method. */
  constructor(options: TaskKeeperOptions) {
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
  async begin(): Promise<void> {
    const { store } = this.#options;
    await store.lease(this.#owner);
    // What others have left may take longer than a lease lasts.
    this.#beatLater();
    await this.#lookAround();
    await this.#takeOver();
    this.#unwatch = store.watch?.(() => void this.#lookSoon());
  }

  /** See {@link TaskWriter.attend}. */
  async attend(taskId: string, attendant: Attendant): Promise<FoundWrittenTask | undefined> {
    this.#attended.set(taskId, attendant);
    const { store } = this.#options;
    // Another look at what is due may park the call meanwhile, because its host was not here yet.
    for (let attempt = 1; ; attempt++) {
      const found = await store.read(taskId);
      if (!found || !this.#isKnown(found.record)) return undefined;
      const { record, isOwned } = found;
      const written = readWritten(record);
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
      await this.#takeOver(taskId);
    }
  }

  /** The step that says that the host of a call is connected to this process. */
  hostStep(): TaskStep {
    const here: HostStep = { here: this.now(), owner: this.#owner };
    return { key: stepKeys.host, text: JSON.stringify(here) };
  }

  /** The host of a call no longer waits here. */
  unattend(taskId: string): void {
    this.#attended.delete(taskId);
  }

  /** Time that a call waits for an absent host, ms. */
  get abandonedMs(): number {
    return this.#limits.abandonedMs ?? 300_000;
  }

  /** The tasks of a session, in its book. */
  tasksOf<TTask extends RunningTask>(session: TaskSession, book: DurableBook<TTask>) {
    return new DurableTasks<TTask>(session, this, book);
  }

  /** See {@link TaskWriter.create}. @throws what the store throws */
  async create(
    written: WrittenTask,
    runner: TaskRunner,
    [name, max]: readonly [name: string, max: number],
    steps: readonly TaskStep[] | undefined,
  ): Promise<TaskClaim> {
    const { store, server } = this.#options;
    const { taskId, ttl: ttlMs } = written.task;
    const text = JSON.stringify(written);
    const share = { of: JSON.stringify([server, name]), max };
    const record = { taskId, server, owner: this.#owner, text, ttlMs, share };
    return this.#during([taskId], async () => {
      try {
        const claim = await store.create(steps ? { ...record, steps } : record);
        this.runs(claim, runner);
        return claim;
      } catch (error) {
        if (isFull(error)) throw error;
        this.#unbegun.set(taskId, true);
        this.#unsureUntil = Infinity;
        throw error;
      }
    });
  }

  /** What is done to these tasks, which are ours, is under way. */
  async #during<T>(taskIds: readonly string[], act: () => Promise<T>): Promise<T> {
    for (const id of taskIds) this.#underWay.set(id, (this.#underWay.get(id) ?? 0) + 1);
    try {
      return await act();
    } finally {
      for (const id of taskIds) {
        const left = (this.#underWay.get(id) ?? 1) - 1;
        if (left > 0) this.#underWay.set(id, left);
        else this.#underWay.delete(id);
      }
    }
  }

  /** A task that was claimed runs. */
  runs(claim: TaskClaim, runner: TaskRunner): void {
    const { taskId } = claim;
    this.#running.set(taskId, {
      ...claim,
      item: () => runner.item(),
      overtaken: () => runner.overtaken(),
      heard: (steps) => runner.heard(steps),
    });
  }

  /** Writes down how a task that runs here has ended. While the store is away it waits. */
  finish(claim: TaskClaim, written: WrittenTask, isAwaited: () => boolean): Promise<TaskWritten> {
    // What follows is its own doing.
    this.forget(claim.taskId);
    const what = `The end of the task ${claim.taskId}`;
    const finish = () => this.#finish(claim, written);
    return this.#during([claim.taskId], () => this.#written(what, finish, isAwaited));
  }

  /** Writes down how a task that runs here goes on. While the store is away it waits. */
  async append(
    claim: TaskClaim,
    progress: TaskProgress,
    isAwaited: () => boolean,
  ): Promise<TaskWritten> {
    const { taskId } = claim;
    const { parkForMs } = progress;
    if (parkForMs !== undefined) this.forget(taskId);
    const what = `A step of the task ${taskId}`;
    const append = () => this.#options.store.append(claim, progress);
    const became = await this.#during([taskId], () => this.#written(what, append, isAwaited));
    if (parkForMs !== undefined) this.#dueIn(parkForMs);
    return became;
  }

  /** See {@link TaskStore.appendWith}. */
  get appendWith() {
    const { store } = this.#options;
    if (!store.appendWith) return undefined;
    return async (claim: TaskClaim, key: string, make: OnceFn<string>): Promise<TaskWritten> =>
      (await store.appendWith?.(claim, key, async (sql) => make({ sql }))) ?? 'ended';
  }

  async #written(
    what: string,
    write: () => Promise<TaskWritten>,
    isAwaited: () => boolean,
  ): Promise<TaskWritten> {
    const writing = this.#tried(what, write, isAwaited).finally(() =>
      this.#unwritten.delete(writing),
    );
    this.#unwritten.add(writing);
    return writing;
  }

  async #tried(
    what: string,
    write: () => Promise<TaskWritten>,
    isAwaited: () => boolean,
  ): Promise<TaskWritten> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        this.#away(`${what} is not written yet`, error);
      }
      if (this.#closing.signal.aborted || !isAwaited()) return 'ended';
      await this.#pause();
    }
  }

  /** A cancelled task and an ended call make room for another one. */
  #finish(claim: AnyClaim | TaskClaim, written: WrittenTask): Promise<TaskWritten> {
    const text = JSON.stringify(written);
    // The result of a call is kept only for a host that has missed it.
    const letsGo = written.task.status === 'cancelled' || isCallRecord(claim.taskId);
    return this.#options.store.finish(claim, text, letsGo);
  }

  /** Ends a task that runs elsewhere. @throws what the store throws */
  async finishElsewhere(written: WrittenTask): Promise<TaskWritten> {
    const { taskId } = written.task;
    const became = await this.#finish({ taskId }, written);
    await this.#look(taskId);
    return became;
  }

  /** Adds to a task that runs elsewhere. @throws what the store throws */
  async appendElsewhere(taskId: string, steps: readonly TaskStep[]): Promise<TaskWritten> {
    const became = await this.#options.store.append({ taskId }, { steps });
    await this.#look(taskId);
    // If it was parked, it is due.
    if (became === 'written') this.#dueIn(0);
    return became;
  }

  /** The end of a task that runs here is no longer awaited. */
  forget(taskId: string): void {
    this.#running.delete(taskId);
    // There is room for another one.
    if (this.#resumed.delete(taskId)) this.#dueIn(0);
  }

  /** The task as it is now; undefined if none is kept. @throws what the store throws */
  async find(taskId: string): Promise<FoundWrittenTask | undefined> {
    const found = await this.#options.store.read(taskId);
    if (!found || !this.#isKnown(found.record)) return undefined;
    const { record, isOwned } = found;
    const isOurs = record.owner === this.#owner || this.#isRefused(taskId);
    const isLeft = record.state === 'open' && !isOwned && record.dueInMs === undefined;
    if (!isLeft || isOurs || isCallRecord(taskId)) return this.#seenHere(record);
    await this.#takeOver(taskId);
    const after = await this.#options.store.read(taskId);
    return after && this.#seenHere(after.record);
  }

  /** True for tasks of this server that a state key opens: others do not exist for its clients. */
  #isKnown({ server, text }: TaskRecord): boolean {
    return server === this.#options.server && !isSealed(text);
  }

  /** What runs here and cannot go on elsewhere says more of itself than is written. */
  #seenHere(record: TaskRecord): FoundWrittenTask {
    const found = readWritten(record);
    const running = this.#running.get(record.taskId);
    if (found.hasEnded || found.steps.call || running?.fence !== record.fence) return found;
    return { ...found, task: running.item(), isHere: true };
  }

  /** Ends when what has to be written is written, or cannot be. Never rejects. */
  async close(): Promise<void> {
    const { store, clock } = this.#options;
    clock.clearTimeout(this.#beat);
    clock.clearTimeout(this.#dueTimer);
    this.#unwatch?.();
    await this.#resumer?.close();
    this.#closing.abort();
    // A beat may have been under way.
    clock.clearTimeout(this.#beat);
    await Promise.allSettled(this.#unwritten);
    try {
      await store.leave(this.#owner);
    } catch (error) {
      this.#away('The lease is left to end by itself', error);
    }
    try {
      await store.close();
    } catch (error) {
      this.#away('The last writes may be lost', error);
    }
  }

  /** Claims what belongs to nobody and what is due, and goes on with it, or says that it cannot go on. */
  #takeOver(taskId?: string): Promise<void> {
    const claims = this.#claims.then(() => this.#claimAll(taskId));
    this.#claims = claims.catch(() => {});
    return claims;
  }

  async #claimAll(taskId: string | undefined): Promise<void> {
    for (;;) {
      const room = this.#resumer ? this.#limits.maxTasks - this.#resumed.size : claimedAtOnce;
      const max = taskId === undefined ? Math.min(room, claimedAtOnce) : 1;
      if (max <= 0 || this.#closing.signal.aborted) return;
      const { tasks, nextInMs } = await this.#claim(taskId, max);
      const ids = tasks.map((record) => record.taskId);
      await this.#during(ids, async () => {
        for (const record of tasks) await this.#goOn(record);
      });
      if (tasks.length === max && taskId === undefined) continue;
      if (nextInMs !== undefined) this.#dueIn(nextInMs);
      return;
    }
  }

  /** If an answer was lost, what the store has for us and we know nothing of is claimed, too. */
  async #claim(taskId: string | undefined, max: number): Promise<ClaimedTasks> {
    const { store, server, clock } = this.#options;
    const isUnsure = clock.now() < this.#unsureUntil;
    const known = [this.#running, this.#resumed, this.#underWay].flatMap((ids) => [...ids.keys()]);
    const held = isUnsure ? [...new Set(known)] : undefined;
    const except = [...this.#refused.keys()].filter((id) => this.#isRefused(id));
    const request = { owner: this.#owner, server, taskId, max, except, held };
    try {
      const claimed = await store.claim(request);
      // What was sent before may still arrive.
      if (this.#unsureUntil === Infinity) this.#unsureUntil = clock.now() + store.leaseMs;
      return claimed;
    } catch (error) {
      this.#unsureUntil = Infinity;
      throw error;
    }
  }

  #isRefused(taskId: string): boolean {
    return (this.#refused.get(taskId) ?? -Infinity) > this.#options.clock.now();
  }

  async #goOn(record: TaskRecord): Promise<void> {
    const { store, report } = this.#options;
    const { taskId, claims } = record;
    if (isSealed(record.text)) return this.#refuse(record, 'no state key of this server opens it');
    const found = readWritten(record);
    const { steps } = found;
    const { call } = steps;
    if (this.#unbegun.has(taskId)) return this.#revoked(record);
    const resumer = isCallRecord(taskId) ? this.#attended.get(taskId) : this.#resumer;
    if (call?.isResendable && !resumer) return this.#awaitHost(record, steps);
    if (!call || !resumer) return this.#orphaned(record, 'The process that ran it has ended');
    if (isCallRecord(taskId)) {
      if ((await store.append(record, { steps: [this.hostStep()] })) !== 'written') return;
    }
    const { maxRestarts } = this.#limits;
    if (claims > maxRestarts) {
      const times = claims === 1 ? 'once' : `${claims} times`;
      const why = `The process that ran it has ended ${times}, and it may go on ${maxRestarts} times`;
      return this.#orphaned(record, why);
    }
    if (claims > 1 && claims > steps.restarts) {
      const parkForMs = Math.min(1000 * 2 ** (claims - 2), longestBackoffMs);
      const waited = { key: stepKeys.restarts, text: JSON.stringify(claims) };
      await store.append(record, { steps: [waited], parkForMs });
      return this.#dueIn(parkForMs);
    }
    if (!isCallRecord(taskId)) this.#resumed.add(taskId);
    const refusal = resumer.resume(new ResumedTask(record, found.task, steps, call));
    if (refusal === undefined) {
      const details = { taskId, claims };
      const message = `The task ${taskId} goes on`;
      return report({ level: 'debug', name: 'task.resumed', message, details });
    }
    this.#resumed.delete(taskId);
    if (isCallRecord(taskId)) return this.#orphaned(record, `It cannot be resumed: ${refusal}`);
    return this.#refuse(record, refusal);
  }

  /** Leaves a call to the process that its host comes back to, and cancels a call whose host stays away. */
  async #awaitHost(record: TaskRecord, { host }: WrittenSteps): Promise<void> {
    const now = this.now();
    const since = host && 'awaySince' in host ? host.awaySince : now;
    const leftMs = since + this.abandonedMs - now;
    if (leftMs > 0) {
      const away = { key: stepKeys.host, text: JSON.stringify({ awaySince: since }) };
      await this.#options.store.append(record, { steps: [away], parkForMs: leftMs });
      return this.#dueIn(leftMs);
    }
    const { task, principal } = readWritten(record);
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
    this.#refused.set(taskId, clock.now() + refusedMs);
    await store.append(record, { steps: [], parkForMs: 0, isTold: true });
  }

  /** Its client was told that it cannot be begun. */
  async #revoked(record: TaskRecord): Promise<void> {
    const { task, principal } = readWritten(record);
    const why = 'Its client was told that it could not be begun';
    const ended = endedTask(task, this.now(), undefined, why);
    await this.#finish(record, { task: ended, principal });
  }

  async #orphaned(record: TaskRecord, why: string): Promise<void> {
    const { report } = this.#options;
    const { task, principal } = readWritten(record);
    const response = errorResponse(undefined, processEnded(why));
    const ended = endedTask(task, this.now(), response);
    await this.#finish(record, { task: ended, principal, response });
    const message = `The process that ran the task ${record.taskId} has ended`;
    report({ level: 'warning', name: 'task.orphaned', message });
  }

  /** Something is due, perhaps before the next beat. */
  #dueIn(ms: number): void {
    const { clock } = this.#options;
    if (ms >= beatMs || this.#closing.signal.aborted || !this.#resumer) return;
    const due = async () => {
      try {
        await this.#takeOver();
      } catch (error) {
        this.#away('What is due waits', error);
      }
    };
    clock.clearTimeout(this.#dueTimer);
    this.#dueTimer = clock.setTimeout(() => void due(), ms);
  }

  #beatLater(): void {
    const { clock, store } = this.#options;
    this.#beat = clock.setTimeout(() => void this.#beats(), Math.min(store.leaseMs / 3, beatMs));
  }

  /** Prolongs the lease, whatever else is under way. */
  async #beats(): Promise<void> {
    try {
      await this.#options.store.lease(this.#owner);
      if (this.#tending === undefined) this.#tending = this.#tend();
    } catch (error) {
      this.#away('The lease of this process is not prolonged', error);
    }
    if (!this.#closing.signal.aborted) this.#beatLater();
  }

  /** Looks what others have done, and claims what is due. Never rejects. */
  async #tend(): Promise<void> {
    try {
      await this.#lookAround();
      await this.#takeOver();
    } catch (error) {
      this.#away('What others have done is not known', error);
    }
    this.#tending = undefined;
  }

  /** Looks what others have done, and what time it is: once more after a look that is under way, however many ask. */
  #lookAround(): Promise<void> {
    return (this.#nextLook ??= this.#looks.then(() => {
      this.#nextLook = undefined;
      const looking = this.#lookOnce();
      this.#looks = looking.catch(() => {});
      return looking;
    }));
  }

  async #lookOnce(): Promise<void> {
    const { store, clock } = this.#options;
    const { upTo, taskIds, now } = await store.changes(this.#seen);
    this.#aheadMs = now - clock.now();
    this.#seen = upTo;
    for (const taskId of taskIds) this.#changed.add(taskId);
    for (const taskId of this.#changed) {
      await this.#look(taskId);
      this.#changed.delete(taskId);
      for (const listener of this.#listeners) listener(taskId);
    }
  }

  /** The store has told that something has changed. */
  async #lookSoon(): Promise<void> {
    try {
      await this.#lookAround();
      this.#dueIn(0);
    } catch (error) {
      this.#away('What others have done is not known', error);
    }
  }

  /** Somebody has done something to a task. */
  async #look(taskId: string): Promise<void> {
    const running = this.#running.get(taskId);
    if (!running) return;
    const record = (await this.#options.store.read(taskId))?.record;
    if (this.#running.get(taskId) !== running) return;
    if (record?.state === 'open' && record.fence === running.fence) {
      return running.heard(readWritten(record).steps);
    }
    this.forget(taskId);
    const message = `Another process has ended or claimed the task ${taskId}`;
    this.#options.report({ level: 'warning', name: 'task.overtaken', message });
    running.overtaken();
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

  #away(what: string, error: unknown): void {
    const message = `${what}: ${textOfError(error)}`;
    this.#options.report({ level: 'error', name: 'tasks.away', message, details: { error } });
  }
}
