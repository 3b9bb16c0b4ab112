/**
 * How one POST is answered: with JSON if the response is all that there is to say, otherwise with a
 * stream that ends with it. It is the origin of its request.
 */
import { encodeFrame } from '../protocol/codec.ts';
import type { Unserializable } from '../protocol/codec.ts';
import type { OutboundFrame } from '../protocol/frames.ts';
import type { Principal, RequestOrigin, ServedHttpRequest } from '../protocol/request-origin.ts';
import { servedRequest } from './http-exchange.ts';
import type { EventSink, HttpExchange } from './http-exchange.ts';

/** Headers of a stream: nothing on its way may hold it back, or keep it. */
export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const jsonHeaders = { 'content-type': 'application/json' };

/** True for the answer to a request, or to a batch. */
function isResponse(frame: OutboundFrame): boolean {
  return 'length' in frame || !('method' in frame);
}

/**
 * `unbegun`: nothing is sent. `streaming`: it has become a stream. `cut`: it was one, and is not
 * ended. `over`: the response is sent, or there is nobody to send it to.
 */
export type AnswerState =
  | { readonly name: 'unbegun' | 'cut' | 'over' }
  | { readonly name: 'streaming'; readonly sink: EventSink };

export type AnswerOptions = Omit<RequestOrigin, 'http' | 'principal'>;

export abstract class RequestAnswer implements RequestOrigin {
  readonly idScope: RequestOrigin['idScope'];
  readonly principal: Principal | undefined;
  readonly unaskable: string | undefined;
  readonly revision: string | undefined;
  /** When its request came, the clock's milliseconds. */
  readonly receivedAt: number;
  protected state: AnswerState = { name: 'unbegun' };
  readonly #exchange: HttpExchange;
  #http: ServedHttpRequest | undefined = undefined;

  constructor(exchange: HttpExchange, options: AnswerOptions, receivedAt: number) {
    this.#exchange = exchange;
    this.idScope = options.idScope;
    this.principal = exchange.principal;
    this.unaskable = options.unaskable;
    this.revision = options.revision;
    this.receivedAt = receivedAt;
  }

  get http(): ServedHttpRequest {
    return (this.#http ??= servedRequest(this.#exchange));
  }

  /** Whether the client waits, and has heard nothing yet. */
  get isUnbegun(): boolean {
    return this.state.name === 'unbegun';
  }

  /**
   * Sends one frame; a response ends the answer.
   * @returns false if it has no way to the client
   */
  send(frame: OutboundFrame, unserializable: Unserializable): boolean {
    if (this.state.name === 'over') return false;
    const isLast = isResponse(frame);
    if (!isLast && this.isUnbegun && !this.begin()) return false;
    const text = encodeFrame(frame, unserializable);
    if (text === '') return true;
    if (this.isUnbegun) this.#answer(frame, text);
    else this.#event(text);
    if (isLast) this.#end();
    return true;
  }

  /** There will be no response. */
  drop(): void {
    if (this.isUnbegun) this.#exchange.answer({ status: 202 });
    this.#end();
  }

  /**
   * Makes it a stream.
   * @returns false if it must not become one
   */
  begin(): boolean {
    if (!this.streams || !this.isUnbegun) return false;
    const sink = this.#exchange.stream({ ...streamHeaders, ...this.headers });
    this.state = { name: 'streaming', sink };
    const opening = this.opening();
    if (opening !== '') sink.write(opening);
    return true;
  }

  /** What the unread part of it comes to, bytes. */
  get unreadBytes(): number {
    return this.state.name === 'streaming' ? this.state.sink.untakenBytes : 0;
  }

  /** Whether it may become a stream. */
  protected abstract readonly streams: boolean;

  /** Headers of its own. */
  protected abstract readonly headers: { readonly [name: string]: string };

  /** The status of an answer that is no stream. */
  protected abstract statusOf(frame: OutboundFrame): number;

  /** What its stream begins with. */
  protected abstract opening(): string;

  /** A message as an event of its stream. @param text with a line feed at its end */
  protected abstract eventOf(text: string): string;

  /** It has ended, whichever way. */
  protected abstract ended(): void;

  #answer(frame: OutboundFrame, text: string): void {
    const headers = { ...jsonHeaders, ...this.headers };
    this.#exchange.answer({ status: this.statusOf(frame), headers, body: text });
  }

  #event(text: string): void {
    const event = this.eventOf(text);
    if (this.state.name === 'streaming') this.state.sink.write(event);
  }

  #end(): void {
    const { state } = this;
    if (state.name === 'over') return;
    this.state = { name: 'over' };
    if (state.name === 'streaming') state.sink.end();
    this.ended();
  }
}
