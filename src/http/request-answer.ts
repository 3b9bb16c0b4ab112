/**
 * How one POST is answered: with JSON if the response is all that there is to say, otherwise with a
 * stream that ends with it. It is the origin of its request.
 */
import { encodeFrame } from '../protocol/codec.ts';
import type { Unserializable } from '../protocol/codec.ts';
import type { InboundRequestId, OutboundFrame } from '../protocol/frames.ts';
import type { Principal, RequestOrigin, ServedHttpCall } from '../protocol/request-origin.ts';
import { servedRequest } from './http-exchange.ts';
import type { HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { WatchedSink } from './watched-sink.ts';

/** Headers of a stream: nothing on its way may hold it back, or keep it. */
export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const jsonHeaders = { 'content-type': 'application/json' };

/** Of an answer that has none of its own. */
export const noHeaders: { readonly [name: string]: string } = {};

/** True for the answer to a request, or to a batch. */
function isResponse(frame: OutboundFrame): boolean {
  return 'length' in frame || !('method' in frame);
}

/** The request that a frame answers; a batch has an end for that. */
function answeredBy(frame: OutboundFrame): InboundRequestId | undefined {
  return 'length' in frame || 'method' in frame ? undefined : frame.id;
}

/**
 * `unbegun`: nothing is sent. `streaming`: it has become a stream. `lost`: the client has left before
 * it began, and the call goes on. `over`: the response is sent, or there is nobody to send it to.
 */
export type AnswerState =
  | { readonly name: 'unbegun' | 'lost' | 'over' }
  | { readonly name: 'streaming'; readonly sink: WatchedSink };

const unbegun: AnswerState = { name: 'unbegun' };
const over: AnswerState = { name: 'over' };

export type AnswerOptions = Omit<RequestOrigin, 'http' | 'principal'>;

export abstract class RequestAnswer implements RequestOrigin {
  readonly idScope: RequestOrigin['idScope'];
  readonly principal: Principal | undefined;
  readonly unaskable: string | undefined;
  readonly revision: string | undefined;
  /** When its request came, the clock's milliseconds. */
  readonly receivedAt: number;
  protected state: AnswerState = unbegun;
  readonly #exchange: HttpExchange;
  #http: ServedHttpCall | undefined = undefined;

  constructor(exchange: HttpExchange, options: AnswerOptions, receivedAt: number) {
    this.#exchange = exchange;
    this.idScope = options.idScope;
    this.principal = exchange.principal;
    this.unaskable = options.unaskable;
    this.revision = options.revision;
    this.receivedAt = receivedAt;
  }

  get http(): ServedHttpCall {
    return (this.#http ??= {
      ...servedRequest(this.#exchange),
      closeConnection: () => this.closeConnection(),
    });
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
    const isLast = isResponse(frame);
    if (this.state.name === 'over' || this.state.name === 'lost') {
      if (isLast) this.#end('answered');
      return false;
    }
    if (!isLast && this.isUnbegun && !this.begin()) return false;
    const text = encodeFrame(frame, unserializable);
    if (text === '') return true;
    if (this.isUnbegun) this.#answer(frame, text);
    else this.emit(text, answeredBy(frame));
    if (isLast) this.#end('answered');
    return true;
  }

  /**
   * There will be no response. If nothing was sent, an empty stream is: it has to be that or JSON,
   * and JSON would be a response.
   */
  drop(): void {
    if (this.isUnbegun) {
      if (this.streams) this.#exchange.stream(streamHeaders).end();
      else this.accept();
    }
    this.#end('silenced');
  }

  /** Answers it with a fault, whatever has come of it. It must not have become a stream. */
  refuse(answer: HttpAnswer): void {
    if (this.isUnbegun) this.#exchange.answer(answer);
    this.#end('silenced');
  }

  /** It is what needs no response. */
  accept(): void {
    if (this.isUnbegun) this.#exchange.answer({ status: 202 });
    this.#end('silenced');
  }

  /**
   * Makes it a stream.
   * @returns false if it must not become one
   */
  begin(): boolean {
    if (!this.streams || !this.isUnbegun) return false;
    const sink = this.#exchange.stream({ ...streamHeaders, ...this.headers });
    this.state = { name: 'streaming', sink };
    this.begun(sink);
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

  /** It has ended, whichever way. */
  protected abstract ended(): void;

  /** Closes the connection while the call goes on, if the client will come back for the rest. */
  protected closeConnection(): void {}

  /** It has become a stream. */
  protected abstract begun(sink: WatchedSink): void;

  /** Sends a message on the stream. @param text with a line feed at its end */
  protected emit(text: string, _answers: InboundRequestId | undefined): void {
    if (this.state.name === 'streaming') this.state.sink.write(`data: ${text}\n`);
  }

  /** Nothing more comes on the stream. `silenced`: there is no response. */
  protected finish(sink: WatchedSink, _how: 'answered' | 'silenced'): void {
    sink.end();
  }

  #answer(frame: OutboundFrame, text: string): void {
    const { headers: own } = this;
    const headers = own === noHeaders ? jsonHeaders : { ...jsonHeaders, ...own };
    this.#exchange.answer({ status: this.statusOf(frame), headers, body: text });
  }

  #end(how: 'answered' | 'silenced'): void {
    const { state } = this;
    if (state.name === 'over') return;
    this.state = over;
    if (state.name === 'streaming') this.finish(state.sink, how);
    this.ended();
  }
}
