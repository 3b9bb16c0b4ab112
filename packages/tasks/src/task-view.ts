/** A task as requests see it, whichever process runs it, and the answers to those requests. */
import type { RequestContext } from '../../../src/actors/request-context.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { ErrorCode, ProtocolError, fromWireError } from '../../../src/protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../../../src/protocol/frames.ts';
import { withMeta } from '../../../src/protocol/meta.ts';
import { relatedTask } from '../../../src/protocol/tasks.ts';
import type { DetailedTask, Task } from '../../../src/protocol/tasks.ts';
import { isCallRecord, isOfAnotherProcess } from './task-ids.ts';

/** Answer to `tasks/result`: the result, or the error to throw. */
export type TaskAnswer = JsonObject | ProtocolError;

/** A task as requests see it, whichever process runs it. */
export interface TaskView {
  readonly hasEnded: boolean;
  /** The task as sent to its client. @throws {ProtocolError} -32602 once its time to live is over */
  readonly item: Task;
  /** The task with its open input requests and its response. @throws {ProtocolError} as `item` does */
  readonly detailed: DetailedTask;
  /** Open questions of the task's handler. */
  readonly questions: { answer(answers: JsonObject): Promise<void> };
  /** The result, once it exists. @throws the error of the tool's call */
  result(call: RequestContext): JsonObject | Promise<JsonObject>;
  /** Cancels the task. @returns false if the task had already ended */
  cancel(): boolean | Promise<boolean>;
}

/** Status message of a task that its client cancelled. */
export const cancelledByClient = 'The client cancelled the task';

/** Converts the stored response of a task to the answer of `tasks/result`. */
export function answerOf(taskId: string, response: OutboundResponse | undefined): TaskAnswer {
  const isCall = isCallRecord(taskId);
  if (!response) {
    const data = { reason: 'cancelled', retryable: false };
    const message = isCall ? 'The call was cancelled' : `The task ${taskId} was cancelled`;
    return new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }
  if ('error' in response) return fromWireError(response.error);
  if (isCall) return response.result as JsonObject;
  return withMeta(response.result as JsonObject, relatedTask(taskId));
}

/** @throws the answer, if it is an error */
export function resultOf(answer: TaskAnswer): JsonObject {
  if (answer instanceof ProtocolError) throw answer;
  return answer;
}

/** The error for a task whose time to live is over. */
export function expired(taskId: string): ProtocolError {
  const what = isCallRecord(taskId) ? 'call' : `task ${taskId}`;
  return new ProtocolError(ErrorCode.invalidParams, `The ${what} has expired`);
}

/** The error for a task that does not exist, or belongs to another principal. */
export function notFound(taskId: string): ProtocolError {
  const message = `Task not found: ${inspectValue(taskId)} does not exist, or its time to live is over`;
  return new ProtocolError(ErrorCode.invalidParams, message);
}

/** As {@link notFound}, for servers without a store: tasks of another process are lost. */
export function notFoundHere(taskId: string): ProtocolError {
  if (!isOfAnotherProcess(taskId)) return notFound(taskId);
  const message = `Task not found: ${inspectValue(taskId)} was created by another process, and this server has no task store`;
  return new ProtocolError(ErrorCode.invalidParams, message, { reason: 'process-ended' });
}
