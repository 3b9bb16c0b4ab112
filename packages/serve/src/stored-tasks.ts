/** Overviews of stored tasks for people: age, owner, last step, and pending waits. */
import type { DurableRunStatus } from '../../../src/actors/request-context.ts';
import { textSealer } from '../../../src/rounds/request-state.ts';
import { environmentKeys } from '../../../src/server/server-core.ts';
import { isSealed, sealedTaskStore } from '../../tasks/src/sealed-task-store.ts';
import type {
  FoundTask,
  TaskListRequest,
  TaskStore,
  WriteResult,
} from '../../tasks/src/task-store.ts';
import { isCallRecord } from '../../tasks/src/task-ids.ts';
import { endedTask } from '../../tasks/src/stored-task.ts';
import { loadTask } from '../../tasks/src/stored-task.ts';
import type { TaskStatus } from '../../../src/protocol/tasks.ts';

/** Overview of a stored task. */
export interface TaskOverview extends DurableRunStatus {
  readonly taskId: string;
  /** `call`: a durable call, which clients cannot look up by id. */
  readonly kind: 'task' | 'call';
  readonly server: string;
  /** Tool of the task; undefined if the task cannot be resumed by another process. */
  readonly tool?: string | undefined;
  /** `sealed` without a matching key; then tool, age, questions and timers are unknown. */
  readonly status: TaskStatus | 'sealed';
  readonly statusMessage?: string | undefined;
  /** Age, milliseconds. */
  readonly ageMs?: number | undefined;
  /** Owning process; undefined if the task is parked or has ended, or its process has ended. */
  readonly owner: string | undefined;
  /** True if any process may resume the task: it is due, or its process has ended. */
  readonly isLeft: boolean;
  /** Number of times its process has ended. */
  readonly restarts: number;
  /** Number of recorded steps. */
  readonly steps: number;
  /** Remaining time to live, milliseconds. */
  readonly ttlMs: number;
}

/**
 * Read access to the tasks of a store. For tasks sealed with other keys, shows only unsealed data.
 */
export class StoredTasks {
  readonly #store: TaskStore;
  readonly #opened: TaskStore;

  /**
   * @param keys sealing keys of the servers. Default: those of the environment
   * @throws {TypeError} naming the invalid key
   */
  constructor(store: TaskStore, keys = environmentKeys() ?? []) {
    this.#store = store;
    this.#opened = keys.length > 0 ? sealedTaskStore(store, textSealer(keys)) : store;
  }

  async list(request: TaskListRequest): Promise<readonly TaskOverview[]> {
    const now = await this.#now();
    const found = await this.#store.list(request);
    return Promise.all(found.map(async (task) => overviewOf(await this.#open(task), now)));
  }

  /** Returns a task, or undefined. */
  async show(taskId: string): Promise<TaskOverview | undefined> {
    const found = await this.#store.read(taskId);
    return found && overviewOf(await this.#open(found), await this.#now());
  }

  /**
   * Cancels a task, wherever it runs. Returns undefined for an unknown task, `sealed` if it cannot
   * be opened.
   */
  async cancel(taskId: string): Promise<WriteResult | 'sealed' | undefined> {
    const found = await this.#store.read(taskId);
    if (!found) return undefined;
    const { record } = await this.#open(found);
    if (isSealed(record.text)) return 'sealed';
    const { task, principal } = loadTask(record);
    const now = await this.#now();
    const ended = endedTask(task, now, undefined, 'The task was cancelled by its operator');
    const store = isSealed(found.record.text) ? this.#opened : this.#store;
    return store.finish({ taskId }, JSON.stringify({ task: ended, principal }), true);
  }

  async #open(found: FoundTask): Promise<FoundTask> {
    if (!isSealed(found.record.text)) return found;
    return (await this.#opened.read(found.record.taskId)) ?? found;
  }

  async #now(): Promise<number> {
    return (await this.#store.changes(undefined)).now;
  }
}

/** @param now time of the store's clock */
function overviewOf({ record, isOwned }: FoundTask, now: number): TaskOverview {
  const { taskId, server, owner, claims, ttlMs, state, dueInMs, steps } = record;
  const isOpen = state === 'open';
  const common = {
    kind: isCallRecord(taskId) ? ('call' as const) : ('task' as const),
    ...{ taskId, server, ttlMs, restarts: claims, steps: steps.length },
    owner: isOpen && isOwned ? owner : undefined,
    isLeft: isOpen && !isOwned && (dueInMs ?? 0) === 0,
  };
  if (isSealed(record.text)) {
    const lastStep = steps.at(-1)?.key;
    return { ...common, status: 'sealed', lastStep, questions: [], dueInMs };
  }
  const { task, steps: written } = loadTask(record);
  const { status, statusMessage, createdAt } = task;
  const { name } = written.call?.params ?? {};
  const dueAt = isOpen ? written.nextDue(now) : undefined;
  return {
    ...{ ...common, status, statusMessage },
    ageMs: Math.max(0, now - Date.parse(createdAt)),
    tool: typeof name === 'string' ? name : undefined,
    lastStep: written.lastStep,
    questions: isOpen ? written.openQuestions.map(({ label }) => label) : [],
    dueInMs: dueInMs ?? (dueAt === undefined ? undefined : dueAt - now),
  };
}
