/**
 * A background run: a call whose answer goes to a task. The router runs it like any call, so the
 * task gets exactly what the request would have been answered with. Messages of the handler name
 * the task.
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
  /** Receives the response. */
  #onResponse: BackgroundRun['onResponse'] = (response) => this.#run.onResponse(response);
  /** Set if the client accepts no requests. */
  readonly #polling: BackgroundRun['polled'] | undefined;

  /**
   * @param call the request that started the run
   * @param handler the handler that would have answered it
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

  /** The session is closing: the run is unloaded, or its requests fail. */
  override onSessionClosing(): void {
    super.onSessionClosing();
    const { durable } = this.#run;
    if (durable) durable.onSessionClosing();
    else this.#polling?.end('The session is closing');
  }

  override end(): void {
    super.end();
    this.#polling?.end('The run has ended');
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

  /**
   * The related request: for a task, one that waits for the result, since the original request is
   * answered.
   */
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
      // The host may have returned with another request and progress token.
      const report = params as unknown as ProgressReport;
      return call.reportProgress(report, (sent) => this.#sendProgress(sent));
    }
    if (call ? this.relatedTo : !this.#polling) super.notify(...notification);
  }

  /** Sends progress after recording it. The handler may have returned by then. */
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
      const message = `${question.method} was not sent: the session is closing`;
      return rejected(new RuntimeError('TRANSPORT_CLOSED', message));
    }
    const { durable } = this.#run;
    if (durable) {
      const send = (spec: OutboundRequest) => this.#counted(spec, super.sendRequest(spec));
      return this.#polling ? durable.request(question) : durable.request(question, send);
    }
    return this.#counted(question, this.#polling?.ask(question) ?? super.sendRequest(question));
  }

  /** Tracks a request, so that the task's status shows that input is required. */
  #counted({ method }: OutboundRequest, asked: Promise<JsonObject>): Promise<JsonObject> {
    this.#run.onInputRequested(method);
    const received = () => {
      if (!this.hasEnded) this.#run.onInputReceived();
    };
    asked.then(received, received);
    return asked;
  }
}

/** Redirects the run's checkpoint to its journal. */
function keepCheckpoint(run: TaskRun, journal: StepJournal): void {
  Object.defineProperty(run, 'checkpoint', {
    get: () => journal.checkpoint,
    set: (value: unknown) => {
      journal.checkpoint = value;
    },
  });
}
