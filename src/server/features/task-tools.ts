/** The feature of tasks as a server sees it, and what tools say of it: servers without tasks load no more of them. */
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import type { Tool } from '../define/tool.ts';
import { machineOfTool } from '../define/tool-machine.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';
import type { OfferedItems } from './registry.ts';
import type { SessionTasks } from './session-tasks.ts';

export interface TasksFeature extends Feature {
  /**
   * Lets clients ask for a task in `tools/call`; the task then runs the handler. It is put around
   * the middleware too, so that middleware sees the run and its result, not the creation of the
   * task.
   */
  augment(handler: RequestHandler, offersTasks: boolean): RequestHandler;
  /** Whether a caller may listen to a task. */
  listenTo(session: SessionScope, taskId: string, call: RequestContext): Promise<boolean>;
  /** The tasks of a session; undefined before the first. */
  sessionTasksOf(session: SessionScope): Pick<SessionTasks, 'list' | 'parkedCount'> | undefined;
}

/** True if any tool may be called as a task: then the session declares tasks. */
export function offersTasks(tools: OfferedItems<Tool>): boolean {
  return tools
    .list()
    .some(({ item: { taskSupport = 'forbidden' } }) => taskSupport !== 'forbidden');
}

/** True if calls of any tool can be recorded. */
export function offersDurableCalls(tools: OfferedItems<Tool>): boolean {
  return tools.list().some(({ item }) => isResumable(item));
}

/** Whether tasks and calls of a tool can go on after their process. */
export function isResumable(tool: Tool): boolean {
  return tool.durable ?? machineOfTool(tool) !== undefined;
}

/** A durable tool need not run as a task: its calls survive as well. */
export function asCall<T extends Pick<Tool, 'taskSupport'>>(tool: T): T {
  return tool.taskSupport === 'required' ? { ...tool, taskSupport: 'optional' } : tool;
}
