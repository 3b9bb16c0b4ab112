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
import { defaultLimits } from '../actors/limits.ts';
import { Method } from '../protocol/methods.ts';
import { fault, foreign, unfit } from './checks.ts';
import type { HttpExchange } from './http-exchange.ts';
import { HttpSessions } from './legacy/http-sessions.ts';
import { ModernRequests } from './modern/modern-requests.ts';
import { defaultHttpLimits } from './options.ts';
import type { HttpLimits, HttpOptions, ServerOf } from './options.ts';

/** What a client has to take in an answer to a POST. */
const postTypes = ['application/json', 'text/event-stream'] as const;

const allowed = { allow: 'GET, POST, DELETE' };

export class Endpoint {
  readonly #options: HttpOptions;
  readonly #limits: HttpLimits;
  readonly #sessions: HttpSessions;
  readonly #modern: ModernRequests;

  constructor(server: ServerOf, options: HttpOptions = {}) {
    this.#options = options;
    this.#limits = { ...defaultHttpLimits, ...options.limits };
    const serverOf = typeof server === 'function' ? server : () => server;
    this.#modern = new ModernRequests(serverOf, options);
    this.#sessions = new HttpSessions(serverOf, options, this.#limits);
  }

  handle(exchange: HttpExchange): void {
    const refusal = foreign(exchange, this.#options);
    if (refusal) return exchange.answer(refusal);
    switch (exchange.method) {
      case 'POST':
        return this.#post(exchange);
      case 'GET':
        return this.#sessions.get(exchange);
      case 'DELETE':
        return this.#sessions.delete(exchange);
      default:
        return exchange.answer(fault(405, `${exchange.method} is not served here`, allowed));
    }
  }

  /** Ends all sessions, each within its drain time. */
  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#modern.close()]);
  }

  #post(exchange: HttpExchange): void {
    const types = this.#options.jsonResponses ? postTypes.slice(0, 1) : postTypes;
    const refusal = unfit(exchange, types);
    if (refusal) return exchange.answer(refusal);
    exchange.readBody(this.#limits.maxBodyBytes, (body) => {
      if (!body.ok) return exchange.answer(fault(body.status, body.message));
      const frame = decodeLine(body.text, defaultLimits.maxDepth);
      if (isModern(exchange, frame)) this.#modern.post(exchange, frame);
      else this.#sessions.post(exchange, frame);
    });
  }
}

/** True for a message of the era in which each request says itself who its client is. */
function isModern(exchange: HttpExchange, frame: InboundFrame): boolean {
  if (frame.kind === 'request') {
    if (isEnveloped(frame.params) || frame.method === Method.discover) return true;
  }
  const version = exchange.header('mcp-protocol-version');
  return version !== undefined && statelessDialect(version) !== undefined;
}
