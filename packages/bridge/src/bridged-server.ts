/**
 * Translates between one client and its bridged server, if their eras differ.
 *
 * Messages between the same eras are forwarded unchanged. A legacy server asks in requests, and a client since 2026-07-28
 * is asked in results; the client's call waits for both.
 */
import { systemClock } from '../../../src/actors/clock.ts';
import type { Fact } from '../../../src/actors/facts.ts';
import { defaultLimits, maxClientsAtLimit } from '../../../src/actors/limits.ts';
import { untoldCapabilities } from '../../client/src/asked/answers.ts';
import { DialogPlaces, roundsAfter } from '../../client/src/asked/input-rounds.ts';
import type { RoundsCall, RoundsHost } from '../../client/src/asked/input-rounds.ts';
import type { RawAnswer, RawAsked } from '../../client/src/asked/providers.ts';
import type { ConnectOptions } from '../../client/src/connect-options.ts';
import type { Connection } from '../../client/src/connection/connection.ts';
import { connectionLimitsWith } from '../../client/src/connection/limits.ts';
import {
  listsOf,
  pauseReading,
  preferencesOf,
  queuedBytesOf,
} from '../../client/src/connection/host-connection.ts';
import type { HostRequestOptions } from '../../client/src/connection/options.ts';
import type { SentOptions } from '../../client/src/connection/requests.ts';
import { listKinds } from '../../client/src/lists/list-kinds.ts';
import { preferenceMethods } from '../../client/src/lists/preferences.ts';
import type { ConnectionState } from '../../client/src/connection/connection-streams.observable.ts';
import { missingFor } from '../../client/src/connection/server-features.ts';
import { CallContext } from '../../../src/server/context/call-context.ts';
import type {
  HandlerContext,
  RequestOptions,
} from '../../../src/server/context/handler-context.ts';
import { uncached } from '../../../src/server/define/caching.ts';
import type {
  Upstream,
  UpstreamClient,
  UpstreamWatch,
} from '../../../src/server/define/upstream.ts';
import type { CatalogName } from '../../client/src/lists/catalog.machine.ts';
import type { ServerProfile } from '../../client/src/connection/connection-context.ts';
import { isJsonObject, isRequestId } from '../../../src/protocol/classify.ts';
import {
  ErrorCode,
  ForwardedError,
  ProtocolError,
  RuntimeError,
  fromWireError,
  invalidParams,
  textOfError,
} from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { mayRequireInput } from '../../../src/protocol/input-required.ts';
import { omit } from '../../../src/protocol/dialects/members.ts';
import { negotiateDialect } from '../../../src/protocol/dialects/registry.ts';
import { logLevelOf, logLevels } from '../../../src/protocol/log-levels.ts';
import type { LogLevel } from '../../../src/protocol/log-levels.ts';
import { MetaKey, withMeta } from '../../../src/protocol/meta.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { skillMethods, skillsExtension } from '../../../src/protocol/skills.ts';
import type { ListedSkill } from '../../../src/protocol/skills.ts';
import { declaresTasks, tasksExtension } from '../../../src/protocol/tasks.ts';
import { logLevelFailed, subscriptionFailed, unsubscriptionFailed } from './bridge-faults.ts';
import type { SharedLease } from './shared-server.ts';

type Era = ServerProfile['era'];

/** A client's request in flight at the server. */
interface OpenCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly context: HandlerContext;
  readonly asks: Asks;
  /** Open questions of the server within this call; undefined before the first. */
  questions: Set<Promise<unknown>> | undefined;
}

/**
 * How a client since 2026-07-28 gets the questions of a server since then: in the result, forwarded unchanged, or within
 * the call, like a legacy client.
 */
type Asks = 'inResult' | 'inCall' | undefined;

/** A complete list of a server. */
export interface ServerList {
  /** Items of all pages, unchanged, in the server's order. */
  readonly items: readonly JsonObject[];
  /** Remaining freshness, milliseconds; undefined if the server states none. */
  readonly ttlMs: number | undefined;
}

/** Finds a tool by name. */
export function toolIn({ items }: ServerList, name: string): JsonObject | undefined {
  return items.find((tool) => tool['name'] === name);
}

/** A bridged server that a client is connected to. */
export interface OpenedServer extends Upstream {
  mayRequireInput(method: string, params: JsonObject | undefined): boolean | Promise<boolean>;
  /** @param asks in the result by default */
  request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
    asks?: Asks,
  ): JsonObject | Promise<JsonObject>;
  /** Fetches a complete list, independent of any request. Empty if the server does not have it. */
  list(name: CatalogName): Promise<ServerList>;
  /** Fetches the usable skills that the server lists. Empty if it has none. */
  skills(): Promise<readonly ListedSkill[]>;
  /** Hidden tools, with the reason; absent without a lock or policies. */
  heldBack?(): readonly { readonly tool: string; readonly why: string }[];
  /** Sets the minimum level of log messages. */
  setLogLevel(level: LogLevel): Promise<void>;
}

const { maxSubscriptions } = defaultLimits;

/** Timeout of a list request, milliseconds. */
const listTimeoutMs = 60_000;

/** Per-client options of a bridged server. */
export interface BridgingOptions extends Pick<ConnectOptions, 'clock' | 'limits' | 'report'> {
  /** See {@link Upstream.idleMs}. */
  readonly idleMs: number;
  /** See {@link HostRequestOptions.retry}. */
  readonly retry?: HostRequestOptions['retry'];
  /** Removes secrets from an error. */
  readonly hide: (error: unknown) => unknown;
}

export class BridgedServer {
  readonly #client: UpstreamClient;
  /** Era of the client. */
  readonly era: Era;
  readonly #rounds: Pick<RoundsHost, 'clock' | 'maxRounds' | 'places'>;
  /** Maximum duration of a call including the server's questions, milliseconds. */
  readonly #maxTotalMs: number;
  /** Undefined until the server is ready. */
  #connection: Connection | undefined = undefined;
  /** Lease of a shared server; undefined if the client has its own. */
  #lease: SharedLease | undefined = undefined;
  readonly #options: BridgingOptions;
  /** Requests in flight, oldest first. */
  readonly #calls = new Set<OpenCall>();
  /** Capabilities sent to the client. */
  #declared: JsonObject = {};
  /** True from the loss of the server until it is ready again. */
  #isLost = false;
  /** Number of subscriptions per resource, since 2026-07-28. */
  #watched: Map<string, number> | undefined = undefined;
  /** Bytes sent to the client of a shared server since it stopped reading; undefined while it reads. */
  #unreadBytes: number | undefined = undefined;
  /** Limit of bytes queued for the client, and of those queued for the server. */
  readonly #maxQueuedBytes: number;
  /** Size of the client's open requests to a shared server. */
  #openBytes = 0;
  /** Log level set at the server for clients that request one per request. */
  #logLevel: LogLevel | undefined = undefined;
  /** Log level whose rejection was reported. */
  #refusedLevel: LogLevel | undefined = undefined;

  constructor(client: UpstreamClient, options: BridgingOptions) {
    const { clock = systemClock, limits: given } = options;
    this.#options = options;
    const limits = connectionLimitsWith(given);
    this.#client = client;
    this.era = client.peer.dialect.sessionOfRequest(client) === undefined ? 'modern' : 'legacy';
    this.#maxTotalMs = limits.requestMaxTotalMs;
    this.#maxQueuedBytes = limits.maxOutboundBytes;
    this.#rounds = { clock, maxRounds: limits.maxRounds, places: new DialogPlaces(limits) };
  }

  /** Callbacks for the connection. */
  get hearing(): Pick<ConnectOptions, 'onNotification' | 'onRequest' | 'revision'> {
    const { version } = this.#client.peer.dialect;
    return {
      onRequest: (...request) => this.#asked(...request),
      onNotification: (...notification) => this.heard(...notification),
      ...(this.era === 'legacy' ? { revision: version } : {}),
    };
  }

  /**
   * Creates the client's upstream over a ready connection.
   *
   * @param lease set for a shared server
   */
  over(connection: Connection, lease?: SharedLease): OpenedServer {
    this.#connection = connection;
    this.#lease = lease;
    // Retries depend on the annotations of the tools.
    const { idleMs, retry } = this.#options;
    if (retry === 'reads') connection.tools$.subscribe();
    const { info, instructions, others } = this.#server;
    this.#declared = this.#capabilities;
    return {
      serverInfo: info,
      extraMembers: this.#isSameEra ? others : undefined,
      capabilities: this.#declared,
      instructions,
      idleMs,
      tool: async (name) => toolIn(await this.#list('tools'), name),
      mayRequireInput: () => this.era === 'modern' && this.#server.era === 'modern',
      request: (method, params, context, asks) => this.#request(method, params, context, asks),
      onClientNotification: (method, params) => this.#tell(method, params),
      watch: (uris) => this.#watch(uris),
      list: (name) => this.#list(name),
      skills: () => this.#skills(),
      setLogLevel: (level) => (lease ? Promise.resolve() : connection.setLogLevel(level)),
      pause: () => this.#pause(true),
      resume: () => this.#pause(false),
      close: () => (lease ? lease.release() : connection.close()),
    };
  }

  /**
   * Applies backpressure. A shared server is not paused; instead, unread output of this client is limited: progress is
   * dropped first, then the client is disconnected.
   */
  #pause(isPaused: boolean): void {
    if (!this.#lease) return pauseReading(this.#open, isPaused);
    this.#unreadBytes = isPaused ? 0 : undefined;
  }

  /** Counts unread output of a shared server, and disconnects the client past the limit. */
  #countUnread(sent: JsonObject = {}): void {
    if (this.#unreadBytes === undefined) return;
    this.#unreadBytes += JSON.stringify(sent).length;
    if (this.#unreadBytes <= this.#maxQueuedBytes) return;
    this.#unreadBytes = 0;
    this.#client.disconnect(
      `The client is not reading and was sent ${this.#maxQueuedBytes} bytes more: closing its session`,
    );
  }

  async #list(name: CatalogName): Promise<ServerList> {
    const { clock } = this.#rounds;
    const declared = this.#capabilities[listKinds[name].feature];
    if (!isJsonObject(declared)) return { items: [], ttlMs: undefined };
    const list = listsOf(this.#open)[name];
    // Without listChanged and ttl, the list may be stale.
    const refresh = declared['listChanged'] !== true && list.freshUntil === Infinity;
    const items = await list.items({ timeoutMs: listTimeoutMs, refresh });
    const { freshUntil } = list;
    const ttlMs = freshUntil === Infinity ? undefined : Math.max(0, freshUntil - clock.now());
    return { items, ttlMs };
  }

  async #skills(): Promise<readonly ListedSkill[]> {
    const { extensions } = this.#capabilities;
    if (!isJsonObject(extensions) || !isJsonObject(extensions[skillsExtension])) return [];
    return await this.#open.skills.list({ timeoutMs: listTimeoutMs });
  }

  get #open(): Connection {
    if (this.#connection) return this.#connection;
    throw new RuntimeError('NOT_READY', 'The server is not connected');
  }

  /** The server of the last handshake. */
  get #server(): ServerProfile {
    const { server } = this.#open;
    if (server) return server;
    throw new RuntimeError('NOT_READY', 'The server is not known');
  }

  get #isSameEra(): boolean {
    return this.#server.era === this.era;
  }

  /**
   * Capabilities of the server for the client. Tasks of the other era are omitted, because the eras' task protocols are
   * incompatible. So are tasks and log messages of a shared server, because they cannot be attributed to a client.
   */
  get #capabilities(): JsonObject {
    const { capabilities } = this.#server;
    if (this.#isSameEra && !this.#lease) return capabilities;
    const { extensions } = capabilities;
    const logging = this.#lease ? ['logging'] : [];
    const others = omit(capabilities, 'tasks', 'extensions', ...logging);
    const kept = isJsonObject(extensions) ? omit(extensions, tasksExtension) : {};
    return Object.keys(kept).length > 0 ? { ...others, extensions: kept } : others;
  }

  // Requests of the client.

  async #request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
    asks?: Asks,
  ): Promise<JsonObject> {
    this.#refuseMissing(method);
    const size = this.#lease ? (CallContext.requestOf(context)?.request.size ?? 0) : 0;
    this.#refuseBeyondShare(size);
    const call: OpenCall = { method, params, context, asks, questions: undefined };
    this.#calls.add(call);
    this.#openBytes += size;
    try {
      const result = await this.#answered(call);
      this.#countUnread(result);
      // This call may carry a question that the server asked for another call.
      if (call.questions) await Promise.allSettled(call.questions);
      return result;
    } catch (error) {
      if (this.#isUnresumable(call, error))
        return this.#client.peer.dialect.toolFailure(unresumable);
      throw this.#errorFor(this.#options.hide(error));
    } finally {
      this.#calls.delete(call);
      this.#openBytes -= size;
    }
  }

  /**
   * Prevents one client from filling the queue of a slow shared server.
   *
   * @throws {ProtocolError} -32000, if half of the queue is in use and a quarter belongs to this client
   */
  #refuseBeyondShare(size: number): void {
    const open = this.#openBytes;
    const max = this.#maxQueuedBytes;
    if (open === 0 || open + size <= max / maxClientsAtLimit) return;
    // Requests of this turn are counted, but not queued yet.
    const queued = queuedBytesOf(this.#open);
    if (queued + open <= max / 2) return;
    const message = `Overloaded: ${open} bytes of this client's requests are in flight, and ${queued} bytes are queued for the shared server; try again later`;
    const data = { reason: 'overloaded', retryable: true };
    throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }

  #answered(call: OpenCall): Promise<JsonObject> {
    const { method, params } = call;
    if (this.#lease && method.endsWith('subscribe')) return this.#subscribed(method, params);
    const isHeld = call.asks === 'inCall' && this.#server.era === 'modern';
    if (this.#isSameEra && !isHeld) {
      if (preferenceMethods.has(method)) return this.#prefer(call);
      return this.#send(call, this.#lease ? withoutTask(params) : params);
    }
    return this.#server.era === 'modern' ? this.#byModern(call) : this.#byLegacy(call);
  }

  /** Sets a preference of a legacy client, and remembers it for a restarted server. */
  async #prefer(call: OpenCall): Promise<JsonObject> {
    const { method, params } = call;
    const preferences = preferencesOf(this.#open);
    if (method === 'resources/subscribe') refuseMore(preferences.uris.length);
    const result = await this.#send(call, params);
    preferences.note(method, params);
    return result;
  }

  async #subscribed(method: string, params: JsonObject | undefined): Promise<JsonObject> {
    const uri = params?.['uri'];
    if (typeof uri !== 'string') throw invalidParams('"uri" must be a string');
    await (method === 'resources/subscribe' ? this.#subscribe(uri) : this.#unsubscribe(uri));
    return {};
  }

  async #subscribe(uri: string): Promise<void> {
    if (!this.#lease) return this.#open.subscribe(uri);
    refuseMore(this.#lease.watched);
    return this.#lease.watch(uri);
  }

  #unsubscribe(uri: string): Promise<void> {
    return this.#lease ? this.#lease.unwatch(uri) : this.#open.unsubscribe(uri);
  }

  #send(
    { method, params: given, context }: OpenCall,
    params: JsonObject | undefined,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    const token = progressTokenOf(given);
    const onProgress: SentOptions['onProgress'] =
      token === undefined
        ? undefined
        : (report) => {
            if (this.#unreadBytes === undefined)
              context.notify(Method.progress, { progressToken: token, ...report });
          };
    const within = CallContext.requestOf(context);
    // A host with a stream of its own comes back, as the bridge does.
    const { http } = this.era === 'legacy' ? context : {};
    const onPaused = http && (() => http.closeConnection());
    const { retry } = this.#options;
    const options: SentOptions = { raw: true, signal, within, onProgress, onPaused, retry };
    return this.#open.request(method, params, options);
  }

  /** Forwards a request since 2026-07-28 to a legacy server. */
  async #byLegacy(call: OpenCall): Promise<JsonObject> {
    const { method, params } = call;
    const meta = params?.['_meta'];
    const level = isJsonObject(meta) ? logLevelOf(meta[MetaKey.logLevel]) : undefined;
    if (level !== undefined) this.#wantLogs(level);
    // The handshake has already described the client.
    const result = await this.#send(call, params && withoutMeta(params, ofEnvelopes));
    const { dialect } = this.#client.peer;
    // The client's revision requires caching hints, which a legacy server does not send.
    const whole = cached.has(method) ? dialect.cacheable(result, uncached) : result;
    return dialect.result(whole, { serverInfo: this.#server.info, capabilities: {} });
  }

  /** Forwards a request to a server since 2026-07-28. Its questions are asked within the same call. */
  async #byModern(call: OpenCall): Promise<JsonObject> {
    const { method, params, context } = call;
    const connection = this.#open;
    const { level: wanted } = params ?? {};
    switch (method) {
      case 'logging/setLevel': {
        const level = logLevelOf(wanted);
        if (level === undefined)
          throw invalidParams(`"level" must be one of ${logLevels.join(', ')}`);
        await connection.setLogLevel(level);
        return {};
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#subscribed(method, params);
    }
    const startedAt = this.#rounds.clock.now();
    const sent = this.#introduced(withoutTask(params));
    const result = await this.#send(call, sent);
    if (!mayRequireInput.has(method)) return result;
    const urls: string[] = [];
    const answer: RoundsHost['answers']['answer'] = (asks, question, signal) =>
      this.#askClient(call, asks, this.era === 'legacy' ? withId(asks, question, urls) : question, {
        signal,
      });
    const awaitTask = async () => result;
    const maxTotalMs = this.#maxTotalMs;
    const send: RoundsCall['send'] = (...round) => this.#send(call, ...round);
    const more = roundsAfter(
      { ...this.#rounds, answers: { answer }, awaitTask },
      {
        method,
        params: sent,
        maxTotalMs,
        send,
        // A getter, because the signal is created on first access.
        get signal() {
          return context.signal;
        },
      },
      { result, startedAt },
    );
    const last = more ? await more : result;
    // URL elicitations are complete once the server has answered.
    for (const elicitationId of urls)
      this.#client.notify(Method.elicitationComplete, { elicitationId });
    return last;
  }

  /** Adds the client's description to a request for a shared server. */
  #introduced(params: JsonObject | undefined): JsonObject | undefined {
    if (!this.#lease) return params;
    const { info, capabilities } = this.#client.peer;
    return withMeta(params ?? {}, {
      [MetaKey.clientInfo]: info,
      [MetaKey.clientCapabilities]: untoldCapabilities(capabilities),
    });
  }

  /** Lowers the log level of a legacy server to the lowest that any request wants. */
  #wantLogs(level: LogLevel): void {
    if (this.#capabilities['logging'] === undefined) return;
    const known = this.#logLevel;
    if (known !== undefined && logLevels.indexOf(known) <= logLevels.indexOf(level)) return;
    this.#logLevel = level;
    this.#open.setLogLevel(level).catch((error: unknown) => {
      this.#logLevel = known;
      // Each later request retries; report the rejection only once.
      if (this.#refusedLevel === level) return;
      this.#refusedLevel = level;
      this.#reportFailure(error, (shown) => logLevelFailed(this.#serverName, shown));
    });
  }

  /** @throws {ProtocolError} -32601, naming the capability that the server lacks for a method */
  #refuseMissing(method: string): void {
    const capabilities = this.#capabilities;
    const missing = method.startsWith('tasks/')
      ? this.#missingTasks(capabilities)
      : method === 'completion/complete'
        ? negotiateDialect(this.#server.revision).missingForCompletion(capabilities)
        : missingFor(method, capabilities);
    if (missing === undefined) return;
    const name = printableName(this.#server.info.name);
    const message = `Method not found: ${method} needs the capability "${missing}", which server ${name} does not offer this client`;
    throw new ProtocolError(ErrorCode.methodNotFound, message);
  }

  #missingTasks(capabilities: JsonObject): string | undefined {
    if (this.era === 'modern') return declaresTasks(capabilities) ? undefined : tasksExtension;
    return capabilities['tasks'] === undefined ? 'tasks' : undefined;
  }

  /** True if a call was lost with its process while it awaited its client: a retry cannot resume it. */
  #isUnresumable({ method, questions }: OpenCall, error: unknown): boolean {
    const isLost = error instanceof RuntimeError && error.code === 'CLOSED';
    return isLost && this.era === 'modern' && questions !== undefined && method === 'tools/call';
  }

  /** Converts an error for the client. Errors of a server of the same era are forwarded unchanged. */
  #errorFor(error: unknown): unknown {
    if (error instanceof ProtocolError) {
      if (this.era === 'legacy' || !this.#isSameEra) return error;
      return new ForwardedError(error);
    }
    if (!(error instanceof RuntimeError)) return error;
    const { message, code } = error;
    const data = { reason: 'upstream-failed', retryable: false, code };
    return new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }

  // Notifications of the client.

  #tell(method: string, params: JsonObject | undefined): void {
    // Since 2026-07-28, servers get no notifications: they request the roots with each call.
    // A shared server would apply one client's notification to all clients.
    if (this.#server.era === 'modern' || this.#lease) return;
    this.#open.notify(method, params).catch((error: unknown) => {
      this.#reportFailure(error, (shown) => {
        const message = `${printableName(method)} did not reach ${this.#serverName}: ${textOfError(shown)}`;
        // The connection reports its loss, and a client may send any number of notifications.
        return { level: 'debug', name: 'bridge.notification-failed', message };
      });
    });
  }

  async #watch(uris: readonly string[]): Promise<UpstreamWatch> {
    const watched = await Promise.all(
      uris.map(async (uri) => {
        this.#watched ??= new Map();
        this.#watched.set(uri, (this.#watched.get(uri) ?? 0) + 1);
        try {
          await this.#subscribe(uri);
          return [uri];
        } catch (error) {
          this.#unwatch(uri);
          this.#reportFailure(error, (shown) => subscriptionFailed(uri, shown));
          return [];
        }
      }),
    );
    const agreed = watched.flat();
    return { uris: agreed, end: () => agreed.forEach((uri) => this.#unwatch(uri)) };
  }

  #unwatch(uri: string): void {
    const left = (this.#watched?.get(uri) ?? 1) - 1;
    if (left > 0) return void this.#watched?.set(uri, left);
    this.#watched?.delete(uri);
    this.#unsubscribe(uri).catch((error: unknown) =>
      this.#reportFailure(error, (shown) => unsubscriptionFailed(uri, shown)),
    );
  }

  get #serverName(): string {
    return printableName(this.#server.info.name);
  }

  /** @param factOf receives the error without secrets of the server's entry */
  #reportFailure(error: unknown, factOf: (shown: unknown) => Fact): void {
    const { report = defaultReport, hide } = this.#options;
    report(factOf(hide(error)));
  }

  // Requests of the server.

  /** Handles a request of a legacy server. */
  async #asked(...[method, params, asked]: Parameters<RawAnswer>): Promise<JsonObject> {
    const call = this.#callToAskOn();
    const options = questionOptions(params, asked);
    try {
      if (!call) return await this.#client.request(method, params, options);
      return await this.#askClient(call, method, params, options);
    } catch (error) {
      throw answerOf(error);
    }
  }

  /** Asks the client within one of its calls, which stays open until the answer. */
  async #askClient(
    call: OpenCall,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const { context } = call;
    const fitting = this.era === 'modern' ? withoutId(params) : params;
    const answer = context.request(method, fitting, { ...options, probe: true });
    const open = (call.questions ??= new Set());
    open.add(answer);
    try {
      return await answer;
    } catch (error) {
      throw answerOf(error);
    } finally {
      open.delete(answer);
    }
  }

  /**
   * The call that carries a question; undefined to send it outside of calls. Over stdio, a server does not name the call,
   * so the latest call without a question is assumed. A client with its own stream is asked there.
   */
  #callToAskOn(): OpenCall | undefined {
    const isModern = this.era === 'modern';
    const able = [...this.#calls].filter(({ method, context }) =>
      isModern ? mayRequireInput.has(method) : context.http !== undefined,
    );
    return able.findLast(({ questions }) => !questions?.size) ?? able.at(-1);
  }

  // Notifications of the server.

  /** Handles a state of the connection. Announces list changes after a reconnect. */
  moved({ value }: ConnectionState): void {
    const isBack = value === 'ready' && this.#isLost;
    this.#isLost = value !== 'ready';
    if (isBack) for (const changed of listChanges(this.#declared)) this.heard(changed, undefined);
  }

  /** Handles a notification of the server that belongs to no request. */
  heard(method: string, params: JsonObject | undefined): void {
    if (method === Method.subscriptionAcknowledged) return;
    if (method === Method.logMessage) return this.#heardLog(params);
    this.#countUnread(params);
    // The subscription id is the bridge's own.
    this.#client.notify(method, params && withoutMeta(params, [MetaKey.subscriptionId]));
  }

  /** Sends a log message with the latest call that wants it. */
  #heardLog(params: JsonObject | undefined): void {
    const calls = [...this.#calls];
    const call =
      this.era === 'modern'
        ? calls.findLast((each) => wantsLog(each, params))
        : calls.findLast(({ context }) => context.http !== undefined);
    if (call) call.context.notify(Method.logMessage, params);
    else this.#client.notify(Method.logMessage, params);
  }
}

const unresumable = {
  code: 'NOT_RESUMABLE',
  message: 'The process that held this call has ended. Call the tool again from the beginning.',
} as const;

/** List-changed notifications of a server with these capabilities. */
export function listChanges(capabilities: JsonObject): ReadonlySet<string> {
  const changes = Object.values(listKinds).flatMap(({ feature, changed }) => {
    const declared = capabilities[feature];
    return isJsonObject(declared) && declared['listChanged'] === true ? [changed] : [];
  });
  return new Set(changes);
}

/** @throws {ProtocolError} -32000: the client has too many subscriptions */
function refuseMore(subscriptions: number): void {
  if (subscriptions < maxSubscriptions) return;
  const message = `Subscriptions must be at most ${maxSubscriptions} per client: unsubscribe from a resource first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

/** Methods whose results have caching hints since 2026-07-28. */
const cached: ReadonlySet<string> = new Set([
  ...Object.values(listKinds).map(({ method }) => method),
  'resources/read',
  ...skillMethods,
]);

const ofEnvelopes: readonly string[] = [
  MetaKey.protocolVersion,
  MetaKey.clientCapabilities,
  MetaKey.clientInfo,
  MetaKey.logLevel,
];

/** Removes members from `_meta`. */
function withoutMeta(params: JsonObject = {}, keys: readonly string[]): JsonObject {
  const meta = params['_meta'];
  if (!isJsonObject(meta)) return params;
  const kept = omit(meta, ...keys);
  const others = omit(params, '_meta');
  return Object.keys(kept).length > 0 ? { ...others, _meta: kept } : others;
}

function progressTokenOf(params: JsonObject | undefined) {
  const meta = params?.['_meta'];
  const token = isJsonObject(meta) ? meta['progressToken'] : undefined;
  return isRequestId(token) ? token : undefined;
}

/** Forwards the client's progress if the server asked for it. */
function questionOptions(params: JsonObject | undefined, asked: RawAsked): RequestOptions {
  const { signal } = asked;
  const token = progressTokenOf(params);
  if (token === undefined) return { signal };
  return {
    signal,
    onProgress: (report) => asked.notify(Method.progress, { progressToken: token, ...report }),
  };
}

/** Removes a task request, because the client could not access the task later. */
function withoutTask(params: JsonObject | undefined): JsonObject | undefined {
  return params?.['task'] === undefined ? params : omit(params, 'task');
}

/** Adds the id that legacy clients require to a URL elicitation. */
function withId(
  method: string,
  params: JsonObject | undefined,
  given: string[],
): JsonObject | undefined {
  if (
    method !== Method.elicit ||
    params?.['mode'] !== 'url' ||
    params['elicitationId'] !== undefined
  ) {
    return params;
  }
  const elicitationId = crypto.randomUUID();
  given.push(elicitationId);
  return { ...params, elicitationId };
}

/** Removes the id of a URL elicitation, which has none since 2026-07-28: the client retries when the person is done. */
function withoutId(params: JsonObject | undefined): JsonObject | undefined {
  return params && omit(params, 'elicitationId');
}

/** True if a request since 2026-07-28 wants a log message. */
function wantsLog(call: OpenCall, message: JsonObject | undefined): boolean {
  const meta = call.params?.['_meta'];
  const wanted = isJsonObject(meta) ? logLevelOf(meta[MetaKey.logLevel]) : undefined;
  const level = logLevelOf(message?.['level']);
  if (wanted === undefined || level === undefined) return false;
  return logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}

/** Converts a failed question for the server. The client's own error is forwarded unchanged. */
function answerOf(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof RuntimeError && error.remote) return fromWireError(error.remote);
  const isMissing = error instanceof RuntimeError && error.code === 'CAPABILITY_MISSING';
  const message = error instanceof Error ? error.message : textOfError(error);
  return new ProtocolError(isMissing ? ErrorCode.methodNotFound : ErrorCode.internalError, message);
}
