/** What a store has of a task, for people: how old it is, who has it, its last step, and what it waits for. */
import type { FoundTask, TaskStore, TaskWritten } from './task-store.ts';
import { endedTask } from './durable-tasks.ts';
import { readWritten } from './written-task.ts';
import type { TaskStatus } from '../protocol/tasks.ts';

/** A task of a store. */
export interface TaskOverview {
  readonly taskId: string;
  readonly server: string;
  /** The tool that it runs; undefined if it cannot go on after its process. */
  readonly tool: string | undefined;
  readonly status: TaskStatus;
  readonly statusMessage: string | undefined;
  readonly createdAt: string;
  /** The process that runs it; undefined if it is parked, has ended, or its process has. */
  readonly owner: string | undefined;
  /** How many times its process has ended. */
  readonly restarts: number;
  /** How many steps are written. */
  readonly steps: number;
  readonly lastStep: string | undefined;
  /** What it waits for. */
  readonly waitsFor: string | undefined;
  /** How long it is still kept, milliseconds. */
  readonly ttlMs: number;
}

/** What a store has of a task, for people. */
export function taskOverview({ record, isOwned }: FoundTask): TaskOverview {
  const { taskId, server, owner, claims, dueInMs, ttlMs, state } = record;
  const { task, steps } = readWritten(record);
  const isOpen = state === 'open';
  const name = steps.call?.params['name'];
  const questions = steps.open.map(({ label }) => label);
  return {
    ...{ taskId, server, ttlMs, status: task.status, createdAt: task.createdAt },
    tool: typeof name === 'string' ? name : undefined,
    statusMessage: task.statusMessage,
    owner: isOpen && isOwned ? owner : undefined,
    restarts: claims,
    steps: steps.count,
    lastStep: steps.last,
    waitsFor: isOpen ? waitsFor(questions, dueInMs, isOwned) : undefined,
  };
}

function waitsFor(
  questions: readonly string[],
  dueInMs: number | undefined,
  isOwned: boolean,
): string | undefined {
  if (questions.length > 0) return `an answer to ${questions.join(', ')}`;
  if (dueInMs !== undefined) return `a timer, due in ${Math.ceil(dueInMs / 1000)} s`;
  return isOwned ? undefined : 'a process that goes on with it';
}

/** Cancels a task, wherever it runs. @returns undefined if there is no such task */
export async function cancelTask(
  store: TaskStore,
  taskId: string,
): Promise<TaskWritten | undefined> {
  const found = await store.read(taskId);
  if (!found) return undefined;
  const { task, principal } = readWritten(found.record);
  const now = new Date().toISOString();
  const ended = endedTask(task, now, undefined, 'The task was cancelled by its operator');
  return store.finish({ taskId }, JSON.stringify({ task: ended, principal }));
}
