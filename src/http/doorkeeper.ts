/**
 * Who may pass the door of an endpoint: tokens are checked before anything of a request's body is
 * read, and scopes before a message reaches its session.
 *
 * @see MCP 2025-11-25, basic/authorization; docs/decisions/0032
 */
import { systemClock } from '../actors/clock.ts';
import type { Room } from '../actors/room.ts';
import type { InboundFrame } from '../protocol/frames.ts';
import { Admission, Rechecks, tellUnknown } from './admission.ts';
import { authorization } from './auth/authorizer.ts';
import type { AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import { scopesNeeded } from './auth/tool-scopes.ts';
import type { ScopedTools } from './auth/tool-scopes.ts';
import { textOfError } from '../protocol/errors.ts';
import { defaultReport } from '../session/default-report.ts';
import { safeReport } from '../session/guarded-listeners.ts';
import { fault } from './checks.ts';
import type { HttpReport } from './facts.ts';
import type { ExchangeHome, HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { HttpOptions } from './options.ts';

export class Doorkeeper {
  readonly #authorizer: Authorizer | undefined;
  readonly #report: HttpReport;
  readonly #rechecks: Rechecks | undefined;

  /** @throws {TypeError} or {RangeError} an option of the authorization is wrong */
  constructor(given: HttpOptions) {
    const { authorization: options, report = defaultReport, clock = systemClock } = given;
    const time = { wall: () => Date.now(), monotonic: () => clock.now() };
    this.#authorizer = options && authorization(options, time);
    this.#report = safeReport(report);
    const now = () => clock.now();
    this.#rechecks = this.#authorizer && new Rechecks(this.#authorizer, now, this.#report);
  }

  /** The document for clients, if the path is one of its own. */
  metadata(path: string, { method }: HttpExchange): HttpAnswer | undefined {
    if (!this.#authorizer) return undefined;
    const { metadata, metadataPaths } = this.#authorizer;
    if (!metadata || !metadataPaths.includes(path)) return undefined;
    if (method !== 'GET' && method !== 'HEAD') {
      return fault(405, 'The metadata can only be read', { allow: 'GET, HEAD' });
    }
    const headers = { 'content-type': 'application/json', 'cache-control': 'max-age=3600' };
    return { status: 200, headers, body: JSON.stringify(metadata) };
  }

  /** Lets a request in, with who makes it, or refuses it. */
  admit(exchange: HttpExchange, admitted: () => void): void {
    const rechecks = this.#rechecks;
    if (!this.#authorizer || !rechecks) return admitted();
    this.#authorizer
      .authenticate(exchange)
      .then((known) => {
        if (!known.ok) return this.#refuse(exchange, known);
        exchange.principal = known.principal;
        exchange.admission = new Admission(exchange, known.expiresInMs, rechecks);
        admitted();
      })
      .catch((error: unknown) => {
        const message = `A request could not be served: ${textOfError(error)}`;
        this.#report({ level: 'error', name: 'server.failed', message, details: { error } });
        exchange.answer(fault(500, 'The server failed'));
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
   * @param tools of the server that the request is for
   */
  overreach(
    { principal }: HttpExchange,
    frame: InboundFrame,
    tools: ScopedTools,
  ): HttpAnswer | undefined {
    if (!this.#authorizer || !principal) return undefined;
    const messages = frame.kind === 'batch' ? frame.messages : [frame];
    const scopes = messages.flatMap((message) => scopesNeeded(message, tools));
    const refusal = this.#authorizer.demand(principal, scopes);
    return refusal && refusalAnswer(refusal);
  }
}

/** What the parts of an endpoint have in common that serve requests. */
export interface GuardedHome extends ExchangeHome {
  readonly door: Doorkeeper;
  /** What the endpoint holds of its clients. */
  readonly room: Room;
}

function refusalAnswer({ status, message, headers }: AuthorizationRefusal): HttpAnswer {
  return fault(status, message, headers);
}
