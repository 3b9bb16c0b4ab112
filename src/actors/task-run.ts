/**
 * The work of a task: a call that has outlived its request. The router runs it as it runs any call, so what it is answered with is exactly
 * what the request would have been answered with. Everything that its handler sends says whose work it is.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages"
 */
import type { ActorRefFrom } from 'xstate';
import type { taskMachine } from '../machines/task.machine.ts';
import type { JsonObject, OutboundResponse, RequestId } from '../protocol/frames.ts';
import { relatedTask } from '../protocol/tasks.ts';
import { Call } from './call.ts';
import type { RequestHandler, TaskHandle } from './call.ts';
import type { RequestSpec } from './client-request.ts';

export type TaskRef = ActorRefFrom<typeof taskMachine>;

export interface TaskRunOptions {
  readonly taskId: string;
  readonly actor: TaskRef;
  /** Takes what the request would have been answered with. */
  readonly answered: (response: OutboundResponse) => void;
  /** A request that waits for the task's result, if there is one: what the task has to ask goes on its stream. */
  readonly waiting: () => RequestId | undefined;
}

export class TaskRun extends Call {
  readonly #options: TaskRunOptions;
  readonly #handle: TaskHandle;

  /**
   * @param call the request that asked for a task
   * @param handler what would have answered it
   */
  constructor(call: Call, handler: RequestHandler, options: TaskRunOptions) {
    super(call, handler, call.scope, { add: options.answered, drop: () => {} });
    this.#options = options;
    this.receivedAt = call.receivedAt;
    this.#handle = {
      taskId: options.taskId,
      describe: (message) => {
        if (this.state === 'ended') return;
        options.actor.send({ type: 'task.describe', message: String(message) });
      },
    };
  }

  override get task(): TaskHandle {
    return this.#handle;
  }

  /** The request itself is answered: where each has its own stream, that one is closed. */
  override get relatedTo(): RequestId | undefined {
    return this.#options.waiting();
  }

  override get meta(): JsonObject {
    return relatedTask(this.#options.taskId);
  }

  override ask(spec: RequestSpec): Promise<JsonObject> {
    if (this.state === 'ended' || spec.signal?.aborted) return super.ask(spec);
    const { actor } = this.#options;
    // First the status, then the question: who looks at the task sees why it does not go on.
    actor.send({ type: 'input.requested', method: spec.method });
    const asked = super.ask(spec);
    const received = () => {
      if (this.state !== 'ended') actor.send({ type: 'input.received' });
    };
    asked.then(received, received);
    return asked;
  }
}
