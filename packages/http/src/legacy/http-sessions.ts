/**
 * The sessions of an endpoint, by the id that their clients send: how they begin, how they are
 * found, and how they end.
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
import type { OwnedCopy } from '../owner/owned-session.ts';
import type { WokenSession } from '../owner/ownership.ts';
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
  /** The other nodes; undefined if this one is alone, and owns all. */
  readonly #nodes: Nodes | undefined;
  /** Sessions that have ended here because the endpoint closes: whichever node asks for one gets it. */
  readonly #released = new Map<string, OwnedSession>();
  /** Requests of other nodes for sessions that are ending so, by the session's id. */
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
   * Forwards what was posted, if another node is known to have its session: that one reads it.
   * @param again serves it after these nodes were asked in vain
   * @returns false if it is to be read here
   */
  forward(exchange: HttpExchange, body: string, again: Forward['again']): boolean {
    const { sessionId } = exchange.head;
    const nodes = this.#nodes;
    if (!nodes || sessionId === undefined || this.#sessions.has(sessionId)) return false;
    const owner = nodes.known(sessionId, exchange);
    if (owner === undefined) return false;
    const found = (tried: readonly string[]) => {
      nodes.forget(sessionId);
      again(tried);
    };
    nodes.forward(owner, { exchange, body, isAnswered: true, tried: [], again: found });
    return true;
  }

  /**
   * @param body as it was posted
   * @param tried the nodes that it was forwarded to in vain
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
      const why = `Accept must have text/event-stream, this is ${inspectValue(accept)}`;
      return this.refuse(exchange, httpError(406, why));
    }
    if (!this.streams) {
      const why = 'There are no streams here: each request is answered by itself';
      return this.refuse(exchange, httpError(405, why, { allow: 'POST, DELETE' }));
    }
    this.#find(exchange, (session) => session.get(exchange));
  }

  delete(exchange: HttpExchange): void {
    this.#find(exchange, (session) => session.deletedBy(exchange));
  }

  /** The sessions that are open. */
  get open(): readonly McpSession[] {
    return [...this.#sessions.values()].map(({ mcp }) => mcp);
  }

  /** Their servers. */
  get servers(): readonly McpServer[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  /** @param drainTimeoutMs how long each may drain, if that is shorter than its limit */
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
    const isHere = owned.isHere;
    // Its client may go on at another node.
    if (this.isClosing) return this.#release(owned);
    if (!isHere) return;
    owned.remove().catch(reportUnavailable(this.report, 'The other nodes do not know of an end'));
  }

  #release(owned: OwnedSession): void {
    owned.leave();
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
    // An initialize that was refused has begun nothing that its client could come back to.
    if (!session.isInitialized) session.delete();
  }

  /** A session; undefined if the host's code fails to make one. */
  #create(exchange: HttpExchange, id: string, woken?: WokenSession): HttpSession | undefined {
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

  /** What writes a session down for other nodes; undefined if there are none. */
  #ownedSessionFactory(
    { id, principal }: Pick<HttpSession, 'id' | 'principal'>,
    woken?: WokenSession,
  ): ((copy: OwnedCopy) => OwnedSession) | undefined {
    const ownership = this.#nodes?.ownership;
    if (!ownership) return undefined;
    return (copy) => {
      const who = { id, principal: principal?.id };
      const owned = new OwnedSession(who, copy, ownership, this.clock.now(), woken?.record);
      if (woken) ownership.own(owned);
      return owned;
    };
  }

  /** Finds the session that a request names. Without one, or with someone else's, it is refused. */
  #find(
    exchange: HttpExchange,
    found: (session: HttpSession) => void,
    posted: PostedMessage = noBody,
  ): void {
    const { sessionId = '' } = exchange.head;
    const nodes = this.#nodes;
    const known = this.#sessions.get(sessionId);
    const session = known?.owned?.isHere === false ? undefined : known;
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
    const owner = nodes.known(sessionId, exchange);
    if (owner !== undefined) return this.#forward(exchange, nodes, owner, { ...posted, found });
    const seeking = this.#locate(exchange, nodes, { ...posted, found }).catch((error: unknown) =>
      this.refuse(exchange, unavailable(error, this.report)),
    );
    nodes.track(seeking);
  }

  /**
   * A session of which its client has made nothing yet goes to where its requests come: more will come there. So does
   * one that has ended because this node closes.
   */
  #handOver(session: OwnedSession, exchange: HttpExchange): void {
    const failed = reportUnavailable(this.report, 'A session stays where it began');
    const given = session
      .give(exchange.forwardedBy ?? '')
      .catch(failed)
      .then(() => exchange.answerMoved?.());
    this.#nodes?.ownership.track(given);
  }

  /** The session goes to where a request has come, once its calls have ended. */
  #handOverLater({ id }: HttpSession, exchange: HttpExchange): void {
    this.#waitingForRelease.set(id, [...(this.#waitingForRelease.get(id) ?? []), exchange]);
  }

  /** Forwards the request to the node that has the session, or brings the session back here. */
  async #locate(exchange: HttpExchange, nodes: Nodes, posted: LocatingRequest): Promise<void> {
    const { sessionId = '' } = exchange.head;
    const { found } = posted;
    const located = await nodes.locate(sessionId, exchange);
    if (exchange.isDisconnected) return;
    // Another request may have been first.
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
    { found, body, frame, tried }: LocatingRequest,
  ): void {
    if (exchange.answerMoved) return exchange.answerMoved();
    const again = (more: readonly string[]) => {
      nodes.forget(exchange.head.sessionId ?? '');
      this.#find(exchange, found, { body, frame, tried: more });
    };
    const isAnswered = frame !== undefined;
    nodes.forward(owner, { exchange, body, isAnswered, tried, again });
  }

  /** Brings back a session that another node has begun; undefined if the request was answered. */
  #restore(exchange: HttpExchange, id: string, woken: WokenSession): HttpSession | undefined {
    // A session of HTTP+SSE has ended with its stream.
    if (!('initialize' in woken.record.facts)) this.refuse(exchange, sessionError(id));
    else if (this.isClosing) this.refuse(exchange, closingAnswer);
    else if (!this.#slots.evictFor(clientKeyOf(exchange))) this.#refuseAsFull(exchange);
    else return this.#create(exchange, id, woken);
    return undefined;
  }

  #refuseAsFull(exchange: HttpExchange): void {
    const message = `${this.limits.maxSessions} sessions are open, and none of them can make room`;
    formatReport(this.report, 'warning', 'session.refused', message);
    exchange.answer(httpError(503, `${message}; try again later`, { 'retry-after': '10' }));
  }

  refuse(exchange: HttpExchange, answer: HttpAnswer): void {
    const { status, body = '' } = answer;
    const { method } = exchange;
    this.report({
      level: 'debug',
      name: 'http.refused',
      message: `${method} was refused with ${status}: ${body}`,
      details: { status },
    });
    exchange.answer(answer);
  }
}

/** What may be forwarded of a request. */
interface PostedMessage extends Pick<Forward, 'body' | 'tried'> {
  /** The message in the body; undefined if it has none. */
  readonly frame: InboundFrame | undefined;
}

/** A request whose session is sought, and what is done once it is here. */
interface LocatingRequest extends PostedMessage {
  found(session: HttpSession): void;
}

/** Whether it would begin something here. */
const isNew = ({ method }: HttpExchange, { frame }: PostedMessage): boolean =>
  method === 'GET' || frame?.kind === 'request' || frame?.kind === 'batch';

const noBody: PostedMessage = { frame: undefined, body: '', tried: [] };

/** What is wrong with the id of a session that a request names. */
function sessionError(id: string): HttpAnswer {
  if (id === '') {
    return httpError(
      400,
      'The header Mcp-Session-Id is missing; a session begins with "initialize"',
    );
  }
  // No id has a comma: these are several.
  if (id.includes(',')) {
    return httpError(400, 'The header Mcp-Session-Id was sent more than once');
  }
  return httpError(404, `There is no session ${inspectValue(id)}: it has ended, or never was`);
}
