/**
 * Typed requests of a connection (tools, resources, prompts, completion), and the state restored on
 * each channel: subscriptions, the log level, the lists.
 */
import { copyError, addCallerFrames } from '../../../../src/actors/caller-frames.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { ObservedScope } from '../../../../src/actors/transitions.ts';
import type { Era, ServerProfile } from './connection-context.ts';
import { BoundedMap } from '../../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, RequestId } from '../../../../src/protocol/frames.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import { MetaKey } from '../../../../src/protocol/meta.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { Answers } from '../asked/answers.ts';
import type { RootsProvider } from '../asked/providers.ts';
import type { KeptList } from '../lists/kept-list.ts';
import { Lists } from '../lists/lists.ts';
import type { ListsHost } from '../lists/lists.ts';
import { Results } from '../lists/results.ts';
import { serverSkills } from '../lists/skills.ts';
import type { ServerSkills } from '../lists/skills.ts';
import { Preferences } from '../lists/preferences.ts';
import type { PreferenceOptions, PreferencesHost } from '../lists/preferences.ts';
import type {
  CallToolResult,
  CompletionRequest,
  GetPromptResult,
  ReadResourceResult,
} from '../lists/list-results.ts';
import type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../../src/protocol/list-items.ts';
import type { ListOptions } from './connection.ts';
import type { ConnectionLimits } from './limits.ts';
import type { HostCall, Requests } from './requests.ts';
import type { ConnectionOptions, HostRequestOptions } from './options.ts';
import type { RoundsHost } from '../asked/input-rounds.ts';
import type { ToolTask } from './tool-task.observable.ts';
import { ToolTasks } from './tool-tasks.ts';
import type { TaskOptions, ToolTasksHost } from './tool-tasks.ts';

export interface FeatureParts {
  readonly requests: Requests;
  readonly answers: Answers;
  readonly name: string;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly report: Report;
  readonly problem: (name: string, message: string) => void;
  readonly observed: ObservedScope;
  readonly rounds: RoundsHost<HostCall>;
  readonly listens: ConnectionOptions['listens'];
}

/** The connection as seen by its features: one object for all of them. */
type FeatureHost = ListsHost & PreferencesHost & ToolTasksHost;

export abstract class ServerFeatures {
  readonly lists: Lists;
  readonly preferences: Preferences;
  readonly tasks: ToolTasks;
  readonly #parts: FeatureParts;
  readonly #host: FeatureHost;
  readonly #results: Results;
  #skills: ServerSkills | undefined = undefined;
  /** Capabilities of the server in the last handshake. */
  #capabilities: JsonObject | undefined = undefined;
  /** Ids of our recent subscriptions: late notifications still belong to us. */
  #subscriptions: BoundedMap<RequestId, true> | undefined = undefined;

  constructor(parts: FeatureParts) {
    this.#parts = parts;
    this.#results = new Results(parts.name, parts.problem);
    const { clock, limits, report, problem, requests, observed, name, rounds, listens } = parts;
    this.#host = {
      clock,
      limits,
      report,
      problem,
      observed,
      requests,
      name,
      rounds,
      listens,
      request: (method, params, options) => requests.request(method, params, options),
      listening: (id) => (this.#subscriptions ??= new BoundedMap(64)).set(id, true),
      toolsListed: (tools) => this.#results.toolsListed(tools),
      readerOf: (tool) => (result) => this.#results.callTool(tool, result),
      cancel: (id) => this.cancelTask(id),
    };
    this.lists = new Lists(this.#host);
    this.preferences = new Preferences(this.#host);
    this.tasks = new ToolTasks(this.#host);
  }

  get skills(): ServerSkills {
    const { name, clock, limits, problem } = this.#parts;
    const { request } = this.#host;
    return (this.#skills ??= serverSkills({
      ...{ name, now: () => clock.now(), bounds: limits, request, problem },
      capabilities: async (options) =>
        this.#capabilities ?? (await this.ready(options)).capabilities,
      readResource: (uri, options) => this.readResource(uri, options),
    }));
  }

  abstract readonly server: ServerProfile | undefined;

  abstract ready(options?: Pick<HostRequestOptions, 'signal'>): Promise<ServerProfile>;

  /** Passes a notification to the host. */
  protected abstract tellNotification(method: string, params: JsonObject | undefined): void;

  get pending(): number {
    return this.#parts.requests.pending;
  }

  request(method: string, params?: JsonObject, options?: HostRequestOptions): Promise<JsonObject> {
    return this.#parts.requests.request(method, params, options);
  }

  notify(
    method: string,
    params?: JsonObject,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void> {
    return this.#parts.requests.notify(method, params, options);
  }

  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult> {
    const params = { name, arguments: args };
    if (this.tasks.only?.has(name) !== false) return this.#callMaybeAsTask(params, options);
    return this.#ask('tools/call', params, options, (result) =>
      this.#results.callTool(name, result),
    );
  }

  async callToolAsTask(
    name: string,
    args?: JsonObject,
    options: TaskOptions = {},
  ): Promise<ToolTask> {
    // The way to call depends on the server, so it must be known first.
    if (this.tasks.offer === 'unknown') await this.ready(options);
    return this.tasks.begin({ name, arguments: args }, options, this.lists.tools);
  }

  cancelTask(id: string): Promise<void> {
    return this.tasks.cancel(id);
  }

  /**
   * Calls a tool that may have to run as a task: it requires one, or the server is not known yet.
   */
  async #callMaybeAsTask(
    params: { readonly name: string } & JsonObject,
    options?: HostRequestOptions,
  ): Promise<CallToolResult> {
    const isTaskOnly = () => this.tasks.demands(params.name, this.lists.tools, options);
    const asTask = () => this.tasks.call(params, options);
    const isUnknown = this.tasks.offer === 'unknown';
    if (!isUnknown && (await isTaskOnly())) return asTask();
    const called = this.#ask('tools/call', params, options, (result) =>
      this.#results.callTool(params.name, result),
    );
    if (!isUnknown) return called;
    // The server was unknown, so the call was plain. A server rejects a plain call of a task-only
    // tool, without running it, in either of two ways.
    const isRefusal = (error: unknown): boolean =>
      error instanceof ProtocolError && error.code === ErrorCode.methodNotFound;
    try {
      const result = await called;
      return result.isError === true && (await isTaskOnly()) ? await asTask() : result;
    } catch (error) {
      if (isRefusal(error) && (await isTaskOnly())) return asTask();
      throw error;
    }
  }

  listTools(options?: ListOptions): Promise<readonly ListedTool[]> {
    return this.#listed('tools/list', this.lists.tools, options);
  }

  listResources(options?: ListOptions): Promise<readonly ListedResource[]> {
    return this.#listed('resources/list', this.lists.resources, options);
  }

  listResourceTemplates(options?: ListOptions): Promise<readonly ListedResourceTemplate[]> {
    return this.#listed('resources/templates/list', this.lists.resourceTemplates, options);
  }

  listPrompts(options?: ListOptions): Promise<readonly ListedPrompt[]> {
    return this.#listed('prompts/list', this.lists.prompts, options);
  }

  readResource(uri: string, options?: HostRequestOptions): Promise<ReadResourceResult> {
    return this.#ask('resources/read', { uri }, options, (result) =>
      this.#results.readResource(result),
    );
  }

  getPrompt(
    name: string,
    args?: { readonly [name: string]: string },
    options?: HostRequestOptions,
  ): Promise<GetPromptResult> {
    const params = { name, arguments: args };
    return this.#ask('prompts/get', params, options, (result) => this.#results.getPrompt(result));
  }

  complete(request: CompletionRequest, options?: HostRequestOptions): Promise<Completion> {
    return this.#ask('completion/complete', { ...request }, options, (result) =>
      this.#results.complete(result),
    );
  }

  async subscribe(uri: string, options?: HostRequestOptions): Promise<void> {
    this.#refuseAway('resources/subscribe');
    const { era } = this.#served('resources/subscribe');
    await this.preferences.subscribe(uri, era, this.#preference(options));
  }

  unsubscribe(uri: string, options?: HostRequestOptions): Promise<void> {
    return this.preferences.unsubscribe(uri, this.#preference(options));
  }

  async setLogLevel(level: LogLevel, options?: HostRequestOptions): Promise<void> {
    this.#refuseAway('logging/setLevel');
    const { era } = this.#served('logging/setLevel');
    await this.preferences.setLogLevel(level, era, this.#preference(options));
  }

  async setRoots(
    roots: RootsProvider,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void> {
    const { answers, name } = this.#parts;
    if (!answers.setRoots(roots)) {
      const message = `The roots of ${name} cannot be set: connect with "roots" first`;
      throw new RuntimeError('CAPABILITY_MISSING', message);
    }
    // A modern server requests the roots in each call that needs them.
    if (this.server?.era === 'legacy') {
      await this.notify(Method.rootsListChanged, undefined, options);
    }
  }

  async ping(options?: HostRequestOptions): Promise<number> {
    const { clock } = this.#parts;
    const startedAt = clock.now();
    await this.request(Method.ping, undefined, options);
    return clock.now() - startedAt;
  }

  /** True if a tool's annotations make calling it twice safe. */
  protected isHarmless(name: string): boolean {
    const { annotations } = this.lists.tools.report.items.find((tool) => tool.name === name) ?? {};
    return annotations?.['readOnlyHint'] === true || annotations?.['idempotentHint'] === true;
  }

  protected heard(method: string, params: JsonObject | undefined): void {
    if (this.#isForeign(method, params)) return;
    if (method === Method.subscriptionAcknowledged) this.preferences.acknowledged(params);
    this.lists.heard(method, params);
    this.tasks.heard(method, params);
    if (method === Method.elicitationComplete) this.#parts.answers.completed(params);
    this.tellNotification(method, params);
  }

  /**
   * True for a notification of another client's subscription, which is passed to the host but not
   * acted on.
   */
  #isForeign(method: string, params: JsonObject | undefined): boolean {
    const meta = params?.['_meta'];
    const id = isJsonObject(meta) ? meta[MetaKey.subscriptionId] : undefined;
    if (id === undefined || this.#subscriptions?.has(id as RequestId)) return false;
    const message = `The server sent ${inspectValue(method)} for the unknown subscription ${inspectValue(id)}`;
    this.#parts.problem('subscription.unknown', message);
    return true;
  }

  /** Restores subscriptions, the log level and lists on a ready channel. */
  protected opened({ era, capabilities }: ServerProfile): void {
    this.#capabilities = capabilities;
    this.lists.opened({ capabilities, era });
    this.preferences.opened(era);
    this.tasks.opened(era, capabilities);
  }

  protected lost(): void {
    this.lists.closed();
    this.preferences.closed();
  }

  protected refused(error: RuntimeError): void {
    this.lists.refuse(error);
    this.preferences.refuse(error);
  }

  protected ended(error: RuntimeError): void {
    this.lists.end(error);
    this.preferences.end(error);
    this.tasks.end(error);
  }

  async #listed<T extends JsonObject>(
    method: string,
    list: KeptList<T>,
    options: ListOptions = {},
  ): Promise<readonly T[]> {
    this.#refuseAway(method);
    const { timeoutMs = this.#parts.limits.requestTimeoutMs, signal, refresh = false } = options;
    try {
      return await list.items({ timeoutMs, signal, refresh });
    } catch (error) {
      throw addCallerFrames(copyError(error));
    }
  }

  #ask<T>(
    method: string,
    params: JsonObject,
    options: HostRequestOptions | undefined,
    read: (result: JsonObject) => T,
  ): Promise<T> {
    const missing = this.#missing(method);
    return missing
      ? Promise.reject(missing)
      : this.#parts.requests.ask(method, params, options, read);
  }

  /**
   * The server's era, if known.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server does not declare the capability
   */
  #served(method: string): { readonly era: Era | undefined } {
    const missing = this.#missing(method);
    if (missing) throw missing;
    return { era: this.server?.era };
  }

  /**
   * The error of a method whose capability the server does not declare; undefined if it may be
   * sent.
   */
  #missing(method: string): RuntimeError | undefined {
    const missing = missingFor(method, this.#capabilities);
    if (missing === undefined) return undefined;
    const message = `${method} was not sent: ${this.#parts.name} does not declare ${missing}`;
    return new RuntimeError('CAPABILITY_MISSING', message);
  }

  /** @throws {RuntimeError} NOT_READY: waiting for a channel would be pointless */
  #refuseAway(method: string): void {
    const away = this.#parts.requests.away(method);
    if (away) throw away;
  }

  #preference({ signal, timeoutMs }: HostRequestOptions = {}): PreferenceOptions {
    return { signal, timeoutMs: timeoutMs ?? this.#parts.limits.requestTimeoutMs };
  }
}

/**
 * Method prefixes that are capabilities. Completion is excluded: the first revisions had no
 * capability for it.
 */
const declaredFeatures: ReadonlySet<string> = new Set(['tools', 'resources', 'prompts', 'logging']);

/** The missing capability of a method; undefined if declared, or if the server is not known yet. */
export function missingFor(
  method: string,
  capabilities: JsonObject | undefined,
): string | undefined {
  const feature = method.slice(0, method.indexOf('/'));
  if (!capabilities || !declaredFeatures.has(feature)) return undefined;
  const declared = capabilities[feature];
  if (declared === undefined) return feature;
  const isSubscription = method.endsWith('subscribe');
  if (!isSubscription || (isJsonObject(declared) && declared['subscribe'] === true))
    return undefined;
  return 'resources.subscribe';
}
