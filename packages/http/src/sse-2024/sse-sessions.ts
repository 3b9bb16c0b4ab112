/**
 * The deprecated HTTP+SSE transport: a session is one stream opened by the client, whose first
 * event names the URL for the client's messages.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import { defaultLimits } from '../../../../src/actors/limits.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { decodeLine } from '../../../../src/protocol/codec.ts';
import type { ServedHttpRequest } from '../../../../src/protocol/request-origin.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { accepts, answerFailure, errorAnswer, httpError, checkHeaders } from '../checks.ts';
import type { EndpointContext } from '../request-authorization.ts';
import { formatReport } from '../facts.ts';
import { requestForHandlers } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { listenOptionsFor } from '../options.ts';
import type { HttpOptions, ServerWithOptions } from '../options.ts';
import { SessionSlots, clientKeyOf } from '../session-slots.ts';
import type { Nodes } from '../owner/nodes.ts';
import { unavailable } from '../owner/store-errors.ts';
import { visibleTools } from '../endpoint-session.actor.ts';
import { SseSession } from './sse-session.ts';

/** Last segments of its two paths. */
const streamPath = /\/sse$/;
const messagesPath = /\/messages$/;

export class SseSessions {
  readonly #serverFor: (request: ServedHttpRequest) => ServerWithOptions;
  readonly #options: HttpOptions;
  readonly #endpoint: EndpointContext;
  readonly #sessions = new Map<string, SseSession>();
  readonly #slots: SessionSlots<SseSession>;
  /** The cluster of nodes; undefined for a single node. */
  readonly #nodes: Nodes | undefined;

  constructor(
    serverFor: (request: ServedHttpRequest) => ServerWithOptions,
    options: HttpOptions,
    endpoint: EndpointContext,
    nodes: Nodes | undefined,
  ) {
    this.#nodes = nodes;
    this.#serverFor = serverFor;
    this.#options = options;
    this.#endpoint = endpoint;
    this.#slots = new SessionSlots(endpoint.limits.maxSessions, endpoint.memory);
  }

  /** Open sessions. */
  get open(): readonly McpSession[] {
    return [...this.#sessions.values()].map(({ mcp }) => mcp);
  }

  /** Servers of the open sessions. */
  get servers(): readonly McpServer[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  /** True for the paths of the transport. */
  has(path: string): boolean {
    return streamPath.test(path) || messagesPath.test(path);
  }

  /** Serves a request to one of the two paths. */
  handle(path: string, exchange: HttpExchange): void {
    const isStream = streamPath.test(path);
    const method = isStream ? 'GET' : 'POST';
    if (exchange.method !== method) {
      const message = `The method ${exchange.method} is not supported, use ${method}`;
      return exchange.answer(httpError(405, message, { allow: method }));
    }
    if (isStream) this.#begin(exchange);
    else this.#post(exchange);
  }

  /** @param drainTimeoutMs drain timeout per session in milliseconds, if shorter than its limit */
  async close(drainTimeoutMs?: number): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map((session) => session.close(drainTimeoutMs)));
  }

  #begin(exchange: HttpExchange): void {
    if (exchange.isDisconnected) return;
    if (!accepts(exchange.head.accept, 'text/event-stream')) {
      return exchange.answer(httpError(406, 'Accept must include text/event-stream'));
    }
    const { limits, report } = this.#endpoint;
    if (!this.#slots.evictFor(clientKeyOf(exchange))) {
      const message = `${limits.maxSessions} sessions with streams are open`;
      formatReport(report, 'warning', 'session.refused', message);
      return exchange.answer(
        httpError(503, `${message}; try again later`, { 'retry-after': '10' }),
      );
    }
    const session = this.#create(exchange);
    if (!session) return;
    this.#sessions.set(session.id, session);
    this.#slots.add(session);
  }

  /** Creates a session; undefined if the host's code threw and the request was answered. */
  #create(exchange: HttpExchange): SseSession | undefined {
    try {
      const served = this.#serverFor(requestForHandlers(exchange));
      const listening = { ...listenOptionsFor(served, this.#options), clock: this.#endpoint.clock };
      const account = this.#slots.accountOf(clientKeyOf(exchange));
      const nodes = this.#nodes;
      const options = {
        listening,
        account,
        endpoint: this.#endpoint,
        ownership: nodes?.ownership,
        onEnded: () => this.#ended(session),
      };
      const session: SseSession = new SseSession(exchange, served.server, options);
      return session;
    } catch (error) {
      answerFailure(exchange, { error, needed: 'session', report: this.#endpoint.report });
      return undefined;
    }
  }

  #ended(session: SseSession): void {
    this.#sessions.delete(session.id);
    this.#slots.delete(session);
  }

  #post(exchange: HttpExchange): void {
    const id = new URLSearchParams(exchange.target.split('?')[1]).get('sessionId') ?? undefined;
    const session = id === undefined ? undefined : this.#sessions.get(id);
    const nodes = session ? undefined : this.#nodes;
    if (id === undefined) {
      return exchange.answer(
        httpError(400, 'The parameter sessionId is missing; open the stream first'),
      );
    }
    if (!nodes && session?.principal?.id !== exchange.principal?.id) {
      return exchange.answer(sessionNotFound(id));
    }
    const refusal = checkHeaders(exchange.head, []);
    if (refusal) return exchange.answer(refusal);
    exchange.readBody((body) => {
      if (!body.ok) return exchange.answer(httpError(body.status, body.message, body.headers));
      if (nodes) return this.#forward(exchange, id, body.text, nodes);
      if (!session) return exchange.answer(sessionNotFound(id));
      const frame = decodeLine(body.text, defaultLimits.maxDepth);
      if (frame.kind === 'invalid') return exchange.answer(errorAnswer(frame.error, frame.id));
      const overreach = this.#endpoint.authorization?.checkScopes(
        exchange,
        frame,
        visibleTools(session, exchange),
      );
      if (overreach) return exchange.answer(overreach);
      session.receive(exchange, frame);
      exchange.answer({ status: 202 });
    });
  }

  /**
   * Forwards a message to the node that has the stream. If that node is gone, so is the session.
   */
  #forward(
    exchange: HttpExchange,
    id: string,
    body: string,
    nodes: Nodes,
    tried: readonly string[] = [],
  ): void {
    const forwarding = nodes.locate(id, exchange).then(
      (located) => {
        if (located.kind !== 'elsewhere') return exchange.answer(sessionNotFound(id));
        if (exchange.answerMoved) return exchange.answerMoved();
        const retry = (more: readonly string[]) => this.#forward(exchange, id, body, nodes, more);
        nodes.forward(located.peer, { exchange, body, expectsResponse: false, tried, retry });
      },
      (error: unknown) => exchange.answer(unavailable(error, this.#endpoint.report)),
    );
    nodes.trackLocating(forwarding);
  }
}

function sessionNotFound(id: string): HttpAnswer {
  return httpError(404, `There is no session ${inspectValue(id)}`);
}
