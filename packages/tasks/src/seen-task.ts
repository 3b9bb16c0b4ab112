/** A task that a client asks about, wherever it runs, and what its client is answered. */
import type { RequestContext } from '../../../src/actors/request-context.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { ErrorCode, ProtocolError, fromWireError } from '../../../src/protocol/errors.ts';
import type { JsonObject, OutboundResponse } from '../../../src/protocol/frames.ts';
import { withMeta } from '../../../src/protocol/meta.ts';
import { relatedTask } from '../../../src/protocol/tasks.ts';
import type { DetailedTask, Task } from '../../../src/protocol/tasks.ts';
import { isCallRecord, isOfAnotherProcess } from './task-ids.ts';

/** The answer to a request for a task's result. */
export type TaskAnswer = JsonObject | ProtocolError;

/** A task that a client asks about, wherever it runs. */
export interface SeenTask {
  readonly hasEnded: boolean;
  /** As its client sees it. @throws {ProtocolError} -32602 if its time to live is over */
  readonly item: Task;
  /** With all that belongs to its status. @throws {ProtocolError} as `item` does */
  readonly detailed: DetailedTask;
  /** What its work asks, and waits for here. */
  readonly questions: { answer(answers: JsonObject): Promise<void> };
  /** The result, as soon as it exists. Throws the error that the tool's call failed with. */
  result(call: RequestContext): JsonObject | Promise<JsonObject>;
  /** Stops the work. @returns false if it has ended already */
  cancel(): boolean | Promise<boolean>;
}

/** Why a task was cancelled whose client wanted that. */
export const cancelledByClient = 'The client cancelled the task';

/** What a request for the result of a task is answered with that has ended with this response. */
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

/** The error of a request for a task whose time to live is over. */
export function expired(taskId: string): ProtocolError {
  const what = isCallRecord(taskId) ? 'call' : `task ${taskId}`;
  return new ProtocolError(ErrorCode.invalidParams, `The ${what} has expired`);
}

/** The error of a request for a task that there is not, or not for this caller. */
export function notFound(taskId: string): ProtocolError {
  const message = `Task not found: there is no ${inspectValue(taskId)}, or its time to live is over`;
  return new ProtocolError(ErrorCode.invalidParams, message);
}

/** The same where nothing is written down: what another process has begun is nowhere. */
export function notFoundHere(taskId: string): ProtocolError {
  if (!isOfAnotherProcess(taskId)) return notFound(taskId);
  const message = `Task not found: ${inspectValue(taskId)} was begun by another process, which has ended or is not this one`;
  return new ProtocolError(ErrorCode.invalidParams, message, { reason: 'process-ended' });
}
