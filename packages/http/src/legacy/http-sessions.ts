/**
 * Sessions of an endpoint, by session id: creation, lookup and end.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { InboundFrame, InboundRequest } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { ServedHttpRequest } from '../../../../src/protocol/request-origin.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { accepts, answerFailure, closingAnswer, errorAnswer, httpError } from '../checks.ts';
import type { EndpointContext, RequestAuthorization } from '../request-authorization.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { requestForHandlers } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { listenOptionsFor } from '../options.ts';
import type { HttpLimits, HttpOptions, ServerWithOptions } from '../options.ts';
import { SessionSlots, clientKeyOf } from '../session-slots.ts';
import type { Nodes } from '../owner/nodes.ts';
import type { Forward, PeerNode } from '../owner/forwarded-request.ts';
import { OwnedSession } from '../owner/owned-session.ts';
import type { LocalSession } from '../owner/owned-session.ts';
import type { RestoredSession } from '../owner/ownership.ts';
import { reportUnavailable, unavailable } from '../owner/store-errors.ts';
import { jsonOnly } from '../answers.ts';
import { HttpSession } from './http-session.ts';
import type { SessionsContext } from './http-session.ts';
import type { Maintenance } from '../maintenance.ts';

export class HttpSessions implements SessionsContext {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly maintenance: Maintenance;
  readonly streams: boolean;
  readonly unaskable: string | undefined;
  readonly authorization: RequestAuthorization | undefined;
  readonly #serverFor: (request: ServedHttpRequest) => ServerWithOptions;
  readonly #options: HttpOptions;
  readonly #endpoint: EndpointContext;
  readonly report: HttpReport;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #slots: SessionSlots<HttpSession>;
  /** The cluster of nodes; undefined for a single node, which owns every session. */
  readonly #nodes: Nodes | undefined;
  /**
   * Sessions that ended because the endpoint is closing. A node that asks for one takes it over.
   */
  readonly #released = new Map<string, OwnedSession>();
  /** Forwarded requests that wait for a session to be released, by session id. */
  readonly #waitingForRelease = new Map<string, HttpExchange[]>();

  constructor(
    serverFor: (request: ServedHttpRequest) => ServerWithOptions,
    options: HttpOptions,
    endpoint: EndpointContext,
    nodes: Nodes | undefined,
  ) {
    const { limits, authorization, memory, clock, report, maintenance } = endpoint;
    this.#endpoint = endpoint;
    this.authorization = authorization;
    this.#serverFor = serverFor;
    this.#options = options;
    this.report = report;
    this.limits = limits;
    this.clock = clock;
    this.streams = !options.jsonResponses;
    this.unaskable = options.jsonResponses ? jsonOnly : undefined;
    this.maintenance = maintenance;
    this.#slots = new SessionSlots(limits.maxSessions, memory);
    this.#nodes = nodes;
  }

  /**
   * Forwards a POST unread if another node is known to own its session.
   *
   * @param retry serves the request after these nodes were tried without success
   * @returns false if the request must be read here
   */
  forward(exchange: HttpExchange, body: string, retry: Forward['retry']): boolean {
    const { sessionId } = exchange.head;
    const nodes = this.#nodes;
    if (!nodes || sessionId === undefined || this.#sessions.has(sessionId)) return false;
    const owner = nodes.cachedOwner(sessionId, exchange);
    if (owner === undefined) return false;
    const found = (tried: readonly string[]) => {
      nodes.forgetOwner(sessionId);
      retry(tried);
    };
    nodes.forward(owner, { exchange, body, expectsResponse: true, tried: [], retry: found });
    return true;
  }

  /**
   * @param body body as received
   * @param tried nodes that the request was already forwarded to without success
   */
  post(
    exchange: HttpExchange,
    frame: InboundFrame,
    body: string,
    tried: readonly string[] = [],
  ): void {
    if (exchange.head.sessionId === undefined) {
      if (frame.kind === 'request' && frame.method === Method.initialize) {
        return this.#initialize(exchange, frame);
      }
      if (frame.kind === 'invalid') return exchange.answer(errorAnswer(frame.error, frame.id));
    }
    this.#find(exchange, (session) => session.post(exchange, frame), { frame, body, tried });
  }

  get(exchange: HttpExchange): void {
    const { accept } = exchange.head;
    if (!accepts(accept, 'text/event-stream')) {
      const why = `Accept must include text/event-stream, got ${inspectValue(accept)}`;
      return this.refuse(exchange, httpError(406, why));
    }
    if (!this.streams) {
      const why = 'This endpoint has no streams: each request gets a JSON response';
      return this.refuse(exchange, httpError(405, why, { allow: 'POST, DELETE' }));
    }
    this.#find(exchange, (session) => session.get(exchange));
  }

  delete(exchange: HttpExchange): void {
    this.#find(exchange, (session) => session.deletedBy(exchange));
  }

  /** Open sessions. */
  get open(): readonly McpSession[] {
    return [...this.#sessions.values()].map(({ mcp }) => mcp);
  }

  /** Servers of the open sessions. */
  get servers(): readonly McpServer[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  /** @param drainTimeoutMs drain timeout per session in milliseconds, if shorter than its limit */
  async close(drainTimeoutMs?: number): Promise<void> {
    const sessions = [...this.#sessions.values()];
    const reason = 'The server is closing';
    await Promise.all(sessions.map((session) => session.close(reason, drainTimeoutMs)));
  }

  get isClosing(): boolean {
    return this.#endpoint.isClosing;
  }

  ended(session: HttpSession): void {
    this.#sessions.delete(session.id);
    this.#slots.delete(session);
    const { owned } = session;
    if (!owned) return;
    const isHere = owned.isServedHere;
    // The client may continue at another node.
    if (this.isClosing) return this.#release(owned);
    if (!isHere) return;
    owned
      .remove()
      .catch(reportUnavailable(this.report, 'The end of a session could not be stored'));
  }

  #release(owned: OwnedSession): void {
    owned.release();
    this.#released.set(owned.id, owned);
    const late = this.#waitingForRelease.get(owned.id) ?? [];
    this.#waitingForRelease.delete(owned.id);
    for (const exchange of late) this.#handOver(owned, exchange);
  }

  #initialize(exchange: HttpExchange, frame: InboundRequest): void {
    if (!this.#slots.evictFor(clientKeyOf(exchange))) return this.#refuseAsFull(exchange);
    const session = this.#create(exchange, crypto.randomUUID());
    if (!session) return;
    if (!session.initialize(exchange, frame)) session.post(exchange, frame);
    // A rejected `initialize` leaves no session to come back to.
    if (!session.isInitialized) session.delete();
  }

  /** Creates a session; undefined if the host's code threw and the request was answered. */
  #create(exchange: HttpExchange, id: string, woken?: RestoredSession): HttpSession | undefined {
    try {
      const served = this.#serverFor(requestForHandlers(exchange));
      const { principal } = exchange;
      const options = listenOptionsFor(served, this.#options);
      const account = this.#slots.accountOf(clientKeyOf(exchange));
      const who = { id, principal, account };
      const session = new HttpSession(
        served.server,
        options,
        who,
        this,
        this.#ownedSessionFactory(who, woken),
      );
      this.#sessions.set(id, session);
      this.#slots.add(session);
      if (woken) session.restore(woken);
      return session;
    } catch (error) {
      answerFailure(exchange, { error, needed: 'session', report: this.report });
      return undefined;
    }
  }

  /** Factory of the session's stored record; undefined for a single node. */
  #ownedSessionFactory(
    { id, principal }: Pick<HttpSession, 'id' | 'principal'>,
    woken?: RestoredSession,
  ): ((localSession: LocalSession) => OwnedSession) | undefined {
    const ownership = this.#nodes?.ownership;
    if (!ownership) return undefined;
    return (localSession) => {
      const who = { id, principal: principal?.id };
      const owned = new OwnedSession(who, localSession, ownership, this.clock.now(), woken?.record);
      if (woken) ownership.adopt(owned);
      return owned;
    };
  }

  /**
   * Finds the session that a request names. Rejects requests without a session id, or for a session
   * of another principal.
   */
  #find(
    exchange: HttpExchange,
    found: (session: HttpSession) => void,
    posted: PostedMessage = noBody,
  ): void {
    const { sessionId = '' } = exchange.head;
    const nodes = this.#nodes;
    const known = this.#sessions.get(sessionId);
    const session = known?.owned?.isServedHere === false ? undefined : known;
    const isHanded = exchange.forwardedBy !== undefined;
    if (session && session.principal?.id === exchange.principal?.id) {
      const movable = isHanded ? session.movable : undefined;
      if (movable) return this.#handOver(movable, exchange);
      return isHanded && this.isClosing && isNew(exchange, posted)
        ? this.#handOverLater(session, exchange)
        : found(session);
    }
    const left = isHanded ? this.#released.get(sessionId) : undefined;
    if (left) return this.#handOver(left, exchange);
    if (session || sessionId === '' || !nodes) {
      return this.refuse(exchange, sessionError(sessionId));
    }
    const owner = nodes.cachedOwner(sessionId, exchange);
    if (owner !== undefined) return this.#forward(exchange, nodes, owner, { ...posted, found });
    const seeking = this.#locate(exchange, nodes, { ...posted, found }).catch((error: unknown) =>
      this.refuse(exchange, unavailable(error, this.report)),
    );
    nodes.trackLocating(seeking);
  }

  /**
   * Hands a session over to the node that received its request, as more requests will arrive there.
   * For sessions that are still in the handshake, or that ended because this node closes.
   */
  #handOver(session: OwnedSession, exchange: HttpExchange): void {
    const failed = reportUnavailable(this.report, 'A session could not be handed over');
    const given = session
      .handOver(exchange.forwardedBy ?? '')
      .catch(failed)
      .then(() => exchange.answerMoved?.());
    this.#nodes?.ownership.track(given);
  }

  /** Hands the session over to the forwarding node once its calls have ended. */
  #handOverLater({ id }: HttpSession, exchange: HttpExchange): void {
    this.#waitingForRelease.set(id, [...(this.#waitingForRelease.get(id) ?? []), exchange]);
  }

  /** Forwards the request to the owner of its session, or restores the session here. */
  async #locate(exchange: HttpExchange, nodes: Nodes, posted: LocatingRequest): Promise<void> {
    const { sessionId = '' } = exchange.head;
    const { found } = posted;
    const located = await nodes.locate(sessionId, exchange);
    if (exchange.isDisconnected) return;
    // Another request may have restored it meanwhile.
    const session = this.#sessions.get(sessionId);
    if (session) return this.#find(exchange, found, posted);
    if (located.kind === 'none') return this.refuse(exchange, sessionError(sessionId));
    if (located.kind === 'elsewhere') {
      return this.#forward(exchange, nodes, located.peer, posted);
    }
    const made = this.#restore(exchange, sessionId, located.woken);
    if (made) found(made);
  }

  #forward(
    exchange: HttpExchange,
    nodes: Nodes,
    owner: PeerNode,
    { found, body, frame, tried, since = this.clock.now() }: LocatingRequest,
  ): void {
    if (exchange.answerMoved) return exchange.answerMoved();
    const retry = (more: readonly string[]) => {
      nodes.forgetOwner(exchange.head.sessionId ?? '');
      this.#find(exchange, found, { body, frame, tried: more, since });
    };
    const isWaiting = exchange.method === 'GET' && tried.includes(owner.node) && !this.isClosing;
    const leftMs = since + nodes.stores.leaseMs + locateAgainMs - this.clock.now();
    if (isWaiting && leftMs > 0) {
      // Clients reconnect only a few times. The lease of a dead owner ends soon.
      const forget = exchange.onDisconnected(() => this.clock.clearTimeout(timer));
      const timer = this.clock.setTimeout(
        () => {
          forget();
          retry([]);
        },
        Math.min(leftMs, locateAgainMs),
      );
      return;
    }
    const expectsResponse = frame !== undefined;
    nodes.forward(owner, { exchange, body, expectsResponse, tried, retry });
  }

  /** Restores a session that another node started; undefined if the request was rejected. */
  #restore(exchange: HttpExchange, id: string, woken: RestoredSession): HttpSession | undefined {
    // An HTTP+SSE session ended with its stream.
    if (!('initialize' in woken.record.facts)) this.refuse(exchange, sessionError(id));
    else if (this.isClosing) this.refuse(exchange, closingAnswer);
    else if (!this.#slots.evictFor(clientKeyOf(exchange))) this.#refuseAsFull(exchange);
    else return this.#create(exchange, id, woken);
    return undefined;
  }

  #refuseAsFull(exchange: HttpExchange): void {
    const message = `${this.limits.maxSessions} sessions are open and none can be evicted`;
    formatReport(this.report, 'warning', 'session.refused', message);
    exchange.answer(httpError(503, `${message}; try again later`, { 'retry-after': '10' }));
  }

  refuse(exchange: HttpExchange, answer: HttpAnswer): void {
    const { status, body = '' } = answer;
    const { method } = exchange;
    this.report({
      level: 'debug',
      name: 'http.refused',
      message: `${method} was rejected with ${status}: ${body}`,
      details: { status },
    });
    exchange.answer(answer);
  }
}

/** The parts of a request that may be forwarded. */
interface PostedMessage extends Pick<Forward, 'body' | 'tried'> {
  /** The message in the body; undefined if there is none. */
  readonly frame: InboundFrame | undefined;
  /** Time at which the session was first located, clock ms. */
  readonly since?: number | undefined;
}

/** A request whose session is being located, with its continuation. */
interface LocatingRequest extends PostedMessage {
  found(session: HttpSession): void;
}

/** True for requests that would start work here. */
const isNew = ({ method }: HttpExchange, { frame }: PostedMessage): boolean =>
  method === 'GET' || frame?.kind === 'request' || frame?.kind === 'batch';

/** Delay before the owner of a session is located again, milliseconds. */
const locateAgainMs = 250;

const noBody: PostedMessage = { frame: undefined, body: '', tried: [] };

/** Error response for a missing, repeated or unknown session id. */
function sessionError(id: string): HttpAnswer {
  if (id === '') {
    return httpError(
      400,
      'The Mcp-Session-Id header is missing; start a session with "initialize"',
    );
  }
  // Repeated headers are joined with commas, and no session id contains one.
  if (id.includes(',')) {
    return httpError(400, 'The Mcp-Session-Id header was sent more than once');
  }
  return httpError(404, `There is no session ${inspectValue(id)}: it has ended or never existed`);
}
