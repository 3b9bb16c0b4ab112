/**
 * The sessions of an endpoint, by the id that their clients send: how they begin, how they are
 * found, and how they end.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import type { Clock } from '../../actors/clock.ts';
import { describe } from '../../protocol/classify.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpSession } from '../../server/session.ts';
import { accepts, closing, fault, unreadable } from '../checks.ts';
import type { Doorkeeper, GuardedHome } from '../doorkeeper.ts';
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpLimits, HttpOptions, Served } from '../options.ts';
import { Places, partyOf } from '../parties.ts';
import type { SessionRecord } from '../nodes/session-store.ts';
import type { SharedSession } from '../replicas/shared-session.ts';
import { SharedSessions } from '../replicas/shared-sessions.ts';
import { reportUnavailable, unavailable } from '../replicas/unavailable.ts';
import type { HttpSessionEvent } from '../../machines/http-session.machine.ts';
import { HttpSession } from './http-session.ts';
import type { SessionHome } from './http-session.ts';
import type { Upkeep } from '../upkeep.ts';

const sessionHeader = 'mcp-session-id';

export class HttpSessions implements SessionHome {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly upkeep: Upkeep;
  readonly streams: boolean;
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #options: HttpOptions;
  readonly #door: Doorkeeper;
  readonly #report: HttpReport;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #places: Places<HttpSession>;
  readonly #shared: SharedSessions | undefined;
  phase: 'serving' | 'closing' = 'serving';

  constructor(
    servedTo: (request: ServedHttpRequest) => Served,
    options: HttpOptions,
    { limits, door, room, clock, report, upkeep }: GuardedHome,
  ) {
    this.#door = door;
    this.#servedTo = servedTo;
    this.#options = options;
    this.#report = report;
    this.limits = limits;
    this.clock = clock;
    this.streams = !options.jsonResponses;
    this.upkeep = upkeep;
    this.#places = new Places(limits.maxSessions, room);
    const isUsed = ({ id }: SharedSession, sinceMs: number) =>
      this.#sessions.get(id)?.isUsedSince(clock.now() - sinceMs) ?? false;
    const touchMs = Math.min(maxTouchMs, limits.sessionIdleTimeoutMs / 3);
    this.#shared =
      options.stores && new SharedSessions(options.stores, { clock, report, touchMs, isUsed });
  }

  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (exchange.header(sessionHeader) === undefined) {
      if (frame.kind === 'request' && frame.method === Method.initialize) {
        return this.#begin(exchange, frame);
      }
      if (frame.kind === 'invalid') return exchange.answer(unreadable(frame.error, frame.id));
    }
    this.#withSession(exchange, (session) => {
      const overreach = this.#door.overreach(exchange, frame, session.server.tools);
      if (overreach) exchange.answer(overreach);
      else if (this.#serves(exchange, session)) session.post(exchange, frame);
    });
  }

  get(exchange: HttpExchange): void {
    if (!accepts(exchange.header('accept'), 'text/event-stream')) {
      const given = describe(exchange.header('accept'));
      return this.#refuse(
        exchange,
        fault(406, `Accept must have text/event-stream, this is ${given}`),
      );
    }
    if (!this.streams) {
      const why = 'There are no streams here: each request is answered by itself';
      return this.#refuse(exchange, fault(405, why, { allow: 'POST, DELETE' }));
    }
    this.#withSession(exchange, (session) => {
      if (this.#serves(exchange, session)) session.get(exchange);
    });
  }

  delete(exchange: HttpExchange): void {
    this.#withSession(exchange, (session) => {
      if (session.share) return this.#remove(exchange, session.share);
      session.delete();
      exchange.answer({ status: 204 });
    });
  }

  /** The sessions that are open. */
  get open(): readonly McpSession[] {
    return [...this.#sessions.values()].map(({ mcp }) => mcp);
  }

  /** @param drainTimeoutMs how long each may drain, if that is shorter than its limit */
  async close(drainTimeoutMs?: number): Promise<void> {
    this.phase = 'closing';
    const sessions = [...this.#sessions.values()];
    const reason = 'The server is closing';
    await Promise.all(sessions.map((session) => session.close(reason, drainTimeoutMs)));
    await this.#shared?.close();
  }

  ended(session: HttpSession, by: HttpSessionEvent['type']): void {
    this.#sessions.delete(session.id);
    this.#places.delete(session);
    const { share } = session;
    if (!share) return;
    this.#shared?.forget(share);
    // A replica that is not needed here any more may be needed elsewhere.
    if (by !== 'session.ended' || this.phase === 'closing') return share.leave();
    if (share.isOver) return;
    share.remove('deleted').catch(reportUnavailable(this.#report, 'Nodes do not know of an end'));
  }

  #begin(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#places.makeRoom(partyOf(exchange))) return this.#refuseForRoom(exchange);
    const session = this.#made(exchange, crypto.randomUUID());
    if (!session) return;
    if (!session.greet(exchange, frame) && this.#serves(exchange, session)) {
      session.post(exchange, frame);
    }
    // What was no handshake has been answered, and nobody comes back to it.
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
      this.#failed(exchange, error);
      return undefined;
    }
  }

  /** Begins to serve a session, if it is not served yet. @returns false if the host's code fails to */
  #serves(exchange: HttpExchange, session: HttpSession): boolean {
    try {
      return Boolean(session.mcp);
    } catch (error) {
      this.#failed(exchange, error);
      session.delete();
      return false;
    }
  }

  #failed(exchange: HttpExchange, error: unknown): void {
    const message = `No server was made for a session: ${textOfError(error)}`;
    this.#report({ level: 'error', name: 'server.failed', message, details: { error } });
    exchange.answer(fault(500, 'The server could not begin a session'));
  }

  /** Uses the session that a request names; if there is none, the request is refused. */
  #withSession(exchange: HttpExchange, use: (session: HttpSession) => void): void {
    const id = exchange.header(sessionHeader);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session || id === undefined || !this.#shared) return this.#use(exchange, session, use);
    this.#replica(exchange, id, this.#shared).then(
      (replica) => replica !== 'refused' && this.#use(exchange, replica, use),
      (error: unknown) => this.#refuse(exchange, unavailable(error, this.#report)),
    );
  }

  #use(
    exchange: HttpExchange,
    session: HttpSession | undefined,
    use: (session: HttpSession) => void,
  ): void {
    if (!session || session.principal?.id !== exchange.principal?.id) {
      return this.#refuse(exchange, sessionFault(exchange, exchange.header(sessionHeader)));
    }
    const version = exchange.header('mcp-protocol-version');
    const wrong = version === undefined ? undefined : session.dialect?.versionFault(version);
    if (wrong === undefined) use(session);
    else this.#refuse(exchange, fault(400, wrong));
  }

  /** A replica of a session that another node has begun; undefined if there is no such session. */
  async #replica(
    exchange: HttpExchange,
    id: string,
    shared: SharedSessions,
  ): Promise<HttpSession | 'refused' | undefined> {
    const record = await shared.find(id, exchange.principal?.id);
    // Another request may have been first.
    const session = this.#sessions.get(id);
    if (!record || session) return session;
    if (this.phase === 'closing') {
      this.#refuse(exchange, closing);
      return 'refused';
    }
    if (!this.#places.makeRoom(partyOf(exchange))) {
      this.#refuseForRoom(exchange);
      return 'refused';
    }
    return this.#made(exchange, id, record) ?? 'refused';
  }

  #remove(exchange: HttpExchange, share: SharedSession): void {
    share.remove('deleted').then(
      () => exchange.answer({ status: 204 }),
      (error: unknown) => this.#refuse(exchange, unavailable(error, this.#report)),
    );
  }

  #refuseForRoom(exchange: HttpExchange): void {
    const message = `${this.limits.maxSessions} sessions are open, and none of them can make room`;
    tell(this.#report, 'warning', 'session.refused', message);
    exchange.answer(fault(503, `${message}; try again later`, { 'retry-after': '10' }));
  }

  #refuse(exchange: HttpExchange, answer: HttpAnswer): void {
    const { status, body = '' } = answer;
    const { method } = exchange;
    this.#report({
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

/** What is wrong with the session that a request names. */
function sessionFault(exchange: HttpExchange, id: string | undefined): HttpAnswer {
  if (id === undefined || id === '') {
    return fault(400, 'The header Mcp-Session-Id is missing; a session begins with "initialize"');
  }
  // A proxy, or the host's own reading of headers, may have joined them.
  if (exchange.headerCount(sessionHeader) > 1 || id.includes(',')) {
    return fault(400, 'The header Mcp-Session-Id was sent more than once');
  }
  return fault(404, `There is no session ${describe(id)}: it has ended, or never was`);
}
