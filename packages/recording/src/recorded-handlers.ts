/**
 * Records the author's handlers: starts, questions, notifications and results.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import { isThenable } from '../../../src/actors/request-context.ts';
import type {
  CalledRequest,
  BackgroundRun,
  CancelRun,
  RequestContext,
  OnceFn,
  RequestHandler,
  OutboundRequest,
  TaskHandle,
} from '../../../src/actors/request-context.ts';
import type { RootsReport } from '../../../src/protocol/roots.ts';
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { textOfError, toWireError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { writtenParams } from './lines.ts';
import type { Timeline } from './timeline.ts';
import type { DeliveryEvent } from '../../../src/machines/peer-ports.ts';
import type { Recipient } from '../../../src/machines/port.ts';

/** Wraps handlers, by method, so that their actions are recorded. */
export function recordedHandlers(
  handlers: ReadonlyMap<string, RequestHandler>,
  timeline: Timeline,
): ReadonlyMap<string, RequestHandler> {
  let count = 0;
  const recorded = (method: string, handler: RequestHandler): RequestHandler => {
    const { resumption } = handler;
    const run: RequestHandler = (params, exchange) => {
      const call = ++count;
      return timeline.call({ started: call, id: exchange.request.id, method }, () =>
        recordedResult(timeline, call, exchange, (seen) => handler(params, seen)),
      );
    };
    if (resumption) {
      const noted: typeof resumption = (params) => {
        const given = resumption(params);
        timeline.output({ resumption: given, for: method });
        return given;
      };
      Object.assign(run, { resumption: noted });
    }
    return run;
  };
  return new Map([...handlers].map(([method, handler]) => [method, recorded(method, handler)]));
}

/** Runs a handler, and records its result or error as an input of the session. */
function recordedResult(
  timeline: Timeline,
  call: number,
  exchange: RequestContext,
  run: (exchange: RequestContext) => unknown,
): unknown {
  const returned = (result: unknown) =>
    timeline.input({ call, ...resultMembers(result) }, () => result);
  const thrown = (error: unknown) =>
    timeline.input({ call, ...errorMembers(error, exchange) }, (): never => {
      throw error;
    });
  let result: unknown;
  try {
    result = run(new RecordedExchange(exchange, call, timeline));
  } catch (error) {
    return thrown(error);
  }
  return isThenable(result) ? Promise.resolve(result).then(returned, thrown) : returned(result);
}

function resultMembers(result: unknown) {
  if (!isJsonObject(result)) return { thrown: `It gave ${inspectValue(result)}` };
  const written = writtenParams(result);
  if ('unwritable' in written) return written;
  return isJsonObject(written.params)
    ? { result: written.params }
    : { unwritable: `As JSON it is ${inspectValue(written.params)}` };
}

function errorMembers(error: unknown, { request: { peer } }: RequestContext) {
  // Some errors exist only in one revision, such as a missing client capability.
  const wire = toWireError(error) ?? peer.dialect.wireError(error);
  if (!wire) return { thrown: textOfError(error) };
  const written = writtenParams(wire);
  return 'params' in written
    ? { error: written.params as typeof wire }
    : { thrown: written.unwritable };
}

/** A request context that records its handler's questions, notifications and task messages. */
class RecordedExchange implements RequestContext {
  context: object | undefined = undefined;
  readonly #exchange: RequestContext;
  /** Number of the call's `started` line. */
  readonly #call: number;
  readonly #timeline: Timeline;
  #asked = 0;

  constructor(exchange: RequestContext, call: number, timeline: Timeline) {
    this.#exchange = exchange;
    this.#call = call;
    this.#timeline = timeline;
  }

  // Read on each access, because a suspended call continues with another request.
  get request(): CalledRequest {
    return this.#exchange.request;
  }

  get machine(): RequestContext['machine'] {
    return this.#exchange.machine;
  }

  set machine(machine: RequestContext['machine']) {
    this.#exchange.machine = machine;
  }

  whenClosing(callback: () => void): void {
    this.#exchange.whenClosing(callback);
  }

  get isWritable(): boolean {
    return this.#exchange.isWritable;
  }

  whenWritable(callback: () => void): void {
    this.#exchange.whenWritable(callback);
  }

  park(): void {
    this.#exchange.park();
  }

  detach(handler: RequestHandler, work: BackgroundRun): CancelRun {
    return this.#exchange.detach(handler, work);
  }

  get task(): TaskHandle | undefined {
    const { task } = this.#exchange;
    const [call, timeline] = [this.#call, this.#timeline];
    return (
      task && {
        taskId: task.taskId,
        describe: (message) =>
          timeline.input({ call, describe: String(message) }, () => task.describe(message)),
      }
    );
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get checkpoint(): unknown {
    return this.#exchange.checkpoint;
  }

  set checkpoint(value: unknown) {
    this.#timeline.input({ call: this.#call, checkpoint: true }, () => {
      this.#exchange.checkpoint = value;
    });
  }

  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    return this.#exchange.once(key, make);
  }

  get hasEnded(): boolean {
    return this.#exchange.hasEnded;
  }

  sendRequest(question: OutboundRequest): Promise<JsonObject> {
    const [timeline, call, ask] = [this.#timeline, this.#call, ++this.#asked];
    const { method, params, timeoutMs, maxTotalMs, onProgress, accepts } = question;
    const recorded: OutboundRequest = {
      ...question,
      signal: timeline.signal(question.signal, (withdrawn) => ({ call, ask, withdrawn })),
      onProgress:
        onProgress &&
        ((progress) => timeline.call({ told: ask, call }, () => onProgress(progress))),
      accepts: accepts && ((answer) => timeline.computed('answer', () => accepts(answer))),
    };
    const line = {
      call,
      ask,
      method,
      ...(params ? writtenParams(params) : {}),
      timeoutMs,
      maxTotalMs,
      ...(onProgress ? { progress: true as const } : {}),
      ...(accepts ? { judged: true as const } : {}),
    };
    return timeline.input(line, () => this.#exchange.sendRequest(recorded));
  }

  notify(method: string, params: JsonObject, reportTo?: Recipient<DeliveryEvent>): void {
    const line = { call: this.#call, notify: method, ...writtenParams(params) };
    this.#timeline.input(line, () => this.#exchange.notify(method, params, reportTo));
  }

  announce(method: string, params: JsonObject): void {
    const line = { call: this.#call, announce: method, ...writtenParams(params) };
    this.#timeline.input(line, () => this.#exchange.announce(method, params));
  }

  roots(wait: { readonly timeoutMs: number; readonly clock: Clock }): Promise<RootsReport> {
    return this.#timeline.input({ call: this.#call, roots: true }, () =>
      this.#exchange.roots(wait),
    );
  }

  whenEnded(callback: () => void): void {
    this.#exchange.whenEnded(callback);
  }
}
