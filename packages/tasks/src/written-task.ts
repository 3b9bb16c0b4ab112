/** What is kept of a task, and what keeps it. */
import type { OutboundResponse } from '../../../src/protocol/frames.ts';
import type { Task } from '../../../src/protocol/tasks.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { PeerDescription } from '../../../src/protocol/initialize.ts';
import { negotiateDialect, statelessDialect } from '../../../src/protocol/dialects/registry.ts';
import type { Implementation } from '../../../src/protocol/implementation.ts';
import type { OnceFn, ResumedRun } from '../../../src/actors/request-context.ts';
import type { TaskClaim, TaskProgress, TaskRecord, TaskStep, TaskWritten } from './task-store.ts';
import { WrittenSteps } from './written-steps.ts';
import type { WrittenCall } from './written-steps.ts';

/** The names of the facts that durable tasks report. */
export type TaskKeeperFactName =
  /** The store could not be asked, and what is to be written is tried again; or a client what its task asks, and the task waits on. */
  | 'tasks.away'
  /** A group can use the directory that tasks are kept in. */
  | 'tasks.exposed'
  /** The process that ran a task has ended, and the task cannot go on. */
  | 'task.orphaned'
  /** A durable call was cancelled because its host stayed away. */
  | 'call.abandoned'
  /** Another process has ended or claimed a task that runs here. */
  | 'task.overtaken'
  /** A step of a task was not saved, such as one beyond its bounds. */
  | 'task.unsaved'
  /** A task goes on here. */
  | 'task.resumed'
  /** A task cannot go on here, such as with this version of its tool: another process may go on with it. */
  | 'task.refused';

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
  /** What is written of its work, while it has not ended. */
  readonly steps: WrittenSteps;
  /** Set if it runs in this process and its work is not written: then what is said of it is of now. */
  readonly isHere?: true;
}

/** Reads what is kept of a task. Its status says what its steps say. */
export function readWritten(
  record: Pick<TaskRecord, 'text' | 'state' | 'steps'>,
): FoundWrittenTask {
  const { task, ...more } = JSON.parse(record.text) as WrittenTask;
  const steps = new WrittenSteps(record.steps);
  if (record.state === 'ended') return { task, ...more, hasEnded: true, steps };
  const lastUpdatedAt = laterOf(task.lastUpdatedAt, steps.changedAt);
  const { described } = steps;
  const working = {
    ...task,
    ...(described && { statusMessage: described.message }),
    lastUpdatedAt,
  };
  const [asked] = steps.open;
  if (!asked) return { task: working, ...more, hasEnded: false, steps };
  const statusMessage = `Waiting for the client's answer to ${asked.method}`;
  const status = 'input_required' as const;
  return { task: { ...working, status, statusMessage }, ...more, hasEnded: false, steps };
}

/** The later of a time of a task and one by the store's clock: the clocks of nodes differ, and no time goes back. */
export function laterOf(time: string, at: number): string {
  return at > Date.parse(time) ? new Date(at).toISOString() : time;
}

/** A task that was claimed, to go on with it here. */
export class ResumedTask implements ResumedRun {
  readonly claim: TaskClaim;
  /** As it was when it was begun. */
  readonly task: Task;
  readonly steps: WrittenSteps;
  readonly call: WrittenCall;
  readonly peer: PeerDescription;
  /** How long it is still kept, milliseconds. */
  readonly ttlMs: number;
  /** Processes that ended while running it. */
  readonly restarts: number;

  constructor(record: TaskRecord, task: Task, steps: WrittenSteps, call: WrittenCall) {
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

/** Goes on with tasks. */
export interface TaskResumer {
  /** Begins to run a task. @returns why it cannot go on here; undefined if it does */
  resume(task: ResumedTask): string | undefined;
  /** Lets go of what it runs. */
  close(): Promise<void>;
}

/** A session whose host waits for a call. */
export interface Attendant extends Pick<TaskResumer, 'resume'> {
  /** True if the process that the host was connected to before has ended, whatever its lease says. */
  readonly isOwnerDead: boolean;
}

/** What runs a task. */
export interface TaskRunner {
  /** As its client sees it. */
  item(): Task;
  /** Somebody else has ended or claimed it. */
  overtaken(): void;
  /** Others have written to it. */
  heard(steps: WrittenSteps): void;
}

/** Writes tasks down. */
export interface TaskWriter {
  /** The store's clock, milliseconds since 1970. */
  now(): number;
  /** Whether a task that begins can go on after its process. */
  readonly canResume: boolean;
  /** Writes a task down that begins. @param share whose tasks it counts towards, and how many there may be @throws what the store throws */
  create(
    written: WrittenTask,
    runner: TaskRunner,
    share: readonly [name: string, max: number],
    steps: readonly TaskStep[] | undefined,
  ): Promise<TaskClaim>;
  /**
   * Brings a recorded call to a session whose host waits: claims it and calls back to resume it, unless a living process
   * runs it. Until {@link unattend} the callback also gets the call if it becomes free later.
   * @returns the record as it is then; undefined if none is kept
   * @throws what the store throws
   */
  attend(taskId: string, attendant: Attendant): Promise<FoundWrittenTask | undefined>;
  /** The step that says that the host of a call is connected to this process. */
  hostStep(): TaskStep;
  /** The host of a call no longer waits here. */
  unattend(taskId: string): void;
  /** Time that a call waits for an absent host, ms. */
  readonly abandonedMs: number;
  /** A task that was claimed runs. */
  runs(claim: TaskClaim, runner: TaskRunner): void;
  /**
   * Writes down how a task that runs here has ended. While the store is away it waits.
   * @returns `ended` too if it is no longer awaited
   */
  finish(claim: TaskClaim, written: WrittenTask, isAwaited: () => boolean): Promise<TaskWritten>;
  /** Writes down how a task that runs here goes on, in the same way. */
  append(claim: TaskClaim, progress: TaskProgress, isAwaited: () => boolean): Promise<TaskWritten>;
  /** See {@link TaskStore.appendWith}. */
  readonly appendWith:
    | ((claim: TaskClaim, key: string, make: OnceFn<string>) => Promise<TaskWritten>)
    | undefined;
  /** Ends a task that runs elsewhere. @throws what the store throws */
  finishElsewhere(written: WrittenTask): Promise<TaskWritten>;
  /** Adds to a task that runs elsewhere. @throws what the store throws */
  appendElsewhere(taskId: string, steps: readonly TaskStep[]): Promise<TaskWritten>;
  /** Calls back when others may have changed a task. @returns ends it */
  listen(listener: (taskId: string) => void): () => void;
  /** The end of a task that runs here is no longer awaited. */
  forget(taskId: string): void;
  /** The task as it is now; undefined if none is kept. @throws what the store throws */
  find(taskId: string): Promise<FoundWrittenTask | undefined>;
}
