/**
 * Tasks as they stand on the wire: a request whose result is fetched later.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import { describe, isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

export const taskSupports = ['forbidden', 'optional', 'required'] as const;

/** Whether a tool may be called as a task; `forbidden` where it does not say. */
export type TaskSupport = (typeof taskSupports)[number];

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task's state as its client sees it. */
export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** For a person or a model. */
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly lastUpdatedAt: string;
  /** How long it is kept from its creation, milliseconds. */
  readonly ttl: number;
  /** How long a client should wait between two looks at it, milliseconds. */
  readonly pollInterval: number;
}

const relatedTaskKey = 'io.modelcontextprotocol/related-task';

/** The `_meta` of what belongs to a task. */
export function relatedTask(taskId: string): JsonObject {
  return { [relatedTaskKey]: { taskId } };
}

/** The task that something belongs to, by its `_meta`; undefined where it is none's. */
export function relatedTaskId(meta: JsonObject | undefined): string | undefined {
  const related = meta?.[relatedTaskKey];
  const taskId = isJsonObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

export type TaskReading =
  | { readonly ok: true; readonly requestedTtlMs: number | undefined }
  | { readonly ok: false; readonly fault: string };

/**
 * Reads the `task` member of a request's params. A `ttl` of `null` asks for no end, which is read as asking for nothing in particular:
 * the server decides in either case.
 */
export function readTaskParams(task: unknown): TaskReading {
  if (!isJsonObject(task)) return fault('"task" must be an object', task);
  const { ttl } = task;
  if (ttl === undefined || ttl === null) return { ok: true, requestedTtlMs: undefined };
  if (typeof ttl === 'number' && ttl >= 0) return { ok: true, requestedTtlMs: ttl };
  return fault('"task.ttl" must be a number of milliseconds, 0 or more', ttl);
}

function fault(wanted: string, got: unknown): TaskReading {
  return { ok: false, fault: `${wanted}, this is ${describe(got)}` };
}
