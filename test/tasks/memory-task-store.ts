/** A store of tasks in memory: the contract in its plainest form, and one that fails on demand. */
import type {
  ClaimRequest,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskRecord,
  TaskStep,
  TaskStore,
  TaskWritten,
} from 'mcp-actors';

type Kept = { -readonly [key in keyof TaskRecord]: TaskRecord[key] } & {
  expiresAt: number;
  changed: number;
};

/** What the processes share. */
export class TaskTable {
  readonly leases = new Map<string, number>();
  readonly tasks = new Map<string, Kept>();
  changed = 0;
  now = 0;
}

export class MemoryTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #table: TaskTable;
  /** What is done before each call: it may throw. */
  fault: (method: keyof TaskStore) => void | Promise<void> = () => {};

  constructor(table = new TaskTable(), leaseMs = 500) {
    this.#table = table;
    this.leaseMs = leaseMs;
  }

  async lease(owner: string): Promise<void> {
    await this.fault('lease');
    this.#table.leases.set(owner, this.#table.now + this.leaseMs);
  }

  async leave(owner: string): Promise<void> {
    await this.fault('leave');
    this.#table.leases.delete(owner);
  }

  async create(task: NewTaskRecord): Promise<TaskClaim> {
    await this.fault('create');
    const { taskId, ttlMs } = task;
    if (this.#find(taskId)) throw new Error(`There is a task ${taskId}`);
    const more = { fence: 1, claims: 0, state: 'open', steps: [], changed: 0 } as const;
    this.#table.tasks.set(taskId, { ...task, ...more, expiresAt: this.#table.now + ttlMs });
    return { taskId, fence: 1 };
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    await this.fault('read');
    const kept = this.#find(taskId);
    return kept && { record: this.#recordOf(kept), isOwned: this.#lasts(kept.owner) };
  }

  async append(claim: TaskClaim, step: TaskStep): Promise<TaskWritten> {
    await this.fault('append');
    return this.#written(claim, (kept) => {
      const at = kept.steps.findIndex(({ key }) => key === step.key);
      kept.steps = at < 0 ? [...kept.steps, step] : kept.steps.with(at, step);
    });
  }

  async finish(claim: Partial<TaskClaim>, text: string): Promise<TaskWritten> {
    await this.fault('finish');
    return this.#written(claim, (kept) => {
      Object.assign(kept, { state: 'ended', text, steps: [], changed: ++this.#table.changed });
    });
  }

  async claim({ owner, server, taskId, max }: ClaimRequest): Promise<readonly TaskRecord[]> {
    await this.fault('claim');
    const free = [...this.#table.tasks.values()].filter(
      (kept) =>
        this.#find(kept.taskId) &&
        kept.state === 'open' &&
        kept.server === server &&
        (taskId ?? kept.taskId) === kept.taskId &&
        !this.#lasts(kept.owner),
    );
    return free.slice(0, max).map((kept) => {
      const { fence, claims } = kept;
      const changed = ++this.#table.changed;
      Object.assign(kept, { owner, fence: fence + 1, claims: claims + 1, changed });
      return this.#recordOf(kept);
    });
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    await this.fault('changes');
    const { tasks, changed: upTo } = this.#table;
    const news = [...tasks.values()].filter(({ changed }) => changed > (since ?? upTo));
    return { upTo, taskIds: news.map(({ taskId }) => taskId) };
  }

  async close(): Promise<void> {}

  #find(taskId: string | undefined): Kept | undefined {
    const kept = this.#table.tasks.get(taskId ?? '');
    return kept && kept.expiresAt > this.#table.now ? kept : undefined;
  }

  #lasts(owner: string): boolean {
    return (this.#table.leases.get(owner) ?? -Infinity) > this.#table.now;
  }

  #written({ taskId, fence }: Partial<TaskClaim>, write: (kept: Kept) => void): TaskWritten {
    const kept = this.#find(taskId);
    if (kept?.state !== 'open') return 'ended';
    if (fence !== undefined && fence !== kept.fence) return 'fenced';
    write(kept);
    return 'written';
  }

  #recordOf({ expiresAt, changed: _, ...record }: Kept): TaskRecord {
    return { ...record, ttlMs: expiresAt - this.#table.now };
  }
}
