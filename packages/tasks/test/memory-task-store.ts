/** A store of tasks in memory: the contract in its plainest form, and one that fails on demand. */
import type { NewTaskRecord, TaskChanges, TaskClaim, TaskRecord, TaskStore } from 'mcp-actors';
import type { ClaimRequest } from '../src/task-store.ts';
import type { ClaimedTasks } from '../src/task-store.ts';
import type { FoundTask } from '../src/task-store.ts';
import type { TaskListRequest } from '../src/task-store.ts';
import type { TaskProgress } from '../src/task-store.ts';
import type { TaskQuota } from '../src/task-store.ts';
import type { WriteResult } from '../src/task-store.ts';
import { quotaExceeded } from '../src/task-store.ts';

type Kept = { -readonly [key in keyof TaskRecord]: TaskRecord[key] } & {
  expiresAt: number;
  changed: number;
  dueAt: number | undefined;
  quota: TaskQuota | undefined;
  letsGo: boolean;
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

  /** What is done after it has created or claimed: if it throws, the answer is lost. */
  loss: (method: 'create' | 'claim') => void = () => {};

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
    const more = { fence: 1, claims: 0, state: 'open', changed: 0, dueAt: undefined } as const;
    const { steps = [], quota } = task;
    if (quota) this.#makeRoom(quota);
    const counted = { quota, letsGo: false };
    this.#table.tasks.set(taskId, {
      ...task,
      steps,
      ...more,
      ...counted,
      expiresAt: this.#table.now + ttlMs,
    });
    this.loss('create');
    return { taskId, fence: 1 };
  }

  #makeRoom(quota: TaskQuota): void {
    const { tasks, now } = this.#table;
    const counted = [...tasks.values()].filter(
      (kept) => kept.quota?.key === quota.key && kept.expiresAt > now,
    );
    if (counted.length < quota.max) return;
    const first = counted.find(({ letsGo }) => letsGo);
    if (!first) throw quotaExceeded(quota);
    tasks.delete(first.taskId);
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    await this.fault('read');
    const kept = this.#find(taskId);
    return kept && this.#foundOf(kept);
  }

  async append(claim: Partial<TaskClaim>, progress: TaskProgress): Promise<WriteResult> {
    await this.fault('append');
    const table = this.#table;
    return this.#written(claim, (kept) => {
      const isAnybodys = claim.fence === undefined;
      for (const step of progress.steps) {
        const at = kept.steps.findIndex(({ key }) => key === step.key);
        if (at < 0) kept.steps = [...kept.steps, step];
        else if (!isAnybodys) kept.steps = kept.steps.with(at, step);
      }
      const { parkForMs } = progress;
      if (isAnybodys) kept.dueAt = table.now;
      else if (parkForMs !== undefined) {
        kept.owner = '';
        kept.dueAt = Math.min(kept.dueAt ?? Infinity, table.now + parkForMs);
      }
      if (isAnybodys || progress.isAnnounced) kept.changed = ++table.changed;
    });
  }

  async finish(claim: Partial<TaskClaim>, text: string, letsGo = false): Promise<WriteResult> {
    await this.fault('finish');
    return this.#written(claim, (kept) => {
      Object.assign(kept, {
        state: 'ended',
        text,
        steps: [],
        changed: ++this.#table.changed,
        letsGo,
      });
    });
  }

  async claim(request: ClaimRequest): Promise<ClaimedTasks> {
    const { owner, server, taskId, max, except = [], held } = request;
    await this.fault('claim');
    const { now } = this.#table;
    const open = () =>
      [...this.#table.tasks.values()].filter(
        (kept) => this.#find(kept.taskId) && kept.state === 'open' && kept.server === server,
      );
    const isFree = (kept: Kept) => {
      if (kept.owner === '') return (kept.dueAt ?? 0) <= now;
      if (kept.owner === owner) return held !== undefined && !held.includes(kept.taskId);
      return !this.#lasts(kept.owner);
    };
    const isMeant = (id: string) => (taskId ?? id) === id && !except.includes(id);
    const free = open().filter((kept) => isMeant(kept.taskId) && isFree(kept));
    const tasks = free.slice(0, max).map((kept) => {
      const { fence } = kept;
      const claims = kept.claims + (kept.owner === '' || kept.owner === owner ? 0 : 1);
      const changed = ++this.#table.changed;
      Object.assign(kept, { owner, fence: fence + 1, claims, changed, dueAt: undefined });
      return this.#recordOf(kept);
    });
    this.loss('claim');
    const due = open().flatMap(({ owner: other, dueAt = 0 }) => (other === '' ? [dueAt] : []));
    const later = due.filter((dueAt) => dueAt > now);
    return { tasks, nextInMs: later.length > 0 ? Math.min(...later) - now : undefined };
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    await this.fault('changes');
    const { tasks, changed: upTo, now } = this.#table;
    const news = [...tasks.values()].filter(({ changed }) => changed > (since ?? upTo));
    return { upTo, taskIds: news.map(({ taskId }) => taskId), now };
  }

  async list({ after = '', max }: TaskListRequest): Promise<readonly FoundTask[]> {
    await this.fault('list');
    const ids = [...this.#table.tasks.keys()].filter((id) => id > after && this.#find(id));
    return ids
      .toSorted()
      .slice(0, max)
      .map((id) => this.#foundOf(this.#find(id) as Kept));
  }

  async close(): Promise<void> {}

  #find(taskId: string | undefined): Kept | undefined {
    const kept = this.#table.tasks.get(taskId ?? '');
    return kept && kept.expiresAt > this.#table.now ? kept : undefined;
  }

  #lasts(owner: string): boolean {
    return (this.#table.leases.get(owner) ?? -Infinity) > this.#table.now;
  }

  #written({ taskId, fence }: Partial<TaskClaim>, write: (kept: Kept) => void): WriteResult {
    const kept = this.#find(taskId);
    if (kept?.state !== 'open') return 'ended';
    if (fence !== undefined && fence !== kept.fence) return 'fenced';
    write(kept);
    return 'written';
  }

  #foundOf(kept: Kept): FoundTask {
    return { record: this.#recordOf(kept), isOwned: this.#lasts(kept.owner) };
  }

  #recordOf({ expiresAt, changed: _, dueAt, quota: __, letsGo: ___, ...record }: Kept): TaskRecord {
    const { now } = this.#table;
    const isParked = record.owner === '' && dueAt !== undefined;
    const due = isParked ? { dueInMs: Math.max(0, dueAt - now) } : {};
    return { ...record, ttlMs: expiresAt - now, ...due };
  }
}
