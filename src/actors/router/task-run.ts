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
import type {
  DetachedWork,
  MakeOnce,
  RequestHandler,
  RequestSpec,
  TaskHandle,
  WorkLedger,
} from '../exchange.ts';

export class TaskRun extends Call {
  readonly #work: DetachedWork;
  readonly #handle: TaskHandle;
  /** Takes what came of it. */
  #answered: DetachedWork['answered'] = (response) => this.#work.answered(response);
  /** Set if its client is sent no requests. */
  readonly #polled: DetachedWork['polled'] | undefined;

  /**
   * @param call the request that began it
   * @param handler what would have answered it
   */
  constructor(call: Call, handler: RequestHandler, work: DetachedWork) {
    super(call, handler, call.scope, call, {
      add: (response) => this.#answered(response),
      drop: () => {},
    });
    this.#work = work;
    if (work.resumable) keepCheckpoint(this, work.resumable.ledger);
    this.#polled = call.sendsRequests ? undefined : work.polled;
    this.receivedAt = call.receivedAt;
    this.#handle = {
      taskId: work.taskId,
      describe: (message) => {
        if (!this.hasEnded) work.described(String(message));
      },
    };
  }

  /** No answer can come from now on: what waits for one goes on, or is given up. */
  override closing(): void {
    super.closing();
    const { resumable } = this.#work;
    if (resumable) resumable.closing();
    else this.#polled?.end('The session is ending');
  }

  override end(): void {
    super.end();
    this.#polled?.end('The work has ended');
  }

  override abort(reason: Error): void {
    const { resumable } = this.#work;
    if (resumable && reason instanceof RuntimeError && reason.code === 'TRANSPORT_CLOSED') {
      this.#answered = () => resumable.left();
    }
    super.abort(reason);
    this.#polled?.end(reason.message);
  }

  get ledger(): WorkLedger | undefined {
    return this.#work.resumable?.ledger;
  }

  override once<T>(key: string, make: MakeOnce<T>): Promise<T> {
    return this.ledger?.once(key, make) ?? super.once(key, make);
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
    if (this.hasEnded || question.signal?.aborted) return super.ask(question);
    if (this.#polled && this.scope.isClosing()) {
      const message = `${question.method} was not asked: the session is ending`;
      return rejectedQuestion(new RuntimeError('TRANSPORT_CLOSED', message));
    }
    const { resumable } = this.#work;
    if (resumable) {
      const send = (spec: RequestSpec) => this.#counted(spec, super.ask(spec));
      return this.#polled ? resumable.ask(question) : resumable.ask(question, send);
    }
    return this.#counted(question, this.#polled?.ask(question) ?? super.ask(question));
  }

  /** The status of the task says that a question is open. */
  #counted({ method }: RequestSpec, asked: Promise<JsonObject>): Promise<JsonObject> {
    this.#work.inputRequested(method);
    const received = () => {
      if (!this.hasEnded) this.#work.inputReceived();
    };
    asked.then(received, received);
    return asked;
  }
}

/** The checkpoint is the ledger's. */
function keepCheckpoint(run: TaskRun, ledger: WorkLedger): void {
  Object.defineProperty(run, 'checkpoint', {
    get: () => ledger.checkpoint,
    set: (value: unknown) => {
      ledger.checkpoint = value;
    },
  });
}
