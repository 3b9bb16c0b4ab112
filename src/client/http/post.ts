/**
 * One message on its way to the server: the POST that carries it and everything on its answer. A
 * request is always settled, by its answer or by a failure.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Sending Messages"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import { decodeLine, exceedsDepth } from '../../protocol/codec.ts';
import { ErrorCode, RuntimeError, textOfError } from '../../protocol/errors.ts';
import type {
  InboundFrame,
  WireError,
  InboundResponse,
  JsonObject,
  OutboundMessage,
} from '../../protocol/frames.ts';
import { MetaKey } from '../../protocol/meta.ts';
import { mediaTypeOf, readBody, refusalOf, discard, isOk } from './response.ts';
import { excerptOf, networkFailure, statusError, tooMuch, violation } from './failures.ts';
import type { HttpResponse } from './response.ts';
import { ServerStream, headerOfEventId } from './server-stream.ts';
import type { StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, SendOutcome } from './wire.ts';

/** The session of a message; without an id if the server assigned none. */
export interface PostSession {
  readonly id: string | undefined;
}

/** The channel, as its messages see it. */
export interface PostingChannel {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly maxDepth: number;
  readonly session: PostSession;
  /** Where messages go. */
  readonly target: URL;
  /** Whether what answers them comes on another stream. */
  readonly takesAnswersApart: boolean;
  /** The headers of every request in this session, besides those of its message. */
  sessionHeaders(session: PostSession): Record<string, string>;
  /** The headers of a message, besides those of its session. */
  messageHeaders(message: OutgoingMessage): Record<string, string>;
  /** The server has accepted the message. `session` is read from its answer. */
  accepted(posting: Posting, session: PostSession, response: HttpResponse): void;
  /** The server does not know the session: it did not serve the message, and never will. */
  expired(posting: Posting, session: PostSession): void;
  /** The server was not reached, wants a login that cannot be obtained, or is out of service. */
  lost(
    posting: Posting,
    end: Exclude<SendOutcome, { readonly kind: 'answered' | 'aborted' }>,
  ): void;
  unavailable(posting: Posting, response: HttpResponse, error: RuntimeError): void;
  /**
   * The handshake was refused in a way that does not show that there is an MCP server at this URL.
   */
  notGreeted(posting: Posting, error: RuntimeError): void;
  /** The server's tools may have other headers by now; reads them again. */
  learnTools(posting: Posting): Promise<void>;
}

type Answered = Extract<SendOutcome, { readonly kind: 'answered' }>;

export class Posting implements StreamOwner {
  readonly message: OutgoingMessage;
  readonly #channel: PostingChannel;
  readonly #controller = new AbortController();
  #session: PostSession;
  #stream: ServerStream | undefined = undefined;
  #state: 'waiting' | 'sent' | 'learnt' | 'answered' | 'over' = 'waiting';
  /** Resolves once the head of the answer has come, or cannot come. */
  readonly headed: Promise<void>;
  #head!: () => void;
  /** Resolves once it has ended. */
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

  /** Whether it has ended without an answer. */
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
      url: target,
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

  /** Ends it without an outcome. The server notices only that the connection was closed. */
  cancel(): void {
    this.#state = 'over';
    this.#controller.abort();
    this.#stream?.close();
    this.#head();
    this.#end();
  }

  /** Fails it: it gets no answer, for this reason. */
  fail(error: RuntimeError): void {
    const isLate = this.#isSettled;
    this.#finish();
    if (!isLate) this.message.failed(error);
  }

  /** Returns it unserved: it may be sent once more, in another session. */
  giveBack(error: RuntimeError): void {
    if (this.#state === 'over') return;
    this.#finish();
    this.message.returned(error);
  }

  // The stream of its answer.

  ask(lastEventId: string | undefined): Promise<SendOutcome> {
    const { wire, target } = this.#channel;
    return wire.send({
      what: `the rest of ${this.what}`,
      method: 'GET',
      url: target,
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

  #unanswered(sent: Exclude<SendOutcome, Answered>): void {
    if (sent.kind === 'aborted' || this.#state === 'over') this.#finish();
    else this.#channel.lost(this, sent);
  }

  async #read({ response, url }: Answered): Promise<void> {
    this.#channel.accepted(this, this.#session, response);
    const type = mediaTypeOf(response);
    if (this.message.kind !== 'request' || this.#channel.takesAnswersApart) {
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
    // Making errors and excerpts costs more than the rest of an answer.
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

  /** Only once: a second list would say the same. */
  #mayLearn(): boolean {
    if (this.#state !== 'sent' || this.message.method !== 'tools/call') return false;
    this.#state = 'learnt';
    return true;
  }

  /** Whether it has its answer, or no longer needs one. */
  get #isSettled(): boolean {
    return this.#state === 'answered' || this.#state === 'over';
  }

  #finish(): void {
    if (this.#state !== 'answered') this.#state = 'over';
    this.#end();
  }
}

/** Statuses, besides 5xx, that do not tell what the server speaks. */
const saysNothing: ReadonlySet<number> = new Set([403, 408, 429]);

/** The error codes that only modern servers use; such a server need not name the id. */
const modernCodes: ReadonlySet<number> = new Set([
  ErrorCode.headerMismatch,
  ErrorCode.missingClientCapability,
  ErrorCode.unsupportedProtocolVersion,
]);

/** The error in a frame, whatever its id. An `id` of null counts as a missing one. */
function errorOf(frame: InboundFrame): WireError | undefined {
  if (frame.kind === 'stray-error') return frame.error;
  if (frame.kind !== 'response' || frame.outcome.ok || !('error' in frame.outcome))
    return undefined;
  return isJsonObject(frame.outcome.error) ? frame.outcome.error : undefined;
}

/** Callbacks for the outcome of a message. */
export interface MessageHearer {
  /** The server has accepted it. */
  taken(): void;
  /** The server has sent these on its answer. */
  heard(frames: readonly InboundFrame[]): void;
  /** The answer contained something that is not a message. */
  invalid(message: string): void;
  /** It got no answer, or was not accepted. */
  failed(error: RuntimeError): void;
  /** It was not served, for this reason: it may be sent once more. */
  returned(error: RuntimeError): void;
}

export class OutgoingMessage {
  readonly message: OutboundMessage;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** The id of a request. */
  readonly id: InboundResponse['id'] | undefined;
  readonly params: JsonObject | undefined;
  /** The revision that the request names, since 2026-07-28. */
  readonly revision: string | undefined;
  /** Its text. */
  readonly body: string;
  readonly #hearer: MessageHearer;

  constructor(message: OutboundMessage, body: string, hearer: MessageHearer) {
    this.message = message;
    this.body = body;
    this.#hearer = hearer;
    const isCall = 'method' in message;
    this.method = isCall ? message.method : undefined;
    this.params = isCall && isJsonObject(message.params) ? message.params : undefined;
    this.kind = !isCall ? 'response' : 'id' in message ? 'request' : 'notification';
    this.id = 'method' in message && 'id' in message ? message.id : undefined;
    const meta = this.params?.['_meta'];
    const revision = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
    this.revision = typeof revision === 'string' ? revision : undefined;
  }

  /** For errors. */
  get what(): string {
    return this.method ?? 'a response';
  }

  /** Whether a frame is the answer to it. Ids must have the same type. */
  isAnsweredBy(frame: InboundFrame): boolean {
    if (this.id === undefined) return false;
    if (frame.kind === 'response') return frame.id === this.id;
    if (frame.kind !== 'batch') return false;
    return frame.messages.some(
      (message) => isJsonObject(message) && message['id'] === this.id && !('method' in message),
    );
  }

  /** Makes the frame of an answer with this error. */
  answerWith(error: WireError): InboundFrame {
    return {
      kind: 'response',
      id: this.id as InboundResponse['id'],
      outcome: { ok: false, error },
    };
  }

  taken(): void {
    this.#hearer.taken();
  }

  heard(frames: readonly InboundFrame[]): void {
    this.#hearer.heard(frames);
  }

  invalid(message: string): void {
    this.#hearer.invalid(message);
  }

  failed(error: RuntimeError): void {
    this.#hearer.failed(error);
  }

  returned(error: RuntimeError): void {
    this.#hearer.returned(error);
  }
}
