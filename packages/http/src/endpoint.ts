/**
 * One endpoint for clients of both eras: checks a request, reads its message, and hands it to the
 * era that it belongs to.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 * @see MCP 2026-07-28, basic/transports, "Streamable HTTP"
 */
import { decodeLine } from '../../../src/protocol/codec.ts';
import { statelessVersions } from '../../../src/protocol/dialects/registry.ts';
import { isEnveloped } from '../../../src/protocol/envelope.ts';
import type { InboundFrame } from '../../../src/protocol/frames.ts';
import { systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import { defaultLimits } from '../../../src/actors/limits.ts';
import { MemoryBudget } from '../../../src/actors/room.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { nodeOf } from '../../../src/rounds/request-state.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { safeReport } from '../../../src/actors/facts.ts';
import type { McpSession } from '../../../src/server/session.ts';
import { Bodies } from './bodies.ts';
import {
  closing,
  httpError,
  rejectOrigin,
  checkHeaders,
  corsHeaders,
  preflightAnswer,
} from './checks.ts';
import type { ServedHttpRequest } from '../../../src/protocol/request-origin.ts';
import { RequestAuthorization } from './request-authorization.ts';
import type { EndpointHome } from './request-authorization.ts';
import type { HttpReport } from './facts.ts';
import { closingChart } from '../../../src/server/closing.machine.ts';
import type { HttpExchange } from './http-exchange.ts';
import { Nodes } from './owner/nodes.ts';
import { HttpSessions } from './legacy/http-sessions.ts';
import { SseSessions } from './sse-2024/sse-sessions.ts';
import { ModernRequests } from './modern/modern-requests.ts';
import { SessionlessRequests } from './modern/sessionless-requests.ts';
import { RequestServices } from './modern/request-services.ts';
import { defaultHttpLimits, servedBy } from './options.ts';
import type { HttpLimits, HttpOptions, ServerFactory } from './options.ts';
import { Maintenance, upkeepMs } from './maintenance.ts';

/** What a client has to take in an answer to a POST. */
const postTypes = ['application/json', 'text/event-stream'] as const;
const jsonTypes = postTypes.slice(0, 1);

const allowed = { allow: 'GET, POST, DELETE' };

/** What a handler can do besides to answer requests. */
export interface EndpointControl {
  /** The sessions that are open; requests without a session have one for all. */
  readonly sessions: readonly McpSession[];
  /**
   * Ends all sessions, each within its drain time. New requests are refused; answers to requests
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

export class Endpoint implements EndpointControl, EndpointHome {
  readonly #options: HttpOptions;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly upkeep: Maintenance;
  readonly bodies: Bodies;
  readonly room = new MemoryBudget();
  readonly authorization: RequestAuthorization | undefined;
  readonly #sessions: HttpSessions;
  /** Serves the deprecated transport, if it is wanted. */
  readonly #sse: SseSessions | undefined;
  /** The other nodes; undefined if this one is alone. */
  readonly #nodes: Nodes | undefined;
  readonly #services: RequestServices;
  readonly #modern: ModernRequests;
  /** Serves the revisions with a handshake, if no sessions are kept. */
  readonly #sessionless: SessionlessRequests | undefined;
  #closing = closingChart.begun;

  constructor(server: ServerFactory, options: HttpOptions = {}) {
    this.#options = options;
    this.limits = { ...defaultHttpLimits, ...options.limits };
    this.clock = options.clock ?? systemClock;
    this.report = safeReport(options.report ?? defaultReport);
    this.upkeep = new Maintenance(this.clock, upkeepMs(this.limits));
    this.bodies = new Bodies(this);
    const { authorization, stores, node } = options;
    this.authorization = authorization && new RequestAuthorization(authorization, this);
    const served = servedBy(server, options);
    const servedTo: typeof served = (...args) => {
      const given = served(...args);
      this.#nodes?.join(given.server);
      return given;
    };
    const shared = (request: ServedHttpRequest) => servedTo(request, 'requests');
    this.#services = new RequestServices(server, shared, options, this);
    this.#modern = new ModernRequests(this.#services, this.authorization);
    if (options.stateless) {
      this.#sessionless = new SessionlessRequests(this.#services, this.authorization);
    }
    const begun = (request: ServedHttpRequest) => servedTo(request, 'session');
    // Another node has checked what it hands on.
    const serve = (exchange: HttpExchange) => this.#serve(exchange, this.#ssePath(exchange));
    const servers = () =>
      [this.#sessions, this.#services, ...(this.#sse ? [this.#sse] : [])].flatMap(
        (part) => part.servers,
      );
    if (stores && !node) throw new TypeError(nodeMissing);
    this.#nodes = stores && node && new Nodes(stores, { server, node, servers, home: this, serve });
    this.#sessions = new HttpSessions(begun, options, this, this.#nodes);
    if (options.sse) this.#sse = new SseSessions(begun, options, this, this.#nodes);
  }

  get sessions(): readonly McpSession[] {
    return [...this.#sessions.open, ...(this.#sse?.open ?? []), ...this.#services.open];
  }

  handle(exchange: HttpExchange): void {
    if (this.#nodes?.receive(exchange)) return;
    const refusal = rejectOrigin(exchange, this.#options);
    if (refusal) return exchange.answer(refusal);
    const cors = corsHeaders(exchange, this.#options);
    if (cors) exchange.addHeaders(cors);
    const preflight = cors && preflightAnswer(exchange);
    if (preflight) return exchange.answer(preflight);
    const { authorization } = this;
    const path = pathOf(exchange.target);
    const metadata = authorization?.metadata(path, exchange);
    if (metadata) return exchange.answer(metadata);
    const served = this.#ssePath(exchange);
    if (served === undefined && path !== (this.#options.path ?? path)) {
      const message = `There is nothing here; the endpoint is ${this.#options.path}`;
      return exchange.answer(httpError(404, message));
    }
    if (authorization) authorization.admit(exchange, () => this.#serve(exchange, served));
    else this.#serve(exchange, served);
  }

  /** The path of a request, if it is one of the two of the deprecated transport. */
  #ssePath({ target }: HttpExchange): string | undefined {
    const path = pathOf(target);
    return this.#sse?.has(path) ? path : undefined;
  }

  /** @param ssePath one of the two paths of the deprecated transport */
  #serve(exchange: HttpExchange, ssePath: string | undefined): void {
    const { method } = exchange;
    const isTooLate = this.#refuses(exchange) && method === 'GET';
    if (ssePath !== undefined) {
      return isTooLate ? exchange.answer(closing) : this.#sse?.handle(ssePath, exchange);
    }
    if (method === 'POST') return this.#post(exchange);
    if (isOfModernClient(exchange)) {
      return exchange.answer(
        httpError(405, 'Clients of this revision only POST', { allow: 'POST' }),
      );
    }
    if (this.#sessionless) return this.#sessionless.refuseOther(exchange);
    if (isTooLate) return exchange.answer(closing);
    if (method === 'GET') return this.#sessions.get(exchange);
    if (method === 'DELETE') return this.#sessions.delete(exchange);
    exchange.answer(httpError(405, `${method} is not served here`, allowed));
  }

  /** Whether nothing new is begun. What another node has handed on goes back to it, with its session. */
  #refuses({ handedBy }: HttpExchange): boolean {
    return this.isClosing && handedBy === undefined;
  }

  get node(): string | undefined {
    return this.#nodes?.node;
  }

  get isClosing(): boolean {
    return this.#closing.value === 'closing';
  }

  async close(drainTimeoutMs?: number): Promise<void> {
    this.#closing = closingChart.next(this.#closing, { type: 'close.begin' });
    const parts = [this.#sessions, this.#services, ...(this.#sse ? [this.#sse] : [])];
    const drained = this.#nodes?.drain(drainTimeoutMs ?? defaultLimits.drainTimeoutMs);
    await Promise.all([drained, ...parts.map((part) => part.close(drainTimeoutMs))]);
    await this.#nodes?.close();
    this.upkeep.rest();
  }

  #post(exchange: HttpExchange): void {
    const types = this.#options.jsonResponses ? jsonTypes : postTypes;
    const refusal = checkHeaders(exchange.head, types);
    if (refusal) return exchange.answer(refusal);
    exchange.readBody((body) => {
      if (!body.ok) return exchange.answer(httpError(body.status, body.message, body.headers));
      if (!this.#forward(exchange, body.text)) this.#read(exchange, body.text);
    });
  }

  /** @returns false if it is to be read here: no other node is known to have its session */
  #forward(exchange: HttpExchange, text: string): boolean {
    if (!this.#nodes || this.isClosing || isOfModernClient(exchange)) return false;
    const again = (tried: readonly string[]) => this.#read(exchange, text, tried);
    return this.#sessions.forward(exchange, text, again);
  }

  /** @param tried the nodes that it was forwarded to in vain */
  #read(exchange: HttpExchange, text: string, tried: readonly string[] = []): void {
    const frame = decodeLine(text, defaultLimits.maxDepth);
    const isNew = tried.length === 0 && this.#refuses(exchange);
    if (isNew && (frame.kind === 'request' || frame.kind === 'batch')) {
      return exchange.answer(closing);
    }
    if (isModern(exchange, frame)) {
      const home = this.#nodes && homeOf(frame);
      if (home === undefined) return this.#modern.post(exchange, frame);
      const forward = { exchange, body: text, isAnswered: true };
      this.#nodes?.forwardHome(home, forward, () => this.#modern.post(exchange, frame));
    } else if (this.#sessionless) this.#sessionless.post(exchange, frame);
    else this.#sessions.post(exchange, frame, text, tried);
  }
}

function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

const nodeMissing =
  'node.url must be the URL at which other nodes reach this endpoint, got undefined: stores are shared, and only a server that listens itself knows where it is';

/** The node that a retry has to find; undefined of all other messages. */
function homeOf(frame: InboundFrame): string | undefined {
  return frame.kind === 'request' ? nodeOf(frame.params?.['requestState']) : undefined;
}

/** Whether a message belongs to the era in which each request names its client. */
function isModern(exchange: HttpExchange, frame: InboundFrame): boolean {
  if (isOfModernClient(exchange)) return true;
  if (frame.kind !== 'request') return false;
  return frame.method === Method.discover || isEnveloped(frame.params);
}

function isOfModernClient({ head: { protocolVersion } }: HttpExchange): boolean {
  return protocolVersion !== undefined && statelessVersions.includes(protocolVersion);
}
