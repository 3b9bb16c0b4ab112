/** What a store has of a task, for people: how old it is, who has it, its last step, and what it waits for. */
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

/** A task of a store. */
export interface TaskOverview extends DurableRunStatus {
  readonly taskId: string;
  /** `call`: an ordinary call, which no client finds by its id. */
  readonly kind: 'task' | 'call';
  readonly server: string;
  /** The tool that it runs; undefined if it cannot go on after its process. */
  readonly tool?: string | undefined;
  /** `sealed` if there is no key that opens it: then its tool, its age, its questions and its timers are not known. */
  readonly status: TaskStatus | 'sealed';
  readonly statusMessage?: string | undefined;
  /** The time since its creation, milliseconds. */
  readonly ageMs?: number | undefined;
  /** The process that runs it; undefined if it is parked, has ended, or its process has. */
  readonly owner: string | undefined;
  /** Whether any process may go on with it: it is due, or its process has ended. */
  readonly isLeft: boolean;
  /** How many times its process has ended. */
  readonly restarts: number;
  /** How many steps are written. */
  readonly steps: number;
  /** How long it is still kept, milliseconds. */
  readonly ttlMs: number;
}

/** The tasks of a store, for people. Of those that are sealed with other keys it shows what is not sealed. */
export class StoredTasks {
  readonly #store: TaskStore;
  readonly #opened: TaskStore;

  /** @param keys those of the servers; by default those of the environment. @throws {TypeError} naming the invalid key */
  constructor(store: TaskStore, keys = environmentKeys() ?? []) {
    this.#store = store;
    this.#opened = keys.length > 0 ? sealedTaskStore(store, textSealer(keys)) : store;
  }

  async list(request: TaskListRequest): Promise<readonly TaskOverview[]> {
    const now = await this.#now();
    const found = await this.#store.list(request);
    return Promise.all(found.map(async (task) => overviewOf(await this.#open(task), now)));
  }

  /** Undefined if there is no such task. */
  async show(taskId: string): Promise<TaskOverview | undefined> {
    const found = await this.#store.read(taskId);
    return found && overviewOf(await this.#open(found), await this.#now());
  }

  /** Cancels a task, wherever it runs. Undefined if there is no such task; `sealed` if it cannot be opened. */
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

/** @param now the store's clock */
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
