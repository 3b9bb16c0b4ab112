/**
 * Tasks on the wire: a task is a request whose result the client fetches later.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { ErrorCode, ProtocolError, RuntimeError, invalidParams } from './errors.ts';
import type { JsonObject, OutboundResponse } from './frames.ts';

export const taskSupports = ['forbidden', 'optional', 'required'] as const;

/** Whether a tool may be called as a task. The default is `forbidden`. */
export type TaskSupport = (typeof taskSupports)[number];

/**
 * Where a task stands. `completed`, `failed` and `cancelled` are final.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** The state of a task that its client sees. */
export interface Task {
  /** What clients ask for it by. */
  readonly taskId: string;
  /** Where it stands. */
  readonly status: TaskStatus;
  /** For a person or a model. */
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly lastUpdatedAt: string;
  /** How long the task is kept from its creation, milliseconds. */
  readonly ttl: number;
  /** How long a client should wait between two polls, milliseconds. */
  readonly pollInterval: number;
}

/** A task with what belongs to its status. */
export interface DetailedTask extends Task {
  /** What it asks its client, by key, if it waits for that. */
  readonly inputRequests: JsonObject;
  /** What its request was answered with, once it has ended; nothing if it was cancelled. */
  readonly response: OutboundResponse | undefined;
}

/** What a server has said of a task: what its host needs of it, in either form. */
export interface TaskReport {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** For a person or a model. */
  readonly statusMessage?: string;
  /** How long to wait between two looks, milliseconds. */
  readonly pollIntervalMs?: number;
  /** What it asks, by key; until 2025-11-25 it asks by requests of its own. */
  readonly inputRequests?: JsonObject;
  /** What its call is answered with, if it has ended; until 2025-11-25 that is asked for. */
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
 * Reads what a server says of a task. Members that are malformed and not needed are left out.
 *
 * @throws {RuntimeError} INVALID_RESPONSE: it names no task, or no status that there is
 */
export function readTaskReport(value: unknown): TaskReport {
  const { taskId, status, statusMessage, pollInterval, pollIntervalMs, ...more } = isJsonObject(
    value,
  )
    ? value
    : {};
  if (typeof taskId !== 'string' || !statuses.has(status)) {
    const message = `A task must have a "taskId" and a "status" that there is, these are ${inspectValue(taskId)} and ${inspectValue(status)}`;
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

/** The name of tasks among the extensions, since 2026-07-28. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Whether a client with these capabilities takes tasks, since 2026-07-28. */
export function declaresTasks({ extensions }: JsonObject): boolean {
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

const relatedTaskKey = 'io.modelcontextprotocol/related-task';

/** The `_meta` of a message that belongs to a task. */
export function relatedTask(taskId: string): JsonObject {
  return { [relatedTaskKey]: { taskId } };
}

/** The task that this `_meta` names; undefined if it names none. */
export function relatedTaskId(meta: JsonObject | undefined): string | undefined {
  const related = meta?.[relatedTaskKey];
  const taskId = isJsonObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** The task that a client asks for with a request. */
export interface TaskRequest {
  /** How long the client wants it kept, milliseconds; undefined if the server may decide. */
  readonly requestedTtlMs: number | undefined;
}

/**
 * Reads the task that the params of a tool call ask for; undefined if they ask for none.
 *
 * @throws {ProtocolError} -32601 if the tool may not be called in this way; -32602 if a member is
 *   wrong
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
    throw notThisWay(
      `The tool ${inspectValue(name)} runs as a task only: call it with "task" in the params`,
    );
  }
  if (taskSupport === 'forbidden') {
    throw notThisWay(
      `The tool ${inspectValue(name)} does not run as a task: call it without "task" in the params`,
    );
  }
  if (!isJsonObject(task)) throw malformed('"task" must be an object', task);
  const { ttl } = task;
  // `null` asks for no end: the server decides, as it does without a request.
  if (ttl === undefined || ttl === null) return { requestedTtlMs: undefined };
  if (typeof ttl === 'number' && ttl >= 0) return { requestedTtlMs: ttl };
  throw malformed('"task.ttl" must be a number of milliseconds, 0 or more', ttl);
}

function notThisWay(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.methodNotFound, message);
}

function malformed(wanted: string, got: unknown): ProtocolError {
  return invalidParams(`${wanted}, this is ${inspectValue(got)}`);
}
