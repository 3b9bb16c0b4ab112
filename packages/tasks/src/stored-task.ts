/** The stored form of a task, and the parts that run and resume it. */
import type { OutboundResponse } from '../../../src/protocol/frames.ts';
import type { Task } from '../../../src/protocol/tasks.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { PeerDescription } from '../../../src/protocol/initialize.ts';
import { negotiateDialect, statelessDialect } from '../../../src/protocol/dialects/registry.ts';
import type { Implementation } from '../../../src/protocol/implementation.ts';
import type { ResumedRun } from '../../../src/actors/request-context.ts';
import type { TaskClaim, TaskRecord } from './task-store.ts';
import { failureMessage, isFailure, longestMessage } from './task.machine.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import { StepHistory } from './step-history.ts';
import type { StoredCall } from './step-history.ts';

/** Names of the log facts of durable tasks. */
export type TaskWorkerFactName =
  /** The store is unavailable and writes are retried, or a client could not be asked a task's question. */
  | 'tasks.away'
  /** The directory of the task store is accessible to a group. */
  | 'tasks.exposed'
  /** The process of a task has ended, and the task cannot be resumed. */
  | 'task.orphaned'
  /** A durable call was cancelled because its host did not return. */
  | 'call.abandoned'
  /** Another process has ended or claimed a task of this one. */
  | 'task.overtaken'
  /** A step of a task was not saved, such as one beyond the task's limits. */
  | 'task.unsaved'
  /** This process has resumed a task. */
  | 'task.resumed'
  /** This process cannot resume a task, for example because its tool has changed; another process may. */
  | 'task.refused';

/** Content of a task record. */
export interface StoredTask {
  /** The task as sent to its client. */
  readonly task: Task;
  /** Id of the principal that owns the task; null without authentication. */
  readonly principal: string | null;
  /** Response of the handler; undefined until the task has ended, and if it was cancelled. */
  readonly response?: OutboundResponse | undefined;
}

/** A stored task, decoded. */
export interface LoadedTask extends StoredTask {
  /** Final states do not change. */
  readonly hasEnded: boolean;
  /** Steps of the task; empty once it has ended. */
  readonly steps: StepHistory;
  /** Set if the task runs in this process without a journal: `task` is then its live state. */
  readonly isHere?: true;
}

/** Decodes a task record, and derives its status from its steps. */
export function loadTask(record: Pick<TaskRecord, 'text' | 'state' | 'steps'>): LoadedTask {
  const { task, ...more } = JSON.parse(record.text) as StoredTask;
  const steps = new StepHistory(record.steps);
  if (record.state === 'ended') return { task, ...more, hasEnded: true, steps };
  const lastUpdatedAt = laterOf(task.lastUpdatedAt, steps.changedAt);
  const { described } = steps;
  const working = {
    ...task,
    ...(described && { statusMessage: described.message }),
    lastUpdatedAt,
  };
  const [asked] = steps.openQuestions;
  if (!asked) return { task: working, ...more, hasEnded: false, steps };
  const statusMessage = `Waiting for the client's answer to ${asked.method}`;
  const status = 'input_required' as const;
  return { task: { ...working, status, statusMessage }, ...more, hasEnded: false, steps };
}

/** The later of two times, since clocks of nodes differ and a task's time must not go back. @param at store clock, ms */
export function laterOf(time: string, at: number): string {
  return at > Date.parse(time) ? new Date(at).toISOString() : time;
}

/** The task after its end. @param response undefined if the task was cancelled @param reason why it was cancelled */
export function endedTask(
  { statusMessage: _, ...task }: Task,
  now: number,
  response: OutboundResponse | undefined,
  reason?: string,
): Task {
  const lastUpdatedAt = laterOf(task.lastUpdatedAt, now);
  if (!response) {
    return {
      ...task,
      status: 'cancelled',
      lastUpdatedAt,
      ...(reason ? { statusMessage: reason } : {}),
    };
  }
  if (!isFailure(response)) return { ...task, status: 'completed', lastUpdatedAt };
  const statusMessage = failureMessage(response).slice(0, longestMessage);
  return { ...task, status: 'failed', statusMessage, lastUpdatedAt };
}

/** True if a creation failed because the quota is used up. */
export const isQuotaExceeded = (error: unknown): boolean =>
  error instanceof RuntimeError && error.code === 'LIMIT_EXCEEDED';

/** A claimed task, to be resumed in this process. */
export class ResumedTask implements ResumedRun {
  readonly claim: TaskClaim;
  /** The task as it was created. */
  readonly task: Task;
  readonly steps: StepHistory;
  readonly call: StoredCall;
  readonly peer: PeerDescription;
  /** Remaining time to live, milliseconds. */
  readonly ttlMs: number;
  /** Number of processes that ended while running the task. */
  readonly restarts: number;

  constructor(record: TaskRecord, task: Task, steps: StepHistory, call: StoredCall) {
    const { taskId, fence, ttlMs, claims } = record;
    this.restarts = claims;
    this.claim = { taskId, fence };
    this.task = task;
    this.steps = steps;
    this.call = call;
    this.ttlMs = ttlMs;
    const { version, info, capabilities } = call;
    this.peer = {
      dialect: statelessDialect(version) ?? negotiateDialect(version),
      requestedVersion: version,
      info: info as Implementation & JsonObject,
      capabilities,
    };
  }
}

/** Resumes tasks. */
export interface TaskResumer {
  /** Starts a task's handler. @returns why the task cannot be resumed here, or undefined */
  resume(task: ResumedTask): string | undefined;
  /** Releases its running tasks. */
  close(): Promise<void>;
}

/** A host that waits in this process for a recorded call. */
export interface WaitingHost extends Pick<TaskResumer, 'resume'> {
  /** True if the host's earlier process is known to have ended, even if its lease is still valid. */
  readonly isOwnerDead: boolean;
}

/** Callbacks of the session that runs a task. */
export interface TaskRunner {
  /** The task as sent to its client. */
  item(): Task;
  /** Another process has ended or claimed the task. */
  onOvertaken(): void;
  /** Another process has added steps. */
  onSteps(steps: StepHistory): void;
}
