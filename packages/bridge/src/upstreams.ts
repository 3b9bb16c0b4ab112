/**
 * The upstreams of a server's clients. A session with a handshake has one. Since 2026-07-28, requests with the same
 * client description share one.
 */
import { requestPeer } from '../../../src/actors/correlation/peer-request.ts';
import { anyMethod } from '../../../src/actors/request-context.ts';
import type { RequestContext, RequestHandler } from '../../../src/actors/request-context.ts';
import { waitFor } from '../../../src/actors/wait-for.ts';
import type {
  DefinedUpstream,
  Upstream,
  UpstreamClient,
  UpstreamFactory,
} from '../../../src/server/define/upstream.ts';
import { featureKey } from '../../../src/server/define/feature-key.ts';
import type { UpstreamOutcome } from '../../../src/machines/session-context.ts';
import type { InitializeReceived } from '../../../src/machines/session-ports.ts';
import { upstreamChart } from './upstream.machine.ts';
import type { UpstreamEvent } from './upstream.machine.ts';
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { isKnownMethod } from '../../../src/protocol/dialects/registry.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  fromWireError,
} from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { ServerDescription } from '../../../src/protocol/implementation.ts';
import type { PeerDescription } from '../../../src/protocol/initialize.ts';
import { skillRoot } from '../../../src/protocol/skills.ts';
import { MetaKey, withMeta } from '../../../src/protocol/meta.ts';
import { ListedParameters, parameterMismatch } from '../../schema/src/mirrored-parameters.ts';
import { methodNotOffered } from '../../../src/protocol/methods.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import type { RequestOrigin, TokenExchange } from '../../../src/protocol/request-origin.ts';
import { exchangeToken } from '../../../src/server/context/token-exchange.ts';
import type { ChangeNotification } from '../../../src/protocol/subscriptions.ts';
import { PerSession, contextOf, scopeOfCall } from '../../../src/server/session/session-scope.ts';
import type { SessionScope } from '../../../src/server/session/session-scope.ts';
import type { Feature } from '../../../src/server/features/feature.ts';
import type {
  OpenUpstream,
  UpstreamsFeature,
  UpstreamsMaker,
} from '../../../src/server/upstreams-feature.ts';
import type { UpstreamListenTarget } from '../../../src/server/features/subscriptions.ts';
import type { ServerCatalog, OfferedItems } from '../../../src/server/features/registry.ts';
import type { ItemCaller } from '../../../src/server/features/visibility.ts';
import type { VisibilityOptions } from '../../../src/server/define/visible.ts';

/** The server's own description, besides its upstream's. */
type OwnDescription = () => ServerDescription;

const toolsChanged = 'notifications/tools/list_changed';

/** Maximum number of notifications queued for a client that is not ready; later ones are dropped. */
const maxHeldNotices = 1024;

/** Maximum number of issued `requestState`s remembered per upstream. */
const maxIssuedStates = 64;

/** Number of trailing UTF-16 units of a state to remember: sealed states differ at their end. */
const rememberedOfState = 64;

/** Maximum number of dropped methods reported per client and upstream, each once. */
const maxReportedMethods = 20;

/**
 * Defines an upstream: a source of tools, resources and prompts that is opened per client.
 *
 * @param open called once for each client
 */
export function defineUpstream(open: UpstreamFactory): DefinedUpstream {
  const make: UpstreamsMaker = (own, tell) => new Upstreams(open, own, tell);
  const upstream = (client: UpstreamClient) => open(client);
  return Object.assign(upstream, { close: () => open.close?.(), [featureKey]: make });
}

class Upstreams implements UpstreamsFeature {
  readonly #make: UpstreamFactory;
  readonly #own: OwnDescription;
  readonly #tell: (upstream: ClientUpstream, notice: ChangeNotification) => void;
  readonly #of = new PerSession((session) => new SessionUpstreams(session));

  /** @param tell notifies the subscriptions of an upstream's client */
  constructor(
    make: UpstreamFactory,
    own: OwnDescription,
    tell: (upstream: ClientUpstream, notice: ChangeNotification) => void,
  ) {
    this.#make = make;
    this.#own = own;
    this.#tell = tell;
  }

  /** Opens the upstream of a session's client. Never rejects. */
  async resolve(
    session: SessionScope,
    { request, reading }: InitializeReceived,
    signal: AbortSignal | undefined,
  ): Promise<UpstreamOutcome> {
    if (!reading.ok) throw new TypeError(reading.fault);
    const held = this.#of.of(session);
    // Upstreams opened to answer server/discover are unused once the client has chosen the legacy era.
    held.retire();
    const { principal, tokens } = request.origin ?? {};
    const client = { peer: reading.client, principal, tokens };
    const made = (held.own = new ClientUpstream(session, client, this.#make, this.#tell));
    signal?.addEventListener('abort', () => void made.close(), { once: true });
    try {
      const server = describe(await made.opened, this.#own());
      session.server = server;
      return { server };
    } catch (error) {
      const message = `${this.#own().serverInfo.name} cannot serve the client: ${messageOf(error)}`;
      session.report({ level: 'error', name: 'upstream.failed', message, details: { error } });
      const isAnnounced = error instanceof ProtocolError && error.data !== undefined;
      const data = isAnnounced ? error.data : { reason: 'upstream-failed', retryable: false };
      return { error: { code: ErrorCode.serverUnavailable, message, data } };
    }
  }

  /** Capabilities of the server for the client of a call. */
  readonly describe = async (call: RequestContext): Promise<ServerDescription> =>
    describe(await this.#at(call).ready(), this.#own());

  /** Whose subscription a call is, and what it may be for. */
  async listenTarget(call: RequestContext): Promise<UpstreamListenTarget> {
    const owner = this.#at(call);
    call.whenEnded(owner.hold());
    const upstream = await owner.ready();
    const { capabilities } = describe(upstream, this.#own());
    const watch = async (uris: readonly string[]) =>
      upstream.watch ? upstream.watch(uris) : { uris, end: () => {} };
    return { owner, capabilities, watch };
  }

  /** The upstreams that a session has open. */
  openIn(session: SessionScope): readonly ClientUpstream[] {
    return this.#of.peek(session)?.all ?? [];
  }

  /** Forwards a notification of the client to its upstream. @returns false if nothing takes it */
  forward(session: SessionScope, method: string, params: JsonObject | undefined): boolean {
    const own = this.#of.peek(session)?.own;
    if (!own?.upstream?.onClientNotification) return false;
    if (own.mayForward(method, 'client')) own.upstream.onClientNotification(method, params);
    return true;
  }

  /** Closes all upstreams of an ended session. */
  async close(session: SessionScope): Promise<void> {
    await this.#of.peek(session)?.closeAll();
  }

  /** Combines the server's features with its upstreams. The server answers for its own items. */
  feature(own: readonly Feature[], catalog: ServerCatalog): Feature {
    const any: RequestHandler = (params, call) => {
      const at = this.#at(call);
      const { method, peer } = call.request;
      // The client's revision lacks the method.
      if (!peer.dialect.offers(method) && isKnownMethod(method)) {
        throw fromWireError(methodNotOffered(method));
      }
      return at.request(method, params, call);
    };
    const passed = Object.assign(any, {
      resumption: () => ({ replay: false }),
      // All calls and retries of clients without a session pass through here.
      returnsInputRequired: async (call: RequestContext) => {
        const at = this.#at(call);
        const upstream = await at.ready();
        const { method, params } = call.request;
        await at.refuseMismatch(call);
        return typeof upstream.mayRequireInput === 'function'
          ? upstream.mayRequireInput(method, params)
          : upstream.mayRequireInput === true;
      },
    });
    const owned = own.flatMap(({ handlers }) => Object.entries(handlers));
    return {
      capabilities: {},
      handlers: {
        [anyMethod]: passed,
        ...Object.fromEntries(
          owned.map(([method, handler]) => [method, beside(method, handler, passed, catalog)]),
        ),
      },
    };
  }

  #at(call: RequestContext): ClientUpstream {
    const session = scopeOfCall(call);
    const held = this.#of.of(session);
    const { peer, origin } = call.request;
    const client = { peer, principal: origin?.principal, tokens: origin?.tokens };
    const upstream =
      held.own?.client.peer === peer
        ? held.own
        : held.shared(
            client,
            call.request.params?.['requestState'],
            (made) => new ClientUpstream(session, made, this.#make, this.#tell),
          );
    // The latest token is valid longest.
    if (client.tokens) upstream.tokens = client.tokens;
    return upstream;
  }
}

type Client = Pick<UpstreamClient, 'peer' | 'principal'> & Pick<RequestOrigin, 'tokens'>;

/** The upstreams of one session. */
class SessionUpstreams {
  readonly #session: SessionScope;
  /** Upstream of the client that has sent `initialize`. */
  own: ClientUpstream | undefined = undefined;
  /** Upstreams of clients that describe themselves in each request, least recently used first. */
  readonly #byClient = new Map<string, ClientUpstream>();

  constructor(session: SessionScope) {
    this.#session = session;
    session.atEnd(() => void this.closeAll());
  }

  get all(): readonly ClientUpstream[] {
    return [...(this.own ? [this.own] : []), ...this.#byClient.values()];
  }

  /**
   * @param state the request's `requestState`: routes a retry to the upstream of its first round, even if its `clientInfo`
   * differs
   * @throws {ProtocolError} -32000: too many are in use
   */
  shared(client: Client, state: unknown, make: (client: Client) => ClientUpstream): ClientUpstream {
    const own = keyOf(client);
    const key = (state === undefined ? undefined : this.#askedBy(client, own, state)) ?? own;
    const known = this.#byClient.get(key);
    const upstream = known ?? this.#begin(client, key, make);
    this.#byClient.delete(key);
    this.#byClient.set(key, upstream);
    return upstream;
  }

  /** Key of the upstream that issued a state to this client, regardless of `clientInfo`. */
  #askedBy(client: Client, own: string, state: unknown): string | undefined {
    if (this.#byClient.get(own)?.hasIssued(state)) return own;
    const anonymous = keyOf(client, false);
    const isSame = (each: ClientUpstream) => keyOf(each.client, false) === anonymous;
    const all = [...this.#byClient].reverse();
    const issuer = all.find(([, each]) => each.hasIssued(state) && isSame(each));
    if (issuer || this.#byClient.has(own)) return issuer?.[0];
    // The router finds suspended calls of a legacy server without an upstream, so do not start another process.
    return all.find(([, each]) => isSame(each))?.[0];
  }

  #begin(client: Client, key: string, make: (client: Client) => ClientUpstream): ClientUpstream {
    const { maxUpstreams: max, upstreamIdleMs } = this.#session.limits;
    if (this.#byClient.size >= max) {
      const idle = [...this.#byClient].find(([, each]) => each.isIdle);
      if (!idle) throw tooMany(max);
      this.#byClient.delete(idle[0]);
      void idle[1].close();
    }
    const made = make(client);
    made.whenIdle(upstreamIdleMs, () => this.#byClient.delete(key));
    // The next request opens a new upstream.
    made.opened.catch(() => this.#byClient.delete(key));
    return made;
  }

  /** Closes each upstream once no request uses it. */
  retire(): void {
    for (const each of this.#byClient.values()) each.retire();
  }

  async closeAll(): Promise<void> {
    const all = this.all;
    this.own = undefined;
    this.#byClient.clear();
    await Promise.all(all.map((each) => each.close()));
  }
}

/** Clients with the same key share an upstream. */
function keyOf({ peer, principal }: Client, withInfo = true): string {
  const info = withInfo ? peer.info : null;
  return JSON.stringify([principal?.id, peer.dialect.version, info, peer.capabilities]);
}

/** The upstream of one client. */
class ClientUpstream implements OpenUpstream {
  readonly client: Client;
  /** Settles once the upstream is open, or has failed. */
  readonly opened: Promise<Upstream>;
  /** Undefined until it is open. */
  upstream: Upstream | undefined = undefined;
  /** Exchanges the token of the client's last request. */
  tokens: TokenExchange | undefined;
  readonly #session: SessionScope;
  readonly #end = new AbortController();
  #state = upstreamChart.initial;
  /** How many hold it. */
  #holders = 0;
  #isPaused = false;
  #isRetired = false;
  /** The tools last listed to the client. */
  readonly #listed = new ListedParameters();
  /** Suffixes of the states issued last. */
  readonly #issued = new BoundedMap<string, true>(maxIssuedStates);
  /** The methods reported by {@link mayForward}. */
  readonly #dropped = new Set<string>();
  #idle: { readonly afterMs: number; readonly ended: () => void } | undefined = undefined;
  #timer: unknown;
  #closed: Promise<void> | undefined = undefined;

  constructor(
    session: SessionScope,
    client: Client,
    make: UpstreamFactory,
    tell: (upstream: ClientUpstream, notice: ChangeNotification) => void,
  ) {
    this.client = client;
    this.tokens = client.tokens;
    this.#session = session;
    const { clock, limits } = session;
    const timeoutMs = limits.upstreamTimeoutMs;
    const { peer, principal } = client;
    const { signal } = this.#end;
    const told = sessionNotifier(this, session, tell);
    const given: UpstreamClient = {
      peer,
      principal,
      signal,
      exchangeToken: (wanted) => exchangeToken({ principal, tokens: this.tokens }, wanted),
      release: (part) => this.#letGo(part),
      disconnect: (reason) =>
        session.actor.send({ type: 'session.shutdown', reason, drainTimeoutMs: 0 }),
      notify: (method, params) => {
        if (!this.mayForward(method, 'upstream')) return;
        if (method === toolsChanged) this.#listed.forget();
        told(method, params);
      },
      request: (method, params, options) =>
        askOutside(session, client.peer, method, params, options),
    };
    const making = Promise.resolve().then(() => make(given));
    this.opened = waitFor<Upstream>(
      {
        ...{ clock, timeoutMs, signal: this.#end.signal },
        onTimeout: ({ reject }) => {
          const message = `the upstream was not ready within ${timeoutMs} ms`;
          reject(new RuntimeError('CONNECT_TIMEOUT', message));
        },
        abortError: (cause) => new RuntimeError('CANCELLED', 'no client waits for it', { cause }),
      },
      ({ resolve, reject }) => {
        making.then(resolve, reject);
        return () => {};
      },
    );
    this.opened.then(
      (upstream) => {
        this.upstream = upstream;
        if (this.#isPaused) upstream.pause?.();
        this.#move('upstream.opened');
        this.#rest();
      },
      () => {
        this.#move('upstream.failed');
        this.#end.abort();
        // Close an upstream that opens too late.
        making.then((late) => late.close?.()).catch(() => {});
      },
    );
  }

  /**
   * True if a message without an id may be forwarded. A request without an id is dropped and reported once: it would
   * bypass the checks of requests, and could not be answered.
   */
  mayForward(method: string, sender: 'client' | 'upstream'): boolean {
    if (method.startsWith('notifications/')) return true;
    const key = `${sender} ${method.slice(0, 100)}`;
    if (this.#dropped.has(key) || this.#dropped.size >= maxReportedMethods) return false;
    this.#dropped.add(key);
    const message = `The ${sender} sent ${printableName(method)} without an id, which is not a notification: not forwarded`;
    this.#session.report({ level: 'warning', name: 'notification.ignored', message });
    return false;
  }

  /** True if the upstream may be evicted. */
  get isIdle(): boolean {
    return this.#state.value === 'idle';
  }

  /** Pauses or resumes the upstream while the client does not read. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) this.upstream?.pause?.();
    else this.upstream?.resume?.();
  }

  /** Closes the upstream once no request uses it. */
  retire(): void {
    this.#isRetired = true;
    this.#rest();
  }

  /** Closes the upstream after this idle time. */
  whenIdle(afterMs: number, ended: () => void): void {
    this.#idle = { afterMs, ended };
  }

  request(
    method: string,
    params: JsonObject | undefined,
    call: RequestContext,
  ): JsonObject | Promise<JsonObject> {
    const { upstream } = this;
    if (upstream && !this.#idle) return upstream.request(method, params, contextOf(call));
    return this.#counted(method, params, call);
  }

  async #counted(
    method: string,
    params: JsonObject | undefined,
    call: RequestContext,
  ): Promise<JsonObject> {
    const release = this.hold();
    try {
      const upstream = await this.ready();
      const result = await upstream.request(method, params, contextOf(call));
      if (method === 'tools/list') this.#read(result);
      const { requestState } = result;
      if (typeof requestState === 'string') this.#issued.set(shortened(requestState), true);
      const hasSession = this.client.peer.dialect.sessionOfRequest(this) !== undefined;
      return hasSession ? result : identified(result, upstream);
    } finally {
      release();
    }
  }

  /** True if the upstream has recently issued this `requestState`. */
  hasIssued(state: unknown): boolean {
    return typeof state === 'string' && this.#issued.has(shortened(state));
  }

  #read({ tools }: JsonObject): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (isJsonObject(tool)) this.#listed.read(tool);
    }
  }

  /** @throws {ProtocolError} -32020: a header differs from the argument that it mirrors */
  async refuseMismatch({ request: { method, params, origin } }: RequestContext): Promise<void> {
    const { name } = params ?? {};
    if (method !== 'tools/call' || typeof name !== 'string') return;
    const http = origin?.http;
    if (!http) return;
    const faultNow = () => parameterMismatch(http, this.#listed.of(name) ?? [], params);
    if (this.#listed.of(name) && faultNow() === undefined) return;
    const release = this.hold();
    try {
      const tool = await this.upstream?.tool?.(name);
      if (tool) this.#read({ tools: [{ ...tool, name }] });
    } catch {
      // The call itself will fail with the reason.
    } finally {
      release();
    }
    const fault = faultNow();
    if (fault === undefined) return;
    throw new ProtocolError(ErrorCode.headerMismatch, `Header mismatch: ${fault}`);
  }

  /** @throws {ProtocolError} the upstream cannot be opened */
  async ready(): Promise<Upstream> {
    try {
      return this.upstream ?? (await this.opened);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Marks the upstream as in use. @returns ends the use */
  hold(): () => void {
    this.#holders++;
    this.#session.clock.clearTimeout(this.#timer);
    this.#move('requests.begun');
    return () => {
      this.#holders--;
      this.#rest();
    };
  }

  #rest(): void {
    const idle = this.#idle;
    if (!idle || this.#holders > 0) return;
    this.#move('requests.settled');
    if (!this.isIdle) return;
    const end = () => {
      idle.ended();
      void this.close();
    };
    if (this.#isRetired) return end();
    const idleMs = this.upstream?.idleMs ?? idle.afterMs;
    this.#timer = this.#session.clock.setTimeout(end, idleMs);
  }

  #letGo(part?: () => Promise<void>): Promise<void> | undefined {
    if (!this.isIdle) return undefined;
    if (part) return part();
    this.#idle?.ended();
    return this.close();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#move('upstream.close');
    this.#session.clock.clearTimeout(this.#timer);
    const { upstream } = this;
    this.#end.abort();
    await upstream?.close?.();
    this.#move('upstream.closed');
  }

  #move(type: UpstreamEvent['type']): void {
    this.#state = upstreamChart.next(this.#state, { type });
  }
}

/** Notifies the client through its session, or else through its subscriptions. */
function sessionNotifier(
  upstream: ClientUpstream,
  session: SessionScope,
  tell: (upstream: ClientUpstream, notice: ChangeNotification) => void,
): UpstreamClient['notify'] {
  const { peer } = upstream.client;
  if (peer.dialect.sessionOfRequest(session) === undefined) {
    return (method, params = {}) => {
      const { uri } = params;
      tell(
        upstream,
        typeof uri === 'string' ? { method, subject: uri, params: () => params } : { method },
      );
    };
  }
  let held = 0;
  return (method, params) => {
    if (session.isOperating) return void session.notify(method, params);
    if (held++ >= maxHeldNotices) return undefined;
    session.whenOperating(() => session.notify(method, params));
    return undefined;
  };
}

async function askOutside(
  session: SessionScope,
  peer: PeerDescription,
  method: string,
  params: JsonObject | undefined,
  options: Parameters<UpstreamClient['request']>[2] = {},
): Promise<JsonObject> {
  const { dialect, capabilities } = peer;
  const isAskable = dialect.sessionOfRequest(session) !== undefined;
  const lacking = isAskable ? dialect.missingCapability(method, params, capabilities) : unaskable;
  if (lacking) {
    const message = `${method} was not sent: the client ${lacking.why}`;
    throw new RuntimeError('CAPABILITY_MISSING', message);
  }
  const { humanTimeoutMs } = session.limits;
  const { timeoutMs = humanTimeoutMs, maxTotalMs = timeoutMs, onProgress, signal } = options;
  const { correlation } = session.actor.getSnapshot().context;
  return requestPeer(correlation, { method, params, timeoutMs, maxTotalMs, onProgress, signal });
}

const unaskable = {
  why: 'speaks a revision in which it is asked only on behalf of its own requests, and none of them is open',
};

/** Combines the server's and the upstream's handler of a method. */
function beside(
  method: string,
  own: RequestHandler,
  theirs: RequestHandler,
  catalog: ServerCatalog,
): RequestHandler {
  const list = listMembers[method];
  if (list !== undefined) return joined(list, own, theirs);
  const handlerFor = (params: JsonObject | undefined, asker?: ItemCaller) =>
    isOwn(method, params, catalog, asker) ? own : theirs;
  return Object.assign(
    ((params, call) => handlerFor(params, call.request)(params, call)) satisfies RequestHandler,
    {
      resumption: (params: JsonObject | undefined) => handlerFor(params).resumption?.(params) ?? {},
      returnsInputRequired: (call: RequestContext) =>
        handlerFor(call.request.params, call.request).returnsInputRequired?.(call) ?? false,
    },
  );
}

const listMembers: { readonly [method: string]: string } = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'skills/list': 'skills',
};

/** Prepends the server's own items to the first page of the upstream. */
function joined(member: string, own: RequestHandler, theirs: RequestHandler): RequestHandler {
  const itemsOf = (page: JsonObject): readonly unknown[] => {
    const items = page[member];
    return Array.isArray(items) ? items : [];
  };
  return async (params, call) => {
    if ((params?.['cursor'] ?? undefined) !== undefined) return await theirs(params, call);
    const items: unknown[] = [];
    for (let cursor: unknown = undefined; ;) {
      const page = (await own(cursor === undefined ? {} : { cursor }, call)) as JsonObject;
      items.push(...itemsOf(page));
      cursor = page['nextCursor'];
      if (cursor === undefined) break;
    }
    let first: JsonObject = {};
    try {
      first = (await theirs(params, call)) as JsonObject;
    } catch (error) {
      // The upstream may lack the method.
      if (!(error instanceof ProtocolError) || error.code !== ErrorCode.methodNotFound) throw error;
    }
    return { ...first, [member]: [...items, ...itemsOf(first)] };
  };
}

/** True if a request names an item of the server itself. */
function isOwn(
  method: string,
  params: JsonObject | undefined,
  { tools, prompts, resources, resourceTemplates, skills }: ServerCatalog,
  asker: ItemCaller | undefined,
): boolean {
  const { name, uri } = params ?? {};
  const has = <T extends VisibilityOptions>(items: OfferedItems<T>, key: unknown) =>
    typeof key === 'string' && (asker ? items.visibleTo(asker) : items).get(key) !== undefined;
  if (method === 'tools/call') return has(tools, name);
  if (method === 'prompts/get') return has(prompts, name);
  if (typeof uri !== 'string') return false;
  const templates = asker ? resourceTemplates.visibleTo(asker) : resourceTemplates;
  const seen = (asker ? skills.visibleTo(asker) : skills).list();
  if (seen.some(({ item }) => `${uri}/`.startsWith(`${skillRoot(item.uri)}/`))) return true;
  return has(resources, uri) || templates.list().some(({ item }) => item.match(uri) !== undefined);
}

function shortened(state: string): string {
  return `${state.length} ${state.slice(-rememberedOfState)}`;
}

/** Adds the server's name to a result, required since 2026-07-28. */
function identified(result: JsonObject, { serverInfo }: Upstream): JsonObject {
  const meta = result['_meta'];
  const isNamed = isJsonObject(meta) && meta[MetaKey.serverInfo] !== undefined;
  if (!serverInfo || isNamed) return result;
  const { name, version } = serverInfo;
  return withMeta(result, { [MetaKey.serverInfo]: { name, version } });
}

/** Merges capabilities of the server and the upstream. */
function describe(upstream: Upstream, own: ServerDescription): ServerDescription {
  const instructions = [own.instructions, upstream.instructions].filter(
    (text) => text !== undefined,
  );
  return {
    serverInfo: upstream.serverInfo ?? own.serverInfo,
    capabilities: { ...upstream.capabilities, ...own.capabilities },
    others: upstream.extraMembers,
    ...(instructions.length > 0 ? { instructions: instructions.join('\n\n') } : {}),
    isVerbatim: true,
  };
}

function tooMany(max: number): ProtocolError {
  const message = `Overloaded: ${max} clients are being served; try again later`;
  return new ProtocolError(ErrorCode.serverUnavailable, message, {
    reason: 'overloaded',
    retryable: true,
  });
}

function unavailable(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const data = { reason: 'upstream-failed', retryable: true };
  const message = `Upstream unreachable: ${messageOf(error)}`;
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
