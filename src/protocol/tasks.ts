/**
 * Tasks on the wire: requests whose results are fetched later.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { ErrorCode, ProtocolError, RuntimeError, invalidParams } from './errors.ts';
import type { JsonObject, OutboundResponse } from './frames.ts';

export const taskSupports = ['forbidden', 'optional', 'required'] as const;

/** Whether a tool may be called as a task. Default: `forbidden`. */
export type TaskSupport = (typeof taskSupports)[number];

/**
 * Status of a task. `completed`, `failed` and `cancelled` are final.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task as its client sees it. */
export interface Task {
  /** Id by which clients poll the task. */
  readonly taskId: string;
  /** Current status. */
  readonly status: TaskStatus;
  /** Details of the status, for a person or a model. */
  readonly statusMessage?: string;
  /** Creation time, ISO 8601. */
  readonly createdAt: string;
  /** Time of the last change, ISO 8601. */
  readonly lastUpdatedAt: string;
  /** Retention time from creation, milliseconds. */
  readonly ttl: number;
  /** Recommended polling interval, milliseconds. */
  readonly pollInterval: number;
}

/** A task with the data of its status. */
export interface DetailedTask extends Task {
  /** Requests to the client by key, while it requires input. */
  readonly inputRequests: JsonObject;
  /** Response to the original request, once the task has ended; undefined if cancelled. */
  readonly response: OutboundResponse | undefined;
}

/** A server's report of a task, in the form of either revision. */
export interface TaskReport {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** Details of the status, for a person or a model. */
  readonly statusMessage?: string;
  /** Polling interval, milliseconds. */
  readonly pollIntervalMs?: number;
  /** Requests to the client by key. Until 2025-11-25 they are separate messages. */
  readonly inputRequests?: JsonObject;
  /** Result of the call, once ended. Until 2025-11-25 it has to be requested. */
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

const statuses: ReadonlySet<unknown> = new Set<TaskStatus>([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
]);

/**
 * Parses a server's report of a task. Drops malformed optional members.
 *
 * @throws {RuntimeError} INVALID_RESPONSE: the id or the status is missing or unknown
 */
export function readTaskReport(value: unknown): TaskReport {
  const { taskId, status, statusMessage, pollInterval, pollIntervalMs, ...more } = isJsonObject(
    value,
  )
    ? value
    : {};
  if (typeof taskId !== 'string' || !statuses.has(status)) {
    const message = `A task must have a string "taskId" and a valid "status", got ${inspectValue(taskId)} and ${inspectValue(status)}`;
    throw new RuntimeError('INVALID_RESPONSE', message);
  }
  const pause = pollIntervalMs ?? pollInterval;
  const { inputRequests, result, error } = more;
  return {
    taskId,
    status: status as TaskStatus,
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    ...(typeof pause === 'number' && pause >= 0 ? { pollIntervalMs: pause } : {}),
    ...(isJsonObject(inputRequests) ? { inputRequests } : {}),
    ...(isJsonObject(result) ? { result } : {}),
    ...(isJsonObject(error) ? { error } : {}),
  };
}

/** Extension identifier of tasks, since 2026-07-28. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** True if a client with these capabilities supports tasks, since 2026-07-28. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

const relatedTaskKey = 'io.modelcontextprotocol/related-task';

/** The `_meta` of a message related to a task. */
export function relatedTask(taskId: string): JsonObject {
  return { [relatedTaskKey]: { taskId } };
}

/** The id of the related task; undefined if there is none. */
export function relatedTaskId(meta: JsonObject | undefined): string | undefined {
  const related = meta?.[relatedTaskKey];
  const taskId = isJsonObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** A client's request to run a call as a task. */
export interface TaskRequest {
  /** Requested retention time, milliseconds; undefined if the server decides. */
  readonly requestedTtlMs: number | undefined;
}

/**
 * Reads the task request from the params of a tool call; undefined if there is none.
 *
 * @throws {ProtocolError} -32601 if the tool does not support this kind of call; -32602 if a member
 *   is invalid
 * @see MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"
 */
export function readTaskRequest(
  {
    name,
    taskSupport = 'forbidden',
  }: { readonly name: string; readonly taskSupport?: TaskSupport },
  params: JsonObject | undefined,
): TaskRequest | undefined {
  const task = params?.['task'];
  if (task === undefined) {
    if (taskSupport !== 'required') return undefined;
    throw unsupportedCall(
      `The tool ${inspectValue(name)} runs as a task only: call it with "task" in the params`,
    );
  }
  if (taskSupport === 'forbidden') {
    throw unsupportedCall(
      `The tool ${inspectValue(name)} does not run as a task: call it without "task" in the params`,
    );
  }
  if (!isJsonObject(task)) throw malformed('"task" must be an object', task);
  const { ttl } = task;
  // `null` requests unlimited retention; the server decides, as without a request.
  if (ttl === undefined || ttl === null) return { requestedTtlMs: undefined };
  if (typeof ttl === 'number' && ttl >= 0) return { requestedTtlMs: ttl };
  throw malformed('"task.ttl" must be a number of milliseconds, 0 or more', ttl);
}

function unsupportedCall(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.methodNotFound, message);
}

function malformed(wanted: string, got: unknown): ProtocolError {
  return invalidParams(`${wanted}, got ${inspectValue(got)}`);
}
