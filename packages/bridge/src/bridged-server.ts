/**
 * One client's server behind a bridge: what each says to the other, in the era of each.
 *
 * Where both speak the same era, a message is handed on as it is. A server of the legacy era asks in
 * requests, and a client since 2026-07-28 is asked in results; the client's call waits for both.
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

/** A request of the client that the server answers. */
interface OpenCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly context: HandlerContext;
  readonly asks: Asks;
  /** What the server has asked on its behalf and has no answer to; undefined for nothing yet. */
  questions: Set<Promise<unknown>> | undefined;
}

/**
 * Where a client since 2026-07-28 is asked what a server since then asks: in the result, as it came, or
 * within the call, as a client of the legacy era is.
 */
type Asks = 'inResult' | 'inCall' | undefined;

/** One of a server's lists, as it is now. */
export interface ServerList {
  /** All pages, in the server's order, as they came. */
  readonly items: readonly JsonObject[];
  /** How long it may be taken for fresh, milliseconds; undefined if the server says nothing. */
  readonly ttlMs: number | undefined;
}

/** The tool of a list that has this name. */
export function toolIn({ items }: ServerList, name: string): JsonObject | undefined {
  return items.find((tool) => tool['name'] === name);
}

/** A server that a client is connected to. */
export interface OpenedServer extends Upstream {
  mayRequireInput(method: string, params: JsonObject | undefined): boolean | Promise<boolean>;
  /** @param asks in the result by default */
  request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
    asks?: Asks,
  ): JsonObject | Promise<JsonObject>;
  /** A whole list, which is asked for on behalf of no request. Empty if the server has no such. */
  list(name: CatalogName): Promise<ServerList>;
  /** All skills that the server lists, without those that no host could use. Empty if it has none. */
  skills(): Promise<readonly ListedSkill[]>;
  /** The tools that are not offered, with why; undefined without a lock. */
  heldBack?(): readonly { readonly tool: string; readonly why: string }[];
  /** Which log messages its client wants, by the least severe. */
  setLogLevel(level: LogLevel): Promise<void>;
}

const { maxSubscriptions } = defaultLimits;

/** A server that has not listed its items after this time is asked again with the next list. */
const listTimeoutMs = 60_000;

/** How a server is bridged, as far as each of its clients is concerned. */
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
  /** The era of the client. */
  readonly era: Era;
  readonly #rounds: Pick<RoundsHost, 'clock' | 'maxRounds' | 'places'>;
  /** How long a call may take in all, the questions of the server included, milliseconds. */
  readonly #maxTotalMs: number;
  /** Undefined until the server is ready. */
  #connection: Connection | undefined = undefined;
  /** Undefined if the client has the server to itself. */
  #lease: SharedLease | undefined = undefined;
  readonly #options: BridgingOptions;
  /** The oldest first. */
  readonly #calls = new Set<OpenCall>();
  /** Capabilities that the client knows of. */
  #declared: JsonObject = {};
  /** True from the loss of the server until it is ready again. */
  #isLost = false;
  /** How many listen to each resource, since 2026-07-28. */
  #watched: Map<string, number> | undefined = undefined;
  /** Bytes sent to the client of a shared server since it stopped reading; undefined while it reads. */
  #unreadBytes: number | undefined = undefined;
  /** Limit of what waits for the client, and of what waits for the server. */
  readonly #maxQueuedBytes: number;
  /** Size of the client's open requests to a shared server. */
  #openBytes = 0;
  /** The level that the server was set to for clients that want one with each request. */
  #logLevel: LogLevel | undefined = undefined;
  /** The level whose refusal is reported. */
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

  /** What the connection is to hear of the server. */
  get hearing(): Pick<ConnectOptions, 'onNotification' | 'onRequest' | 'revision'> {
    const { version } = this.#client.peer.dialect;
    return {
      onRequest: (...request) => this.#asked(...request),
      onNotification: (...notification) => this.heard(...notification),
      ...(this.era === 'legacy' ? { revision: version } : {}),
    };
  }

  /**
   * The upstream of the client, over a connection that is ready.
   *
   * @param lease if others share it
   */
  over(connection: Connection, lease?: SharedLease): OpenedServer {
    this.#connection = connection;
    this.#lease = lease;
    // To know which of its tools may be called twice.
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
   * Applies backpressure. A server that others share is read on: what this client would get is limited
   * instead. Progress is dropped first, then the client is disconnected; log messages never reach it.
   */
  #pause(isPaused: boolean): void {
    if (!this.#lease) return pauseReading(this.#open, isPaused);
    this.#unreadBytes = isPaused ? 0 : undefined;
  }

  /** Disconnects the client of a shared server that does not read and is sent too much. */
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
    // It may have changed without a word.
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
   * What the server has for the client. Tasks of the other era are left out: these two do not
   * understand each other. So are tasks and log messages of a server that others share: nothing says
   * whose they are.
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

  // What the client asks.

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
      // The server may have asked for another call of the client, which this one has carried.
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
   * A client of a shared server that reads slowly cannot fill the server's queue alone.
   *
   * @throws {ProtocolError} -32000, once half of the queue is in use and a quarter is this client's
   */
  #refuseBeyondShare(size: number): void {
    const open = this.#openBytes;
    const max = this.#maxQueuedBytes;
    if (open === 0 || open + size <= max / maxClientsAtLimit) return;
    // Requests of this turn are open, and not queued yet.
    const queued = queuedBytesOf(this.#open);
    if (queued + open <= max / 2) return;
    const message = `Overloaded: ${open} bytes of this client's requests are in flight, and ${queued} bytes wait for the shared server; try again when some have been answered`;
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

  /** Sets a preference of a legacy client, which a restarted server gets again. */
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

  /** A request since 2026-07-28, to a server of the legacy era. */
  async #byLegacy(call: OpenCall): Promise<JsonObject> {
    const { method, params } = call;
    const meta = params?.['_meta'];
    const level = isJsonObject(meta) ? logLevelOf(meta[MetaKey.logLevel]) : undefined;
    if (level !== undefined) this.#wantLogs(level);
    // What the request says of its client, the handshake has said.
    const result = await this.#send(call, params && withoutMeta(params, ofEnvelopes));
    const { dialect } = this.#client.peer;
    // Its revision requires what a legacy server cannot say.
    const whole = cached.has(method) ? dialect.cacheable(result, uncached) : result;
    return dialect.result(whole, { serverInfo: this.#server.info, capabilities: {} });
  }

  /** A request to a server since 2026-07-28, which is one call to its client, whatever the server asks. */
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
        // It is read, and made, only if the server asks something.
        get signal() {
          return context.signal;
        },
      },
      { result, startedAt },
    );
    const last = more ? await more : result;
    // The server goes on once the person is done.
    for (const elicitationId of urls)
      this.#client.notify(Method.elicitationComplete, { elicitationId });
    return last;
  }

  /** A server that others share is told with each request for whom it is. */
  #introduced(params: JsonObject | undefined): JsonObject | undefined {
    if (!this.#lease) return params;
    const { info, capabilities } = this.#client.peer;
    return withMeta(params ?? {}, {
      [MetaKey.clientInfo]: info,
      [MetaKey.clientCapabilities]: untoldCapabilities(capabilities),
    });
  }

  /** A server of the legacy era has one level for all requests: the lowest that one of them wants. */
  #wantLogs(level: LogLevel): void {
    if (this.#capabilities['logging'] === undefined) return;
    const known = this.#logLevel;
    if (known !== undefined && logLevels.indexOf(known) <= logLevels.indexOf(level)) return;
    this.#logLevel = level;
    this.#open.setLogLevel(level).catch((error: unknown) => {
      this.#logLevel = known;
      // Each request that wants logs tries again.
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
    const message = `Method not found: ${method} needs the capability "${missing}", which the server ${name} does not have for this client`;
    throw new ProtocolError(ErrorCode.methodNotFound, message);
  }

  #missingTasks(capabilities: JsonObject): string | undefined {
    if (this.era === 'modern') return declaresTasks(capabilities) ? undefined : tasksExtension;
    return capabilities['tasks'] === undefined ? 'tasks' : undefined;
  }

  /** True if a call that has asked its client was lost with its process: a retry cannot resume it. */
  #isUnresumable({ method, questions }: OpenCall, error: unknown): boolean {
    const isLost = error instanceof RuntimeError && error.code === 'CLOSED';
    return isLost && this.era === 'modern' && questions !== undefined && method === 'tools/call';
  }

  /** The error as the client gets it: that of a server of its own era as it is. */
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

  // What the client tells.

  #tell(method: string, params: JsonObject | undefined): void {
    // Since 2026-07-28 a server hears no notifications: it asks for the roots with each call.
    // One that others share must not take what one of them says for the word of all.
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

  /** @param factOf gets the error without the secrets of the server's entry */
  #reportFailure(error: unknown, factOf: (shown: unknown) => Fact): void {
    const { report = defaultReport, hide } = this.#options;
    report(factOf(hide(error)));
  }

  // What the server asks.

  /** A request of a server of the legacy era. */
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

  /** Asks the client on behalf of one of its calls, which does not end before there is an answer. */
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
   * The call that a question goes with; undefined if it goes by itself. A server says which only over
   * HTTP: it is taken to be the last that has asked nothing yet. A client with a stream of its own is
   * asked there.
   */
  #callToAskOn(): OpenCall | undefined {
    const isModern = this.era === 'modern';
    const able = [...this.#calls].filter(({ method, context }) =>
      isModern ? mayRequireInput.has(method) : context.http !== undefined,
    );
    return able.findLast(({ questions }) => !questions?.size) ?? able.at(-1);
  }

  // What the server tells.

  /** Takes a state of the connection. A server that returns may have other lists. */
  moved({ value }: ConnectionState): void {
    const isBack = value === 'ready' && this.#isLost;
    this.#isLost = value !== 'ready';
    if (isBack) for (const changed of listChanges(this.#declared)) this.heard(changed, undefined);
  }

  /** Takes a notification of the server that belongs to no request. */
  heard(method: string, params: JsonObject | undefined): void {
    if (method === Method.subscriptionAcknowledged) return;
    if (method === Method.logMessage) return this.#heardLog(params);
    this.#countUnread(params);
    // The id of our own subscription is nothing to the client.
    this.#client.notify(method, params && withoutMeta(params, [MetaKey.subscriptionId]));
  }

  /** A log message goes with the last of the calls that wants it. */
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
  message:
    'The process that this call waited in has ended. Call the tool anew, from the beginning.',
} as const;

/** The notifications that a server with these capabilities sends when its lists change. */
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
  const message = `The client has subscribed to ${maxSubscriptions} resources, and may subscribe to no more: unsubscribe from some first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

/** The methods whose results say since 2026-07-28 how long they may be kept. */
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

/** Params without these members of their `_meta`. */
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

/** The client's progress goes to the server if the server asked for it. */
function questionOptions(params: JsonObject | undefined, asked: RawAsked): RequestOptions {
  const { signal } = asked;
  const token = progressTokenOf(params);
  if (token === undefined) return { signal };
  return {
    signal,
    onProgress: (report) => asked.notify(Method.progress, { progressToken: token, ...report }),
  };
}

/** Params without a request for a task, which the client could not ask about later. */
function withoutTask(params: JsonObject | undefined): JsonObject | undefined {
  return params?.['task'] === undefined ? params : omit(params, 'task');
}

/** A URL to open, with the id that clients of the legacy era want. */
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

/** Since 2026-07-28 a URL has no id: the client calls again when the person is done. */
function withoutId(params: JsonObject | undefined): JsonObject | undefined {
  return params && omit(params, 'elicitationId');
}

/** Whether a request since 2026-07-28 wants a log message. */
function wantsLog(call: OpenCall, message: JsonObject | undefined): boolean {
  const meta = call.params?.['_meta'];
  const wanted = isJsonObject(meta) ? logLevelOf(meta[MetaKey.logLevel]) : undefined;
  const level = logLevelOf(message?.['level']);
  if (wanted === undefined || level === undefined) return false;
  return logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}

/** What a question fails with, as the server gets it: the client's own error as it is. */
function answerOf(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof RuntimeError && error.remote) return fromWireError(error.remote);
  const isMissing = error instanceof RuntimeError && error.code === 'CAPABILITY_MISSING';
  const message = error instanceof Error ? error.message : textOfError(error);
  return new ProtocolError(isMissing ? ErrorCode.methodNotFound : ErrorCode.internalError, message);
}
