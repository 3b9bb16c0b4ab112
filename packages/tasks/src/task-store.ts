/**
 * Where tasks are written down, so that they outlive their process. A store has records, claims on
 * them, and the leases of the processes that have claimed them. It reads nothing of what it keeps.
 *
 * A claim is made of a fence: a number that grows each time somebody takes a task. Who writes says its
 * fence, and only the highest is heard. A lease says no more than that its owner lives: it ends by the
 * store's clock, and then others may claim what its owner has. A task that only waits is parked: it has no owner, and
 * may be claimed when it is due.
 */

import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { SqlConnection } from '../../../src/actors/request-context.ts';

/** Who has a task: what each write has to name. */
export interface TaskClaim {
  /** What clients ask for it by. */
  readonly taskId: string;
  /** Grows with each claim. */
  readonly fence: number;
}

/** Who has how many tasks. */
export interface TaskShare {
  /** Whose tasks are counted together. */
  readonly of: string;
  /** How many of them are kept, ended ones too, until their time to live is over. */
  readonly max: number;
}

/** What a creation rejects with if there are so many. */
export function noRoomFor({ max }: TaskShare): RuntimeError {
  return new RuntimeError('LIMIT_EXCEEDED', `There is no room for more than ${max} tasks`);
}

/** A task as it is written down first. */
export interface NewTaskRecord {
  /** What clients ask for it by. */
  readonly taskId: string;
  /** The name of the server that can run it. */
  readonly server: string;
  /** The lease of the process that runs it. */
  readonly owner: string;
  /** What is kept of it. The store does not read it. */
  readonly text: string;
  /** How long it is kept, whatever becomes of it, milliseconds from now. */
  readonly ttlMs: number;
  /** What has to be known to go on with it. */
  readonly steps?: readonly TaskStep[];
  /** What it counts towards; nothing without it. */
  readonly share?: TaskShare | undefined;
}

/** Something that has happened in a task, and must not be forgotten before it ends. */
export interface TaskStep {
  /** Two steps of one key are one: the later. */
  readonly key: string;
  /** What is kept of it. */
  readonly text: string;
}

/** A task as a store has it. */
export interface TaskRecord extends Omit<NewTaskRecord, 'share'>, TaskClaim {
  /** Final states do not change. */
  readonly state: 'open' | 'ended';
  /** How many times it was claimed from an owner whose lease was over. */
  readonly claims: number;
  /** In the order in which their keys came first. None once it has ended. */
  readonly steps: readonly TaskStep[];
  /** How long it is still kept, milliseconds. */
  readonly ttlMs: number;
  /** Set if it is parked: when it is due, milliseconds from now; 0 if it is already. Its owner is then empty. */
  readonly dueInMs?: number | undefined;
}

/** A task without a fence: a write to it is anybody's. */
export type AnyClaim = Omit<TaskClaim, 'fence'>;

/** What is written of a task that goes on, all of it or nothing. */
export interface TaskProgress {
  /** In order. */
  readonly steps: readonly TaskStep[];
  /**
   * Gives the task up. It may be claimed once this time has passed, milliseconds. It is due at
   * once if anybody has written to it without a fence since it was created or claimed. Not without a fence.
   */
  readonly parkForMs?: number | undefined;
  /** Whether those hear of it who look for changes; always, without a fence. By default they do not. */
  readonly isTold?: boolean | undefined;
}

/** What a claim has brought. */
export interface ClaimedTasks {
  /** They are the claimer's now. */
  readonly tasks: readonly TaskRecord[];
  /** When the next parked task of this server is due that is not due yet, milliseconds from now; undefined if there is none. */
  readonly nextInMs: number | undefined;
}

/** Which tasks are listed. */
export interface TaskListRequest {
  /** Only those whose ids come after this one. */
  readonly after?: string | undefined;
  /** At most so many. */
  readonly max: number;
}

/** What a store knows of an id. */
export interface FoundTask {
  /** All that is kept of it. */
  readonly record: TaskRecord;
  /** Whether the owner's lease lasts. */
  readonly isOwned: boolean;
}

/**
 * What became of a write. `ended`: the task has ended already, or is no longer kept. `fenced`:
 * somebody else has claimed it. Nothing was changed in both cases.
 */
export type TaskWritten = 'written' | 'ended' | 'fenced';

/** Whom a claim is for, and what may be claimed. */
export interface ClaimRequest {
  /** Whose lease lasts. */
  readonly owner: string;
  /** Only tasks of this server. */
  readonly server: string;
  /** Only this one. */
  readonly taskId?: string | undefined;
  /** At most so many. */
  readonly max: number;
  /** Not these: others may be able to go on with them. */
  readonly except?: readonly string[] | undefined;
  /**
   * All tasks that the claimer knows to be its own. If it is given, open tasks that are the claimer's by their records and not
   * among these are claimed, too: the claimer has not heard of an earlier claim, or of a creation.
   */
  readonly held?: readonly string[] | undefined;
}

/**
 * The records of tasks. A write that has settled outlives the process, and is seen by all who share
 * the store. Every promise rejects if the store could not be asked; then nothing is known of the write.
 */
export interface TaskStore {
  /** How long a lease lasts without a sign of life, milliseconds. */
  readonly leaseMs: number;
  /** Takes the lease of this name, or prolongs it. */
  lease(owner: string): Promise<void>;
  /** Ends a lease at once. */
  leave(owner: string): Promise<void>;
  /**
   * Writes a task down whose id is new. If its share has no room, the oldest of its tasks that {@link TaskStore.finish} has let go
   * is forgotten. Of creations that are made at once no more are written than there is room for.
   * @throws {RuntimeError} LIMIT_EXCEEDED: there is none, and nothing is written
   */
  create(task: NewTaskRecord): Promise<TaskClaim>;
  /** Any text may be asked for. Undefined if there is no such task, or its time to live is over. */
  read(taskId: string): Promise<FoundTask | undefined>;
  /**
   * Adds to a task that has not ended.
   * @param claim without a fence anybody adds, such as an answer to what the task asks: if the task is parked it is
   *   due at once, and a step whose key is there already stays as it is
   */
  append(claim: AnyClaim | TaskClaim, progress: TaskProgress): Promise<TaskWritten>;
  /**
   * Adds a step that is made in a transaction of the store: what `make` writes by its connection and the
   * step are written together, or neither is. The transaction begins with the first query; without one the step is
   * added as by {@link TaskStore.append}. Rejects with what `make` throws. Absent if the store has no SQL to share.
   */
  appendWith?(
    claim: TaskClaim,
    key: string,
    make: (sql: SqlConnection) => Promise<string>,
  ): Promise<TaskWritten>;
  /**
   * Ends a task. The text takes the place of what was kept of it.
   * @param claim without a fence it ends the task of any owner
   * @param letsGo whether it makes room for new ones of its share, by default it does not
   */
  finish(claim: AnyClaim | TaskClaim, text: string, letsGo?: boolean): Promise<TaskWritten>;
  /**
   * Claims tasks that have not ended, and are parked and due, or have another owner whose lease is over. No task is
   * given to two.
   */
  claim(request: ClaimRequest): Promise<ClaimedTasks>;
  /**
   * The tasks that were claimed or have ended since then, and those with progress that is told.
   * @param since a number that this has given before; undefined to begin with now
   */
  changes(since: number | undefined): Promise<TaskChanges>;
  /** The tasks of all servers, by their ids. */
  list(request: TaskListRequest): Promise<readonly FoundTask[]>;
  /**
   * Calls back soon after others have changed something: then {@link TaskStore.changes} is worth a look. A call
   * may be lost, so look now and then anyway. Absent if the store cannot tell.
   * @returns ends it
   */
  watch?(changed: () => void): () => void;
  /**
   * Releases the store.
   * @throws {Error} writes that have not settled may be lost; the store is released nevertheless
   */
  close(): Promise<void>;
}

/** What has changed in a store. */
export interface TaskChanges {
  /** Where the next look begins. */
  readonly upTo: number;
  /** Each once. */
  readonly taskIds: readonly string[];
  /** The store's clock, milliseconds since 1970: timers go by it. */
  readonly now: number;
}
