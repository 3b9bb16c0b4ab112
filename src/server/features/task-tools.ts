/** Interface of the tasks feature, and the task options of tools. Servers without tasks load nothing else of it. */
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import type { Tool } from '../define/tool.ts';
import { machineOfTool } from '../define/tool-machine.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';
import type { OfferedItems } from './registry.ts';
import type { SessionTasks } from './session-tasks.ts';

export interface TasksFeature extends Feature {
  /**
   * Wraps `tools/call` so that clients can request a task, which then runs the handler. The wrapper is outside the
   * middleware, so middleware sees the run and its result, not the creation of the task.
   */
  augment(handler: RequestHandler, offersTasks: boolean): RequestHandler;
  /** True if a caller may subscribe to a task. */
  listenTo(session: SessionScope, taskId: string, call: RequestContext): Promise<boolean>;
  /** The tasks of a session; undefined before its first task. */
  sessionTasksOf(session: SessionScope): Pick<SessionTasks, 'list' | 'parkedCount'> | undefined;
}

/** True if any tool may be called as a task; the session then declares the capability. */
export function offersTasks(tools: OfferedItems<Tool>): boolean {
  return tools
    .list()
    .some(({ item: { taskSupport = 'forbidden' } }) => taskSupport !== 'forbidden');
}

/** True if calls of any tool can be recorded. */
export function offersDurableCalls(tools: OfferedItems<Tool>): boolean {
  return tools.list().some(({ item }) => isResumable(item));
}

/** True if tasks and calls of a tool survive their process. */
export function isResumable(tool: Tool): boolean {
  return tool.durable ?? machineOfTool(tool) !== undefined;
}

/** Makes tasks optional for a durable tool, because its ordinary calls survive as well. */
export function asCall<T extends Pick<Tool, 'taskSupport'>>(tool: T): T {
  return tool.taskSupport === 'required' ? { ...tool, taskSupport: 'optional' } : tool;
}
