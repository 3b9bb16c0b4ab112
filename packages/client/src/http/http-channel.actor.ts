/**
 * Channel of a connection to a server over HTTP: Streamable HTTP in both eras, and the transport of
 * 2024-11-05.
 *
 * @see MCP 2025-11-25, basic/transports
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { chartActor } from '../../../../src/actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import type { WriterView } from '../../../../src/actors/writer/outbound-flow.ts';
import type { ChannelEvent, ChannelInput, ChannelReport } from '../channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import type {
  FramesToSend,
  RouterEvent,
  TransportFact,
  WriterEvent,
  TransportActors,
} from '../../../../src/machines/peer-ports.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Behaviour, Port, Recipient } from '../../../../src/machines/port.ts';
import { httpChannelChart } from './http-channel.machine.ts';
import type { HttpChannelEvent, HttpChannelSnapshot } from './http-channel.machine.ts';
import { stateName } from '../../../../src/machines/names.ts';
import type { RestartTimes } from '../channel/restart-policy.ts';
import { decodeLine } from '../../../../src/protocol/codec.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { InboundFrame } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { placeOf } from './address.ts';
import type { HttpAddress } from './address.ts';
import type { HttpAuthorization, LoginWatch } from './authorization.ts';
import { excerptOf, retryAfterMs } from './failures.ts';
import type { HttpTransport, TransportOwner } from './http-transport.ts';
import { mirroredHeaders, learnTools } from './tool-headers.ts';
import type { ToolParameters } from './tool-headers.ts';
import type { Post, PostOptions, PostSession } from './post.ts';
import { Posts, maxWaitingTold } from './posts.ts';
import type { PostedChannel } from './posts.ts';
import { ReadGate } from './server-stream.ts';
import { discard } from './response.ts';
import type { HttpResponse, SendRequest } from './response.ts';
import type { StreamEnd, StreamEnvironment } from './server-stream.ts';
import { SseTransport } from './sse-2024/sse-transport.ts';
import { StreamableHttp } from './streamable-http.ts';
import { HttpWire } from './wire.ts';
import type { SendOutcome } from './wire.ts';

/** Time limit for ending a session, ms: pending notifications and the DELETE. */
const endTimeoutMs = 2000;

/** Time the report of an unreachable server waits for other in-flight messages, ms. */
const refusalsTimeoutMs = 1000;

/** Actor logic of a channel to one endpoint. */
export function httpChannelActor(
  address: HttpAddress,
  options: HttpChannelOptions,
): Port<ChannelEvent, ChannelInput> {
  return plainActor(({ input }) => new HttpChannel(address, options, input.connection));
}

type Unanswered = Exclude<SendOutcome, { readonly kind: 'answered' }>;

class HttpChannel implements Behaviour<ChannelEvent>, PostedChannel, TransportOwner {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly options: HttpChannelOptions;
  transport: HttpTransport;
  session: PostSession = { id: undefined };
  readonly #url: URL;
  readonly #connection: Recipient<ChannelReport>;
  readonly #posts: Posts;
  readonly #gate = new ReadGate();
  #state: HttpChannelSnapshot = httpChannelChart.initial;
  readonly #shown = chartActor('http-channel', () => this.#state);
  /** Negotiated revision, sent once the chart reports the handshake as done. */
  #revision = '';
  #router: Recipient<RouterEvent> | undefined = undefined;
  /** Number of requests waiting for a login. */
  #challenges = 0;

  constructor(
    address: HttpAddress,
    options: HttpChannelOptions,
    connection: Recipient<ChannelReport>,
  ) {
    const { url } = address;
    this.#url = url;
    this.options = options;
    this.#connection = connection;
    const { limits, clock, times, observed, authorization } = options;
    this.#posts = new Posts(this);
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
    if (address.transport === 'streamable') {
      this.transport = new StreamableHttp(this, url);
      this.#open();
    } else {
      this.transport = new SseTransport(this, url, {
        opened: () => this.#open(),
        refused: (error, kind) => this.#tellLost(lossOf(error, kind)),
      });
    }
  }

  get view(): object {
    const login = this.options.authorization?.machine;
    return {
      state: stateName(this.#state),
      machines: [this.#shown, ...this.streams.live, ...(login ? [login] : [])],
    };
  }

  receive(event: ChannelEvent): void {
    if (event.type === 'channel.close') void this.#close();
    else if (event.type === 'channel.negotiated') {
      this.#move({ type: 'revision.agreed' });
      this.#revision = event.revision;
    }
  }

  stop(): void {
    this.#move({ type: 'channel.ended' });
    this.options.authorization?.close();
    this.transport.close();
    this.#posts.cancel();
  }

  // Methods for the reader and the writer.

  /** Delivers messages to this router from now on; nothing is read without a router. */
  readTo(router: Recipient<RouterEvent> | undefined): void {
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

  /** Pauses reading from a server that sends requests faster than it accepts the answers. */
  watchAnswers(): void {
    const { waitingTold } = this.#posts;
    if (waitingTold <= maxWaitingTold) return this.#gate.open('unanswered');
    if (!this.#gate.shut('unanswered')) return;
    const message = `More than ${maxWaitingTold} answers and notifications are queued for ${placeOf(this.transport.target)}: reading from it is paused until it accepts them`;
    this.problem('answers.waiting', message);
  }

  get isFull(): boolean {
    return this.#posts.isFull;
  }

  get queuedBytes(): number {
    return this.#posts.bytes;
  }

  // Methods for the channel's messages.

  get takesCancellations(): boolean {
    return this.#state.hasTag('session') || this.transport.answers === 'apart';
  }

  sessionHeaders({ id }: PostSession): Record<string, string> {
    const session: Record<string, string> = id === undefined ? {} : { 'mcp-session-id': id };
    return this.#isReady ? { ...session, 'mcp-protocol-version': this.#revision } : session;
  }

  messageHeaders({ method, params, revision }: Post, session: PostSession): Record<string, string> {
    const headers = this.sessionHeaders(session);
    if (revision === undefined || method === undefined) return headers;
    const parameters = method === 'tools/call' ? this.options.tools.of(params?.['name']) : [];
    const mirrored = mirroredHeaders(method, params, parameters);
    return Object.assign(headers, { 'mcp-protocol-version': revision }, mirrored);
  }

  accepted({ method, kind }: Post, session: PostSession, response: HttpResponse): void {
    if (session !== this.session) return;
    if (method === Method.initialize) {
      this.session = { id: response.header('mcp-session-id') };
      this.#move({ type: 'session.greeted' });
    } else if (method === Method.initialized) {
      this.#move({ type: 'session.initialized' });
      if (this.#isReady) this.transport.listen(this.sessionHeaders(session));
    } else if (kind === 'request' && !this.#state.hasTag('proven')) {
      this.#move({ type: 'session.proven' });
    }
  }

  expired(post: Post, session: PostSession): void {
    const what = `${post.what}: ${placeOf(this.transport.target)} no longer knows the session`;
    const error = new RuntimeError('CLOSED', what, { status: 404 });
    if (session !== this.session) {
      // The expiry is already reported. If a new session is ready, the message is sent in it.
      if (this.#isReady) return this.#posts.sendAgain(post);
      return post.giveBack(error);
    }
    if (!this.#state.hasTag('proven')) {
      this.#tellUnproven();
      return post.fail(error);
    }
    post.giveBack(error);
    this.#expire(error);
  }

  lost(post: Post, sent: Unanswered): void {
    const { error } = sent;
    const isReady = this.#isReady;
    if (isReady && sent.kind === 'unreachable') {
      post.giveBack(error);
      // Queued messages were not sent either.
      for (const waiting of this.#posts.takeWaiting()) waiting.giveBack(error);
      return void this.#tellUnreachable(error);
    }
    if (!isReady) this.#tellLost(lossOf(error, 'unreachable'));
    post.fail(error);
  }

  /**
   * Reports the loss after the other in-flight messages have failed too or timed out: rejected
   * messages can be returned only before the connection knows.
   */
  async #tellUnreachable(error: RuntimeError): Promise<void> {
    const { clock } = this.options;
    let timer: unknown;
    const overdue = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, refusalsTimeoutMs);
    });
    await Promise.race([this.#posts.headed(), overdue]);
    clock.clearTimeout(timer);
    this.#tellLost({ kind: 'unreachable', error });
  }

  unavailable(response: HttpResponse, { message }: RuntimeError): void {
    if (!this.#isGreeting) return;
    const waitMs = retryAfterMs(response);
    const retry = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    this.#tellLost({ kind: 'http', status: response.status, message, ...retry });
  }

  notGreeted(post: Post, error: RuntimeError): void {
    const { status = 0, message } = error;
    const give = (): void => {
      this.#tellLost({ kind: 'http', status, message });
      post.fail(error);
    };
    if (this.transport.answers === 'apart') return give();
    // A server of 2024-11-05 receives messages at another URL.
    const opened = (): void => void post.send();
    this.transport = new SseTransport(this, this.#url, { opened, refused: give });
  }

  learnTools(post: Post): Promise<void> {
    return learnTools(post, this);
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

  // Streams and shutdown of the channel.

  #open(): void {
    // Nothing is read before there is a router.
    this.#gate.shut('untaken');
    const reader: TransportActors['reader'] = plainActor(({ input: { router } }) => {
      this.readTo(router);
      return {
        receive: ({ type }) => this.flow(type === 'output.blocked'),
        stop: () => this.readTo(undefined),
      };
    });
    const writer: TransportActors['writer'] = plainActor(
      ({ input: { owner } }) => new HttpWriter(this, owner),
    );
    this.#connection.send({ type: 'channel.opened', ends: { reader, writer } });
  }

  // Methods for the transport.

  forgotten(): void {
    if (this.#state.hasTag('proven')) this.#expire();
    else this.#tellUnproven();
  }

  unreachable(error: RuntimeError): void {
    this.#tellLost({ kind: 'unreachable', error });
  }

  received(texts: readonly string[], where: string): void {
    this.deliver(this.decoded(texts, where));
  }

  decoded(texts: readonly string[], where: string): readonly InboundFrame[] {
    return texts.flatMap((text) => {
      const frame = decodeLine(text, this.options.limits.maxDepth);
      // The router fails the calls that an unreadable frame was to answer.
      if (frame.kind !== 'invalid' || frame.answers) return [frame];
      this.problem('frame.invalid', `On ${where}: ${frame.error.message}${excerptOf(text)}`);
      return [];
    });
  }

  deliver(frames: readonly InboundFrame[]): void {
    if (frames.length > 0) this.#router?.send({ type: 'frames.received', frames });
  }

  /**
   * Reports a session that expired before serving anything: new sessions would expire the same way,
   * endlessly.
   */
  #tellUnproven(): void {
    const message = `${placeOf(this.transport.target)} does not know the session it just created`;
    this.#tellLost({ kind: 'http', status: 404, message });
  }

  /** Ends the session: queued messages can only be sent in another one. */
  #expire(error = new RuntimeError('CLOSED', 'The server no longer knows the session')): void {
    this.session = { id: undefined };
    this.#move({ type: 'session.expired' });
    this.transport.forget();
    for (const post of this.#posts.takeWaiting()) post.giveBack(error);
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

  #tellLost(loss: ConnectionLoss): void {
    if (this.#state.matches('open')) this.#connection.send({ type: 'channel.lost', loss });
  }

  async #close(): Promise<void> {
    if (!this.#state.matches('open')) return;
    const headers = this.sessionHeaders(this.session);
    this.#move({ type: 'channel.close' });
    // The last messages must not send a person to a login.
    this.options.authorization?.close();
    this.transport.close();
    this.#posts.cancelRequests();
    const { clock } = this.options;
    const controller = new AbortController();
    const timer = clock.setTimeout(() => {
      controller.abort();
      this.#posts.cancel();
    }, endTimeoutMs);
    await this.#posts.told();
    if (this.session.id !== undefined) await this.#endSession(headers, controller.signal);
    clock.clearTimeout(timer);
    this.#move({ type: 'channel.ended' });
    this.#connection.send({ type: 'channel.stopped' });
  }

  async #endSession(headers: Record<string, string>, signal: AbortSignal): Promise<void> {
    const what = 'the end of the session';
    const sent = await this.wire.send({ what, method: 'DELETE', url: this.#url, headers, signal });
    // Any answer will do: the server may reject the DELETE, or have forgotten the session.
    if (sent.kind === 'answered') await discard(sent.response);
  }

  problem(name: string, message: string): void {
    this.options.report({ level: 'warning', name, message });
  }
}

function lossOf(error: RuntimeError, kind: StreamEnd): ConnectionLoss {
  const { status, code, message } = error;
  if (code === 'UNAUTHORIZED') return { kind: 'unauthorized', error };
  if (status !== undefined) return { kind: 'http', status, message };
  return kind === 'refused' ? { kind: 'refused', error } : { kind: 'unreachable', error };
}

/**
 * Writer of the channel. `blocked`: the queue is over its limit, and the connection was notified.
 */
class HttpWriter implements Behaviour<WriterEvent> {
  readonly #channel: HttpChannel;
  readonly #owner: Recipient<TransportFact>;
  #state: 'flowing' | 'blocked' = 'flowing';

  constructor(channel: HttpChannel, owner: Recipient<TransportFact>) {
    this.#channel = channel;
    this.#owner = owner;
  }

  get view(): WriterView {
    return { state: this.#state, queuedBytes: this.#channel.queuedBytes };
  }

  receive(event: WriterEvent): void {
    // A host never flushes, and never drops its server's requests.
    if (event.type !== 'frames.send') return;
    this.#channel.post(
      this.#state === 'blocked' ? this.#withoutRequests(event) : event,
      this.#left,
    );
    if (this.#state !== 'flowing' || !this.#channel.isFull) return;
    this.#state = 'blocked';
    this.#owner.send({ type: 'output.blocked' });
  }

  /** Rejects new requests, but not answers and notifications, which the server may wait for. */
  #withoutRequests(event: FramesToSend): FramesToSend {
    const isRequest = (frame: object): boolean => 'method' in frame && 'id' in frame;
    const message = 'The server accepts no messages and the queue is full';
    for (const frame of event.frames.filter(isRequest)) {
      const error = new RuntimeError('LIMIT_EXCEEDED', message);
      event.reportTo?.send({ type: 'frame.rejected', frame, error });
    }
    return { ...event, frames: event.frames.filter((frame) => !isRequest(frame)) };
  }

  readonly #left = (): void => {
    if (this.#state !== 'blocked' || this.#channel.isFull) return;
    this.#state = 'flowing';
    this.#owner.send({ type: 'output.flowing' });
  };
}

/** Options of a channel, besides its address. */
export interface HttpChannelOptions extends PostOptions {
  readonly clock: Clock;
  /** See `ChannelTools`. */
  readonly observed: ObservedScope;
  /** Backoff for resuming streams. */
  readonly times: RestartTimes;
  readonly send: SendRequest;
  /** Parameters of the server's tools that the connection's channels have seen. */
  readonly tools: ToolParameters;
  readonly authorization: HttpAuthorization | undefined;
  readonly logins: LoginWatch;
}
