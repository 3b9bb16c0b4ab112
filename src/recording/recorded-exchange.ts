/** An exchange whose handler is heard: what it asks the client, what it says, what it says of its task. */
import type { Clock } from '../actors/clock.ts';
import type {
  DetachedWork,
  Exchange,
  RequestHandler,
  RequestSpec,
  TaskHandle,
} from '../actors/exchange.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import type { RootsReport } from '../machines/roots-report.ts';
import { heardSignal } from './heard-signal.ts';
import type { Passage } from './passage.ts';
import { written, writtenFrames } from './written.ts';

export class RecordedExchange implements Exchange {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly client: ClientDescription;
  readonly session: object | undefined;
  readonly task: TaskHandle | undefined;
  context: object | undefined;
  readonly #exchange: Exchange;
  /** Which call of its session it is. */
  readonly #number: number;
  readonly #passage: Passage;
  #asked = 0;

  constructor(exchange: Exchange, number: number, passage: Passage) {
    const { id, method, params, client, session, task } = exchange;
    this.id = id;
    this.method = method;
    this.params = params;
    this.client = client;
    this.session = session;
    this.#exchange = exchange;
    this.#number = number;
    this.#passage = passage;
    this.task = task && {
      taskId: task.taskId,
      describe: (message) =>
        passage.input({ call: number, describe: String(message) }, () => task.describe(message)),
    };
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get hasEnded(): boolean {
    return this.#exchange.hasEnded;
  }

  ask(question: RequestSpec): Promise<JsonObject> {
    const [passage, call, number] = [this.#passage, this.#number, ++this.#asked];
    const { method, params, timeoutMs, maxTotalMs, onProgress } = question;
    const signal = heardSignal(question.signal, (withdrawn, abort) =>
      passage.input({ call, ask: number, withdrawn }, abort),
    );
    const told: RequestSpec['onProgress'] =
      onProgress &&
      ((progress) => passage.call({ told: number, call }, () => onProgress(progress)));
    const line = {
      call,
      ask: number,
      method,
      ...(params ? written(params) : {}),
      timeoutMs,
      maxTotalMs,
      ...(onProgress ? { progress: true as const } : {}),
    };
    return passage.input(line, () => this.#exchange.ask({ ...question, signal, onProgress: told }));
  }

  notify(method: string, params: JsonObject, rejected?: (error: unknown) => void): void {
    const line = { call: this.#number, notify: method, ...written(params) };
    this.#passage.input(line, () => this.#exchange.notify(method, params, rejected));
  }

  announce(method: string, params: JsonObject): void {
    const frames = writtenFrames([{ jsonrpc: '2.0', method, params }]);
    this.#passage.input({ write: frames }, () => this.#exchange.announce(method, params));
  }

  roots(wait: { readonly timeoutMs: number; readonly clock: Clock }): Promise<RootsReport> {
    return this.#exchange.roots(wait);
  }

  whenEnded(callback: () => void): void {
    this.#exchange.whenEnded(callback);
  }

  park(): void {
    this.#exchange.park();
  }

  detach(handler: RequestHandler, work: DetachedWork): (reason: Error) => void {
    return this.#exchange.detach(handler, work);
  }
}
