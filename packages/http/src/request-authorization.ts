/**
 * Authorization of an endpoint: tokens are checked before a body is read, scopes before a message
 * reaches its session.
 *
 * @see MCP 2025-11-25, basic/authorization; docs/maintaining/decisions/18-scopes-are-checked-first.md
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { MemoryBudget } from '../../../src/actors/memory-budget.ts';
import type { InboundFrame, JsonObject } from '../../../src/protocol/frames.ts';
import { TokenRechecks, RecheckedToken, reportUnavailableCheck } from './token-validity.ts';
import { createAuthorizer } from './auth/authorizer.ts';
import type { AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { httpError } from './checks.ts';
import type { HttpReport } from './facts.ts';
import type { ExchangeContext, HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { AuthorizationOptions } from './auth/options.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';

export class RequestAuthorization {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  readonly #rechecks: TokenRechecks;

  /** @throws {TypeError} or {RangeError} if an option is invalid */
  constructor(
    options: AuthorizationOptions,
    { clock, report }: { readonly clock: Clock; readonly report: HttpReport },
  ) {
    const now = () => clock.now();
    this.#authorizer = createAuthorizer(options, { wall: () => Date.now(), monotonic: now });
    this.#report = report;
    this.#rechecks = new TokenRechecks(this.#authorizer, now, report);
  }

  /** The protected resource metadata, if the path is one of its paths. */
  metadata(path: string, { method }: HttpExchange): HttpAnswer | undefined {
    const { metadata, metadataPaths } = this.#authorizer;
    if (!metadata || !metadataPaths.includes(path)) return undefined;
    if (method !== 'GET' && method !== 'HEAD') {
      return httpError(405, 'The metadata is read-only', { allow: 'GET, HEAD' });
    }
    const headers = { 'content-type': 'application/json', 'cache-control': 'max-age=3600' };
    return { status: 200, headers, body: JSON.stringify(metadata) };
  }

  /** Authenticates a request, then continues with `admitted` or rejects it. */
  authorize(exchange: HttpExchange, admitted: () => void): void {
    this.#authorizer
      .authenticate(exchange)
      .then((known) => {
        if (!known.ok) return this.#refuse(exchange, known);
        exchange.principal = known.principal;
        if (known.tokens) exchange.tokens = known.tokens;
        exchange.tokenValidity = new RecheckedToken(exchange, known.expiresInMs, this.#rechecks);
        admitted();
      })
      .catch((error: unknown) => {
        const message = `A request could not be served: ${textOfError(error)}`;
        this.#report({ level: 'error', name: 'server.failed', message, details: { error } });
        exchange.answer(httpError(500, 'The server failed'));
      });
  }

  #refuse(exchange: HttpExchange, refusal: AuthorizationRefusal): void {
    // The authorization server's error is for the log only.
    reportUnavailableCheck(this.#report, 'A token could not be checked', refusal);
    exchange.answer(refusalAnswer(refusal));
  }

  /**
   * Rejects tool calls whose scopes the caller's token lacks; a batch as a whole.
   *
   * @param tools tools of the requested server, as visible to the caller
   */
  checkScopes(
    { principal }: HttpExchange,
    frame: InboundFrame,
    tools: ScopedTools,
  ): HttpAnswer | undefined {
    if (!principal) return undefined;
    const messages = frame.kind === 'batch' ? frame.messages : [frame];
    const scopes = messages.flatMap((message) => requiredScopes(message, tools));
    const refusal = this.#authorizer.requireScopes(principal, scopes);
    return refusal && refusalAnswer(refusal);
  }
}

/** Settings shared by all request handlers of an endpoint. */
export interface EndpointContext extends ExchangeContext {
  /** Undefined if no authorization is required. */
  readonly authorization: RequestAuthorization | undefined;
  /** Memory held for clients. */
  readonly memory: MemoryBudget;
  /** Name of this node; undefined for a single node. */
  readonly node: string | undefined;
  readonly isClosing: boolean;
}

function refusalAnswer({ status, message, headers }: AuthorizationRefusal): HttpAnswer {
  return httpError(status, message, headers);
}

/** Tools of a server, reduced to what authorization needs. */
export interface ScopedTools {
  get(
    name: string,
    params?: JsonObject,
  ): { readonly scopes?: readonly string[] | undefined } | undefined;
}

/**
 * Scopes that a `tools/call` requires, for {@link Authorizer.requireScopes}. Retries of suspended
 * calls are checked too, as they may carry another token. Calls of unknown tools need no scopes;
 * the session rejects them.
 *
 * @param message one JSON-RPC message
 */
export function requiredScopes(message: unknown, tools: ScopedTools): readonly string[] {
  if (!isJsonObject(message) || message['method'] !== 'tools/call') return [];
  const { params } = message;
  if (!isJsonObject(params)) return [];
  const { name } = params;
  return (typeof name === 'string' && tools.get(name, params)?.scopes) || [];
}
