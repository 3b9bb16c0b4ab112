/**
 * Who may use an endpoint: tokens are checked before anything of a request's body is read, and scopes
 * before a message reaches its session.
 *
 * @see MCP 2025-11-25, basic/authorization; docs/maintaining/decisions/18-scopes-are-checked-first.md
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { MemoryBudget } from '../../../src/actors/room.ts';
import type { InboundFrame, JsonObject } from '../../../src/protocol/frames.ts';
import { Rechecks, TokenAdmission, tellUnknown } from './admission.ts';
import { authorization } from './auth/authorizer.ts';
import type { AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { httpError } from './checks.ts';
import type { HttpReport } from './facts.ts';
import type { ExchangeHome, HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { AuthorizationOptions } from './auth/options.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';

export class RequestAuthorization {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  readonly #rechecks: Rechecks;

  /** @throws {TypeError} or {RangeError} an option is wrong */
  constructor(
    options: AuthorizationOptions,
    { clock, report }: { readonly clock: Clock; readonly report: HttpReport },
  ) {
    const now = () => clock.now();
    this.#authorizer = authorization(options, { wall: () => Date.now(), monotonic: now });
    this.#report = report;
    this.#rechecks = new Rechecks(this.#authorizer, now, report);
  }

  /** The document for clients, if this is its path. */
  metadata(path: string, { method }: HttpExchange): HttpAnswer | undefined {
    const { metadata, metadataPaths } = this.#authorizer;
    if (!metadata || !metadataPaths.includes(path)) return undefined;
    if (method !== 'GET' && method !== 'HEAD') {
      return httpError(405, 'The metadata can only be read', { allow: 'GET, HEAD' });
    }
    const headers = { 'content-type': 'application/json', 'cache-control': 'max-age=3600' };
    return { status: 200, headers, body: JSON.stringify(metadata) };
  }

  /** Lets a request in, with who makes it, or refuses it. */
  admit(exchange: HttpExchange, admitted: () => void): void {
    this.#authorizer
      .authenticate(exchange)
      .then((known) => {
        if (!known.ok) return this.#refuse(exchange, known);
        exchange.principal = known.principal;
        if (known.tokens) exchange.tokens = known.tokens;
        exchange.admission = new TokenAdmission(exchange, known.expiresInMs, this.#rechecks);
        admitted();
      })
      .catch((error: unknown) => {
        const message = `A request could not be served: ${textOfError(error)}`;
        this.#report({ level: 'error', name: 'server.failed', message, details: { error } });
        exchange.answer(httpError(500, 'The server failed'));
      });
  }

  #refuse(exchange: HttpExchange, refusal: AuthorizationRefusal): void {
    // The client is not told what the authorization server said, or that it said nothing.
    tellUnknown(this.#report, 'A token could not be checked', refusal);
    exchange.answer(refusalAnswer(refusal));
  }

  /**
   * Refuses calls of tools that their caller's token does not allow; a batch as a whole.
   *
   * @param tools of the server that the request is for, as its sender sees them
   */
  overreach(
    { principal }: HttpExchange,
    frame: InboundFrame,
    tools: ScopedTools,
  ): HttpAnswer | undefined {
    if (!principal) return undefined;
    const messages = frame.kind === 'batch' ? frame.messages : [frame];
    const scopes = messages.flatMap((message) => scopesNeeded(message, tools));
    const refusal = this.#authorizer.demand(principal, scopes);
    return refusal && refusalAnswer(refusal);
  }
}

/** What the parts of an endpoint have in common that serve requests. */
export interface EndpointHome extends ExchangeHome {
  /** Undefined if everybody may use the endpoint. */
  readonly authorization: RequestAuthorization | undefined;
  /** What the endpoint holds of its clients. */
  readonly room: MemoryBudget;
  /** The name of this node; undefined if it is alone. */
  readonly node: string | undefined;
  readonly isClosing: boolean;
}

function refusalAnswer({ status, message, headers }: AuthorizationRefusal): HttpAnswer {
  return httpError(status, message, headers);
}

/** The tools of a server, as far as authorization looks at them. */
export interface ScopedTools {
  get(
    name: string,
    params?: JsonObject,
  ): { readonly scopes?: readonly string[] | undefined } | undefined;
}

/**
 * The scopes that the call of a tool needs, for {@link Authorizer.demand}, before it is given to the
 * session. A retry of a call that has asked its client is looked at as well: its token may be another
 * one. A name that no tool has is the session's to refuse.
 *
 * @param message one JSON-RPC message
 */
export function scopesNeeded(message: unknown, tools: ScopedTools): readonly string[] {
  if (!isJsonObject(message) || message['method'] !== 'tools/call') return [];
  const { params } = message;
  if (!isJsonObject(params)) return [];
  const { name } = params;
  return (typeof name === 'string' && tools.get(name, params)?.scopes) || [];
}
