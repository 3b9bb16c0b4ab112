/**
 * The sessions of an endpoint, by the id that their clients send: how they begin, how they are
 * found, and how they end.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { systemClock } from '../../actors/clock.ts';
import { ErrorCode, errorResponse } from '../../protocol/errors.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpSession } from '../../server/session.ts';
import { accepts, fault } from '../checks.ts';
import type { Doorkeeper } from '../doorkeeper.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpLimits, HttpOptions, Served } from '../options.ts';
import { HttpSession } from './http-session.ts';

const sessionHeader = 'mcp-session-id';

export class HttpSessions {
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #options: HttpOptions;
  readonly #door: Doorkeeper;
  readonly #limits: HttpLimits;
  readonly #clock = systemClock;
  readonly #sessions = new Map<string, HttpSession>();
  /** Looks after the sessions while there are any. */
  #sweep: unknown = undefined;

  constructor(
    servedTo: (request: ServedHttpRequest) => Served,
    options: HttpOptions,
    limits: HttpLimits,
    door: Doorkeeper,
  ) {
    this.#door = door;
    this.#servedTo = servedTo;
    this.#options = options;
    this.#limits = limits;
  }

  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (isInitialize(frame) && exchange.header(sessionHeader) === undefined) {
      return this.#begin(exchange, frame);
    }
    this.#withSession(exchange, (session) => {
      const overreach = this.#door.overreach(exchange, frame, session.server.tools);
      if (overreach) exchange.answer(overreach);
      else session.post(exchange, frame);
    });
  }

  get(exchange: HttpExchange): void {
    if (!accepts(exchange.header('accept'), 'text/event-stream')) {
      return exchange.answer(fault(406, 'Accept must have text/event-stream'));
    }
    if (this.#options.jsonResponses || this.#options.stateless) {
      return exchange.answer(fault(405, 'There are no streams here', { allow: 'POST, DELETE' }));
    }
    this.#withSession(exchange, (session) => session.get(exchange));
  }

  delete(exchange: HttpExchange): void {
    this.#withSession(exchange, (session) => {
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
    const sessions = [...this.#sessions.values()];
    const reason = 'The server is closing';
    await Promise.all(sessions.map((session) => session.close(reason, drainTimeoutMs)));
  }

  #begin(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#makeRoom()) {
      const wait = { 'retry-after': '10' };
      return exchange.answer(fault(503, 'Too many sessions are open; try again later', wait));
    }
    const served = this.#servedTo(servedRequest(exchange));
    const session = new HttpSession(served.server, beginning(served, this.#options), {
      id: crypto.randomUUID(),
      limits: this.#limits,
      clock: this.#clock,
      principal: exchange.principal,
      streams: !this.#options.jsonResponses,
      ended: ({ id }) => this.#forget(id),
    });
    this.#sessions.set(session.id, session);
    this.#sweep ??= this.#startSweep();
    session.post(exchange, frame);
    // What was no handshake has been answered, and nobody comes back to it.
    if (!session.dialect) session.delete();
  }

  #withSession(exchange: HttpExchange, use: (session: HttpSession) => void): void {
    const session = this.#sessionOf(exchange);
    if (!session) {
      const isNamed = exchange.header(sessionHeader) !== undefined;
      return exchange.answer(isNamed ? noSession : noSessionId);
    }
    const fault = versionFault(exchange, session);
    if (fault) return exchange.answer(fault);
    use(session);
  }

  /** The session that a request names, if it is its principal's: nobody else's is there at all. */
  #sessionOf(exchange: HttpExchange): HttpSession | undefined {
    const id = exchange.header(sessionHeader);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session?.principal?.id === exchange.principal?.id ? session : undefined;
  }

  #makeRoom(): boolean {
    if (this.#sessions.size < this.#limits.maxSessions) return true;
    const idle = [...this.#sessions.values()].filter(({ isEvictable }) => isEvictable);
    if (idle.length === 0) return false;
    idle.reduce((oldest, each) => (each.usedAt < oldest.usedAt ? each : oldest)).evict();
    return true;
  }

  #forget(id: string): void {
    this.#sessions.delete(id);
    if (this.#sessions.size > 0) return;
    this.#clock.clearTimeout(this.#sweep);
    this.#sweep = undefined;
  }

  #startSweep(): unknown {
    const everyMs = 1000;
    return this.#clock.setTimeout(() => {
      const now = this.#clock.now();
      for (const session of this.#sessions.values()) {
        session.quiet(now - everyMs);
        for (const answer of session.due) {
          if (now - answer.receivedAt >= this.#limits.streamAfterMs) answer.begin();
        }
      }
      this.#sweep = this.#startSweep();
    }, everyMs);
  }
}

const noSessionId = fault(400, 'The header Mcp-Session-Id is missing: initialize first');
const noSession = fault(404, 'There is no such session: it has ended, or never was');

function isInitialize(frame: InboundFrame): boolean {
  return frame.kind === 'request' && frame.method === Method.initialize;
}

/** @see MCP 2025-11-25, basic/transports, "Protocol Version Header" */
function versionFault(exchange: HttpExchange, { dialect }: HttpSession): HttpAnswer | undefined {
  const version = exchange.header('mcp-protocol-version');
  const message = version === undefined ? undefined : dialect?.versionFault(version);
  if (message === undefined) return undefined;
  const error = { code: ErrorCode.invalidRequest, message };
  const body = JSON.stringify(errorResponse(undefined, error));
  return { status: 400, headers: { 'content-type': 'application/json' }, body };
}
