/**
 * The context of one call, over its exchange with the client. A handler pays only for what it uses.
 */
import { maxDelayMs, assertDuration, assertWait } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { withCallerStack, rejected } from '../../actors/request-context.ts';
import type { RequestContext, OutboundRequest, TaskHandle } from '../../actors/request-context.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { exchangedFor } from './token-exchange.ts';
import type { Principal, ServedHttpCall } from '../../protocol/request-origin.ts';
import { declaresApps } from '../../protocol/apps.ts';
import { isJsonObject, isRequestId } from '../../protocol/classify.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import { Method } from '../../protocol/methods.ts';
import { printableName } from '../../protocol/printable.ts';
import { findNonSerializable } from '../../protocol/non-serializable.ts';
import { CallProgress } from './call-progress.ts';
import type { ProgressDetails } from './call-progress.ts';
import {
  UrlElicitationRequired,
  validateFormAnswer,
  readAction,
  readFormAnswer,
  urlElicitation,
} from './elicitation.ts';
import type { FormAnswer, UrlAnswer, UrlRequest } from './elicitation.ts';
import type { OpenElicitations } from './elicitation.ts';
import { readConversation } from './sampling.ts';
import { validateSample, readSample } from './sampling.ts';
import type { Sample, SamplingRequest } from './sampling.ts';
import { logOf } from './session-log.ts';
import type { ClientLog, HandlerLog } from './session-log.ts';
import { sendAuthored, sessionView } from './session-view.ts';
import type { SessionHandle, SessionView } from './session-view.ts';
import { Form, defineForm } from '../../../packages/schema/src/forms/form.ts';
import type { ContentOf, FormSource } from '../../../packages/schema/src/forms/form.ts';
import type { HandlerContext, RequestOptions } from './handler-context.ts';
import type { Limits } from '../../actors/limits.ts';
import { checkOf } from '../../../packages/schema/src/schema.ts';
import type { Schema } from '../../../packages/schema/src/schema.ts';

/** What all contexts of a session share. */
export interface ContextScope {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: ClientLog;
  readonly session: SessionHandle;
  readonly elicitations: OpenElicitations;
}

export class CallContext implements HandlerContext {
  readonly #exchange: RequestContext;
  readonly #scope: ContextScope;
  /** Made at the first report. */
  #reporter: CallProgress | undefined;
  #log: HandlerLog | undefined;
  /** How many URLs it has asked to be opened. */
  #urls = 0;
  /** How many times it has slept. */
  #sleeps = 0;

  constructor(exchange: RequestContext, scope: ContextScope) {
    this.#exchange = exchange;
    this.#scope = scope;
  }

  /** The call that a context is of; undefined if the context was made elsewhere. */
  static callOf(context: HandlerContext): RequestContext | undefined {
    return #exchange in context ? context.#exchange : undefined;
  }

  get requestId(): RequestId {
    return this.#exchange.request.id;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get task(): TaskHandle | undefined {
    return this.#exchange.task;
  }

  get client(): PeerDescription {
    return this.#exchange.request.peer;
  }

  get principal(): Principal | undefined {
    return this.#exchange.request.origin?.principal;
  }

  get http(): ServedHttpCall | undefined {
    return this.#exchange.request.origin?.http;
  }

  get supportsApps(): boolean {
    return declaresApps(this.client.capabilities);
  }

  get session(): SessionView {
    const { session } = this.#scope;
    const { peer, origin } = this.#exchange.request;
    const { dialect } = peer;
    const isShared =
      origin?.revision !== undefined || dialect.sessionOfRequest(session) === undefined;
    return sessionView(session, dialect.version, isShared);
  }

  get log(): HandlerLog {
    return (this.#log ??= logOf(this.#exchange, this.#scope.log));
  }

  // Handlers take their context apart: `({ text }, { progress, signal }) => …`. So a method is
  // bound when it is read. Functions made with each context would cost every call.

  get roots(): HandlerContext['roots'] {
    return (options) => this.#roots(options);
  }

  get exchangeToken(): HandlerContext['exchangeToken'] {
    return (wanted) => withCallerStack(exchangedFor(this.#exchange.request.origin, wanted));
  }

  get once(): HandlerContext['once'] {
    return (key, make) => this.#exchange.once(key, make);
  }

  get sleep(): HandlerContext['sleep'] {
    return (ms) => {
      assertWait('The time to sleep', ms);
      return withCallerStack(this.#exchange.journal?.sleep(ms) ?? this.#sleep(ms));
    };
  }

  get checkpoint(): unknown {
    return this.#exchange.checkpoint;
  }

  set checkpoint(value: unknown) {
    const unkept = value === undefined ? undefined : findNonSerializable(value, 'checkpoint');
    if (unkept) {
      const message = `"${unkept.path}" is ${unkept.what}, which does not come back from JSON as it was`;
      throw new TypeError(message);
    }
    this.#exchange.checkpoint = value;
  }

  get progress(): HandlerContext['progress'] {
    return (progress, details) => this.#progress(progress, details);
  }

  get notify(): HandlerContext['notify'] {
    return (method, params) => this.#notify(method, params);
  }

  get sample(): HandlerContext['sample'] {
    return (request, options) => this.#sample(request, options);
  }

  get elicit(): HandlerContext['elicit'] {
    return (request, options) => this.#elicit(request, options);
  }

  get elicitUrl(): HandlerContext['elicitUrl'] {
    return (request, options) => this.#elicitUrl(request, options);
  }

  get urlElicitationRequired(): HandlerContext['urlElicitationRequired'] {
    return (requests, message) => this.#urlElicitationRequired(requests, message);
  }

  get request(): HandlerContext['request'] {
    const request = (
      method: string,
      params?: JsonObject,
      schemaOrOptions?: Schema | RequestOptions,
      options?: RequestOptions,
    ) => this.#request(method, params, schemaOrOptions, options);
    // One function serves both overloads: its result depends on whether a schema is given.
    return request as HandlerContext['request'];
  }

  #roots({ timeoutMs = this.#scope.limits.rootsTimeoutMs } = {}): Promise<RootsReport> {
    assertWait('timeoutMs', timeoutMs);
    return withCallerStack(this.#exchange.roots({ timeoutMs, clock: this.#scope.clock }));
  }

  async #sleep(ms: number): Promise<void> {
    const nth = ++this.#sleeps;
    let isNew = false;
    // A handler that is run again for a retry wakes when it would have woken.
    const dueAt = await this.#exchange.once(`sleep ${nth}`, () => {
      isNew = true;
      return Date.now() + ms;
    });
    const { clock } = this.#scope;
    const leftMs = isNew ? ms : Math.max(0, dueAt - Date.now());
    await new Promise<void>((resolve, reject) => {
      const timer = clock.setTimeout(resolve, Math.min(leftMs, maxDelayMs));
      this.#exchange.whenEnded(() => {
        clock.clearTimeout(timer);
        reject(this.signal.reason as Error);
      });
    });
  }

  #notify(method: string, params: JsonObject = {}): boolean {
    return sendAuthored(method, (reportTo) => {
      if (this.#exchange.hasEnded) return false;
      this.#exchange.notify(method, params, reportTo);
      return true;
    });
  }

  #progress(progress: number, details?: ProgressDetails) {
    const token = progressTokenOf(this.#exchange.request.params);
    if (token === undefined) return;
    // A call that goes on in rounds may have another token in each.
    if (this.#reporter?.token !== token) {
      this.#reporter = new CallProgress(this.#exchange, this.#scope.clock, token);
    }
    this.#reporter.report({ ...details, progress });
  }

  #sample(request: SamplingRequest, options: RequestOptions = {}): Promise<Sample> {
    const ask = async () => {
      const method = Method.createMessage;
      // Before the request is read: the missing capability may be one that only a part of it needs.
      this.#refuseMissing(method, { ...request });
      const params = this.client.dialect.sampling(readConversation(request));
      const accepts = async (answer: JsonObject) => validateSample(answer);
      return readSample(await this.#ask(method, params, options, accepts));
    };
    return withCallerStack(ask());
  }

  #elicit<const TSchema extends FormSource | Form<unknown>>(
    { message, schema }: { readonly message: string; readonly schema: TSchema },
    options: RequestOptions = {},
  ): Promise<FormAnswer<ContentOf<TSchema>>> {
    const ask = async () => {
      const form = (schema instanceof Form ? schema : defineForm(schema)) as Form<
        ContentOf<TSchema>
      >;
      this.#refuseMissing(Method.elicit, { mode: 'form' });
      const params = this.client.dialect.form(message, form.description);
      const accepts = (answer: JsonObject) => validateFormAnswer(answer, form);
      return readFormAnswer(await this.#ask(Method.elicit, params, options, accepts), form);
    };
    return withCallerStack(ask());
  }

  #elicitUrl(request: UrlRequest, options: RequestOptions = {}): Promise<UrlAnswer> {
    const ask = async () => {
      this.#refuseMissing(Method.elicit, { mode: 'url' });
      const { elicitations } = this.#scope;
      // The URL may hold the id: a handler that is run again has to ask for the same one.
      const nth = ++this.#urls;
      const elicitationId = await this.#exchange.once(`url elicitation ${nth}`, () =>
        crypto.randomUUID(),
      );
      const elicitation = urlElicitation(request, elicitationId);
      elicitations.add(elicitationId);
      try {
        const params = this.client.dialect.url(elicitation);
        const action = readAction(await this.#ask(Method.elicit, params, options));
        if (action !== 'accept') elicitations.close(elicitationId);
        return { action, elicitationId };
      } catch (error) {
        elicitations.close(elicitationId);
        throw error;
      }
    };
    return withCallerStack(ask());
  }

  #urlElicitationRequired(
    requests: readonly UrlRequest[],
    message = 'A person must open a URL before this request can be served',
  ): UrlElicitationRequired {
    if (requests.length === 0) throw new TypeError('urlElicitationRequired needs one URL at least');
    this.#refuseMissing(Method.elicit, { mode: 'url' });
    const elicitations = requests.map((request) => urlElicitation(request, crypto.randomUUID()));
    for (const { elicitationId } of elicitations) this.#scope.elicitations.add(elicitationId);
    return new UrlElicitationRequired(elicitations, message);
  }

  #request(
    method: string,
    params?: JsonObject,
    schemaOrOptions: Schema | RequestOptions = {},
    options: RequestOptions = {},
  ): Promise<unknown> {
    if (!isSchema(schemaOrOptions)) return this.#send(method, params, schemaOrOptions);
    const ask = async () => {
      // With a wrong schema nothing may be sent.
      const check = checkOf(schemaOrOptions, 'output', 'The schema of a result');
      const accepts = async (answer: JsonObject) => {
        const accepted = await check(answer);
        return accepted.ok ? undefined : `does not conform: ${accepted.fault}`;
      };
      const checked = await check(await this.#send(method, params, options, accepts));
      if (checked.ok) return checked.value;
      const message = `The client's result of ${method} does not conform: ${checked.fault}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    };
    return withCallerStack(ask());
  }

  #refuseMissing(method: string, params: JsonObject): void {
    const missing = missingCapability(this.#exchange, method, params);
    if (missing) throw missing;
  }

  /** Sends a request with any method, if the client may get it. */
  #send(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    accepts?: OutboundRequest['accepts'],
  ): Promise<JsonObject> {
    if (method === Method.rootsList && !options.probe) return rejected(rootsAreKnown());
    const missing = missingCapability(this.#exchange, method, params);
    return missing ? rejected(missing) : this.#ask(method, params, options, accepts);
  }

  /** Sends a request, with the time limits that the method gets. */
  #ask(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    accepts?: OutboundRequest['accepts'],
  ): Promise<JsonObject> {
    const { requestTimeoutMs, requestMaxTotalMs, humanTimeoutMs } = this.#scope.limits;
    const usualMs = isHumanPaced(method) ? humanTimeoutMs : requestTimeoutMs;
    // What a task asks that can go on after its process waits as long as the task.
    const { journal, task } = this.#exchange;
    const isPatient =
      journal !== undefined && task !== undefined && options.timeoutMs === undefined;
    const { timeoutMs = isPatient ? Infinity : usualMs } = options;
    const { maxTotalMs = Math.max(requestMaxTotalMs, timeoutMs) } = options;
    if (!isPatient) {
      assertDuration('timeoutMs', timeoutMs);
      assertDuration('maxTotalMs', maxTotalMs);
    }
    const { onProgress, signal, key } = options;
    // Not with a spread: each question would have a hidden class of its own (docs/performance.md).
    return this.#exchange.sendRequest({
      method,
      params,
      timeoutMs,
      maxTotalMs,
      onProgress,
      signal,
      accepts,
      key,
    });
  }
}

/** People take their time to answer an elicitation or to review a sampling. */
function isHumanPaced(method: string): boolean {
  return method === Method.elicit || method === Method.createMessage;
}

/**
 * CAPABILITY_MISSING if this request cannot be sent to the client: it must have declared the
 * capability, its revision must know the method, and its answer must be able to reach the call.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Capability Negotiation"
 */
function missingCapability(
  { request: { peer: client, origin } }: RequestContext,
  method: string,
  params: JsonObject | undefined,
): RuntimeError | undefined {
  if (origin?.noRequestsReason !== undefined) {
    return new RuntimeError(
      'CAPABILITY_MISSING',
      `${method} was not sent: ${origin.noRequestsReason}`,
    );
  }
  const lacking = client.dialect.missingCapability(method, params, client.capabilities);
  if (lacking === undefined) return undefined;
  const { why, required: requiredCapabilities } = lacking;
  const message = `The client ${printableName(client.info.name)} ${why}, so it cannot be sent ${method}`;
  return new RuntimeError('CAPABILITY_MISSING', message, { requiredCapabilities });
}

function rootsAreKnown(): TypeError {
  return new TypeError(
    '"roots/list" is asked by the session itself: context.roots() has the answer. To try out a client, pass the option "probe"',
  );
}

/** Options have neither of these members. */
function isSchema(given: Schema | RequestOptions): given is Schema {
  return '~standard' in given || 'type' in given;
}

/** @see MCP 2025-11-25, basic/utilities/progress: progress needs the client's token */
function progressTokenOf(params: JsonObject | undefined): RequestId | undefined {
  const meta = params?.['_meta'];
  const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
  return isRequestId(token) ? token : undefined;
}
