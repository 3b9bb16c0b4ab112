/**
 * Interface of task stores, which keep tasks beyond their process. A store has task records, claims on
 * them, and leases of the processes that hold the claims. It does not interpret the texts of a record.
 *
 * A claim has a fencing token, `fence`, that grows with each claim of the task. Each write names its fence, and the
 * store accepts only the highest. A lease shows that its owner is alive. It expires by the store's clock, and then other
 * processes may claim the owner's tasks. A task that only waits is parked: it has no owner, and may be claimed when it
 * is due.
 */

import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { SqlConnection } from '../../../src/actors/request-context.ts';

/** Proof that a process owns a task; every write names it. */
export interface TaskClaim {
  /** Id that clients use. */
  readonly taskId: string;
  /** Fencing token: grows with each claim of the task. */
  readonly fence: number;
}

/** Quota that a task counts towards. */
export interface TaskQuota {
  /** Tasks with the same key are counted together. */
  readonly key: string;
  /** Maximum number of stored tasks, including ended ones whose time to live is not over. */
  readonly max: number;
}

/** The error of {@link TaskStore.create} when the quota is used up. */
export function quotaExceeded({ max }: TaskQuota): RuntimeError {
  return new RuntimeError('LIMIT_EXCEEDED', `Number of tasks must be at most ${max}`);
}

/** A task to create. */
export interface NewTaskRecord {
  /** Id that clients use. */
  readonly taskId: string;
  /** Name of the server that can run the task. */
  readonly server: string;
  /** Lease of the process that runs the task. */
  readonly owner: string;
  /** Content, opaque to the store. */
  readonly text: string;
  /** Time to live, milliseconds from now, whatever the task's state. */
  readonly ttlMs: number;
  /** Steps needed to resume the task. */
  readonly steps?: readonly TaskStep[];
  /** Quota that the task counts towards. Default: none. */
  readonly quota?: TaskQuota | undefined;
}

/** A recorded step of a task, kept until the task ends. */
export interface TaskStep {
  /** A later step replaces an earlier one with the same key. */
  readonly key: string;
  /** Content, opaque to the store. */
  readonly text: string;
}

/** A stored task. */
export interface TaskRecord extends Omit<NewTaskRecord, 'quota'>, TaskClaim {
  /** Final states do not change. */
  readonly state: 'open' | 'ended';
  /** Number of claims made after the owner's lease had expired. */
  readonly claims: number;
  /** In the order in which their keys were first stored. Empty once the task has ended. */
  readonly steps: readonly TaskStep[];
  /** Remaining time to live, milliseconds. */
  readonly ttlMs: number;
  /** Set while the task is parked, with an empty `owner`: milliseconds until it is due, 0 if it is already. */
  readonly dueInMs?: number | undefined;
}

/** Names a task without a fence: such a write is accepted from any process. */
export type UnfencedClaim = Omit<TaskClaim, 'fence'>;

/** An atomic update of an open task. */
export interface TaskProgress {
  /** Steps to add, in order. */
  readonly steps: readonly TaskStep[];
  /**
   * Parks the task: it has no owner, and may be claimed after this time, milliseconds. It is due at once if a write
   * without a fence came since it was created or claimed. Requires a fence.
   */
  readonly parkForMs?: number | undefined;
  /** Lists the task in {@link TaskStore.changes}. Default: false with a fence; always true without one. */
  readonly isAnnounced?: boolean | undefined;
}

/** Result of a claim. */
export interface ClaimedTasks {
  /** Tasks that the claimer now owns. */
  readonly tasks: readonly TaskRecord[];
  /** Milliseconds until the next parked task of this server is due; undefined if none is parked. */
  readonly nextInMs: number | undefined;
}

/** A page of the task list. */
export interface TaskListRequest {
  /** Lists only ids after this one. */
  readonly after?: string | undefined;
  /** Page size. */
  readonly max: number;
}

/** A task found by its id. */
export interface FoundTask {
  /** The stored task. */
  readonly record: TaskRecord;
  /** True while the owner's lease is valid. */
  readonly isOwned: boolean;
}

/**
 * Outcome of a write. `ended`: the task has already ended or expired. `fenced`: another process has claimed it.
 * Neither changes the store.
 */
export type WriteResult = 'written' | 'ended' | 'fenced';

/** The claimer, and the tasks that it accepts. */
export interface ClaimRequest {
  /** Valid lease of the claimer. */
  readonly owner: string;
  /** Claims only tasks of this server. */
  readonly server: string;
  /** Claims only this task. */
  readonly taskId?: string | undefined;
  /** Maximum number of tasks to claim. */
  readonly max: number;
  /** Task ids left to other processes. */
  readonly except?: readonly string[] | undefined;
  /**
   * All tasks that the claimer knows it owns. If given, the claim also returns open tasks that the store assigned to
   * the claimer in a reply that the claimer never received.
   */
  readonly held?: readonly string[] | undefined;
}

/**
 * A store of tasks. A resolved write is durable and visible to every process that shares the store. A promise rejects
 * if the store is unavailable; the outcome of the write is then unknown.
 */
export interface TaskStore {
  /** Duration of a lease, milliseconds. */
  readonly leaseMs: number;
  /** Takes or renews the lease of this name. */
  lease(owner: string): Promise<void>;
  /** Ends a lease immediately. */
  leave(owner: string): Promise<void>;
  /**
   * Stores a task with a new id. If its quota is used up, the oldest task that {@link TaskStore.finish} has made evictable
   * is deleted. Concurrent creations cannot exceed the quota together.
   * @throws {RuntimeError} LIMIT_EXCEEDED: the quota is used up, and no task is evictable
   */
  create(task: NewTaskRecord): Promise<TaskClaim>;
  /** Reads a task; undefined if it does not exist or has expired. @param taskId any text */
  read(taskId: string): Promise<FoundTask | undefined>;
  /**
   * Adds steps to an open task.
   * @param claim without a fence, any process may add steps, such as answers to the task's questions. A parked task
   *   becomes due at once, and existing steps are not replaced
   */
  append(claim: UnfencedClaim | TaskClaim, progress: TaskProgress): Promise<WriteResult>;
  /**
   * Adds a step in a transaction of the store: the writes of `make` on its connection and the step are committed
   * together. The transaction begins with the first query; without a query the step is added as by
   * {@link TaskStore.append}. Rejects with what `make` throws. Absent if the store has no SQL to share.
   */
  appendWith?(
    claim: TaskClaim,
    key: string,
    make: (sql: SqlConnection) => Promise<string>,
  ): Promise<WriteResult>;
  /**
   * Ends a task. The text replaces the task's content.
   * @param claim without a fence, ends the task of any owner
   * @param letsGo true if the task may be deleted early, for a new task of the same quota. Default: false
   */
  finish(claim: UnfencedClaim | TaskClaim, text: string, letsGo?: boolean): Promise<WriteResult>;
  /**
   * Claims open tasks that are parked and due, or whose owner's lease has expired. Each task goes to one claimer.
   */
  claim(request: ClaimRequest): Promise<ClaimedTasks>;
  /**
   * Tasks that were claimed, ended, or had announced progress since a position.
   * @param since `upTo` of an earlier call; undefined to begin at the current position
   */
  changes(since: number | undefined): Promise<TaskChanges>;
  /** Tasks of all servers, ordered by id. */
  list(request: TaskListRequest): Promise<readonly FoundTask[]>;
  /**
   * Calls back soon after another process has made a change; then read {@link TaskStore.changes}. Callbacks may be
   * lost, so also poll. Absent if the store cannot notify.
   * @returns unsubscribes
   */
  watch?(changed: () => void): () => void;
  /**
   * Releases the store.
   * @throws {Error} unsettled writes may be lost; the store is released nevertheless
   */
  close(): Promise<void>;
}

/** A page of changes. */
export interface TaskChanges {
  /** Position at which the next call begins. */
  readonly upTo: number;
  /** Without duplicates. */
  readonly taskIds: readonly string[];
  /** The store's clock, milliseconds since 1970, which durable timers use. */
  readonly now: number;
}
