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
import { rejected } from '../request-context.ts';
import type {
  BackgroundRun,
  OnceFn,
  RequestHandler,
  OutboundRequest,
  TaskHandle,
  StepJournal,
} from '../request-context.ts';

export class TaskRun extends Call {
  readonly #run: BackgroundRun;
  readonly #handle: TaskHandle;
  /** Takes what came of it. */
  #onResponse: BackgroundRun['onResponse'] = (response) => this.#run.onResponse(response);
  /** Set if its client is sent no requests. */
  readonly #polling: BackgroundRun['polled'] | undefined;

  /**
   * @param call the request that began it
   * @param handler what would have answered it
   */
  constructor(call: Call, handler: RequestHandler, work: BackgroundRun) {
    super(call, handler, call.scope, call, {
      add: (response) => this.#onResponse(response),
      drop: () => {},
    });
    this.#run = work;
    if (work.durable) keepCheckpoint(this, work.durable.journal);
    this.#polling = call.sendsRequests ? undefined : work.polled;
    this.receivedAt = call.receivedAt;
    this.#handle = {
      taskId: work.taskId,
      describe: (message) => {
        if (!this.hasEnded) work.onStatusMessage(String(message));
      },
    };
  }

  /** No answer can come from now on: what waits for one goes on, or is given up. */
  override onSessionClosing(): void {
    super.onSessionClosing();
    const { durable } = this.#run;
    if (durable) durable.onSessionClosing();
    else this.#polling?.end('The session is ending');
  }

  override end(): void {
    super.end();
    this.#polling?.end('The work has ended');
  }

  override abort(reason: Error): void {
    const { durable } = this.#run;
    if (durable && reason instanceof RuntimeError && reason.code === 'TRANSPORT_CLOSED') {
      this.#onResponse = () => durable.onSessionEnded();
    }
    super.abort(reason);
    this.#polling?.end(reason.message);
  }

  get journal(): StepJournal | undefined {
    return this.#run.durable?.journal;
  }

  override once<T>(key: string, make: OnceFn<T>): Promise<T> {
    return this.journal?.once(key, make) ?? super.once(key, make);
  }

  override get task(): TaskHandle | undefined {
    return this.#run.call ? undefined : this.#handle;
  }

  /** The request of a task is answered: if each request has its own stream, that one is closed. */
  override get relatedTo(): RelatedRequest | undefined {
    return this.#run.call ? this.#run.call.hostRequest : this.#run.relatedRequest();
  }

  override get meta(): JsonObject | undefined {
    return this.#run.call ? undefined : relatedTask(this.#run.taskId);
  }

  override get openRequests(): number {
    return this.#polling?.openQuestions ?? super.openRequests;
  }

  override notify(...notification: Parameters<Call['notify']>): void {
    const { call } = this.#run;
    const [method, params] = notification;
    if (call && method === Method.progress && !this.hasEnded) {
      // The host may have come back with a request of its own, and another token.
      const report = params as unknown as ProgressReport;
      return call.reportProgress(report, (sent) => this.#sendProgress(sent));
    }
    if (call ? this.relatedTo : !this.#polling) super.notify(...notification);
  }

  /** Sends progress after it is recorded: by then the handler may have returned. */
  #sendProgress(report: ProgressReport): void {
    const relatedTo = this.#run.call?.hostRequest;
    const meta = relatedTo?.params?.['_meta'];
    const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
    if (!isRequestId(token)) return;
    const params = this.peer.dialect.progress(token, report);
    const frames = [{ jsonrpc: '2.0', method: Method.progress, params } as const];
    this.scope.writer.send({ type: 'frames.send', frames, relatedTo });
  }

  override roots(wait: Parameters<Call['roots']>[0]): Promise<RootsReport> {
    return this.#polling?.roots(this) ?? super.roots(wait);
  }

  override sendRequest(question: OutboundRequest): Promise<JsonObject> {
    if (this.hasEnded || question.signal?.aborted) return super.sendRequest(question);
    if (this.#polling && this.scope.isClosing()) {
      const message = `${question.method} was not asked: the session is ending`;
      return rejected(new RuntimeError('TRANSPORT_CLOSED', message));
    }
    const { durable } = this.#run;
    if (durable) {
      const send = (spec: OutboundRequest) => this.#counted(spec, super.sendRequest(spec));
      return this.#polling ? durable.request(question) : durable.request(question, send);
    }
    return this.#counted(question, this.#polling?.ask(question) ?? super.sendRequest(question));
  }

  /** The status of the task says that a question is open. */
  #counted({ method }: OutboundRequest, asked: Promise<JsonObject>): Promise<JsonObject> {
    this.#run.onInputRequested(method);
    const received = () => {
      if (!this.hasEnded) this.#run.onInputReceived();
    };
    asked.then(received, received);
    return asked;
  }
}

/** The checkpoint is the journal's. */
function keepCheckpoint(run: TaskRun, journal: StepJournal): void {
  Object.defineProperty(run, 'checkpoint', {
    get: () => journal.checkpoint,
    set: (value: unknown) => {
      journal.checkpoint = value;
    },
  });
}
