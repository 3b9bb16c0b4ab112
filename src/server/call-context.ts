/** The handler's context, over a call of the router's. What a handler does not touch costs nothing. */
import type { Call } from '../actors/call.ts';
import { refused } from '../actors/client-request.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots.machine.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import { isJsonObject, isRequestId } from '../protocol/classify.ts';
import { Method } from '../protocol/methods.ts';
import type { HandlerContext, RequestOptions } from './handler-context.ts';
import type { Limits } from './limits.ts';
import { settledRoots } from './settled-roots.ts';

/** The client capability that a method needs, and whether a person answers it. */
const clientMethods: { readonly [method: string]: { capability: string; human: boolean } } = {
  'roots/list': { capability: 'roots', human: false },
  'sampling/createMessage': { capability: 'sampling', human: true },
  'elicitation/create': { capability: 'elicitation', human: true },
};

/** Progress notifications of one call are at least so far apart, milliseconds. */
const progressIntervalMs = 100;

export class CallContext implements HandlerContext {
  readonly #call: Call;
  readonly #limits: Limits;
  readonly #clock: Clock;
  #progress = -Infinity;
  #progressSentAt = -Infinity;

  constructor(call: Call, limits: Limits, clock: Clock) {
    this.#call = call;
    this.#limits = limits;
    this.#clock = clock;
  }

  get requestId(): RequestId {
    return this.#call.id;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get client(): ClientDescription {
    return this.#call.scope.client;
  }

  roots({ timeoutMs = this.#limits.rootsTimeoutMs } = {}): Promise<RootsReport> {
    return settledRoots(this.#call.scope.roots, () => ({
      timeoutMs,
      clock: this.#clock,
      signal: this.#call.signal,
    }));
  }

  progress(progress: number, details?: { readonly total?: number; readonly message?: string }) {
    const progressToken = progressTokenOf(this.#call.params);
    if (progressToken === undefined || !Number.isFinite(progress)) return;
    if (progress <= this.#progress) return;
    const now = this.#clock.now();
    const isLast = details?.total !== undefined && progress >= details.total;
    if (now - this.#progressSentAt < progressIntervalMs && !isLast) return;
    this.#progress = progress;
    this.#progressSentAt = now;
    const { total, message } = details ?? {};
    this.#call.notify(Method.progress, {
      progressToken,
      progress,
      ...(Number.isFinite(total) ? { total } : {}),
      ...(message === undefined ? {} : { message }),
    });
  }

  request(
    method: string,
    params?: JsonObject,
    options: RequestOptions = {},
  ): Promise<JsonObject> {
    const { requestTimeoutMs, requestMaxTotalMs, humanTimeoutMs } = this.#limits;
    const known = Object.hasOwn(clientMethods, method) ? clientMethods[method] : undefined;
    if (known && !isJsonObject(this.client.capabilities[known.capability])) {
      const message = `The client ${this.client.info.name} did not declare the capability "${known.capability}", so it cannot be sent ${method}`;
      return refused(new RuntimeError('CAPABILITY_MISSING', message));
    }
    const { timeoutMs = known?.human ? humanTimeoutMs : requestTimeoutMs } = options;
    const { maxTotalMs = Math.max(requestMaxTotalMs, timeoutMs) } = options;
    for (const [name, value] of Object.entries({ timeoutMs, maxTotalMs })) {
      if (Number.isFinite(value) && value > 0) continue;
      throw new RangeError(`${name} must be a positive number of milliseconds, this is ${value}`);
    }
    const { onProgress, signal } = options;
    return this.#call.ask({ method, params, timeoutMs, maxTotalMs, onProgress, signal });
  }
}

/** @see MCP 2025-11-25, basic/utilities/progress: only with the client's token */
function progressTokenOf(params: JsonObject | undefined): RequestId | undefined {
  const meta = params?.['_meta'] as JsonObject | undefined;
  const token = meta?.['progressToken'];
  return isRequestId(token) ? token : undefined;
}
