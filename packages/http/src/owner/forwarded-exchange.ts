/**
 * A request forwarded by another node, which has already checked it, at the owner of its session.
 */
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import type { TokenValidity } from '../token-validity.ts';
import { forwardHeader } from '../nodes/forwarding-protocol.ts';
import type { ForwardOutcome, ForwardedHead } from '../nodes/forwarding-protocol.ts';
import { httpError } from '../checks.ts';
import type { Body, HttpAnswer, HttpExchange, RequestHead } from '../http-exchange.ts';
import { isSecretHeader } from '../http-exchange.ts';
import { clientKeyOf } from '../session-slots.ts';
import type { WatchedSink } from '../watched-sink.ts';

type Headers = { readonly [name: string]: string };

const outcomeHeaders = (outcome: ForwardOutcome): Headers => ({ [forwardHeader]: outcome });

/** Rejects a forwarded request that was not processed. */
export function misdirected(outcome: 'moved' | 'refused', message: string): HttpAnswer {
  return httpError(421, message, outcomeHeaders(outcome));
}

/** Response to a probe. */
export const probed: HttpAnswer = { status: 204, headers: outcomeHeaders('served') };

export class ForwardedExchange implements HttpExchange {
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  readonly principal?: Principal;
  readonly tokenValidity?: TokenValidity;
  readonly forwardedBy: string;
  readonly #exchange: HttpExchange;
  readonly #digest: string;
  readonly #digestOf: (body: string) => string;

  /** @param now endpoint clock, ms */
  constructor(
    exchange: HttpExchange,
    forwarded: ForwardedHead,
    digestOf: (body: string) => string,
    now: number,
  ) {
    const { from, method, target, remoteAddress, principal, tokenValidMs } = forwarded;
    const { host, origin, sessionId, digest } = forwarded;
    this.#exchange = exchange;
    this.#digest = digest;
    this.#digestOf = digestOf;
    this.forwardedBy = from;
    this.method = method;
    this.target = target;
    this.remoteAddress = remoteAddress;
    this.head = { ...exchange.head, host, origin, sessionId, authorization: undefined };
    if (principal) this.principal = principal;
    if (tokenValidMs !== undefined) {
      const until = now + tokenValidMs;
      this.tokenValidity = { until, endReason: (at) => (at >= until ? 'expired' : undefined) };
    }
    exchange.addHeaders(outcomeHeaders('served'));
  }

  header(name: string): string | undefined {
    if (name === 'host') return this.head.host;
    if (name === 'origin') return this.head.origin;
    return isSecretHeader(name) ? undefined : this.#exchange.header(name);
  }

  headerNames(): readonly string[] {
    const names = this.#exchange.headerNames().filter((name) => !isSecretHeader(name));
    return this.head.origin === undefined ? names : [...names, 'origin'];
  }

  answerMoved(): void {
    this.#exchange.answer(misdirected('moved', 'This node does not own the session'));
  }

  readBody(done: (body: Body) => void): void {
    const read = (body: Body): void => {
      const isOther = body.ok && this.#digestOf(body.text) !== this.#digest;
      if (!isOther) return done(body);
      done({ ok: false, status: 400, message: 'The body does not match its signature' });
    };
    this.#exchange.readBody(read, clientKeyOf(this));
  }

  addHeaders(headers: Headers): void {
    this.#exchange.addHeaders(headers);
  }

  answer(answer: HttpAnswer): void {
    this.#exchange.answer(answer);
  }

  stream(headers: Headers): WatchedSink {
    return this.#exchange.stream(headers);
  }

  relay(status: number, headers: Headers): WatchedSink {
    return this.#exchange.relay(status, headers);
  }

  get isDisconnected(): boolean {
    return this.#exchange.isDisconnected;
  }

  onDisconnected(callback: () => void): () => void {
    return this.#exchange.onDisconnected(callback);
  }
}
