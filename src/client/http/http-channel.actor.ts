/**
 * A connection's channel to a server over HTTP: Streamable HTTP in both eras, and the transport of
 * 2024-11-05.
 *
 * @see MCP 2025-11-25, basic/transports
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
import type { Clock } from '../../actors/clock.ts';
import type { MachineActor, ObservedScope } from '../../actors/transitions.ts';
import type { ChannelEvent, ChannelReport, Loss } from '../../machines/connection-ports.ts';
import type {
  FramesToSend,
  RouterEvent,
  TransportFact,
  WriterEvent,
  TransportEnds,
} from '../../machines/peer-ports.ts';
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Ref } from '../../machines/port.ts';
import { httpChannelChart } from '../../machines/http-channel.machine.ts';
import type { HttpChannelEvent, HttpChannelSnapshot } from '../../machines/http-channel.machine.ts';
import { stateName } from '../../machines/state-name.ts';
import type { RestartTimes } from '../../machines/restart-policy.ts';
import { decodeLine } from '../../protocol/codec.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { InboundFrame, JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { placeOf } from './address.ts';
import type { HttpAddress } from './address.ts';
import type { HttpAuthorization, LoginWatch } from './authorization.ts';
import { ChannelPosts, maxWaitingTold } from './posts.ts';
import { excerptOf, retryAfterMs } from './failures.ts';
import { mirroredHeaders, learnTools } from './tool-headers.ts';
import type { OutgoingMessage, Posting, PostSession, PostingChannel } from './post.ts';
import type { PostLimits, PostOptions } from './posts.ts';
import { PushStream } from './push-stream.ts';
import { ReadGate } from './server-stream.ts';
import { discard } from './response.ts';
import type { HttpResponse, SendRequest } from './response.ts';
import type { StreamEnd, StreamEnvironment } from './server-stream.ts';
import { SseEndpoint } from './sse-2024/sse-endpoint.ts';
import type { SseHearer } from './sse-2024/sse-endpoint.ts';
import { HttpWire } from './wire.ts';
import type { SendOutcome } from './wire.ts';

/**
 * How long the end of a session may take, milliseconds: the notifications under way, and the
 * DELETE.
 */
const endTimeoutMs = 2000;

type Unanswered = Exclude<SendOutcome, { readonly kind: 'answered' | 'aborted' }>;

export class HttpChannel implements Behaviour<ChannelEvent>, PostingChannel {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly #address: HttpAddress;
  readonly #options: HttpChannelOptions;
  readonly #connection: Ref<ChannelReport>;
  readonly #posts: ChannelPosts;
  readonly #gate = new ReadGate();
  #state: HttpChannelSnapshot = httpChannelChart.begun;
  /** The agreed revision; sent while the chart says that the handshake is done. */
  #revision = '';
  #session: PostSession = { id: undefined };
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  #push: PushStream | undefined = undefined;
  /** Set if the server speaks, or may speak, HTTP+SSE of 2024-11-05. */
  #sse: SseEndpoint | undefined = undefined;
  /** The number of requests that wait for a login. */
  #challenges = 0;

  constructor(address: HttpAddress, options: HttpChannelOptions, connection: Ref<ChannelReport>) {
    this.#address = address;
    this.#options = options;
    this.#connection = connection;
    const { limits, clock, times, observed, authorization } = options;
    this.#posts = new ChannelPosts(this, options, (frames) => this.#deliver(frames));
    const { maxLineBytes } = limits;
    const live = new Set<MachineActor>();
    this.streams = { clock, times, maxLineBytes, gate: this.#gate, observed, live };
    this.wire = new HttpWire(address, {
      send: options.send,
      authorization,
      logins: options.logins,
      relogged: () => connection.send({ type: 'login.changed' }),
      challenged: () => this.#challenged(),
    });
    authorization?.begin();
    if (address.transport === 'streamable') this.#open();
    else
      this.#openSse(
        (error, kind) => this.#tellLost(lossOf(error, kind)),
        () => this.#open(),
      );
  }

  get view(): object {
    const login = this.#options.authorization?.machine;
    return {
      state: stateName(this.#state),
      waitingBytes: this.#posts.queue.bytes,
      machines: [...this.streams.live, ...(login ? [login] : [])],
    };
  }

  receive(event: ChannelEvent): void {
    if (event.type === 'channel.close') void this.#close();
    else if (event.type === 'channel.negotiated' && this.#isGreeting) {
      this.#move({ type: 'revision.agreed' });
      this.#revision = event.revision;
      this.#openPush();
    }
  }

  stop(): void {
    this.#move({ type: 'channel.ended' });
    this.#options.authorization?.close();
    this.#abort();
    this.#posts.queue.cancel();
  }

  // For its reader and its writer.

  /** Sends messages to this router from now on; nothing is read without a router. */
  readTo(router: Pick<Ref<RouterEvent>, 'send'> | undefined): void {
    this.#router = router;
    if (router) this.#gate.open('untaken');
    else this.#gate.shut('untaken');
  }

  flow(isBlocked: boolean): void {
    if (isBlocked) this.#gate.shut('unsent');
    else this.#gate.open('unsent');
  }

  post(frames: FramesToSend, left: () => void): void {
    this.#posts.post(frames, left);
  }

  /**
   * If a server sends requests faster than it takes the answers, reading waits until it has taken
   * them.
   */
  watchAnswers(): void {
    const { waitingTold } = this.#posts.queue;
    if (waitingTold <= maxWaitingTold) return this.#gate.open('unanswered');
    if (!this.#gate.shut('unanswered')) return;
    const message = `More than ${maxWaitingTold} answers and notifications wait for ${placeOf(this.target)} to take them: nothing more of it is read until then`;
    this.#problem('answers.waiting', message);
  }

  get isFull(): boolean {
    return this.#posts.queue.isFull;
  }

  // For its messages.

  get takesCancellations(): boolean {
    return this.#state.hasTag('session') || this.takesAnswersApart;
  }

  get session(): PostSession {
    return this.#session;
  }

  get target(): URL {
    return this.#sse?.endpoint ?? this.#address.url;
  }

  get takesAnswersApart(): boolean {
    return this.#sse?.endpoint !== undefined;
  }

  get maxDepth(): number {
    return this.#options.limits.maxDepth;
  }

  sessionHeaders({ id }: PostSession): Record<string, string> {
    return id === undefined ? {} : { 'mcp-session-id': id };
  }

  messageHeaders({ method, params, revision }: OutgoingMessage): Record<string, string> {
    if (revision !== undefined && method !== undefined) {
      const parameters = method === 'tools/call' ? this.#options.tools.of(params?.['name']) : [];
      const mirrored = mirroredHeaders(method, params, parameters);
      return Object.assign({ 'mcp-protocol-version': revision }, mirrored);
    }
    return this.#versionHeaders;
  }

  get #versionHeaders(): Record<string, string> {
    return this.#isReady ? { 'mcp-protocol-version': this.#revision } : {};
  }

  accepted({ message }: Posting, session: PostSession, response: HttpResponse): void {
    if (session !== this.#session) return;
    if (message.method === Method.initialize) {
      this.#session = { id: response.header('mcp-session-id') };
      this.#move({ type: 'session.greeted' });
    } else if (message.method === Method.initialized) {
      this.#move({ type: 'session.initialized' });
      this.#openPush();
    } else if (message.kind === 'request' && !this.#state.hasTag('proven')) {
      this.#move({ type: 'session.proven' });
    }
  }

  expired(posting: Posting, session: PostSession): void {
    const what = `${posting.what}: ${placeOf(this.target)} does not know the session any more`;
    const error = new RuntimeError('CLOSED', what, { status: 404 });
    if (session !== this.#session) {
      // The expiry was already reported. If a new session is ready, the message is sent in it.
      if (this.#isReady) return this.#posts.sendAgain(posting);
      return posting.giveBack(error);
    }
    if (!this.#state.hasTag('proven')) {
      this.#tellUnproven();
      return posting.fail(error);
    }
    posting.giveBack(error);
    this.#expire(error);
  }

  lost(posting: Posting, sent: Unanswered): void {
    const { error } = sent;
    const isReady = this.#isReady;
    if (isReady && sent.kind === 'unreachable') posting.giveBack(error);
    if (sent.kind === 'unreachable') this.#tellLost({ kind: 'unreachable', error });
    else if (!isReady)
      this.#tellLost(lossOf(error, sent.kind === 'broken' ? 'unreachable' : 'refused'));
    posting.fail(error);
  }

  unavailable(_: Posting, response: HttpResponse, { message }: RuntimeError): void {
    if (!this.#isGreeting) return;
    const waitMs = retryAfterMs(response);
    const retry = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    this.#tellLost({ kind: 'http', status: response.status, message, ...retry });
  }

  notGreeted(posting: Posting, error: RuntimeError): void {
    const { status = 0, message } = error;
    const give = (): void => {
      this.#tellLost({ kind: 'http', status, message });
      posting.fail(error);
    };
    if (this.#sse || !this.#isGreeting) return give();
    // It may be a server of 2024-11-05, whose messages go to another URL.
    this.#openSse(give, () => void posting.send());
  }

  learnTools(posting: Posting): Promise<void> {
    return learnTools(posting, this, this.#options.tools);
  }

  get #isGreeting(): boolean {
    return this.#state.matches({ open: { handshake: 'greeting' } });
  }

  get #isReady(): boolean {
    return this.#state.matches({ open: { handshake: 'done' } });
  }

  #move(event: HttpChannelEvent): void {
    this.#state = httpChannelChart.next(this.#state, event);
  }

  // Its streams and its closing.

  #open(): void {
    // Nothing is read before there is a router.
    this.#gate.shut('untaken');
    this.#connection.send({ type: 'channel.opened', ends: channelEnds(this) });
  }

  #openPush(): void {
    const isDue = this.#isReady && this.#state.hasTag('listening');
    if (!isDue || this.#push || this.#sse) return;
    const headers = { ...this.sessionHeaders(this.#session), ...this.#versionHeaders };
    const { report } = this.#options;
    this.#push = new PushStream(
      this.wire,
      { url: this.target, headers },
      {
        received: (texts) => this.#received(texts, "the server's own stream"),
        absent: ({ message }) => report({ level: 'debug', name: 'stream.absent', message }),
        expired: () => (this.#state.hasTag('proven') ? this.#expire() : this.#tellUnproven()),
        ended: (error, kind) => {
          report({ level: 'warning', name: 'stream.ended', message: error.message });
          if (kind === 'unreachable') this.#tellLost({ kind, error });
        },
      },
      this.streams,
    );
  }

  #openSse(refused: SseHearer['refused'], opened: () => void): void {
    this.#sse = new SseEndpoint(
      this.#address.url,
      this.wire,
      {
        opened,
        received: (texts) => this.#received(texts, 'the stream of events'),
        refused,
        lost: (error) => this.#tellLost({ kind: 'unreachable', error }),
      },
      this.streams,
    );
  }

  #received(texts: readonly string[], where: string): void {
    const frames = texts.map((text) => [text, decodeLine(text, this.maxDepth)] as const);
    const valid: InboundFrame[] = [];
    for (const [text, frame] of frames) {
      if (frame.kind !== 'invalid') valid.push(frame);
      else this.#problem('frame.invalid', `On ${where}: ${frame.error.message}${excerptOf(text)}`);
    }
    if (valid.length > 0) this.#deliver(valid);
  }

  #deliver(frames: readonly InboundFrame[]): void {
    this.#router?.send({ type: 'frames.received', frames });
  }

  /** The session has served nothing: a new one would expire in the same way, without end. */
  #tellUnproven(): void {
    const message = `${placeOf(this.target)} does not know the session that it has just begun`;
    this.#tellLost({ kind: 'http', status: 404, message });
  }

  /** The session is over: waiting messages can only be sent in another one. */
  #expire(
    error = new RuntimeError('CLOSED', 'The server does not know the session any more'),
  ): void {
    this.#session = { id: undefined };
    this.#move({ type: 'session.expired' });
    this.#push?.close();
    this.#push = undefined;
    for (const posting of this.#posts.queue.takeWaiting()) posting.giveBack(error);
    this.#connection.send({ type: 'session.expired' });
  }

  #challenged(): () => void {
    if (!this.#isGreeting) return () => {};
    this.#challenges++;
    if (this.#challenges === 1) this.#connection.send({ type: 'channel.challenged' });
    return () => {
      this.#challenges--;
      if (this.#challenges > 0 || !this.#isGreeting) return;
      this.#connection.send({ type: 'channel.authorized' });
    };
  }

  #tellLost(loss: Loss): void {
    if (this.#state.matches('open')) this.#connection.send({ type: 'channel.lost', loss });
  }

  async #close(): Promise<void> {
    if (!this.#state.matches('open')) return;
    const headers = { ...this.sessionHeaders(this.#session), ...this.#versionHeaders };
    this.#move({ type: 'channel.close' });
    // The last messages must not send a person to a login.
    this.#options.authorization?.close();
    this.#abort();
    this.#posts.queue.cancelRequests();
    const { clock } = this.#options;
    const controller = new AbortController();
    const timer = clock.setTimeout(() => {
      controller.abort();
      this.#posts.queue.cancel();
    }, endTimeoutMs);
    await this.#posts.queue.told();
    if (this.#session.id !== undefined) await this.#endSession(headers, controller.signal);
    clock.clearTimeout(timer);
    this.#move({ type: 'channel.ended' });
    this.#connection.send({ type: 'channel.stopped' });
  }

  async #endSession(headers: JsonObject, signal: AbortSignal): Promise<void> {
    const { url } = this.#address;
    const what = 'the end of the session';
    const own = headers as Record<string, string>;
    const sent = await this.wire.send({ what, method: 'DELETE', url, headers: own, signal });
    // Any answer will do: the server may refuse the DELETE, or have forgotten the session.
    if (sent.kind === 'answered') await discard(sent.response);
  }

  #abort(): void {
    this.#push?.close();
    this.#sse?.close();
  }

  #problem(name: string, message: string): void {
    this.#options.report({ level: 'warning', name, message });
  }
}

function lossOf(error: RuntimeError, kind: StreamEnd): Loss {
  const { status, code, message } = error;
  if (code === 'UNAUTHORIZED') return { kind: 'unauthorized', error };
  if (status !== undefined) return { kind: 'http', status, message };
  return kind === 'refused' ? { kind: 'refused', error } : { kind: 'unreachable', error };
}

/** The channel, as its reader and writer see it. */
export interface EndedChannel {
  /** Whether the queue is over its limit. */
  readonly isFull: boolean;
  readonly view: object;
  readTo(router: Pick<Ref<RouterEvent>, 'send'> | undefined): void;
  flow(isBlocked: boolean): void;
  post(frames: FramesToSend, left: () => void): void;
}

function channelEnds(channel: EndedChannel): TransportEnds {
  return {
    reader: plainActor(({ input: { router } }) => {
      channel.readTo(router);
      return {
        receive: ({ type }) => channel.flow(type === 'output.blocked'),
        stop: () => channel.readTo(undefined),
      };
    }),
    writer: plainActor(({ input: { owner } }) => new HttpWriter(channel, owner)),
  };
}

/** `blocked`: the queue is over its limit, and the connection was told. */
class HttpWriter implements Behaviour<WriterEvent> {
  readonly #channel: EndedChannel;
  readonly #owner: Ref<TransportFact>;
  #state: 'flowing' | 'blocked' | 'ended' = 'flowing';

  constructor(channel: EndedChannel, owner: Ref<TransportFact>) {
    this.#channel = channel;
    this.#owner = owner;
  }

  get view(): object {
    return this.#channel.view;
  }

  receive(event: WriterEvent): void {
    // Everything was handed to the platform or is counted elsewhere.
    if (event.type === 'output.flush') this.#owner.send({ type: 'output.flushed' });
    if (event.type !== 'frames.send') return;
    this.#channel.post(
      this.#state === 'blocked' ? this.#withoutRequests(event) : event,
      this.#left,
    );
    if (this.#state !== 'flowing' || !this.#channel.isFull) return;
    this.#state = 'blocked';
    this.#owner.send({ type: 'output.blocked' });
  }

  stop(): void {
    this.#state = 'ended';
  }

  /** Refuses new requests, but not answers and notifications, for which the server may wait. */
  #withoutRequests(event: FramesToSend): FramesToSend {
    const isRequest = (frame: object): boolean => 'method' in frame && 'id' in frame;
    const message = 'The server takes nothing: too much waits for it already';
    for (const frame of event.frames.filter(isRequest)) {
      event.rejected?.(new RuntimeError('LIMIT_EXCEEDED', message), frame);
    }
    return { ...event, frames: event.frames.filter((frame) => !isRequest(frame)) };
  }

  readonly #left = (): void => {
    if (this.#state !== 'blocked' || this.#channel.isFull) return;
    this.#state = 'flowing';
    this.#owner.send({ type: 'output.flowing' });
  };
}

/** The options of a channel, besides its address. */
export interface HttpChannelOptions extends PostOptions {
  readonly limits: PostLimits & { readonly maxLineBytes: number; readonly maxDepth: number };
  readonly clock: Clock;
  /** See `ChannelTools`. */
  readonly observed: ObservedScope;
  /** How streams are resumed. */
  readonly times: RestartTimes;
  readonly send: SendRequest;
  readonly authorization: HttpAuthorization | undefined;
  readonly logins: LoginWatch;
}
