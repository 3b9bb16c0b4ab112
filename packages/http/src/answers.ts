/**
 * How a POST is answered: with JSON if the response is all that there is to say, otherwise with a
 * stream that ends with it. An answer is the origin of its request. Those of a session outlive their
 * connection; those without one end with it.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import type {
  InboundRequestId,
  OutboundFrame,
  InboundBatch,
  InboundRequest,
  InvalidFrame,
} from '../../../src/protocol/frames.ts';
import type {
  Principal,
  RequestOrigin,
  ServedHttpCall,
  TokenExchange,
} from '../../../src/protocol/request-origin.ts';
import { servedRequest } from './http-exchange.ts';
import type { HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { WatchedSink, SinkOwner } from './watched-sink.ts';
import { isJsonObject, isRequestId } from '../../../src/protocol/classify.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { endedPostAnswer, postAnswerChart } from './post-answer.machine.ts';
import type { PostAnswerEvent } from './post-answer.machine.ts';
import { errorAnswer } from './checks.ts';
import type { SessionStream } from './legacy/session-stream.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, RosterMember } from './maintenance.ts';
import type { HttpStreamView } from '../../../src/actors/writer/http-view.ts';
import { describeEnd } from './admission.ts';
import type { TokenValidity, TokenEnd } from './admission.ts';
import type { HttpLimits } from './options.ts';
import { clientKeyOf } from './session-slots.ts';

/** Headers of a stream: nothing on its way may hold it back, or keep it. */
export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const jsonHeaders = { 'content-type': 'application/json' };

/** For answers without headers of their own. */
const noHeaders: { readonly [name: string]: string } = {};

/** True for the answer to a request, or to a batch. */
function isResponse(frame: OutboundFrame): boolean {
  return 'length' in frame || !('method' in frame);
}

export type AnswerOptions = Omit<RequestOrigin, 'http' | 'node' | 'principal' | 'tokens'>;

abstract class RequestAnswer implements RequestOrigin {
  readonly idScope: RequestOrigin['idScope'];
  readonly principal: Principal | undefined;
  readonly unaskable: string | undefined;
  readonly revision: string | undefined;
  /** When its request came, the clock's milliseconds. */
  readonly receivedAt: number;
  #state = postAnswerChart.begun;
  /** The connection, once it is a stream. */
  #sink: WatchedSink | undefined = undefined;
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

  get tokens(): TokenExchange | undefined {
    return this.#exchange.tokens;
  }

  get http(): ServedHttpCall {
    return (this.#http ??= {
      ...servedRequest(this.#exchange),
      closeConnection: () => this.closeConnection(),
    });
  }

  /** Whether the client waits, and has heard nothing yet. */
  get isUnbegun(): boolean {
    return this.#state === postAnswerChart.begun;
  }

  /** Whether its client still waits for it. */
  get isDue(): boolean {
    return this.#state.status === 'active';
  }

  /**
   * Sends one frame; a response ends the answer.
   * @param text the frame as JSON, with a line feed at its end
   * @returns false if it has no way to the client
   */
  send(frame: OutboundFrame, text: string): boolean {
    const isLast = isResponse(frame);
    if (!this.isUnbegun && !this.#sink) {
      if (isLast) this.#end('answered');
      return false;
    }
    if (!isLast && this.isUnbegun && !this.begin()) return false;
    if (this.isUnbegun) {
      // The response is all that there is to say.
      const { headers: own } = this;
      const headers = own === noHeaders ? jsonHeaders : { ...jsonHeaders, ...own };
      const status = this.statusOf(frame);
      this.#end('answered');
      this.#exchange.answer({ status, headers, body: text });
      return true;
    }
    this.emit(text);
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

  /** Answers it with a fault, if it has not become a stream. */
  refuse(answer: HttpAnswer): void {
    if (this.isUnbegun) this.#exchange.answer(answer);
    this.#end('silenced');
  }

  /** Answers what needs no response. */
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
    this.#sink = sink;
    this.#move({ type: 'stream.begun' });
    this.begun(sink);
    return true;
  }

  /** What the unread part of it comes to, bytes. */
  get unreadBytes(): number {
    return this.#sink?.untakenBytes ?? 0;
  }

  /** The connection of its stream; undefined before it is one, and once all is said. */
  protected get sink(): WatchedSink | undefined {
    return this.#sink;
  }

  /** Whether it may become a stream. */
  protected abstract readonly streams: boolean;

  /** Headers of its own. */
  protected abstract readonly headers: { readonly [name: string]: string };

  /** The status of an answer that is JSON. */
  protected abstract statusOf(frame: OutboundFrame): number;

  /** It has ended, whichever way. */
  protected abstract ended(): void;

  /** Closes the connection while the call goes on, if the client will come back for the rest. */
  protected closeConnection(): void {}

  /** It has become a stream. */
  protected abstract begun(sink: WatchedSink): void;

  /** Sends a message on the stream. @param text with a line feed at its end */
  protected emit(text: string): void {
    this.#sink?.write(`data: ${text}\n`);
  }

  /** Nothing more comes on the stream. `silenced`: there is no response. */
  protected finish(sink: WatchedSink, _how: 'answered' | 'silenced'): void {
    sink.end();
  }

  #end(how: 'answered' | 'silenced'): void {
    const sink = this.#sink;
    if (!this.leave()) return;
    if (sink) this.finish(sink, how);
    this.ended();
  }

  /** Its client has left before anything was sent, and its call goes on. */
  protected lose(): void {
    this.#move({ type: 'client.left' });
  }

  /** Nothing more is sent. @returns false if that was so before */
  protected leave(): boolean {
    if (!this.isDue) return false;
    this.#sink = undefined;
    this.#state = endedPostAnswer;
    return true;
  }

  #move(event: PostAnswerEvent): void {
    this.#state = postAnswerChart.next(this.#state, event);
  }
}

/** Why the clients of an endpoint that answers with JSON alone cannot be asked. */
export const jsonOnly =
  'this server answers with JSON alone, and no request of its own can go with it';

/** A message that is answered. */
export type AnsweredFrame = InboundRequest | InboundBatch | InvalidFrame;

/** What all answers of an endpoint's sessions have in common. */
export interface AnsweringHome {
  readonly limits: Pick<HttpLimits, 'streamAfterMs'>;
  /** Whether an answer may become a stream. */
  readonly streams: boolean;
  /** Why no client can be asked anything; undefined if clients can. */
  readonly unaskable: string | undefined;
}

/** The session to whose requests the answers belong. */
export interface AnsweringSession {
  readonly id: string;
  readonly home: AnsweringHome;
  /** When it was last used, the clock's milliseconds. */
  readonly usedAt: number;
  /** Whether its `initialize` was accepted. */
  readonly isBegun: boolean;
  /** How long the client should wait before it comes back, milliseconds; undefined if it would not. */
  readonly pollAfterMs: number | undefined;
  openStream(answer: PostAnswer): SessionStream;
  /** Its client has left before anything was sent, and has nothing to ask for it with. */
  answerLost(answer: PostAnswer): void;
  answerEnded(answer: PostAnswer): void;
}

export class PostAnswer extends RequestAnswer implements Maintained {
  readonly #session: AnsweringSession;
  readonly frame: AnsweredFrame;
  place = notListed;
  /** True while the client holds its connection open for the first byte. The session clears it. */
  isAwaited = true;
  #stream: SessionStream | undefined = undefined;

  constructor(exchange: HttpExchange, session: AnsweringSession, frame: AnsweredFrame) {
    super(exchange, { idScope: 'session', unaskable: session.home.unaskable }, session.usedAt);
    this.#session = session;
    this.frame = frame;
    exchange.onGone(() => this.#leave());
  }

  /** The ids of the requests that it answers. */
  get answers(): readonly InboundRequestId[] {
    const frame = this.frame;
    if (frame.kind !== 'batch') return frame.id === undefined ? [] : [frame.id];
    return frame.messages.flatMap((message) =>
      isJsonObject(message) && 'method' in message && isRequestId(message['id'])
        ? [message['id'] as InboundRequestId]
        : [],
    );
  }

  tend(now: number): void {
    if (now - this.receivedAt >= this.#session.home.limits.streamAfterMs) this.begin();
  }

  override drop(): void {
    const { frame } = this;
    // It was meant as an answer to a request of the server, which has been told.
    if (frame.kind === 'invalid') return this.refuse(errorAnswer(frame.error));
    // A batch whose requests were all cancelled; 202 is for one without requests.
    if (this.answers.length > 0) super.drop();
    else this.accept();
  }

  protected override get streams(): boolean {
    return this.#session.home.streams && this.frame.kind !== 'invalid';
  }

  /** The answer to `initialize` tells the session's id. */
  protected override get headers(): { readonly [name: string]: string } {
    const { frame } = this;
    if (frame.kind !== 'request' || frame.method !== Method.initialize) return noHeaders;
    const { isBegun, id } = this.#session;
    return isBegun ? { 'mcp-session-id': id } : noHeaders;
  }

  protected override statusOf(frame: OutboundFrame): number {
    const { kind } = this.frame;
    const isRefused = kind === 'invalid' || (kind === 'batch' && !('length' in frame));
    return isRefused ? 400 : 200;
  }

  protected override begun(sink: WatchedSink): void {
    this.#stream = this.#session.openStream(this);
    this.#stream.begin(sink, undefined);
  }

  protected override emit(text: string): void {
    this.#stream?.send(text);
  }

  protected override finish(_sink: WatchedSink, how: 'answered' | 'silenced'): void {
    this.#stream?.end(how);
  }

  protected override ended(): void {
    this.#session.answerEnded(this);
  }

  protected override closeConnection(): void {
    const { pollAfterMs } = this.#session;
    if (pollAfterMs === undefined) return;
    this.begin();
    this.#stream?.pause(pollAfterMs);
  }

  #leave(): void {
    if (this.sink) return this.#stream?.left(this.sink);
    if (!this.isUnbegun) return;
    this.lose();
    this.#session.answerLost(this);
  }
}

/** What serves requests without a session, as their answers see it. */
export interface AnswerKeeper {
  readonly limits: Pick<HttpLimits, 'streamAfterMs'>;
  /** Whether an answer may become a stream. */
  readonly streams: boolean;
  /** See {@link RequestOrigin.node}. */
  readonly node: string | undefined;
  /** Its client has left, or was cut off, before its response was sent. */
  answerLeft(answer: StatelessAnswer, reason: string): void;
  /** Its response was sent. */
  answerEnded(answer: StatelessAnswer): void;
  /** Its client has to come back with another token. */
  authorizationEnded(answer: StatelessAnswer, end: TokenEnd): void;
}

export type StatelessAnswerOptions = AnswerOptions & {
  readonly id?: InboundRequestId;
  /** What ends it; undefined if it ends by itself. */
  readonly admission?: TokenValidity | undefined;
};

export abstract class StatelessAnswer extends RequestAnswer implements RosterMember, SinkOwner {
  place = notListed;
  protected override readonly headers = noHeaders;
  readonly #keeper: AnswerKeeper;
  /** Of its request; undefined if it is the answer to a batch. */
  readonly id: InboundRequestId | undefined;
  /** See {@link RequestOrigin.party}. */
  readonly party: string;
  readonly admission: TokenValidity | undefined;
  /** How long it has been due, milliseconds. */
  #ageMs = 0;

  constructor(exchange: HttpExchange, options: StatelessAnswerOptions, keeper: AnswerKeeper) {
    super(exchange, options, 0);
    this.#keeper = keeper;
    this.admission = options.admission;
    this.id = options.id;
    this.party = clientKeyOf(exchange);
    exchange.onGone(() => this.cut('The client has closed the connection'));
  }

  get node(): string | undefined {
    return this.#keeper.node;
  }

  /** Whether its request is cancelled if the client leaves. */
  abstract readonly isCancelledByLeaving: boolean;

  /** What a dump shows of it once it is a stream. Its times are as exact as {@link passed} is frequent. */
  get view(): HttpStreamView | undefined {
    const { sink, id, principal, unreadBytes } = this;
    if (!sink) return undefined;
    return {
      kind: 'post',
      answers: id === undefined ? [] : [id],
      state: 'open',
      ageMs: this.#ageMs,
      unreadBytes,
      unreadMs: Math.round(sink.unreadMs),
      keptEvents: 0,
      ...(principal ? { principal: principal.id } : {}),
    };
  }

  /** Time has passed: a client that would give up gets a stream. */
  passed(elapsedMs: number): void {
    this.#ageMs += elapsedMs;
    if (this.#ageMs >= this.#keeper.limits.streamAfterMs) this.begin();
  }

  /** Its token does not let it go on. There will be no result: its client is to ask again. */
  expired(end: TokenEnd): void {
    this.sink?.end();
    this.#keeper.authorizationEnded(this, end);
    this.#leave(`The token that it was asked for with ${describeEnd[end]}`);
  }

  unread(why: string): void {
    this.cut(`The client ${why}`);
  }

  /** Closes the connection: there will be no response. */
  cut(reason: string): void {
    this.sink?.cut();
    this.#leave(reason);
  }

  protected override get streams(): boolean {
    return this.#keeper.streams;
  }

  protected override begun(sink: WatchedSink): void {
    sink.ownedBy(this);
  }

  protected override ended(): void {
    this.#keeper.answerEnded(this);
  }

  #leave(reason: string): void {
    if (this.leave()) this.#keeper.answerLeft(this, reason);
  }
}
