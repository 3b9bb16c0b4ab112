/**
 * One message to the server: its POST and everything in the response. A request is always settled,
 * by its answer or by a failure.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Sending Messages"
 */
import type { Report } from '../../../../src/actors/facts.ts';
import type { FramesToSend } from '../../../../src/machines/peer-ports.ts';
import { postChart } from './post.machine.ts';
import type { PostEvent } from './post.machine.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { decodeLine, exceedsDepth } from '../../../../src/protocol/codec.ts';
import { ErrorCode, RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type {
  InboundFrame,
  WireError,
  InboundResponse,
  JsonObject,
  OutboundMessage,
} from '../../../../src/protocol/frames.ts';
import { MetaKey } from '../../../../src/protocol/meta.ts';
import { mediaTypeOf, readBody, refusalOf, discard, isOk } from './response.ts';
import { excerptOf, networkFailure, statusError, tooMuch, violation } from './failures.ts';
import type { HttpTransport } from './http-transport.ts';
import type { HttpResponse } from './response.ts';
import { ServerStream, eventHeaders } from './server-stream.ts';
import type { StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, SendOutcome } from './wire.ts';

/** Session of a message; without an id if the server assigned none. */
export interface PostSession {
  readonly id: string | undefined;
}

/** The channel as seen by its messages. */
export interface PostingChannel {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly options: PostOptions;
  readonly transport: HttpTransport;
  readonly session: PostSession;
  /** Headers of every request in a session. */
  sessionHeaders(session: PostSession): Record<string, string>;
  /** Headers of a message in a session. */
  messageHeaders(post: Post, session: PostSession): Record<string, string>;
  /** Decodes messages. Invalid ones are reported and dropped. */
  decoded(texts: readonly string[], where: string): readonly InboundFrame[];
  /** Delivers messages from the server. */
  deliver(frames: readonly InboundFrame[]): void;
  /** Reports a fault of the server that fails no request. */
  problem(name: string, message: string): void;
  /** The server accepted the message. `session` is read from the response. */
  accepted(post: Post, session: PostSession, response: HttpResponse): void;
  /** The server does not know the session: the message was not and will not be served. */
  expired(post: Post, session: PostSession): void;
  /** The server was unreachable, requires a login that cannot be obtained, or is out of service. */
  lost(post: Post, end: Exclude<SendOutcome, Answered>): void;
  unavailable(response: HttpResponse, error: RuntimeError): void;
  /** The handshake was rejected without evidence of an MCP server at this URL. */
  notGreeted(post: Post, error: RuntimeError): void;
  /** Fetches the tool list again: the tools may declare other headers by now. */
  learnTools(post: Post): Promise<void>;
}

/** Options for posting. */
export interface PostOptions {
  readonly limits: PostLimits;
  readonly report: Report;
  /** Parses a tool list, and returns it without tools that must not be called. */
  readonly tools: { read(result: JsonObject): JsonObject };
}

export interface PostLimits {
  /** Maximum concurrent requests; further ones are queued. Each uses a connection of its own. */
  readonly maxOpenRequests: number;
  /** Maximum bytes queued, or sent without response headers. */
  readonly maxOutboundBytes: number;
  readonly maxLineBytes: number;
  readonly maxDepth: number;
}

/** Where the fate of a message is reported. */
export interface PostCallbacks extends Pick<FramesToSend, 'reportTo' | 'receipt'> {
  /** The server has accepted the message. */
  readonly delivered?: (() => void) | undefined;
  /** The queue got shorter. */
  readonly left?: () => void;
  /** Receives the frames of the answer instead of the channel. */
  readonly heard?: (frames: readonly InboundFrame[]) => void;
}

type Answered = Extract<SendOutcome, { readonly kind: 'answered' }>;

export class Post implements StreamOwner {
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** Name of the message in errors. */
  readonly what: string;
  /** Id of a request. */
  readonly id: InboundResponse['id'] | undefined;
  readonly params: JsonObject | undefined;
  /** Revision named by the request, since 2026-07-28. */
  readonly revision: string | undefined;
  /** Encoded message. */
  readonly body: string;
  readonly callbacks: PostCallbacks;
  readonly #frame: OutboundMessage;
  readonly #channel: PostingChannel;
  readonly #controller = new AbortController();
  #session: PostSession = { id: undefined };
  #stream: ServerStream | undefined = undefined;
  #state = postChart.initial;
  /** Resolves once the response headers have arrived, or cannot arrive. */
  readonly headed: Promise<void>;
  #head!: () => void;
  /** Resolves once the message has ended. */
  readonly ended: Promise<void>;
  #end!: () => void;

  constructor(
    frame: OutboundMessage,
    body: string,
    channel: PostingChannel,
    callbacks: PostCallbacks,
  ) {
    const isCall = 'method' in frame;
    this.kind = !isCall ? 'response' : 'id' in frame ? 'request' : 'notification';
    this.method = isCall ? frame.method : undefined;
    this.what = this.method ?? 'a response';
    this.id = isCall && 'id' in frame ? frame.id : undefined;
    this.params = isCall && isJsonObject(frame.params) ? frame.params : undefined;
    const meta = this.params?.['_meta'];
    const revision = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
    this.revision = typeof revision === 'string' ? revision : undefined;
    this.body = body;
    this.callbacks = callbacks;
    this.#frame = frame;
    this.#channel = channel;
    this.headed = new Promise((resolve) => {
      this.#head = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** A copy of the message, as if never sent. */
  again(): Post {
    return new Post(this.#frame, this.body, this.#channel, this.callbacks);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get resumption(): 'by-id' | 'none' {
    return this.revision === undefined ? 'by-id' : 'none';
  }

  get isWaiting(): boolean {
    return this.#state.value === 'waiting';
  }

  /** Never rejects. */
  async send(): Promise<void> {
    this.#move('post.sent');
    try {
      await this.#post();
    } catch (cause) {
      this.#head();
      const message = `${this.what} was not sent: ${textOfError(cause)}`;
      this.fail(new RuntimeError('CLOSED', message, { cause }));
    }
  }

  async #post(): Promise<void> {
    const { wire, transport, session } = this.#channel;
    this.#session = session;
    const sent = await wire.send({
      what: this.what,
      method: 'POST',
      url: transport.target,
      headers: Object.assign(
        { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        this.#channel.messageHeaders(this, session),
      ),
      body: this.body,
      signal: this.#controller.signal,
    });
    this.#head();
    if (this.#state.value === 'over') {
      if (sent.kind === 'answered') await discard(sent.response);
    } else if (sent.kind !== 'answered') {
      this.#unanswered(sent);
    } else if (isOk(sent.response)) {
      await this.#read(sent);
    } else {
      await this.#refused(sent);
    }
  }

  /** Ends the message without an outcome. The server only sees the connection close. */
  cancel(): void {
    this.#move('post.cancelled');
    this.#controller.abort();
    this.#stream?.close();
    this.#head();
    this.#end();
  }

  /** Fails the message with this error. */
  fail(error: RuntimeError): void {
    if (this.#isSettled) return;
    this.#finish();
    if (this.callbacks.reportTo && this.kind !== 'response') this.#reject(error);
    else this.#channel.problem('output.lost', error.message);
  }

  /** Returns an unserved message to its sender: it may be sent again in another session. */
  giveBack(error: RuntimeError): void {
    if (this.#state.value === 'over') return;
    this.#finish();
    const { reportTo } = this.callbacks;
    if (this.kind === 'notification') this.#reject(error);
    else if (this.kind === 'request') {
      reportTo?.send({ type: 'frame.returned', frame: this.#frame, error });
    }
  }

  #reject(error: RuntimeError): void {
    const { reportTo, receipt } = this.callbacks;
    reportTo?.send({ type: 'frame.rejected', frame: this.#frame, error, receipt });
  }

  // Stream of the response.

  ask(lastEventId: string | undefined): Promise<SendOutcome> {
    const { wire, transport } = this.#channel;
    return wire.send({
      what: `the rest of ${this.what}`,
      method: 'GET',
      url: transport.target,
      headers: eventHeaders(this.#channel.sessionHeaders(this.#session), lastEventId),
      signal: this.signal,
    });
  }

  received(texts: readonly string[]): 'more' | 'all' {
    const frames = this.#channel.decoded(texts, `the answer to ${this.what}`);
    this.#hand(frames);
    if (!this.#isSettled && frames.some((frame) => this.#isMisnamedBy(frame))) {
      this.fail(violation(this.what, `must have the id ${this.id}, got one of another type`));
    }
    return this.#state.value === 'answered' ? 'all' : 'more';
  }

  paused(): void {
    this.callbacks.reportTo?.send({ type: 'frame.paused', frame: this.#frame });
  }

  gaveUp(error: RuntimeError): void {
    if (error.code !== 'CLOSED' && error.status === undefined) return this.fail(error);
    const message = `The stream of ${this.what} was cut before the answer and cannot be resumed: ${error.message}`;
    const unresumed = new RuntimeError('CLOSED', message, { cause: error });
    this.#unanswered({ kind: 'broken', error: error.status === undefined ? error : unresumed });
  }

  #hand(frames: readonly InboundFrame[]): void {
    if (this.#state.value === 'over') return;
    if (frames.some((frame) => this.#isAnsweredBy(frame))) this.#move('post.answered');
    const valid =
      this.revision === undefined ? frames : frames.flatMap((frame) => this.#modern(frame));
    if (this.callbacks.heard) this.callbacks.heard(valid);
    else this.#channel.deliver(valid);
    if (this.#state.value === 'answered') this.#end();
  }

  /** Filters frames that a modern server may not send, and tools that must not be called. */
  #modern(frame: InboundFrame): readonly InboundFrame[] {
    if (frame.kind === 'request') {
      const fault = `Request ${frame.method} in the answer to ${this.what}: servers of ${this.revision} must not send requests`;
      this.#channel.problem('request.unexpected', fault);
      return [];
    }
    const { method } = this;
    if (method !== 'tools/list' || frame.kind !== 'response' || !frame.outcome.ok) return [frame];
    const result = this.#channel.options.tools.read(frame.outcome.result);
    return [{ ...frame, outcome: { ok: true, result } }];
  }

  /** True if the frame answers this request. Ids must have the same type. */
  #isAnsweredBy(frame: InboundFrame): boolean {
    if (frame.kind === 'response') return frame.id === this.id;
    if (frame.kind === 'invalid') return frame.answers?.includes(this.id as never) ?? false;
    if (frame.kind !== 'batch') return false;
    return frame.messages.some(
      (message) => isJsonObject(message) && message['id'] === this.id && !('method' in message),
    );
  }

  #isMisnamedBy(frame: InboundFrame): boolean {
    return frame.kind === 'response' && String(frame.id) === String(this.id);
  }

  #unanswered(sent: Exclude<SendOutcome, Answered>): void {
    if (this.#state.value !== 'over') this.#channel.lost(this, sent);
  }

  async #read({ response, url }: Answered): Promise<void> {
    this.#channel.accepted(this, this.#session, response);
    const type = mediaTypeOf(response);
    if (this.kind !== 'request' || this.#channel.transport.answers === 'apart') {
      this.callbacks.delivered?.();
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
    const { maxDepth, maxLineBytes } = this.#channel.options.limits;
    const reading = await readBody(response, maxLineBytes);
    if (reading.kind === 'too-long') return this.fail(tooMuch(this.what, maxLineBytes));
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
        violation(
          this.what,
          `must be a JSON-RPC message: ${frame.error.message}${excerptOf(text)}`,
        ),
      );
    }
    this.#hand([frame]);
    // Building errors and excerpts costs more than the rest of an answer.
    if (this.#isSettled) return;
    this.fail(violation(this.what, `is a message that does not answer it${excerptOf(text)}`));
  }

  async #refused({ response, url }: Answered): Promise<void> {
    const { status } = response;
    const { kind, method } = this;
    const text = await refusalOf(response);
    if (this.#state.value === 'over') return;
    const isOfSession = this.revision === undefined && this.#session.id !== undefined;
    if ((status === 404 || status === 410) && isOfSession)
      return this.#channel.expired(this, this.#session);
    const frame = decodeLine(text, this.#channel.options.limits.maxDepth);
    const remote = errorOf(frame);
    const error = statusError(this.what, { status, url }, text, remote);
    if (saysNothing.has(status) || status >= 500) {
      this.#channel.unavailable(response, error);
    }
    if (kind !== 'request' || !remote) {
      if (method === 'initialize') return this.#channel.notGreeted(this, error);
      return this.fail(error);
    }
    if (remote.code === ErrorCode.headerMismatch && this.#mayLearn()) {
      await this.#channel.learnTools(this);
      return this.#post();
    }
    const { id } = this;
    if (this.#isAnsweredBy(frame)) this.#hand([frame]);
    else if (id !== undefined && modernCodes.has(remote.code))
      this.#hand([{ kind: 'response', id, outcome: { ok: false, error: remote } }]);
    else if (method === 'initialize') return this.#channel.notGreeted(this, error);
    this.fail(error);
  }

  /** Only once: a second list would say the same. */
  #mayLearn(): boolean {
    return this.method === 'tools/call' && this.#move('tools.wanted');
  }

  /** True if the message has its answer, or no longer needs one. */
  get #isSettled(): boolean {
    return this.#state.value === 'answered' || this.#state.value === 'over';
  }

  #finish(): void {
    this.#move('post.ended');
    this.#end();
  }

  /** @returns false if the state ignores the event */
  #move(type: PostEvent['type']): boolean {
    const before = this.#state;
    this.#state = postChart.next(before, { type });
    return this.#state !== before;
  }
}

/** Statuses, besides 5xx, that do not reveal the server's era. */
const saysNothing: ReadonlySet<number> = new Set([403, 408, 429]);

/** Error codes used only by modern servers, which need not name the id. */
const modernCodes: ReadonlySet<number> = new Set([
  ErrorCode.headerMismatch,
  ErrorCode.missingClientCapability,
  ErrorCode.unsupportedProtocolVersion,
]);

/** The error in a frame, regardless of its id. A null `id` counts as missing. */
function errorOf(frame: InboundFrame): WireError | undefined {
  if (frame.kind === 'stray-error') return frame.error;
  if (frame.kind !== 'response' || frame.outcome.ok || !('error' in frame.outcome))
    return undefined;
  return isJsonObject(frame.outcome.error) ? frame.outcome.error : undefined;
}
