/**
 * Work that has outlived its request: a call whose answer goes to a task. The router runs it
 * runs any call, so what it is answered with is exactly what the request would have been answered
 * with. Everything that its handler sends says whose work it is.
 *
 * @see MCP 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages"
 */
import { RuntimeError } from '../../protocol/errors.ts';
import { isJsonObject, isRequestId } from '../../protocol/classify.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import type { JsonObject, RelatedRequest } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { relatedTask } from '../../protocol/tasks.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import { Call } from './call.ts';
import { rejected } from '../exchange.ts';
import type {
  DetachedWork,
  OnceFn,
  RequestHandler,
  OutboundRequest,
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

  override once<T>(key: string, make: OnceFn<T>): Promise<T> {
    return this.ledger?.once(key, make) ?? super.once(key, make);
  }

  override get task(): TaskHandle | undefined {
    return this.#work.call ? undefined : this.#handle;
  }

  /** The request of a task is answered: if each request has its own stream, that one is closed. */
  override get relatedTo(): RelatedRequest | undefined {
    return this.#work.call ? this.#work.call.host : this.#work.waiting();
  }

  override get meta(): JsonObject | undefined {
    return this.#work.call ? undefined : relatedTask(this.#work.taskId);
  }

  override get openQuestions(): number {
    return this.#polled?.openQuestions ?? super.openQuestions;
  }

  override notify(...notification: Parameters<Call['notify']>): void {
    const { call } = this.#work;
    const [method, params] = notification;
    if (call && method === Method.progress && !this.hasEnded) {
      // The host may have come back with a request of its own, and another token.
      const report = params as unknown as ProgressReport;
      return call.progressed(report, (sent) => this.#sendProgress(sent));
    }
    if (call ? this.relatedTo : !this.#polled) super.notify(...notification);
  }

  /** Sends progress after it is recorded: by then the handler may have returned. */
  #sendProgress(report: ProgressReport): void {
    const relatedTo = this.#work.call?.host;
    const meta = relatedTo?.params?.['_meta'];
    const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
    if (!isRequestId(token)) return;
    const params = this.peer.dialect.progress(token, report);
    const frames = [{ jsonrpc: '2.0', method: Method.progress, params } as const];
    this.scope.writer.send({ type: 'frames.send', frames, relatedTo });
  }

  override roots(wait: Parameters<Call['roots']>[0]): Promise<RootsReport> {
    return this.#polled?.roots(this) ?? super.roots(wait);
  }

  override ask(question: OutboundRequest): Promise<JsonObject> {
    if (this.hasEnded || question.signal?.aborted) return super.ask(question);
    if (this.#polled && this.scope.isClosing()) {
      const message = `${question.method} was not asked: the session is ending`;
      return rejected(new RuntimeError('TRANSPORT_CLOSED', message));
    }
    const { resumable } = this.#work;
    if (resumable) {
      const send = (spec: OutboundRequest) => this.#counted(spec, super.ask(spec));
      return this.#polled ? resumable.ask(question) : resumable.ask(question, send);
    }
    return this.#counted(question, this.#polled?.ask(question) ?? super.ask(question));
  }

  /** The status of the task says that a question is open. */
  #counted({ method }: OutboundRequest, asked: Promise<JsonObject>): Promise<JsonObject> {
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
