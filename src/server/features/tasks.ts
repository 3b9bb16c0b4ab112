/**
 * Tool calls as tasks: the request is answered at once, the tool runs on, and its result is fetched later.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import { methodNotOffered, tooManyWait } from '../../actors/refusals.ts';
import type { RequestHandler } from '../../actors/call.ts';
import { ProtocolError } from '../../protocol/errors.ts';
import type { WireError } from '../../protocol/frames.ts';
import { withMeta } from '../../protocol/meta.ts';
import { relatedTask } from '../../protocol/tasks.ts';
import type { Registry } from '../registry.ts';
import type { Tool } from '../tool.ts';
import type { Feature, FeatureScope } from './feature.ts';
import type { KeptTask } from './kept-task.ts';
import { pageOf } from './pagination.ts';
import { TaskBook } from './task-book.ts';

export interface TasksFeature extends Feature {
  /**
   * `tools/call`, where a client may ask for a task: then the handler is what the task runs.
   * It stands around everything else that is around the handler, so that middleware sees the run and its outcome, not the making of the task.
   */
  augment(handler: RequestHandler): RequestHandler;
  /** Every task that is kept, oldest first. */
  kept(): readonly KeptTask[];
}

/** True where some tool may be called as a task: then the session declares tasks. */
export function offersTasks(tools: Registry<Tool>): boolean {
  return tools
    .list()
    .some(({ item: { taskSupport = 'forbidden' } }) => taskSupport !== 'forbidden');
}

/** The tasks of one session. */
export function tasksFeature(tools: Registry<Tool>, scope: FeatureScope): TasksFeature {
  const book = new TaskBook(scope);

  const callTool = (handler: RequestHandler): RequestHandler => {
    return (params, call) => {
      const name = params?.['name'];
      const tool = typeof name === 'string' ? tools.get(name) : undefined;
      const wanted = tool && call.scope.client.dialect.taskRequest(tool, params);
      if (!wanted) return handler(params, call);
      const task = book.create(call, handler, wanted.requestedTtlMs);
      return withMeta({ task }, relatedTask(task.taskId));
    };
  };

  return {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    handlers: {
      'tasks/get': ifOffered((params) => ({ ...book.find(params).item })),
      'tasks/list': ifOffered((params) => {
        const page = pageOf('tasks/list', book.list(), params, scope.limits.pageSize);
        const { items, ...next } = page;
        return { tasks: items, ...next };
      }),
      'tasks/result': ifOffered((params, call) => {
        const task = book.find(params);
        const waiting = book.list().reduce((sum, { waiters }) => sum + waiters, 0);
        const { maxWaiting } = scope.limits;
        if (!task.hasEnded && waiting >= maxWaiting) throw protocolError(tooManyWait(maxWaiting));
        return task.result(call);
      }),
      'tasks/cancel': ifOffered((params) => ({ ...book.find(params).cancel() })),
    },
    augment: (handler) => Object.assign(callTool(handler), preparationOf(handler)),
    kept: () => book.list(),
    stop: () => book.stop(),
  };
}

/** A handler for the clients in whose revision there is the method. */
function ifOffered(handler: RequestHandler): RequestHandler {
  return (params, call) => {
    if (call.scope.client.dialect.offers(call.method)) return handler(params, call);
    throw protocolError(methodNotOffered(call.method));
  };
}

function preparationOf({ prepare }: RequestHandler): Pick<RequestHandler, 'prepare'> {
  return prepare ? { prepare } : {};
}

function protocolError({ code, message, data }: WireError): ProtocolError {
  return new ProtocolError(code, message, data);
}
