/**
 * The HTTP endpoint for clients of both eras: checks each request, reads its message and routes it
 * to the era it belongs to.
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
import { MemoryBudget } from '../../../src/actors/memory-budget.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { nodeOf } from '../../../src/rounds/request-state.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { safeReport } from '../../../src/actors/facts.ts';
import type { McpSession } from '../../../src/server/session.ts';
import { Bodies } from './bodies.ts';
import {
  closingAnswer,
  httpError,
  rejectOrigin,
  checkHeaders,
  corsHeaders,
  preflightAnswer,
} from './checks.ts';
import type { ServedHttpRequest } from '../../../src/protocol/request-origin.ts';
import { RequestAuthorization } from './request-authorization.ts';
import type { EndpointContext } from './request-authorization.ts';
import type { HttpReport } from './facts.ts';
import { closingChart } from '../../../src/server/closing.machine.ts';
import type { HttpExchange } from './http-exchange.ts';
import { Nodes } from './owner/nodes.ts';
import { HttpSessions } from './legacy/http-sessions.ts';
import { SseSessions } from './sse-2024/sse-sessions.ts';
import { ModernRequests } from './modern/modern-requests.ts';
import { SessionlessRequests } from './modern/sessionless-requests.ts';
import { RequestServices } from './modern/request-services.ts';
import { defaultHttpLimits, serverResolver } from './options.ts';
import type { HttpLimits, HttpOptions, ServerFactory } from './options.ts';
import { Maintenance, maintenanceIntervalMs } from './maintenance.ts';

/** Media types that a client must accept in the response to a POST. */
const postTypes = ['application/json', 'text/event-stream'] as const;
const jsonTypes = postTypes.slice(0, 1);

const allowed = { allow: 'GET, POST, DELETE' };

/** Control over the endpoint behind a handler. */
export interface EndpointControl {
  /** Open sessions. Requests without a session share one session per server. */
  readonly sessions: readonly McpSession[];
  /**
   * Closes all sessions, each within its drain timeout. New requests are rejected; calls in flight
   * are answered. A second call waits for the same end, or shortens the drain.
   *
   * @param drainTimeoutMs drain timeout in milliseconds, if shorter than the configured limit
   */
  close(drainTimeoutMs?: number): Promise<void>;
}

/** Adds {@link EndpointControl} to a handler. */
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

export class Endpoint implements EndpointControl, EndpointContext {
  readonly #options: HttpOptions;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly maintenance: Maintenance;
  readonly bodies: Bodies;
  readonly memory = new MemoryBudget();
  readonly authorization: RequestAuthorization | undefined;
  readonly #sessions: HttpSessions;
  /** Serves the deprecated HTTP+SSE transport; undefined unless `sse` is set. */
  readonly #sse: SseSessions | undefined;
  /** The cluster of nodes; undefined for a single node. */
  readonly #nodes: Nodes | undefined;
  readonly #services: RequestServices;
  readonly #modern: ModernRequests;
  /** Serves revisions with a handshake when the endpoint is stateless; otherwise undefined. */
  readonly #sessionless: SessionlessRequests | undefined;
  #closing = closingChart.initial;

  constructor(server: ServerFactory, options: HttpOptions = {}) {
    this.#options = options;
    this.limits = { ...defaultHttpLimits, ...options.limits };
    this.clock = options.clock ?? systemClock;
    this.report = safeReport(options.report ?? defaultReport);
    this.maintenance = new Maintenance(this.clock, maintenanceIntervalMs(this.limits));
    this.bodies = new Bodies(this);
    const { authorization, stores, node } = options;
    this.authorization = authorization && new RequestAuthorization(authorization, this);
    const served = serverResolver(server, options);
    const resolveServer: typeof served = (...args) => {
      const given = served(...args);
      this.#nodes?.join(given.server);
      return given;
    };
    const requestServer = (request: ServedHttpRequest) => resolveServer(request, 'requests');
    this.#services = new RequestServices(server, requestServer, options, this);
    this.#modern = new ModernRequests(this.#services, this.authorization);
    if (options.stateless) {
      this.#sessionless = new SessionlessRequests(this.#services, this.authorization);
    }
    const sessionServer = (request: ServedHttpRequest) => resolveServer(request, 'session');
    // The forwarding node has already checked origin and token.
    const serve = (exchange: HttpExchange) => this.#serve(exchange, this.#ssePath(exchange));
    const servers = () =>
      [this.#sessions, this.#services, ...(this.#sse ? [this.#sse] : [])].flatMap(
        (part) => part.servers,
      );
    if (stores && !node) throw new TypeError(nodeMissing);
    this.#nodes =
      stores && node && new Nodes(stores, { server, node, servers, endpoint: this, serve });
    this.#sessions = new HttpSessions(sessionServer, options, this, this.#nodes);
    if (options.sse) this.#sse = new SseSessions(sessionServer, options, this, this.#nodes);
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
      const message = `Not found; the endpoint is ${this.#options.path}`;
      return exchange.answer(httpError(404, message));
    }
    if (authorization) authorization.authorize(exchange, () => this.#serve(exchange, served));
    else this.#serve(exchange, served);
  }

  /**
   * Path of the request if it belongs to the deprecated HTTP+SSE transport; otherwise undefined.
   */
  #ssePath({ target }: HttpExchange): string | undefined {
    const path = pathOf(target);
    return this.#sse?.has(path) ? path : undefined;
  }

  /** @param ssePath the request's path if it belongs to the deprecated HTTP+SSE transport */
  #serve(exchange: HttpExchange, ssePath: string | undefined): void {
    const { method } = exchange;
    const isTooLate = this.#rejectsNew(exchange) && method === 'GET';
    if (ssePath !== undefined) {
      return isTooLate ? exchange.answer(closingAnswer) : this.#sse?.handle(ssePath, exchange);
    }
    if (method === 'POST') return this.#post(exchange);
    if (isFromModernClient(exchange)) {
      return exchange.answer(
        httpError(405, 'Clients of this revision must use POST', { allow: 'POST' }),
      );
    }
    if (this.#sessionless) return this.#sessionless.refuseOther(exchange);
    if (isTooLate) return exchange.answer(closingAnswer);
    if (method === 'GET') return this.#sessions.get(exchange);
    if (method === 'DELETE') return this.#sessions.delete(exchange);
    exchange.answer(httpError(405, `The method ${method} is not supported`, allowed));
  }

  /**
   * True if the endpoint is closing and starts nothing new. A forwarded request is still accepted:
   * it is returned to the forwarding node together with its session.
   */
  #rejectsNew({ forwardedBy }: HttpExchange): boolean {
    return this.isClosing && forwardedBy === undefined;
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
    this.maintenance.stopIfEmpty();
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

  /**
   * @returns false if the request must be read here because no other node is known to own its
   *   session
   */
  #forward(exchange: HttpExchange, text: string): boolean {
    if (!this.#nodes || this.isClosing || isFromModernClient(exchange)) return false;
    const retry = (tried: readonly string[]) => this.#read(exchange, text, tried);
    return this.#sessions.forward(exchange, text, retry);
  }

  /** @param tried nodes that the request was already forwarded to without success */
  #read(exchange: HttpExchange, text: string, tried: readonly string[] = []): void {
    const frame = decodeLine(text, defaultLimits.maxDepth);
    const isNew = tried.length === 0 && this.#rejectsNew(exchange);
    if (isNew && (frame.kind === 'request' || frame.kind === 'batch')) {
      return exchange.answer(closingAnswer);
    }
    if (isModern(exchange, frame)) {
      const node = this.#nodes && retryNodeOf(frame);
      if (node === undefined) return this.#modern.post(exchange, frame);
      const forward = { exchange, body: text, expectsResponse: true };
      this.#nodes?.forwardToNode(node, forward, () => this.#modern.post(exchange, frame));
    } else if (this.#sessionless) this.#sessionless.post(exchange, frame);
    else this.#sessions.post(exchange, frame, text, tried);
  }
}

function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

const nodeMissing =
  'node.url must be the URL at which other nodes reach this endpoint, got undefined: shared stores need it, because a mounted handler does not know its own URL';

/** The only node that can resume this retry; undefined for any other message. */
function retryNodeOf(frame: InboundFrame): string | undefined {
  return frame.kind === 'request' ? nodeOf(frame.params?.['requestState']) : undefined;
}

/** True for messages of the era in which every request describes its client. */
function isModern(exchange: HttpExchange, frame: InboundFrame): boolean {
  if (isFromModernClient(exchange)) return true;
  if (frame.kind !== 'request') return false;
  return frame.method === Method.discover || isEnveloped(frame.params);
}

function isFromModernClient({ head: { protocolVersion } }: HttpExchange): boolean {
  return protocolVersion !== undefined && statelessVersions.includes(protocolVersion);
}
