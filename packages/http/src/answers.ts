/**
 * Answers to POST requests: JSON if the response is the only message, otherwise a stream that ends
 * with the response. An answer is the origin of its request. A session's answer survives a dropped
 * connection; a sessionless one does not.
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
  NamedCall,
  Principal,
  RequestOrigin,
  ServedHttpCall,
  TokenExchange,
} from '../../../src/protocol/request-origin.ts';
import { requestForHandlers } from './http-exchange.ts';
import type { HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { WatchedSink, SinkOwner } from './watched-sink.ts';
import { isJsonObject, isRequestId } from '../../../src/protocol/classify.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { endedPostAnswer, postAnswerChart } from './post-answer.machine.ts';
import type { PostAnswerEvent } from './post-answer.machine.ts';
import { errorAnswer } from './checks.ts';
import type { SessionStream } from './legacy/session-stream.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, IndexedItem } from './maintenance.ts';
import type { HttpStreamView } from '../../../src/actors/writer/http-view.ts';
import { describeEnd } from './token-validity.ts';
import type { TokenValidity, TokenEnd } from './token-validity.ts';
import type { HttpLimits } from './options.ts';
import { clientKeyOf } from './session-slots.ts';

/** Headers of an event stream: proxies must neither buffer nor cache it. */
export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const jsonHeaders = { 'content-type': 'application/json' };

const noHeaders: { readonly [name: string]: string } = {};

/** True for a response to a request or to a batch. */
function isResponse(frame: OutboundFrame): boolean {
  return 'length' in frame || !('method' in frame);
}

export type AnswerOptions = Omit<RequestOrigin, 'http' | 'node' | 'principal' | 'tokens'>;

abstract class RequestAnswer implements RequestOrigin {
  readonly idScope: RequestOrigin['idScope'];
  readonly principal: Principal | undefined;
  readonly noRequestsReason: string | undefined;
  readonly revision: string | undefined;
  /** Arrival time of the request, clock ms. */
  readonly receivedAt: number;
  #state = postAnswerChart.initial;
  /** The connection; undefined until the answer is a stream. */
  #sink: WatchedSink | undefined = undefined;
  readonly #exchange: HttpExchange;
  #http: ServedHttpCall | undefined = undefined;

  constructor(exchange: HttpExchange, options: AnswerOptions, receivedAt: number) {
    this.#exchange = exchange;
    this.idScope = options.idScope;
    this.principal = exchange.principal;
    this.noRequestsReason = options.noRequestsReason;
    this.revision = options.revision;
    this.receivedAt = receivedAt;
  }

  get tokens(): TokenExchange | undefined {
    return this.#exchange.tokens;
  }

  get http(): ServedHttpCall {
    return (this.#http ??= {
      ...requestForHandlers(this.#exchange),
      closeConnection: () => this.closeConnection(),
    });
  }

  /** True while the client is waiting and no headers were sent. */
  get headersUnsent(): boolean {
    return this.#state === postAnswerChart.initial;
  }

  /** True until the response was sent or abandoned. */
  get isPending(): boolean {
    return this.#state.status === 'active';
  }

  /**
   * Sends one frame; a response ends the answer.
   *
   * @param text the frame as JSON, ending with a line feed
   * @returns false if the client cannot be reached
   */
  send(frame: OutboundFrame, text: string): boolean {
    const isLast = isResponse(frame);
    if (!this.headersUnsent && !this.hasStream) {
      if (isLast) this.#end('answered');
      return false;
    }
    if (!isLast && this.headersUnsent && !this.startStream()) return false;
    if (this.headersUnsent) {
      // Nothing preceded the response, so it can be plain JSON.
      const { headers: own } = this;
      const headers = own === noHeaders ? jsonHeaders : { ...jsonHeaders, ...own };
      const status = this.statusOf(frame);
      this.#end('answered');
      this.#exchange.answer({ status, headers, body: text });
      return true;
    }
    this.emit(text, isLast);
    if (isLast) this.#end('answered');
    return true;
  }

  /**
   * Ends the answer without a response. If nothing was sent yet, the client gets an empty stream,
   * because a JSON body would be a response.
   */
  drop(): void {
    if (this.headersUnsent) {
      if (this.canStream) this.#exchange.stream(streamHeaders).end();
      else this.accept();
    }
    this.#end('silenced');
  }

  /** Answers with an error unless the stream has already started. */
  refuse(answer: HttpAnswer): void {
    if (this.headersUnsent) this.#exchange.answer(answer);
    this.#end('silenced');
  }

  /** Answers with 202: no response is due. */
  accept(): void {
    if (this.headersUnsent) this.#exchange.answer({ status: 202 });
    this.#end('silenced');
  }

  /**
   * Turns the answer into a stream.
   *
   * @returns false if it must stay JSON or has already started
   */
  startStream(): boolean {
    if (!this.canStream || !this.headersUnsent) return false;
    const sink = this.#exchange.stream({ ...streamHeaders, ...this.headers });
    this.#sink = sink;
    this.#move({ type: 'stream.started' });
    this.onStreamStarted(sink);
    return true;
  }

  /** Bytes that the client has not read. */
  get unreadBytes(): number {
    return this.#sink?.unsentBytes ?? 0;
  }

  /** The stream's connection; undefined before the stream starts and after the last message. */
  protected get sink(): WatchedSink | undefined {
    return this.#sink;
  }

  /** True while the answer is a stream. */
  protected get hasStream(): boolean {
    return this.#sink !== undefined;
  }

  /** True if the answer may become a stream. */
  protected abstract readonly canStream: boolean;

  /** Headers of this answer, besides the common ones. */
  protected abstract readonly headers: { readonly [name: string]: string };

  /** HTTP status of a JSON answer. */
  protected abstract statusOf(frame: OutboundFrame): number;

  /** Called once the answer has ended for any reason. */
  protected abstract onEnded(): void;

  /** Closes the connection while the call keeps running, if the client can resume the stream. */
  protected closeConnection(): void {}

  /** Called once the answer has become a stream. */
  protected abstract onStreamStarted(sink: WatchedSink): void;

  /**
   * Sends a message on the stream.
   *
   * @param text JSON, ending with a line feed
   */
  protected emit(text: string, _isLast: boolean): void {
    this.#sink?.write(`data: ${text}\n`);
  }

  /** Ends the stream. `silenced`: without a response. */
  protected finish(sink: WatchedSink | undefined, _how: 'answered' | 'silenced'): void {
    sink?.end();
  }

  #end(how: 'answered' | 'silenced'): void {
    const sink = this.#sink;
    const { hasStream } = this;
    if (!this.markEnded()) return;
    if (hasStream) this.finish(sink, how);
    this.onEnded();
  }

  /** Continues a stream that an earlier process began. */
  protected markStreaming(): void {
    this.#move({ type: 'stream.started' });
  }

  /** Records that the client disconnected before anything was sent; its call keeps running. */
  protected markLost(): void {
    this.#move({ type: 'client.disconnected' });
  }

  /**
   * Marks the answer as ended.
   *
   * @returns false if it had already ended
   */
  protected markEnded(): boolean {
    if (!this.isPending) return false;
    this.#sink = undefined;
    this.#state = endedPostAnswer;
    return true;
  }

  #move(event: PostAnswerEvent): void {
    this.#state = postAnswerChart.next(this.#state, event);
  }
}

/** Why clients of a JSON-only endpoint cannot be sent requests. */
export const jsonOnly =
  'this server is configured with jsonResponses, which cannot carry requests to the client';

/** A message that gets an answer. */
export type AnsweredFrame = InboundRequest | InboundBatch | InvalidFrame;

/** Settings shared by all answers of an endpoint's sessions. */
export interface AnswerContext {
  readonly limits: Pick<HttpLimits, 'streamAfterMs'>;
  /** True if answers may become streams. */
  readonly streams: boolean;
  /** Why clients cannot be sent requests; undefined if they can. */
  readonly unaskable: string | undefined;
}

/** The session that an answer belongs to, as the answer uses it. */
export interface AnswerSession {
  readonly id: string;
  readonly endpoint: AnswerContext;
  /** Time of last use, clock ms. */
  readonly usedAt: number;
  /** True once its `initialize` was accepted. */
  readonly isInitialized: boolean;
  /**
   * Delay before the client should reconnect, milliseconds; undefined if its revision cannot
   * resume.
   */
  readonly pollAfterMs: number | undefined;
  /** Delay before the client should reconnect to another process, milliseconds; undefined unless this one closes. */
  readonly drainRetryMs: number | undefined;
  /** Ids of calls that outlive the process, by the streams that answer them; undefined if none does. */
  readonly recordedCalls: { idOf(stream: string): Promise<string> } | undefined;
  openStream(answer: PostAnswer): SessionStream;
  /**
   * Reports that the client disconnected before the response began, so it has no event id to resume
   * from.
   */
  onAnswerLost(answer: PostAnswer): void;
  onAnswerEnded(answer: PostAnswer): void;
}

export class PostAnswer extends RequestAnswer implements Maintained {
  readonly #session: AnswerSession;
  readonly frame: AnsweredFrame;
  listIndex = notListed;
  /** True while the client's connection is open and no byte was sent. The session clears it. */
  isAwaited = true;
  /** True if the call outlives the process. */
  #isDurable = false;
  #stream: SessionStream | undefined = undefined;
  /** True for the call of an earlier process, whose stream has a connection of its own. */
  readonly #isResumed: boolean;

  /** @param resumed the stream that an earlier process began */
  constructor(
    exchange: HttpExchange,
    session: AnswerSession,
    frame: AnsweredFrame,
    resumed?: SessionStream,
  ) {
    super(
      exchange,
      { idScope: 'session', noRequestsReason: session.endpoint.unaskable },
      session.usedAt,
    );
    this.#session = session;
    this.frame = frame;
    this.#isResumed = resumed !== undefined;
    if (resumed) {
      this.isAwaited = false;
      this.#stream = resumed;
      this.markStreaming();
    } else exchange.onDisconnected(() => this.#onDisconnected());
  }

  /** See {@link RequestOrigin.nameCall}. */
  nameCall(): Promise<NamedCall> | undefined {
    const { recordedCalls } = this.#session;
    if (this.frame.kind !== 'request' || !recordedCalls) return undefined;
    this.#isDurable = true;
    this.startStream();
    const stream = this.#stream;
    let begun = () => {};
    // A client that has an event id finds the call in the journal.
    if (!this.#isResumed) stream?.holdUntil(new Promise<void>((resolve) => (begun = resolve)));
    const id = stream && recordedCalls.idOf(stream.name);
    return id?.then((named) => ({ id: named, isResent: this.#isResumed, begun }));
  }

  /** Ids of the requests it answers. */
  get requestIds(): readonly InboundRequestId[] {
    const frame = this.frame;
    if (frame.kind !== 'batch') return frame.id === undefined ? [] : [frame.id];
    return frame.messages.flatMap((message) =>
      isJsonObject(message) && 'method' in message && isRequestId(message['id'])
        ? [message['id'] as InboundRequestId]
        : [],
    );
  }

  tick(now: number): void {
    if (now - this.receivedAt >= this.#session.endpoint.limits.streamAfterMs) this.startStream();
  }

  override drop(): void {
    const { frame } = this;
    // A malformed response to a server request; the pending request has already been rejected.
    if (frame.kind === 'invalid') return this.refuse(errorAnswer(frame.error));
    const { drainRetryMs } = this.#session;
    if (this.#isDurable && this.#stream && drainRetryMs !== undefined) {
      this.#stream.handOver(drainRetryMs);
      if (this.markEnded()) this.onEnded();
      return;
    }
    // An empty stream for a batch whose requests were all cancelled; 202 is for batches without
    // requests.
    if (this.requestIds.length > 0) super.drop();
    else this.accept();
  }

  protected override get canStream(): boolean {
    return this.#session.endpoint.streams && this.frame.kind !== 'invalid';
  }

  /** The response to `initialize` carries the session id. */
  protected override get headers(): { readonly [name: string]: string } {
    const { frame } = this;
    if (frame.kind !== 'request' || frame.method !== Method.initialize) return noHeaders;
    const { isInitialized, id } = this.#session;
    return isInitialized ? { 'mcp-session-id': id } : noHeaders;
  }

  protected override statusOf(frame: OutboundFrame): number {
    const { kind } = this.frame;
    const isRefused = kind === 'invalid' || (kind === 'batch' && !('length' in frame));
    return isRefused ? 400 : 200;
  }

  protected override onStreamStarted(sink: WatchedSink): void {
    this.#stream = this.#session.openStream(this);
    this.#stream.begin(sink, undefined, this.#isDurable);
  }

  protected override get hasStream(): boolean {
    return this.isPending && this.#stream !== undefined;
  }

  protected override emit(text: string, isLast: boolean): void {
    this.#stream?.send(text, isLast);
  }

  protected override finish(_sink: WatchedSink | undefined, how: 'answered' | 'silenced'): void {
    this.#stream?.end(how);
  }

  protected override onEnded(): void {
    this.#session.onAnswerEnded(this);
  }

  protected override closeConnection(): void {
    const { pollAfterMs } = this.#session;
    if (pollAfterMs === undefined) return;
    this.startStream();
    this.#stream?.pause(pollAfterMs);
  }

  #onDisconnected(): void {
    if (this.sink) return this.#stream?.onConnectionClosed(this.sink);
    if (!this.headersUnsent) return;
    this.markLost();
    this.#session.onAnswerLost(this);
  }
}

/** The service that a sessionless answer belongs to, as the answer uses it. */
export interface StatelessAnswerOwner {
  readonly limits: Pick<HttpLimits, 'streamAfterMs'>;
  /** True if answers may become streams. */
  readonly streams: boolean;
  /** See {@link RequestOrigin.node}. */
  readonly node: string | undefined;
  /** Reports that the client disconnected, or was cut off, before the response was sent. */
  onAnswerAborted(answer: StatelessAnswer, reason: string): void;
  /** Reports that the response was sent. */
  onAnswerEnded(answer: StatelessAnswer): void;
  /** Reports that the token ended first: the client must retry with another one. */
  onTokenEnded(answer: StatelessAnswer, end: TokenEnd): void;
}

export type StatelessAnswerOptions = AnswerOptions & {
  readonly id?: InboundRequestId;
  /** Validity of the token; undefined if the answer outlives its token. */
  readonly tokenValidity?: TokenValidity | undefined;
};

export abstract class StatelessAnswer extends RequestAnswer implements IndexedItem, SinkOwner {
  listIndex = notListed;
  protected override readonly headers = noHeaders;
  readonly #owner: StatelessAnswerOwner;
  /** Id of its request; undefined for a batch. */
  readonly id: InboundRequestId | undefined;
  /** See {@link RequestOrigin.clientKey}. */
  readonly clientKey: string;
  readonly tokenValidity: TokenValidity | undefined;
  /** Time since the request arrived, milliseconds. */
  #ageMs = 0;

  constructor(
    exchange: HttpExchange,
    options: StatelessAnswerOptions,
    owner: StatelessAnswerOwner,
  ) {
    super(exchange, options, 0);
    this.#owner = owner;
    this.tokenValidity = options.tokenValidity;
    this.id = options.id;
    this.clientKey = clientKeyOf(exchange);
    exchange.onDisconnected(() => this.cut('The client closed the connection'));
  }

  get node(): string | undefined {
    return this.#owner.node;
  }

  /** True if a disconnect cancels the request. */
  abstract readonly cancelsOnDisconnect: boolean;

  /**
   * View for dumps; undefined until it is a stream. Its times are as precise as {@link advance} is
   * frequent.
   */
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

  /**
   * Advances the age. After `streamAfterMs` the answer becomes a stream, so that the client does
   * not time out.
   */
  advance(elapsedMs: number): void {
    this.#ageMs += elapsedMs;
    if (this.#ageMs >= this.#owner.limits.streamAfterMs) this.startStream();
  }

  /**
   * Ends the stream because its token ended. There is no result: the client must repeat its
   * request.
   */
  onTokenEnded(end: TokenEnd): void {
    this.sink?.end();
    this.#owner.onTokenEnded(this, end);
    this.#abort(`The token of the request ${describeEnd[end]}`);
  }

  onStalled(why: string): void {
    this.cut(`The client ${why}`);
  }

  /** Closes the connection without a response. */
  cut(reason: string): void {
    this.sink?.cut();
    this.#abort(reason);
  }

  protected override get canStream(): boolean {
    return this.#owner.streams;
  }

  protected override onStreamStarted(sink: WatchedSink): void {
    sink.setOwner(this);
  }

  protected override onEnded(): void {
    this.#owner.onAnswerEnded(this);
  }

  #abort(reason: string): void {
    if (this.markEnded()) this.#owner.onAnswerAborted(this, reason);
  }
}
