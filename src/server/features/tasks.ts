/**
 * Tool calls as tasks: the request is answered at once, the tool keeps running, and the client fetches the result
 * later.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import { wrapHandler } from '../../actors/request-context.ts';
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import { ErrorCode, ProtocolError, fromWireError } from '../../protocol/errors.ts';
import type { WireError } from '../../protocol/frames.ts';
import { readInputResponses } from '../../protocol/input-required.ts';
import type { ChangeNotification } from '../../protocol/subscriptions.ts';
import type { OfferedItems } from './registry.ts';
import type { Tool } from '../define/tool.ts';
import { validateResumption } from '../define/machine-run.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { readSupervisedCall } from '../../protocol/durable-calls.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { PerSession, scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { ifOffered, requireTaskSupport } from './feature.ts';
import { pageOf } from './pagination.ts';
import { SessionTasks } from './session-tasks.ts';
import { asCall, isResumable } from './task-tools.ts';
import type { TasksFeature } from './task-tools.ts';

/** The retryable error for a resent call of a tool that is not durable, whose handler may already have run. */
function notRepeated(params: JsonObject | undefined): ProtocolError {
  const name = inspectValue(params?.['name']);
  const message = `The process that ran ${name} has ended, and the tool is not durable: it may have done part of its work`;
  const data = { reason: 'process-ended', retryable: true };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

/**
 * Creates the tasks feature of a server; see `tasksOnDemand`.
 *
 * @param notice notifies the subscriptions of a session
 */
export function tasksFeature(
  tools: OfferedItems<Tool>,
  notice: (session: SessionScope, notice: ChangeNotification) => void,
): TasksFeature {
  const sessionTasks = new PerSession((session) => {
    const tasks = new SessionTasks(session, (task) => notice(session, task));
    session.atEnd(() => tasks.stop());
    return tasks;
  });
  const tasksOf = (call: RequestContext) => sessionTasks.of(scopeOfCall(call));
  const tasksFor = (call: RequestContext) => {
    requireTaskSupport(call);
    return tasksOf(call);
  };

  /** Calls whose revision asks the client in results instead of requests. */
  const inRounds = new WeakSet<RequestContext>();

  const toolOf = (params: JsonObject | undefined, call: RequestContext) => {
    const name = params?.['name'];
    return typeof name === 'string' ? tools.visibleTo(call.request).get(name) : undefined;
  };

  const callTool = (handler: RequestHandler, isOffered: boolean): RequestHandler => {
    return (params, call) => {
      const { durable, isSupervised } = scopeOfCall(call);
      if (!isOffered && !durable && !isSupervised) return handler(params, call);
      const tool = toolOf(params, call);
      const calls = tool && isResumable(tool) ? tasksOf(call).calls : undefined;
      const { dialect, capabilities } = call.request.peer;
      const wanted =
        isOffered && tool && dialect.taskRequest(calls ? asCall(tool) : tool, params, capabilities);
      if (!wanted && calls) {
        const faultOf = (checkpoint: unknown) => validateResumption(tool as Tool, checkpoint);
        return calls.serve(call, { handler, faultOf }, inRounds.has(call));
      }
      const supervised = isSupervised ? readSupervisedCall(params) : undefined;
      if (supervised?.isResent && !(wanted && durable)) throw notRepeated(params);
      if (!tool || !wanted) return handler(params, call);
      const { requestedTtlMs } = wanted;
      const options = { requestedTtlMs, isResumable: isResumable(tool), supervised };
      const created = tasksOf(call).create(call, handler, options);
      if (created instanceof Promise) return created.then((task) => dialect.createdTask(task));
      return dialect.createdTask(created);
    };
  };

  return {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    handlers: {
      'tasks/get': ifOffered(async (params, call) =>
        call.request.peer.dialect.task((await tasksFor(call).findLatest(params, call)).detailed),
      ),
      'tasks/list': ifOffered(async (params, call) => {
        const { pageSize } = scopeOfCall(call).limits;
        const own = tasksOf(call).listFor(call);
        const { items, ...next } = pageOf('tasks/list', own, params, pageSize);
        const known = await Promise.all(items);
        return { tasks: known.filter((task) => task !== undefined), ...next };
      }),
      'tasks/result': ifOffered(async (params, call) => {
        const tasks = tasksOf(call);
        const task = await tasks.find(params, call);
        const { maxWaiting } = scopeOfCall(call).limits;
        if (!task.hasEnded && tasks.waiters >= maxWaiting)
          throw fromWireError(tooManyWait(maxWaiting));
        return task.result(call);
      }),
      'tasks/update': ifOffered(async (params, call) => {
        const task = await tasksFor(call).find(params, call);
        await task.questions.answer(readInputResponses(params) ?? {});
        return {};
      }),
      'tasks/cancel': ifOffered(async (params, call) => {
        const task = await tasksFor(call).find(params, call);
        const { dialect } = call.request.peer;
        const isCancelled = await tasksOf(call).cancel(task, call);
        const { item } = await tasksFor(call).find(params, call);
        return isCancelled ? dialect.cancelledTask(item) : dialect.cancelledEndedTask(item);
      }),
    },
    augment(handler, isOffered) {
      const returnsInputRequired: RequestHandler['returnsInputRequired'] = (call) => {
        const { durable } = scopeOfCall(call);
        const tool = durable?.canResume ? toolOf(call.request.params, call) : undefined;
        if (!tool || !isResumable(tool)) return handler.returnsInputRequired?.(call) ?? false;
        inRounds.add(call);
        return true;
      };
      return Object.assign(wrapHandler(handler, callTool(handler, isOffered)), {
        returnsInputRequired,
      });
    },
    listenTo: (session, taskId, call) => sessionTasks.of(session).listenTo(taskId, call),
    sessionTasksOf: (session) => sessionTasks.peek(session),
  };
}

function tooManyWait(maxWaiting: number): WireError {
  return {
    code: ErrorCode.serverUnavailable,
    message: `Overloaded: ${maxWaiting} requests wait for the result of a task; try again when some have been answered`,
    data: { reason: 'overloaded', retryable: true },
  };
}
