/** The tasks feature, loaded with the first tool that offers tasks. */
import { wrapHandler } from '../../actors/request-context.ts';
import type { RequestHandler } from '../../actors/request-context.ts';
import { LazyModule } from '../../actors/lazy-module.ts';
import type { ChangeNotification } from '../../protocol/subscriptions.ts';
import type { Tool } from '../define/tool.ts';
import { scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { OfferedItems } from './registry.ts';
import { offersTasks } from './task-tools.ts';
import type { TasksFeature } from './task-tools.ts';

/** A {@link TasksFeature} whose code is loaded on demand. */
export interface TasksOnDemand extends TasksFeature {
  /** True if any tool currently offers tasks. Reading it starts loading the code. */
  readonly isOffered: boolean;
  /** Starts loading the code, for a session that records calls. */
  begin(): void;
}

const code = new LazyModule(() => import('./tasks.ts'));

const methods = ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/update', 'tasks/cancel'];

/** @param notice notifies the subscriptions of a session */
export function tasksOnDemand(
  tools: OfferedItems<Tool>,
  notice: (session: SessionScope, notice: ChangeNotification) => void,
): TasksOnDemand {
  let made: TasksFeature | undefined;
  const withTasks = <R>(run: (tasks: TasksFeature) => R) =>
    made ? run(made) : code.with(({ tasksFeature }) => run((made ??= tasksFeature(tools, notice))));
  return {
    get isOffered() {
      const isOffered = offersTasks(tools);
      if (isOffered) code.preload();
      return isOffered;
    },
    begin: () => code.preload(),
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    handlers: Object.fromEntries(
      methods.map((method) => {
        const handler: RequestHandler = (params, call) =>
          withTasks(({ handlers }) => handlers[method]?.(params, call));
        return [method, handler];
      }),
    ),
    augment(handler, isOffered) {
      let augmented: RequestHandler | undefined;
      const whenLoaded = <R>(run: (own: RequestHandler) => R) =>
        augmented
          ? run(augmented)
          : withTasks((tasks) => run((augmented ??= tasks.augment(handler, isOffered))));
      const callTool: RequestHandler = (params, call) => {
        const { durable, isSupervised } = scopeOfCall(call);
        if (!isOffered && !durable && !isSupervised) return handler(params, call);
        return whenLoaded((own) => own(params, call));
      };
      const returnsInputRequired: RequestHandler['returnsInputRequired'] = (call) =>
        scopeOfCall(call).durable?.canResume
          ? whenLoaded((own) => own.returnsInputRequired?.(call) ?? false)
          : (handler.returnsInputRequired?.(call) ?? false);
      return Object.assign(wrapHandler(handler, callTool), { returnsInputRequired });
    },
    listenTo: async (session, taskId, call) =>
      await withTasks((tasks) => tasks.listenTo(session, taskId, call)),
    sessionTasksOf: (session) => made?.sessionTasksOf(session),
  };
}
