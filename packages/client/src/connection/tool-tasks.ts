/**
 * Tool calls that run as tasks, because the tool requires it (2025-11-25), the server decides so
 * (2026-07-28), or the host asks for it. Each task is followed until it ends.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks
 * @see the extension io.modelcontextprotocol/tasks
 */
import type { MachineActor } from '../../../../src/actors/transitions.ts';
import { followedTaskMachine } from './followed-task.machine.ts';
import type { FollowedTaskInput } from './followed-task.machine.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { ProgressReport } from '../../../../src/protocol/dialects/dialect.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, RequestId } from '../../../../src/protocol/frames.ts';
import { readTaskReport, tasksExtension } from '../../../../src/protocol/tasks.ts';
import type { FirstResult } from '../asked/input-rounds.ts';
import { Subscription } from '../lists/listening.actor.ts';
import type { KeptList } from '../lists/kept-list.ts';
import type { ListeningPort } from '../lists/listening.actor.ts';
import type { Era } from './connection-context.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { HostCall, Requests } from './requests.ts';
import type { ConnectionLimits } from './limits.ts';
import type { HostRequestOptions } from './options.ts';
import { followedTaskActors } from './followed-task.actor.ts';
import type { AskedServer } from './followed-task.actor.ts';
import { FollowedTask, answeredTask } from './tool-task.observable.ts';
import type { ToolTask } from './tool-task.observable.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** Task support of the current channel's server; `unknown` before the first channel. */
type TaskOffer = 'unknown' | 'none' | 'legacy' | 'modern';

/** Derives the task support from the server's capabilities. */
function taskOfferOf(era: Era, capabilities: JsonObject): TaskOffer {
  const path =
    era === 'modern' ? ['extensions', tasksExtension] : ['tasks', 'requests', 'tools', 'call'];
  const declared = path.reduce<unknown>(
    (value, member) => (isJsonObject(value) ? value[member] : undefined),
    capabilities,
  );
  return isJsonObject(declared) ? era : 'none';
}

/** `taskSupport` of a tool (2025-11-25). */
function supportOf(tool: ListedTool | undefined): unknown {
  return isJsonObject(tool?.execution) ? tool.execution['taskSupport'] : undefined;
}

/** The connection as seen by its tasks. */
export interface ToolTasksHost extends ListeningPort, AskedServer {
  readonly name: string;
  readonly limits: ConnectionLimits;
  readonly report: Report;
  readonly requests: Pick<Requests, 'ask' | 'request'>;
  /** Creates the parser of a tool's results. */
  readonly readerOf: (tool: string) => (result: JsonObject) => CallToolResult;
  /** Cancels a task by id. Recordings record this as a call of the host. */
  readonly cancel: (id: string) => Promise<void>;
}

/** Options of a call as a task. */
export interface TaskOptions extends HostRequestOptions {
  /** Requested lifetime of the task, ms. Sent only to servers of 2025-11-25. */
  readonly ttlMs?: number;
}

const noTools: ReadonlySet<string> = new Set();

/** A followed task, and the callbacks of its host. */
interface Followed {
  readonly task: FollowedTask;
  /** Request id of its call, which is also its progress token. */
  readonly token: RequestId | undefined;
  readonly onProgress: HostRequestOptions['onProgress'];
  readonly listening: Subscription | undefined;
}

export class ToolTasks {
  readonly host: ToolTasksHost;
  /** Created for the first task: most connections follow none. */
  #followed: Map<string, Followed> | undefined = undefined;
  /** Task support of the last channel's server. */
  offer: TaskOffer = 'unknown';
  /** Tools that must run as tasks; undefined until the list is known. */
  only: ReadonlySet<string> | undefined = undefined;

  constructor(host: ToolTasksHost) {
    this.host = host;
  }

  get #all(): Iterable<Followed> {
    return this.#followed?.values() ?? [];
  }

  /** Charts of the followed tasks and of their subscriptions. */
  get machines(): readonly MachineActor[] {
    return [...this.#all].flatMap(({ task, listening }) =>
      listening ? [task.machine, listening.machine] : [task.machine],
    );
  }

  /** Called when a channel is ready. */
  opened(era: Era, capabilities: JsonObject): void {
    this.offer = taskOfferOf(era, capabilities);
    this.only = this.offer === 'legacy' ? undefined : noTools;
  }

  /**
   * True if a tool of 2025-11-25 must run as a task; false if the server does not list its tools.
   */
  async demands(name: string, list: KeptList<ListedTool>, options: HostRequestOptions = {}) {
    if (!this.only) {
      const tools = await this.#listed(list, options);
      const demanding = tools?.filter((tool) => supportOf(tool) === 'required');
      if (demanding) this.only = new Set(demanding.map((tool) => tool.name));
    }
    return this.only?.has(name) === true;
  }

  /** The tools; undefined if the server does not list them. */
  async #listed(list: KeptList<ListedTool>, options: HostRequestOptions) {
    const { timeoutMs = this.host.limits.requestTimeoutMs, signal } = options;
    return list.items({ timeoutMs, signal }).catch(() => undefined);
  }

  /** Calls a tool of 2025-11-25 that must run as a task, and resolves to its result. */
  async call(params: JsonObject, options: HostRequestOptions = {}): Promise<CallToolResult> {
    const { limits, clock } = this.host;
    const { timeoutMs = limits.requestTimeoutMs, signal, onTask } = options;
    const { maxTotalMs = Math.max(timeoutMs, limits.requestMaxTotalMs) } = options;
    const startedAt = clock.now();
    const answer = await this.#askForTask({ ...params, task: {} }, options);
    if (!(answer instanceof FollowedTask)) return answer;
    const result = await this.#await(answer, { onTask, signal, maxTotalMs, startedAt });
    return this.#readerOf(params)(result);
  }

  /** See `RoundsHost.awaitTask`. */
  async awaited(call: HostCall, { result, startedAt }: FirstResult): Promise<JsonObject> {
    const task = this.#follow('modern', result, call.params ?? {}, undefined, {});
    return this.#await(task, { ...call, startedAt });
  }

  /** Waits for the task's result. The end of the call ends the task, unless it is held. */
  #await(
    task: FollowedTask,
    call: Pick<HostCall, 'onTask' | 'task' | 'signal' | 'maxTotalMs'> & {
      readonly startedAt: number;
    },
  ): Promise<JsonObject> {
    const { maxTotalMs, startedAt } = call;
    const isHeld = call.task === 'held';
    const end = (error: RuntimeError): RuntimeError => {
      void task.abandon(error);
      return error;
    };
    const whose = `The task ${task.id} of ${this.host.name}`;
    const settled = task.settled({
      timeoutMs: isHeld ? maxDelayMs : Math.max(1, startedAt + maxTotalMs - this.host.clock.now()),
      signal: isHeld ? undefined : call.signal,
      overdue: () =>
        end(new RuntimeError('REQUEST_TIMEOUT', `${whose} did not end within ${maxTotalMs} ms`)),
      abortError: (cause) =>
        end(new RuntimeError('CANCELLED', `${whose} was cancelled`, { cause })),
    });
    call.onTask?.(task);
    return settled;
  }

  /**
   * Calls a tool as a task, if the server creates one. No task is requested from a server of
   * 2025-11-25 if the tool's `execution.taskSupport` does not allow it.
   */
  async begin(
    params: JsonObject,
    { ttlMs, ...options }: TaskOptions,
    list: KeptList<ListedTool>,
  ): Promise<ToolTask> {
    const { name, requests } = this.host;
    const refusal = (why: string): RuntimeError =>
      new RuntimeError('CAPABILITY_MISSING', `The tool was not called: ${why}`);
    if (this.offer === 'none') throw refusal(`${name} does not declare support for tasks`);
    if (this.offer === 'legacy') {
      const tool = (await this.#listed(list, options))?.find(
        (each) => each.name === params['name'],
      );
      const support = supportOf(tool);
      if (tool && support !== 'required' && support !== 'optional') {
        throw refusal(`${name} does not support tasks for ${inspectValue(tool.name)}`);
      }
    }
    const answered = answeredTask;
    if (this.offer === 'legacy') {
      const answer = await this.#askForTask({ ...params, task: { ttl: ttlMs } }, options);
      return answer instanceof FollowedTask ? answer : answered(answer);
    }
    return new Promise((resolve, reject) => {
      const held = { ...options, task: 'held', onTask: resolve } as const;
      // The task itself reports its end to its holder.
      requests.ask('tools/call', params, held, this.#readerOf(params)).then(
        (result) => resolve(answered(result)),
        (error: Error) => reject(error),
      );
    });
  }

  cancel(id: string): Promise<void> {
    const error = new RuntimeError('CANCELLED', `The task ${id} was cancelled`);
    return this.#followed?.get(id)?.task.abandon(error) ?? Promise.resolve();
  }

  /** Handles a notification about a followed task. */
  heard(method: string, params: JsonObject | undefined): void {
    if (method === 'notifications/tools/list_changed' && this.offer === 'legacy') {
      this.only = undefined;
    }
    if (!this.#followed?.size) return;
    if (method === 'notifications/subscriptions/acknowledged') {
      for (const { listening } of this.#all) listening?.acknowledged(params);
      return;
    }
    if (method !== 'notifications/tasks' && method !== 'notifications/tasks/status') return;
    const followed = this.#followed.get(String(params?.['taskId']));
    try {
      followed?.task.told(readTaskReport(params));
    } catch (error) {
      this.host.report({
        level: 'warning',
        name: 'response.malformed',
        message: (error as Error).message,
      });
    }
  }

  /** Delivers progress of an answered request: a task's progress continues after that. */
  progressed(token: RequestId, report: ProgressReport): void {
    for (const followed of this.#all) {
      if (followed.token !== token) continue;
      try {
        followed.onProgress?.(report);
      } catch (error) {
        void followed.task.abandon(error as Error);
      }
    }
  }

  /** Abandons all tasks: no more requests are sent. */
  end(error: RuntimeError): void {
    for (const { task } of this.#all) void task.abandon(error);
  }

  /**
   * Calls a tool of 2025-11-25 with a task request; resolves to the created task, or to the plain
   * result.
   */
  #askForTask(
    params: JsonObject,
    options: HostRequestOptions,
  ): Promise<CallToolResult | FollowedTask> {
    let token: RequestId | undefined;
    const sent = (id: RequestId): void => void (token = id);
    return this.host.requests.ask('tools/call', params, { ...options, sent }, (result) =>
      isJsonObject(result['task'])
        ? this.#follow('legacy', result['task'], params, token, options)
        : this.#readerOf(params)(result),
    );
  }

  #readerOf({ name }: JsonObject): (result: JsonObject) => CallToolResult {
    return this.host.readerOf(String(name));
  }

  #follow(
    era: FollowedTaskInput['era'],
    value: unknown,
    params: JsonObject,
    token: RequestId | undefined,
    { onProgress }: HostRequestOptions,
  ): FollowedTask {
    const { clock, limits, rounds, cancel } = this.host;
    const read = this.#readerOf(params);
    const first = readTaskReport(value);
    const { taskId } = first;
    const followed = (this.#followed ??= new Map());
    if (followed.has(taskId) || followed.size >= limits.maxPending) {
      const why = followed.has(taskId)
        ? 'follows it already'
        : `follows ${limits.maxPending} tasks`;
      throw new RuntimeError(
        'LIMIT_EXCEEDED',
        `The task ${taskId} cannot be followed: the host ${why}`,
      );
    }
    const input = { scope: this, task: first, era, maxRounds: rounds.maxRounds };
    const task = new FollowedTask({
      ...{ clock, machine, input, read, cancel, observed: this.host.observed },
    });
    const listening = era === 'modern' ? this.#listen(task) : undefined;
    followed.set(taskId, { task, token, onProgress, listening });
    void task.over.then(() => {
      followed.delete(taskId);
      listening?.stop();
    });
    return task;
  }

  /** The task is also polled, so nothing depends on these notifications. */
  #listen(task: FollowedTask): Subscription {
    const nothing = (): void => {};
    const owner = { opened: () => task.listened(), cut: nothing, refused: nothing };
    return new Subscription(this.host, { taskIds: [task.id] }, owner, 'task');
  }
}

const machine = followedTaskMachine.provide({ actors: followedTaskActors(hostOf) });

function hostOf({ scope }: Pick<FollowedTaskInput, 'scope'>): ToolTasksHost {
  return (scope as ToolTasks).host;
}
