/**
 * Handler context of one call. Members are created lazily, so that a handler pays only for what it uses.
 */
import { maxDelayMs, assertDuration, assertWait } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { withCallerStack, rejected } from '../../actors/request-context.ts';
import type { RequestContext, OutboundRequest, TaskHandle } from '../../actors/request-context.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { exchangeToken } from './token-exchange.ts';
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
import { sendCustomNotification, sessionView } from './session-view.ts';
import type { SessionHandle, SessionView } from './session-view.ts';
import { Form, formOf } from '../../../packages/schema/src/forms/form.ts';
import type { ContentOf, FormSource } from '../../../packages/schema/src/forms/form.ts';
import type { HandlerContext, RequestOptions } from './handler-context.ts';
import type { Limits } from '../../actors/limits.ts';
import { checkOf } from '../../../packages/schema/src/schema.ts';
import type { Schema } from '../../../packages/schema/src/schema.ts';

/** Shared by all call contexts of a session. */
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
  /** Created at the first report. */
  #reporter: CallProgress | undefined;
  #log: HandlerLog | undefined;
  /** Number of URL elicitations so far. */
  #urls = 0;
  /** Number of sleeps so far. */
  #sleeps = 0;

  constructor(exchange: RequestContext, scope: ContextScope) {
    this.#exchange = exchange;
    this.#scope = scope;
  }

  /** The call of a context; undefined for other implementations of the interface. */
  static requestOf(context: HandlerContext): RequestContext | undefined {
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

  // Handlers destructure their context: `({ text }, { progress, signal }) => …`. Getters bind each
  // method on access; binding all of them in the constructor would slow down every call.

  get roots(): HandlerContext['roots'] {
    return (options) => this.#roots(options);
  }

  get exchangeToken(): HandlerContext['exchangeToken'] {
    return (wanted) => withCallerStack(exchangeToken(this.#exchange.request.origin, wanted));
  }

  get once(): HandlerContext['once'] {
    return (key, make) => this.#exchange.once(key, make);
  }

  get sleep(): HandlerContext['sleep'] {
    return (ms) => {
      assertWait('ms', ms);
      return withCallerStack(this.#exchange.journal?.sleep(ms) ?? this.#sleep(ms));
    };
  }

  get checkpoint(): unknown {
    return this.#exchange.checkpoint;
  }

  set checkpoint(value: unknown) {
    const unkept = value === undefined ? undefined : findNonSerializable(value, 'checkpoint');
    if (unkept) {
      const message = `"${unkept.path}" is ${unkept.what}, which JSON cannot restore`;
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
    // One function implements both overloads.
    return request as HandlerContext['request'];
  }

  #roots({ timeoutMs = this.#scope.limits.rootsTimeoutMs } = {}): Promise<RootsReport> {
    assertWait('timeoutMs', timeoutMs);
    return withCallerStack(this.#exchange.roots({ timeoutMs, clock: this.#scope.clock }));
  }

  async #sleep(ms: number): Promise<void> {
    const nth = ++this.#sleeps;
    let isNew = false;
    // A handler that runs again for a retry keeps its original deadline.
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
    return sendCustomNotification(method, (reportTo) => {
      if (this.#exchange.hasEnded) return false;
      this.#exchange.notify(method, params, reportTo);
      return true;
    });
  }

  #progress(progress: number, details?: ProgressDetails) {
    const token = progressTokenOf(this.#exchange.request.params);
    if (token === undefined) return;
    // Each retry of a call may have another token.
    if (this.#reporter?.token !== token) {
      this.#reporter = new CallProgress(this.#exchange, this.#scope.clock, token);
    }
    this.#reporter.report({ ...details, progress });
  }

  #sample(request: SamplingRequest, options: RequestOptions = {}): Promise<Sample> {
    const ask = async () => {
      const method = Method.createMessage;
      // Checked before parsing, because only a part of the request may need the missing capability.
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
      const form = (schema instanceof Form ? schema : formOf(schema)) as Form<ContentOf<TSchema>>;
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
      // The URL may contain the id, so a handler that runs again must reuse it.
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
    message = 'The user must open a URL before this request can be served',
  ): UrlElicitationRequired {
    if (requests.length === 0)
      throw new TypeError(
        'requests of urlElicitationRequired must contain at least one URL, got none',
      );
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
      // Compiles first, so that nothing is sent if the schema is invalid.
      const check = checkOf(schemaOrOptions, 'output', 'The schema of a result');
      const accepts = async (answer: JsonObject) => {
        const accepted = await check(answer);
        return accepted.ok ? undefined : `does not conform to the schema: ${accepted.fault}`;
      };
      const checked = await check(await this.#send(method, params, options, accepts));
      if (checked.ok) return checked.value;
      const message = `The client's result of ${method} does not conform to the schema: ${checked.fault}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    };
    return withCallerStack(ask());
  }

  #refuseMissing(method: string, params: JsonObject): void {
    const missing = missingCapability(this.#exchange, method, params);
    if (missing) throw missing;
  }

  /** Sends a request if the client has the capability for it. */
  #send(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    accepts?: OutboundRequest['accepts'],
  ): Promise<JsonObject> {
    if (method === Method.rootsList && !options.probe) return rejected(rootsRequestError());
    const missing = missingCapability(this.#exchange, method, params);
    return missing ? rejected(missing) : this.#ask(method, params, options, accepts);
  }

  /** Sends a request with the timeouts of its method. */
  #ask(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    accepts?: OutboundRequest['accepts'],
  ): Promise<JsonObject> {
    const { requestTimeoutMs, requestMaxTotalMs, humanTimeoutMs } = this.#scope.limits;
    const usualMs = isHumanPaced(method) ? humanTimeoutMs : requestTimeoutMs;
    // Questions of a resumable task wait as long as the task.
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
    // A spread would give each request its own hidden class (docs/performance.md).
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

/** True for methods that wait for a person: elicitation and sampling. */
function isHumanPaced(method: string): boolean {
  return method === Method.elicit || method === Method.createMessage;
}

/**
 * Returns CAPABILITY_MISSING if the client did not declare the capability, its revision lacks the
 * method, or its answer could not reach the call.
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
  const message = `${method} was not sent: the client ${printableName(client.info.name)} ${why}`;
  return new RuntimeError('CAPABILITY_MISSING', message, { requiredCapabilities });
}

function rootsRequestError(): TypeError {
  return new TypeError(
    '"roots/list" is sent by the session: use context.roots(), or pass the option "probe" to test a client',
  );
}

/** True for a schema: request options have neither of these members. */
function isSchema(given: Schema | RequestOptions): given is Schema {
  return '~standard' in given || 'type' in given;
}

/** The client's progress token. @see MCP 2025-11-25, basic/utilities/progress */
function progressTokenOf(params: JsonObject | undefined): RequestId | undefined {
  const meta = params?.['_meta'];
  const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
  return isRequestId(token) ? token : undefined;
}
