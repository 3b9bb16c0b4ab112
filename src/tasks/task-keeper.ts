/**
 * The tasks of one process that are written down: it has one lease for all that it runs, hears of what
 * others do to them, and looks after what processes have left that have ended.
 */
import type { Clock } from '../actors/clock.ts';
import type { Report } from '../actors/facts.ts';
import { ErrorCode, errorResponse, textOfError } from '../protocol/errors.ts';
import type { WireError } from '../protocol/frames.ts';
import { DurableTasks, endedTask } from './durable-tasks.ts';
import type { DurableBook, RunningTask, TaskSession } from './durable-tasks.ts';
import type {
  FoundWrittenTask,
  TaskKeeperFactName,
  TaskRunner,
  TaskWriter,
  WrittenTask,
} from './written-task.ts';
import type { TaskClaim, TaskRecord, TaskStore, TaskWritten } from './task-store.ts';

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
}

/** How long to wait for a store that is away, milliseconds. */
const retryMs = 1000;
/** How often to look what others do, at least, milliseconds. */
const beatMs = 3000;
/** How many tasks are claimed at a time. */
const claimedAtOnce = 100;

const processEnded: WireError = Object.freeze({
  code: ErrorCode.serverUnavailable,
  message: 'The process that ran it has ended',
  data: { reason: 'process-ended', retryable: false },
});

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
  #seen: number | undefined = undefined;

  /** Call {@link begin} before any other method. */
  constructor(options: TaskKeeperOptions) {
    this.#options = options;
  }

  /** Takes the lease, and looks after what others have left. @throws what the store throws */
  async begin(): Promise<void> {
    const { store } = this.#options;
    await store.lease(this.#owner);
    this.#seen = (await store.changes(undefined)).upTo;
    await this.#takeOver();
    this.#beatLater();
  }

  /** The tasks of a session, in its book. */
  tasksOf<TTask extends RunningTask>(session: TaskSession, book: DurableBook<TTask>) {
    return new DurableTasks<TTask>(session, this, book);
  }

  /** Writes a task down that begins. @throws what the store throws */
  async create(written: WrittenTask, runner: TaskRunner): Promise<TaskClaim> {
    const { store, server } = this.#options;
    const { taskId, ttl: ttlMs } = written.task;
    const text = JSON.stringify(written);
    const claim = await store.create({ taskId, server, owner: this.#owner, text, ttlMs });
    this.#running.set(taskId, { ...claim, overtaken: () => runner.overtaken() });
    return claim;
  }

  /** Writes down how a task that runs here has ended. While the store is away it waits. */
  finish(claim: TaskClaim, written: WrittenTask, isAwaited: () => boolean): Promise<TaskWritten> {
    // What follows is its own doing.
    this.#running.delete(claim.taskId);
    const writing = this.#finish(claim, written, isAwaited).finally(() =>
      this.#unwritten.delete(writing),
    );
    this.#unwritten.add(writing);
    return writing;
  }

  async #finish(
    claim: TaskClaim,
    written: WrittenTask,
    isAwaited: () => boolean,
  ): Promise<TaskWritten> {
    const text = JSON.stringify(written);
    for (;;) {
      try {
        return await this.#options.store.finish(claim, text);
      } catch (error) {
        this.#away(`The end of the task ${claim.taskId} is not written yet`, error);
      }
      if (this.#closing.signal.aborted || !isAwaited()) return 'ended';
      await this.#pause();
    }
  }

  /** Ends a task that runs elsewhere. @throws what the store throws */
  finishElsewhere(written: WrittenTask): Promise<TaskWritten> {
    const { taskId } = written.task;
    return this.#options.store.finish({ taskId }, JSON.stringify(written));
  }

  /** The end of a task that runs here is no longer awaited. */
  forget(taskId: string): void {
    this.#running.delete(taskId);
  }

  /** The task as it is now; undefined if none is kept. @throws what the store throws */
  async find(taskId: string): Promise<FoundWrittenTask | undefined> {
    const found = await this.#options.store.read(taskId);
    if (!found) return undefined;
    const { record, isOwned } = found;
    if (record.state === 'ended' || isOwned) return readWritten(record);
    await this.#takeOver(taskId);
    const after = await this.#options.store.read(taskId);
    return after && readWritten(after.record);
  }

  /** Ends when what has to be written is written, or cannot be. Never rejects. */
  async close(): Promise<void> {
    const { store, clock } = this.#options;
    clock.clearTimeout(this.#beat);
    this.#closing.abort();
    await Promise.allSettled(this.#unwritten);
    try {
      await store.leave(this.#owner);
    } catch (error) {
      this.#away('The lease is left to end by itself', error);
    }
    await store.close();
  }

  /** Claims what belongs to nobody, and says that it cannot go on. */
  async #takeOver(taskId?: string): Promise<void> {
    const { store, server, report } = this.#options;
    const request = { owner: this.#owner, server, taskId, max: claimedAtOnce };
    let claimed: readonly TaskRecord[];
    do {
      claimed = (await store.claim(request)).tasks;
      for (const record of claimed) {
        const { task, principal } = readWritten(record);
        const response = errorResponse(undefined, processEnded);
        const ended = endedTask(task, new Date().toISOString(), response);
        await store.finish(record, JSON.stringify({ task: ended, principal, response }));
        const message = `The process that ran the task ${record.taskId} has ended`;
        report({ level: 'warning', name: 'task.orphaned', message });
      }
    } while (claimed.length === claimedAtOnce);
  }

  #beatLater(): void {
    const { clock, store } = this.#options;
    this.#beat = clock.setTimeout(() => void this.#beats(), Math.min(store.leaseMs / 3, beatMs));
  }

  async #beats(): Promise<void> {
    const { store } = this.#options;
    try {
      await store.lease(this.#owner);
      const { upTo, taskIds } = await store.changes(this.#seen);
      for (const taskId of taskIds) await this.#look(taskId);
      this.#seen = upTo;
      await this.#takeOver();
    } catch (error) {
      this.#away('The lease of this process is not prolonged', error);
    }
    if (!this.#closing.signal.aborted) this.#beatLater();
  }

  /** Somebody has done something to a task. */
  async #look(taskId: string): Promise<void> {
    const running = this.#running.get(taskId);
    if (!running) return;
    const record = (await this.#options.store.read(taskId))?.record;
    const isOurs = record?.state === 'open' && record.fence === running.fence;
    if (isOurs || this.#running.get(taskId) !== running) return;
    this.#running.delete(taskId);
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

function readWritten({ text, state }: TaskRecord): FoundWrittenTask {
  return { ...(JSON.parse(text) as WrittenTask), hasEnded: state === 'ended' };
}
