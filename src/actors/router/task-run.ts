/**
 * Work that has outlived its request: a call whose answer goes to a task. The router runs it
 * runs any call, so what it is answered with is exactly what the request would have been answered
 * with. Everything that its handler sends says whose work it is.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages"
 */
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject, RelatedRequest } from '../../protocol/frames.ts';
import { relatedTask } from '../../protocol/tasks.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import { Call } from './call.ts';
import { rejectedQuestion } from '../exchange.ts';
import type { DetachedWork, RequestHandler, RequestSpec, TaskHandle } from '../exchange.ts';

export class TaskRun extends Call {
  readonly #work: DetachedWork;
  readonly #handle: TaskHandle;
  /** Set if its client is sent no requests. */
  readonly #polled: DetachedWork['polled'] | undefined;

  /**
   * @param call the request that began it
   * @param handler what would have answered it
   */
  constructor(call: Call, handler: RequestHandler, work: DetachedWork) {
    super(call, handler, call.scope, call, {
      add: (response) => work.answered(response),
      drop: () => {},
    });
    this.#work = work;
    this.#polled = call.sendsRequests ? undefined : work.polled;
    this.receivedAt = call.receivedAt;
    this.#handle = {
      taskId: work.taskId,
      describe: (message) => {
        if (this.state !== 'ended') work.described(String(message));
      },
    };
  }

  /** No answer can come from now on: what waits for one goes on. */
  override closing(): void {
    super.closing();
    this.#polled?.end('The session is ending');
  }

  override end(): void {
    super.end();
    this.#polled?.end('The work has ended');
  }

  override abort(reason: Error): void {
    super.abort(reason);
    this.#polled?.end(reason.message);
  }

  override get task(): TaskHandle {
    return this.#handle;
  }

  /** The request itself is answered: if each request has its own stream, that one is closed. */
  override get relatedTo(): RelatedRequest | undefined {
    return this.#work.waiting();
  }

  override get meta(): JsonObject {
    return relatedTask(this.#work.taskId);
  }

  override get openQuestions(): number {
    return this.#polled?.openQuestions ?? super.openQuestions;
  }

  override notify(...notification: Parameters<Call['notify']>): void {
    if (!this.#polled) super.notify(...notification);
  }

  override roots(wait: Parameters<Call['roots']>[0]): Promise<RootsReport> {
    return this.#polled?.roots(this) ?? super.roots(wait);
  }

  override ask(question: RequestSpec): Promise<JsonObject> {
    if (this.state === 'ended' || question.signal?.aborted) return super.ask(question);
    if (this.#polled && this.scope.isClosing()) {
      const message = `${question.method} was not asked: the session is ending`;
      return rejectedQuestion(new RuntimeError('TRANSPORT_CLOSED', message));
    }
    const waiting = this.#polled?.ask(question);
    // First the status, then the question: who looks at the task sees why it does not go on.
    this.#work.inputRequested(question.method);
    const asked = waiting ?? super.ask(question);
    const received = () => {
      if (this.state !== 'ended') this.#work.inputReceived();
    };
    asked.then(received, received);
    return asked;
  }
}
