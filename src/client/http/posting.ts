/**
 * One message on its way to the server: the POST that carries it and all that comes back on its
 * answer. A request is settled by what it hands on, or by its failure; it is never forgotten.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Sending Messages"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import { decodeLine, exceedsDepth } from '../../protocol/codec.ts';
import { ErrorCode, RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { InboundFrame, WireError } from '../../protocol/frames.ts';
import { mediaTypeOf, readBody, refusalOf } from './body.ts';
import { excerptOf, networkFailure, statusError, tooMuch, violation } from './failures.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import { discard, isOk } from './response.ts';
import type { HttpResponse } from './response.ts';
import { ServerStream, headerOfEventId } from './server-stream.ts';
import type { StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, Sent } from './wire.ts';

/** The session that a message is part of; without an id if the server has given none. */
export interface HttpSession {
  readonly id: string | undefined;
}

/** The channel, as its messages know it. */
export interface PostingChannel {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly maxDepth: number;
  readonly session: HttpSession;
  /** Where messages go. `apart`: what answers them comes on another stream. */
  readonly target: { readonly url: URL; readonly answers: 'here' | 'apart' };
  /** The headers that every request of this session has, besides those of its message. */
  sessionHeaders(session: HttpSession): Record<string, string>;
  /** The headers of a message, besides those of its session. */
  messageHeaders(message: OutgoingMessage): Record<string, string>;
  /** The server has taken it: `session` is as its answer says. */
  accepted(posting: Posting, session: HttpSession, response: HttpResponse): void;
  /** The server does not know the session: it has not served the message, and never will. */
  expired(posting: Posting, session: HttpSession): void;
  /** The server was not reached, wants a login that is not to be had, or says that it cannot serve anybody. */
  lost(posting: Posting, end: Exclude<Sent, { kind: 'answered' | 'aborted' }>): void;
  unavailable(posting: Posting, response: HttpResponse, error: RuntimeError): void;
  /** The handshake was refused, in a way that does not say that this server speaks MCP here. */
  notGreeted(posting: Posting, error: RuntimeError): void;
  /** The server's tools may have other headers by now; learns which. */
  learnTools(posting: Posting): Promise<void>;
}

type Answered = Extract<Sent, { readonly kind: 'answered' }>;

export class Posting implements StreamOwner {
  readonly message: OutgoingMessage;
  readonly #channel: PostingChannel;
  readonly #controller = new AbortController();
  #session: HttpSession;
  #stream: ServerStream | undefined = undefined;
  #state: 'waiting' | 'sent' | 'learnt' | 'answered' | 'over' = 'waiting';
  /** Resolves once the head of the answer is there, or there will be none. */
  readonly headed: Promise<void>;
  #head!: () => void;
  /** Resolves once nothing more comes of it. */
  readonly ended: Promise<void>;
  #end!: () => void;

  constructor(message: OutgoingMessage, channel: PostingChannel) {
    this.message = message;
    this.#channel = channel;
    this.#session = channel.session;
    this.headed = new Promise((resolve) => {
      this.#head = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get what(): string {
    return this.message.what;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether nobody waits for it any more. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  get resumption(): 'by-id' | 'none' {
    return this.message.revision === undefined ? 'by-id' : 'none';
  }

  get isStarted(): boolean {
    return this.#state !== 'waiting';
  }

  /** Never rejects. */
  async send(): Promise<void> {
    if (this.#state === 'waiting') this.#state = 'sent';
    try {
      await this.#post();
    } catch (cause) {
      this.#head();
      const message = `${this.what} was not sent: ${textOfError(cause)}`;
      this.fail(new RuntimeError('CLOSED', message, { cause }));
    }
  }

  async #post(): Promise<void> {
    const { wire, target, session } = this.#channel;
    this.#session = session;
    const { body } = this.message;
    const sent = await wire.send({
      what: this.what,
      method: 'POST',
      url: target.url,
      headers: Object.assign(
        { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        this.#channel.sessionHeaders(session),
        this.#channel.messageHeaders(this.message),
      ),
      body,
      signal: this.signal,
    });
    this.#head();
    if (this.#state === 'over') {
      if (sent.kind === 'answered') await discard(sent.response);
    } else if (sent.kind !== 'answered') {
      this.#unanswered(sent);
    } else if (isOk(sent.response)) {
      await this.#read(sent);
    } else {
      await this.#refused(sent);
    }
  }

  /** Nobody waits for it any more: the server hears of it by the end of the connection alone. */
  cancel(): void {
    this.#state = 'over';
    this.#controller.abort();
    this.#stream?.close();
    this.#head();
    this.#end();
  }

  /** It has no answer, for this reason. */
  fail(error: RuntimeError): void {
    const isLate = this.#isSettled;
    this.#finish();
    if (!isLate) this.message.failed(error);
  }

  /** It was not served: it may be sent once more, in another session. */
  giveBack(error: RuntimeError): void {
    if (this.#state === 'over') return;
    this.#finish();
    this.message.returned(error);
  }

  // The stream of its answer.

  ask(lastEventId: string | undefined): Promise<Sent> {
    const { wire, target } = this.#channel;
    return wire.send({
      what: `the rest of ${this.what}`,
      method: 'GET',
      url: target.url,
      headers: {
        accept: 'text/event-stream',
        ...this.#channel.sessionHeaders(this.#session),
        ...(lastEventId === undefined ? {} : { 'last-event-id': headerOfEventId(lastEventId) }),
      },
      signal: this.signal,
    });
  }

  received(texts: readonly string[]): 'more' | 'all' {
    const frames = texts.flatMap((text) => this.#decoded(text));
    this.#hand(frames);
    return this.#state === 'answered' ? 'all' : 'more';
  }

  gaveUp(error: RuntimeError): void {
    if (error.code !== 'CLOSED' && error.status === undefined) return this.fail(error);
    const message = `The stream of ${this.what} was cut before the answer, and cannot be resumed: ${error.message}`;
    const unresumed = new RuntimeError('CLOSED', message, { cause: error });
    this.#unanswered({ kind: 'broken', error: error.status === undefined ? error : unresumed });
  }

  #decoded(text: string): InboundFrame[] {
    const { maxDepth } = this.#channel;
    const frame = decodeLine(text, maxDepth);
    if (frame.kind !== 'invalid') return [frame];
    this.message.invalid(`${frame.error.message}${excerptOf(text)}`);
    return [];
  }

  #hand(frames: readonly InboundFrame[]): void {
    if (this.#state === 'over' || frames.length === 0) return;
    if (frames.some((frame) => this.message.isAnsweredBy(frame))) this.#state = 'answered';
    this.message.heard(frames);
    if (this.#state === 'answered') this.#end();
  }

  #unanswered(sent: Exclude<Sent, Answered>): void {
    if (sent.kind === 'aborted' || this.#state === 'over') this.#finish();
    else this.#channel.lost(this, sent);
  }

  async #read({ response, url }: Answered): Promise<void> {
    this.#channel.accepted(this, this.#session, response);
    const type = mediaTypeOf(response);
    if (this.message.kind !== 'request' || this.#channel.target.answers === 'apart') {
      this.message.taken();
      await discard(response);
      return this.#finish();
    }
    if (type === 'text/event-stream') {
      this.#stream = new ServerStream(this, this.#channel.streams, response);
      return this.ended;
    }
    await this.#readBody(response, url, type);
  }

  async #readBody(response: HttpResponse, url: URL, type: string): Promise<void> {
    const { streams, maxDepth } = this.#channel;
    const reading = await readBody(response, streams.maxLineBytes);
    if (reading.kind === 'too-long') return this.fail(tooMuch(this.what, streams.maxLineBytes));
    if (reading.kind === 'broken') {
      const { error } = networkFailure(this.what, url, reading.error);
      return this.#unanswered({ kind: 'broken', error });
    }
    const { text } = reading;
    const isJson = type === 'application/json' || type.endsWith('+json');
    if (!isJson) {
      const said = text === '' && type === '' ? 'nothing' : type || 'a body of no type';
      return this.fail(
        violation(this.what, `is ${said} (status ${response.status})${excerptOf(text)}`),
      );
    }
    if (exceedsDepth(text, maxDepth)) {
      const message = `The server's answer to ${this.what} nests deeper than ${maxDepth} levels`;
      return this.fail(new RuntimeError('LIMIT_EXCEEDED', message));
    }
    const frame = decodeLine(text, maxDepth);
    if (frame.kind === 'invalid') {
      return this.fail(
        violation(this.what, `is no message: ${frame.error.message}${excerptOf(text)}`),
      );
    }
    this.#hand([frame]);
    // Errors and excerpts cost more than the rest of an answer.
    if (this.#isSettled) return this.#finish();
    this.fail(violation(this.what, `is a message that does not answer it${excerptOf(text)}`));
  }

  async #refused({ response, url }: Answered): Promise<void> {
    const { status } = response;
    const { kind, method } = this.message;
    const text = await refusalOf(response);
    const isOfSession = this.message.revision === undefined && this.#session.id !== undefined;
    if (status === 404 && isOfSession) return this.#channel.expired(this, this.#session);
    const frame = text === '' ? undefined : decodeLine(text, this.#channel.maxDepth);
    const remote = frame && errorOf(frame);
    const error = statusError(this.what, { status, url }, text, remote);
    if (saysNothing.has(status) || status >= 500) {
      this.#channel.unavailable(this, response, error);
    }
    if (kind !== 'request' || !frame || !remote) {
      if (method === 'initialize') return this.#channel.notGreeted(this, error);
      return this.fail(error);
    }
    if (remote.code === ErrorCode.headerMismatch && this.#mayLearn()) {
      await this.#channel.learnTools(this);
      return this.#post();
    }
    if (this.message.isAnsweredBy(frame)) this.#hand([frame]);
    else if (modernCodes.has(remote.code)) this.#hand([this.message.answerWith(remote)]);
    else if (method === 'initialize') return this.#channel.notGreeted(this, error);
    this.fail(error);
  }

  /** Once: a second list would say nothing else. */
  #mayLearn(): boolean {
    if (this.#state !== 'sent' || this.message.method !== 'tools/call') return false;
    this.#state = 'learnt';
    return true;
  }

  /** Whether it has its answer, or nobody waits for one any more. */
  get #isSettled(): boolean {
    return this.#state === 'answered' || this.#state === 'over';
  }

  #finish(): void {
    if (this.#state !== 'answered') this.#state = 'over';
    this.#end();
  }
}

/** Statuses, besides those of servers that fail, that say nothing of what the server speaks. */
const saysNothing: ReadonlySet<number> = new Set([403, 408, 429]);

/** The errors that only servers of the modern era answer with: such a server need not name the id. */
const modernCodes: ReadonlySet<number> = new Set([
  ErrorCode.headerMismatch,
  ErrorCode.missingClientCapability,
  ErrorCode.unsupportedProtocolVersion,
]);

/** The error that a frame is, whatever it answers. An `id` of null is no id, but says the same. */
function errorOf(frame: InboundFrame): WireError | undefined {
  if (frame.kind === 'stray-error') return frame.error;
  if (frame.kind !== 'response' || frame.outcome.ok || !('error' in frame.outcome))
    return undefined;
  return isJsonObject(frame.outcome.error) ? frame.outcome.error : undefined;
}
