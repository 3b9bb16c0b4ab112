/** What is kept of a task, and what keeps it. */
import type { OutboundResponse } from '../protocol/frames.ts';
import type { Task } from '../protocol/tasks.ts';
import type { TaskClaim, TaskWritten } from './task-store.ts';

/** The names of the facts that durable tasks report. */
export type TaskKeeperFactName =
  /** The store could not be asked. What is to be written is tried again. */
  | 'tasks.away'
  /** The process that ran a task has ended, and the task cannot go on. */
  | 'task.orphaned'
  /** Another process has ended or claimed a task that runs here. */
  | 'task.overtaken';

/** What is kept of a task. */
export interface WrittenTask {
  /** As its client sees it. */
  readonly task: Task;
  /** The principal whose task it is; null without authentication. */
  readonly principal: string | null;
  /** What its request was answered with, once it has ended and was not cancelled. */
  readonly response?: OutboundResponse | undefined;
}

/** A task as the store has it. */
export interface FoundWrittenTask extends WrittenTask {
  /** Final states do not change. */
  readonly hasEnded: boolean;
}

/** What runs a task. */
export interface TaskRunner {
  /** Somebody else has ended or claimed it. */
  overtaken(): void;
}

/** Writes tasks down. */
export interface TaskWriter {
  /** Writes a task down that begins. @throws what the store throws */
  create(written: WrittenTask, runner: TaskRunner): Promise<TaskClaim>;
  /**
   * Writes down how a task that runs here has ended. While the store is away it waits.
   * @returns `ended` too if it is no longer awaited
   */
  finish(claim: TaskClaim, written: WrittenTask, isAwaited: () => boolean): Promise<TaskWritten>;
  /** Ends a task that runs elsewhere. @throws what the store throws */
  finishElsewhere(written: WrittenTask): Promise<TaskWritten>;
  /** The end of a task that runs here is no longer awaited. */
  forget(taskId: string): void;
  /** The task as it is now; undefined if none is kept. @throws what the store throws */
  find(taskId: string): Promise<FoundWrittenTask | undefined>;
}
