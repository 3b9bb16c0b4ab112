/** The handler's context, over a call of the router's. What a handler does not touch costs nothing. */
import type { Call, TaskHandle } from '../actors/call.ts';
import { forgettable, refused } from '../actors/client-request.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots.machine.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import { isRequestId } from '../protocol/classify.ts';
import { Method } from '../protocol/methods.ts';
import { CallProgress } from './context/call-progress.ts';
import type { ProgressDetails } from './context/call-progress.ts';
import { isHumanPaced, missingCapability } from './context/client-capabilities.ts';
import {
  UrlElicitationRequired,
  readAction,
  readFormAnswer,
  urlElicitation,
} from './context/elicitation.ts';
import type { FormAnswer, UrlAnswer, UrlRequest } from './context/elicitation.ts';
import type { OpenElicitations } from './context/open-elicitations.ts';
import { passed } from './context/result-checks.ts';
import type { ResultChecks } from './context/result-checks.ts';
import { readConversation } from './context/sampling-request.ts';
import { readSample } from './context/sampling-result.ts';
import type { Sample, SamplingRequest } from './context/sampling.ts';
import { logOf } from './context/session-log.ts';
import type { HandlerLog, LogSink } from './context/session-log.ts';
import { sessionView } from './context/session-view.ts';
import type { SessionHandle, SessionView } from './context/session-view.ts';
import { Form, defineForm } from './forms/form.ts';
import type { ContentOf, FormSource } from './forms/form.ts';
import type { HandlerContext, RequestOptions } from './handler-context.ts';
import type { Limits } from './limits.ts';
import type { ParsedBy, Schema } from './schema.ts';
import { settledRoots } from './settled-roots.ts';

/** What the contexts of a session share. */
export interface ContextScope {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: LogSink;
  readonly session: SessionHandle;
  readonly elicitations: OpenElicitations;
  readonly results: ResultChecks;
}

export class CallContext implements HandlerContext {
  readonly #call: Call;
  readonly #scope: ContextScope;
  /** Null where the client did not ask for it. */
  #progress: CallProgress | null | undefined;
  #log: HandlerLog | undefined;

  constructor(call: Call, scope: ContextScope) {
    this.#call = call;
    this.#scope = scope;
  }

  get requestId(): RequestId {
    return this.#call.id;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get task(): TaskHandle | undefined {
    return this.#call.task;
  }

  get client(): ClientDescription {
    return this.#call.scope.client;
  }

  get session(): SessionView {
    return sessionView(this.#scope.session, this.client.dialect.version);
  }

  get log(): HandlerLog {
    return (this.#log ??= logOf(this.#call, this.#scope.log));
  }

  roots({ timeoutMs = this.#scope.limits.rootsTimeoutMs } = {}): Promise<RootsReport> {
    return settledRoots(this.#call.scope.roots, () => ({
      timeoutMs,
      clock: this.#scope.clock,
      signal: this.#call.signal,
    }));
  }

  progress(progress: number, details?: ProgressDetails) {
    if (this.#progress === undefined) {
      const token = progressTokenOf(this.#call.params);
      this.#progress =
        token === undefined ? null : new CallProgress(this.#call, this.#scope.clock, token);
    }
    this.#progress?.report({ ...details, progress });
  }

  sample(request: SamplingRequest, options: RequestOptions = {}): Promise<Sample> {
    const ask = async () => {
      const method = Method.createMessage;
      // First what the author wrote: the capability that is missing may be one for a part of it.
      this.#refuseMissing(method, { ...request });
      const params = this.client.dialect.sampling(readConversation(request));
      return readSample(await this.#ask(method, params, options));
    };
    return forgettable(ask());
  }

  elicit<const TSchema extends FormSource | Form<unknown>>(
    { message, schema }: { readonly message: string; readonly schema: TSchema },
    options: RequestOptions = {},
  ): Promise<FormAnswer<ContentOf<TSchema>>> {
    const ask = async () => {
      const form = (schema instanceof Form ? schema : defineForm(schema)) as Form<
        ContentOf<TSchema>
      >;
      this.#refuseMissing(Method.elicit, { mode: 'form' });
      const params = this.client.dialect.form(message, form.description);
      return readFormAnswer(await this.#ask(Method.elicit, params, options), form);
    };
    return forgettable(ask());
  }

  elicitUrl(request: UrlRequest, options: RequestOptions = {}): Promise<UrlAnswer> {
    const ask = async () => {
      this.#refuseMissing(Method.elicit, { mode: 'url' });
      const { elicitations } = this.#scope;
      const elicitation = urlElicitation(request);
      const { elicitationId } = elicitation;
      elicitations.add(elicitationId);
      try {
        const action = readAction(await this.#ask(Method.elicit, { ...elicitation }, options));
        if (action !== 'accept') elicitations.close(elicitationId);
        return { action, elicitationId };
      } catch (error) {
        elicitations.close(elicitationId);
        throw error;
      }
    };
    return forgettable(ask());
  }

  urlElicitationRequired(
    requests: readonly UrlRequest[],
    message = 'A person must open a URL before this request can be served',
  ): UrlElicitationRequired {
    if (requests.length === 0) throw new TypeError('urlElicitationRequired needs one URL at least');
    this.#refuseMissing(Method.elicit, { mode: 'url' });
    const elicitations = requests.map(urlElicitation);
    for (const { elicitationId } of elicitations) this.#scope.elicitations.add(elicitationId);
    return new UrlElicitationRequired(elicitations, message);
  }

  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  request<const TSchema extends Schema>(
    method: string,
    params: JsonObject | undefined,
    schema: TSchema,
    options?: RequestOptions,
  ): Promise<ParsedBy<TSchema>>;
  request(
    method: string,
    params?: JsonObject,
    schemaOrOptions: Schema | RequestOptions = {},
    options: RequestOptions = {},
  ): Promise<unknown> {
    if (!isSchema(schemaOrOptions)) return this.#send(method, params, schemaOrOptions);
    const ask = async () => {
      const check = await this.#scope.results.of(schemaOrOptions);
      return passed(check, method, await this.#send(method, params, options));
    };
    return forgettable(ask());
  }

  #refuseMissing(method: string, params: JsonObject): void {
    const missing = missingCapability(this.client, method, params);
    if (missing) throw missing;
  }

  /** What a handler asks in its own words. */
  #send(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const missing = missingCapability(this.client, method, params);
    return missing ? refused(missing) : this.#ask(method, params, options);
  }

  /** What the client may be asked. */
  #ask(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const { requestTimeoutMs, requestMaxTotalMs, humanTimeoutMs } = this.#scope.limits;
    const { timeoutMs = isHumanPaced(method) ? humanTimeoutMs : requestTimeoutMs } = options;
    const { maxTotalMs = Math.max(requestMaxTotalMs, timeoutMs) } = options;
    refuseDuration('timeoutMs', timeoutMs);
    refuseDuration('maxTotalMs', maxTotalMs);
    const { onProgress, signal } = options;
    return this.#call.ask({ method, params, timeoutMs, maxTotalMs, onProgress, signal });
  }
}

/**
 * Handlers take their context apart: `({ text }, { progress, signal }) => …`. So a method is bound to its context when it is read; one that is not
 * read costs nothing, as it would if each context had functions of its own.
 */
const methods = [
  'roots',
  'progress',
  'sample',
  'elicit',
  'elicitUrl',
  'urlElicitationRequired',
  'request',
] as const;

for (const name of methods) {
  const method = CallContext.prototype[name] as (...args: unknown[]) => unknown;
  Object.defineProperty(CallContext.prototype, name, {
    get(this: CallContext) {
      return method.bind(this);
    },
  });
}

function refuseDuration(name: string, value: number): void {
  if (Number.isFinite(value) && value > 0) return;
  throw new RangeError(`${name} must be a positive number of milliseconds, this is ${value}`);
}

/** Options have no member of either name. */
function isSchema(given: Schema | RequestOptions): given is Schema {
  return '~standard' in given || 'type' in given;
}

/** @see MCP 2025-11-25, basic/utilities/progress: only with the client's token */
function progressTokenOf(params: JsonObject | undefined): RequestId | undefined {
  const meta = params?.['_meta'] as JsonObject | undefined;
  const token = meta?.['progressToken'];
  return isRequestId(token) ? token : undefined;
}
