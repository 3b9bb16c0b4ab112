/**
 * One endpoint for clients of both eras: checks a request, reads its message, and hands it to the
 * era that it belongs to.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 * @see MCP 2026-07-28, basic/transports, "Streamable HTTP"
 */
import { decodeLine } from '../protocol/codec.ts';
import { statelessDialect } from '../protocol/dialects/registry.ts';
import { isEnveloped } from '../protocol/envelope.ts';
import type { InboundFrame } from '../protocol/frames.ts';
import { systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import { defaultLimits } from '../actors/limits.ts';
import { Room } from '../actors/room.ts';
import { Method } from '../protocol/methods.ts';
import { defaultReport } from '../session/default-report.ts';
import { safeReport } from '../session/guarded-listeners.ts';
import { withKeysChecked } from './replicas/state-keys.ts';
import type { McpSession } from '../server/session.ts';
import { Bodies } from './bodies.ts';
import { closing, fault, foreign, unfit } from './checks.ts';
import type { ServedHttpRequest } from '../protocol/request-origin.ts';
import { corsHeaders, preflightAnswer } from './cors.ts';
import { Doorkeeper } from './doorkeeper.ts';
import type { GuardedHome } from './doorkeeper.ts';
import type { HttpReport } from './facts.ts';
import type { HttpExchange } from './http-exchange.ts';
import { HttpSessions } from './legacy/http-sessions.ts';
import { SseSessions } from './legacy/sse-sessions.ts';
import { versionHeader } from './modern/mirrored-headers.ts';
import { ModernRequests } from './modern/modern-requests.ts';
import { SessionlessRequests } from './modern/sessionless-requests.ts';
import { SharedServices } from './modern/shared-services.ts';
import { defaultHttpLimits, servedBy } from './options.ts';
import type { HttpLimits, HttpOptions, ServerOf } from './options.ts';
import { Upkeep, upkeepMs } from './upkeep.ts';

/** What a client has to take in an answer to a POST. */
const postTypes = ['application/json', 'text/event-stream'] as const;
const jsonTypes = postTypes.slice(0, 1);

const allowed = { allow: 'GET, POST, DELETE' };

/** What a handler can do besides to answer requests. */
export interface EndpointControl {
  /** The sessions that are open; requests without a session have one for all. */
  readonly sessions: readonly McpSession[];
  /**
   * Ends all sessions, each within its drain time. No request is taken any more; answers to requests
   * in flight are. Repeating it waits for the same end, or makes it sooner.
   *
   * @param drainTimeoutMs a shorter drain time than the limit, milliseconds
   */
  close(drainTimeoutMs?: number): Promise<void>;
}

/** A handler with control of its endpoint. */
export function controlled<Handle extends object>(
  handle: Handle,
  endpoint: Endpoint,
): Handle & EndpointControl {
  const control = {
    sessions: { get: () => endpoint.sessions },
    close: { value: (drainTimeoutMs?: number) => endpoint.close(drainTimeoutMs) },
  };
  return Object.defineProperties(handle, control) as Handle & EndpointControl;
}

export class Endpoint implements EndpointControl, GuardedHome {
  readonly #options: HttpOptions;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly upkeep: Upkeep;
  readonly bodies: Bodies;
  readonly room = new Room();
  readonly door: Doorkeeper;
  readonly #sessions: HttpSessions;
  /** Serves the deprecated transport, if it is wanted. */
  readonly #sse: SseSessions | undefined;
  readonly #services: SharedServices;
  readonly #modern: ModernRequests;
  /** Serves the revisions with a handshake, if no sessions are kept. */
  readonly #sessionless: SessionlessRequests | undefined;
  #phase: 'serving' | 'closing' = 'serving';

  constructor(server: ServerOf, given: HttpOptions = {}) {
    const report = safeReport(given.report ?? defaultReport);
    const options = { ...given, report };
    this.#options = options;
    this.limits = { ...defaultHttpLimits, ...options.limits };
    this.clock = options.clock ?? systemClock;
    this.report = report;
    this.upkeep = new Upkeep(this.clock, upkeepMs(this.limits));
    this.bodies = new Bodies(this);
    this.door = new Doorkeeper(options);
    const served = servedBy(server, options);
    const servedTo = options.stores ? withKeysChecked(server, served, report) : served;
    const shared = (request: ServedHttpRequest) => servedTo(request, 'requests');
    this.#services = new SharedServices(server, shared, options, this);
    this.#modern = new ModernRequests(this.#services, this.door);
    if (options.stateless) this.#sessionless = new SessionlessRequests(this.#services, this.door);
    const begun = (request: ServedHttpRequest) => servedTo(request, 'session');
    this.#sessions = new HttpSessions(begun, options, this);
    if (options.sse) this.#sse = new SseSessions(begun, options, this);
  }

  get sessions(): readonly McpSession[] {
    return [...this.#sessions.open, ...(this.#sse?.open ?? []), ...this.#services.open];
  }

  handle(exchange: HttpExchange): void {
    const origin = exchange.header('origin');
    const refusal = foreign(exchange, origin, this.#options);
    if (refusal) return exchange.answer(refusal);
    const cors = corsHeaders(exchange, origin, this.#options);
    if (cors) exchange.addHeaders(cors);
    const preflight = cors && preflightAnswer(exchange);
    if (preflight) return exchange.answer(preflight);
    const path = pathOf(exchange);
    const metadata = this.door.metadata(path, exchange);
    if (metadata) return exchange.answer(metadata);
    const sse = this.#sse?.has(path) ? this.#sse : undefined;
    if (sse) return this.door.admit(exchange, () => this.#serveSse(sse, path, exchange));
    if (path !== (this.#options.path ?? path)) {
      const message = `There is nothing here; the endpoint is ${this.#options.path}`;
      return exchange.answer(fault(404, message));
    }
    this.door.admit(exchange, () => this.#serve(exchange));
  }

  #serve(exchange: HttpExchange): void {
    if (exchange.method !== 'POST' && isOfModernClient(exchange)) {
      return exchange.answer(fault(405, 'Clients of this revision only POST', { allow: 'POST' }));
    }
    if (exchange.method === 'POST') return this.#post(exchange);
    if (this.#sessionless) return this.#sessionless.refuseOther(exchange);
    switch (exchange.method) {
      case 'GET':
        return this.#isClosing ? exchange.answer(closing) : this.#sessions.get(exchange);
      case 'DELETE':
        return this.#sessions.delete(exchange);
      default:
        return exchange.answer(fault(405, `${exchange.method} is not served here`, allowed));
    }
  }

  #serveSse(sse: SseSessions, path: string, exchange: HttpExchange): void {
    if (this.#isClosing && exchange.method === 'GET') exchange.answer(closing);
    else sse.handle(path, exchange);
  }

  async close(drainTimeoutMs?: number): Promise<void> {
    this.#phase = 'closing';
    const parts = [this.#sessions, this.#services, ...(this.#sse ? [this.#sse] : [])];
    await Promise.all(parts.map((part) => part.close(drainTimeoutMs)));
    this.upkeep.rest();
  }

  get #isClosing(): boolean {
    return this.#phase === 'closing';
  }

  #post(exchange: HttpExchange): void {
    const types = this.#options.jsonResponses ? jsonTypes : postTypes;
    const refusal = unfit(exchange, types);
    if (refusal) return exchange.answer(refusal);
    exchange.readBody((body) => {
      if (!body.ok) return exchange.answer(fault(body.status, body.message, body.headers));
      const frame = decodeLine(body.text, defaultLimits.maxDepth);
      if (this.#isClosing && (frame.kind === 'request' || frame.kind === 'batch')) {
        return exchange.answer(closing);
      }
      if (isModern(exchange, frame)) this.#modern.post(exchange, frame);
      else (this.#sessionless ?? this.#sessions).post(exchange, frame);
    });
  }
}

function pathOf({ target }: HttpExchange): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

/** True for a message of the era in which each request says itself who its client is. */
function isModern(exchange: HttpExchange, frame: InboundFrame): boolean {
  if (frame.kind === 'request') {
    if (isEnveloped(frame.params) || frame.method === Method.discover) return true;
  }
  return isOfModernClient(exchange);
}

function isOfModernClient(exchange: HttpExchange): boolean {
  const version = exchange.header(versionHeader);
  return version !== undefined && statelessDialect(version) !== undefined;
}
