/**
 * The sessions of an endpoint, by the id that their clients send: how they begin, how they are
 * found, and how they end.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import type { Clock } from '../../actors/clock.ts';
import { describe } from '../../protocol/classify.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpSession } from '../../server/session.ts';
import { accepts, answerFailure, closing, errorAnswer, fault } from '../checks.ts';
import type { EndpointHome, RequestAuthorization } from '../request-authorization.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpLimits, HttpOptions, Served } from '../options.ts';
import { Places, partyOf } from '../parties.ts';
import type { SessionRecord } from '../nodes/session-store.ts';
import type { ReplicatedSession } from '../replicas/replicated-session.ts';
import { ReplicatedSessions } from '../replicas/replicated-sessions.ts';
import { reportUnavailable, unavailable } from '../replicas/unavailable.ts';
import type { HttpSessionEvent } from '../../machines/http-session.machine.ts';
import { jsonOnly } from '../answers.ts';
import { HttpSession } from './http-session.ts';
import type { SessionHome } from './http-session.ts';
import type { Upkeep } from '../upkeep.ts';

export class HttpSessions implements SessionHome {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly upkeep: Upkeep;
  readonly streams: boolean;
  readonly unaskable: string | undefined;
  readonly authorization: RequestAuthorization | undefined;
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #options: HttpOptions;
  readonly #endpoint: EndpointHome;
  readonly report: HttpReport;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #places: Places<HttpSession>;
  readonly #shared: ReplicatedSessions | undefined;

  constructor(
    servedTo: (request: ServedHttpRequest) => Served,
    options: HttpOptions,
    endpoint: EndpointHome,
  ) {
    const { limits, authorization, room, clock, report, upkeep } = endpoint;
    this.#endpoint = endpoint;
    this.authorization = authorization;
    this.#servedTo = servedTo;
    this.#options = options;
    this.report = report;
    this.limits = limits;
    this.clock = clock;
    this.streams = !options.jsonResponses;
    this.unaskable = options.jsonResponses ? jsonOnly : undefined;
    this.upkeep = upkeep;
    this.#places = new Places(limits.maxSessions, room);
    const isUsed = ({ id }: ReplicatedSession, sinceMs: number) =>
      this.#sessions.get(id)?.isUsedSince(clock.now() - sinceMs) ?? false;
    const touchMs = Math.min(maxTouchMs, limits.sessionIdleTimeoutMs / 3);
    this.#shared =
      options.stores && new ReplicatedSessions(options.stores, { clock, report, touchMs, isUsed });
  }

  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (exchange.head.sessionId === undefined) {
      if (frame.kind === 'request' && frame.method === Method.initialize) {
        return this.#begin(exchange, frame);
      }
      if (frame.kind === 'invalid') return exchange.answer(errorAnswer(frame.error, frame.id));
    }
    this.#find(exchange, (session) => session.post(exchange, frame));
  }

  get(exchange: HttpExchange): void {
    const { accept } = exchange.head;
    if (!accepts(accept, 'text/event-stream')) {
      const why = `Accept must have text/event-stream, this is ${describe(accept)}`;
      return this.refuse(exchange, fault(406, why));
    }
    if (!this.streams) {
      const why = 'There are no streams here: each request is answered by itself';
      return this.refuse(exchange, fault(405, why, { allow: 'POST, DELETE' }));
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

  /** @param drainTimeoutMs how long each may drain, if that is shorter than its limit */
  async close(drainTimeoutMs?: number): Promise<void> {
    const sessions = [...this.#sessions.values()];
    const reason = 'The server is closing';
    await Promise.all(sessions.map((session) => session.close(reason, drainTimeoutMs)));
    await this.#shared?.close();
  }

  get isClosing(): boolean {
    return this.#endpoint.isClosing;
  }

  ended(session: HttpSession, by: HttpSessionEvent['type']): void {
    this.#sessions.delete(session.id);
    this.#places.delete(session);
    const { share } = session;
    if (!share) return;
    this.#shared?.forget(share);
    // A replica that is no longer needed here may be needed elsewhere.
    if (by !== 'session.ended' || this.isClosing) return share.leave();
    if (share.isOver) return;
    share.remove('deleted').catch(reportUnavailable(this.report, 'Nodes do not know of an end'));
  }

  #begin(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#places.makeRoom(partyOf(exchange))) return this.#refuseForRoom(exchange);
    const session = this.#made(exchange, crypto.randomUUID());
    if (!session) return;
    if (!session.greet(exchange, frame)) session.post(exchange, frame);
    // An initialize that was refused has begun nothing that its client could come back to.
    if (!session.isBegun) session.delete();
  }

  /** A session; undefined if the host's code fails to make one. */
  #made(exchange: HttpExchange, id: string, record?: SessionRecord): HttpSession | undefined {
    try {
      const served = this.#servedTo(servedRequest(exchange));
      const { principal } = exchange;
      const options = beginning(served, this.#options);
      const share = this.#shared?.hold(id, principal?.id, options.environment);
      const own = share ? { ...options, environment: share.environment } : options;
      const party = this.#places.party(partyOf(exchange));
      const session = new HttpSession(served.server, own, { id, principal, party, share }, this);
      this.#sessions.set(id, session);
      this.#places.add(session);
      share?.attach(session, record);
      return session;
    } catch (error) {
      answerFailure(exchange, { error, needed: 'session', report: this.report });
      return undefined;
    }
  }

  /** Finds the session that a request names. Without one, or with someone else's, it is refused. */
  #find(exchange: HttpExchange, found: (session: HttpSession) => void): void {
    const { sessionId = '' } = exchange.head;
    const session = this.#sessions.get(sessionId);
    if (session && session.principal?.id === exchange.principal?.id) return found(session);
    if (session || sessionId === '' || !this.#shared) {
      return this.refuse(exchange, sessionFault(sessionId));
    }
    this.#replica(exchange, sessionId, this.#shared).then(
      (replica) => {
        if (replica === 'refused') return;
        if (replica && replica.principal?.id === exchange.principal?.id) return found(replica);
        this.refuse(exchange, sessionFault(sessionId));
      },
      (error: unknown) => this.refuse(exchange, unavailable(error, this.report)),
    );
  }

  /** A replica of a session that another node has begun; undefined if there is no such session. */
  async #replica(
    exchange: HttpExchange,
    id: string,
    shared: ReplicatedSessions,
  ): Promise<HttpSession | 'refused' | undefined> {
    const record = await shared.find(id, exchange.principal?.id);
    // Another request may have been first.
    const session = this.#sessions.get(id);
    if (!record || session) return session;
    if (this.isClosing) {
      this.refuse(exchange, closing);
      return 'refused';
    }
    if (!this.#places.makeRoom(partyOf(exchange))) {
      this.#refuseForRoom(exchange);
      return 'refused';
    }
    return this.#made(exchange, id, record) ?? 'refused';
  }

  #refuseForRoom(exchange: HttpExchange): void {
    const message = `${this.limits.maxSessions} sessions are open, and none of them can make room`;
    reportInWords(this.report, 'warning', 'session.refused', message);
    exchange.answer(fault(503, `${message}; try again later`, { 'retry-after': '10' }));
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

/** How rarely the store hears at most which sessions are used, milliseconds. */
const maxTouchMs = 10_000;

/** What is wrong with the id of a session that a request names. */
function sessionFault(id: string): HttpAnswer {
  if (id === '') {
    return fault(400, 'The header Mcp-Session-Id is missing; a session begins with "initialize"');
  }
  // No id has a comma: these are several.
  if (id.includes(',')) {
    return fault(400, 'The header Mcp-Session-Id was sent more than once');
  }
  return fault(404, `There is no session ${describe(id)}: it has ended, or never was`);
}
