/**
 * A connection's way to a server over HTTP: Streamable HTTP in both eras, and the transport of
 * 2024-11-05.
 *
 * @see MCP 2025-11-25, basic/transports
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
import type { MachineActor } from '../../actors/transitions.ts';
import { Method } from '../../protocol/methods.ts';
import { decodeLine } from '../../protocol/codec.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { InboundFrame, JsonObject } from '../../protocol/frames.ts';
import type { ChannelEvent, ChannelReport, Loss } from '../../machines/connection-ports.ts';
import type { Behaviour, Ref } from '../../machines/port.ts';
import type { FramesToSend, RouterEvent } from '../../machines/peer-ports.ts';
import { placeOf } from './address.ts';
import type { HttpAddress } from './address.ts';
import type { HttpChannelOptions } from './channel-options.ts';
import { channelEnds } from './channel-ends.ts';
import { ChannelPosts } from './channel-posts.ts';
import { excerptOf, retryAfterMs } from './failures.ts';
import { mirroredHeaders } from './mirrored-headers.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import type { Posting } from './posting.ts';
import type { HttpSession, PostingChannel } from './posting.ts';
import { PushStream } from './push-stream.ts';
import { ReadGate } from './read-gate.ts';
import type { StreamEnd, StreamEnvironment } from './server-stream.ts';
import { discard } from './response.ts';
import type { HttpResponse } from './response.ts';
import { maxWaitingTold } from './post-queue.ts';
import { SseEndpoint } from './sse-endpoint.ts';
import { learnTools } from './tool-headers.ts';
import { HttpWire } from './wire.ts';
import type { Sent } from './wire.ts';

/** How long the end of a session may take, milliseconds: what is being told, and the DELETE. */
const endTimeoutMs = 2000;

/** `greeting`: no revision is agreed on. */
type Stage =
  | { readonly name: 'greeting' }
  | { readonly name: 'ready'; readonly revision: string }
  | { readonly name: 'closing' }
  | { readonly name: 'over' };

/** How far a session with `initialize` has come. */
type SessionStage = 'none' | 'greeted' | 'initialized' | 'proven';

type Unanswered = Exclude<Sent, { readonly kind: 'answered' | 'aborted' }>;

export class HttpChannel implements Behaviour<ChannelEvent>, PostingChannel {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly #address: HttpAddress;
  readonly #options: HttpChannelOptions;
  readonly #connection: Ref<ChannelReport>;
  readonly #posts: ChannelPosts;
  readonly #gate = new ReadGate();
  #stage: Stage = { name: 'greeting' };
  #session: HttpSession = { id: undefined };
  #sessionStage: SessionStage = 'none';
  #way: { readonly url: URL; readonly answers: 'here' | 'apart' };
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  #push: PushStream | undefined = undefined;
  #sse: SseEndpoint | undefined = undefined;
  /** How many requests wait for a login. */
  #challenges = 0;

  constructor(address: HttpAddress, options: HttpChannelOptions, connection: Ref<ChannelReport>) {
    this.#address = address;
    this.#options = options;
    this.#connection = connection;
    this.#way = { url: address.url, answers: 'here' };
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
    const { name: state } = this.#stage;
    const login = this.#options.authorization?.machine;
    return {
      state,
      session: this.#sessionStage,
      waitingBytes: this.#posts.queue.bytes,
      machines: [...this.streams.live, ...(login ? [login] : [])],
    };
  }

  receive(event: ChannelEvent): void {
    if (event.type === 'channel.close') void this.#close();
    else if (event.type === 'channel.negotiated' && this.#stage.name === 'greeting') {
      this.#stage = { name: 'ready', revision: event.revision };
      this.#openPush();
    }
  }

  stop(): void {
    this.#stage = { name: 'over' };
    this.#options.authorization?.close();
    this.#abort();
    this.#posts.queue.cancel();
  }

  // What its two ends do.

  /** Messages go to this router from now on; nothing is read while there is none. */
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

  /** A server that asks faster than it takes answers is not read until it has taken them. */
  watchAnswers(): void {
    const { waitingTold } = this.#posts.queue;
    if (waitingTold <= maxWaitingTold) return this.#gate.open('unanswered');
    if (!this.#gate.shut('unanswered')) return;
    const message = `More than ${maxWaitingTold} answers and notifications wait for ${placeOf(this.#way.url)} to take them: nothing more of it is read until then`;
    this.#problem('answers.waiting', message);
  }

  get isFull(): boolean {
    return this.#posts.queue.isFull;
  }

  // What its messages ask and tell.

  get takesCancellations(): boolean {
    return this.#sessionStage !== 'none' || this.#way.answers === 'apart';
  }

  get session(): HttpSession {
    return this.#session;
  }

  get target(): { readonly url: URL; readonly answers: 'here' | 'apart' } {
    return this.#way;
  }

  get maxDepth(): number {
    return this.#options.limits.maxDepth;
  }

  sessionHeaders({ id }: HttpSession): Record<string, string> {
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
    const stage = this.#stage;
    return stage.name === 'ready' ? { 'mcp-protocol-version': stage.revision } : {};
  }

  accepted({ message }: Posting, session: HttpSession, response: HttpResponse): void {
    if (session !== this.#session) return;
    if (message.method === Method.initialize) {
      this.#session = { id: response.header('mcp-session-id') };
      this.#sessionStage = 'greeted';
    } else if (message.method === Method.initialized) {
      if (this.#sessionStage === 'greeted') this.#sessionStage = 'initialized';
      this.#openPush();
    } else if (message.kind === 'request' && this.#sessionStage !== 'none') {
      this.#sessionStage = 'proven';
    }
  }

  expired(posting: Posting, session: HttpSession): void {
    const what = `${posting.what}: ${placeOf(this.#way.url)} does not know the session any more`;
    const error = new RuntimeError('CLOSED', what, { status: 404 });
    if (session !== this.#session) {
      // That was told before. If there is a new session already, nobody waits for one.
      if (this.#stage.name === 'ready') return this.#posts.sendAgain(posting);
      return posting.giveBack(error);
    }
    if (this.#sessionStage !== 'proven') {
      this.#tellUnproven();
      return posting.fail(error);
    }
    posting.giveBack(error);
    this.#expire(error);
  }

  lost(posting: Posting, sent: Unanswered): void {
    const { error } = sent;
    const isReady = this.#stage.name === 'ready';
    if (isReady && sent.kind === 'unreachable') posting.giveBack(error);
    if (sent.kind === 'unreachable') this.#tellLost({ kind: 'unreachable', error });
    else if (!isReady)
      this.#tellLost(lossOf(error, sent.kind === 'broken' ? 'unreachable' : 'refused'));
    posting.fail(error);
  }

  unavailable(_: Posting, response: HttpResponse, { message }: RuntimeError): void {
    if (this.#stage.name !== 'greeting') return;
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
    if (this.#sse || this.#stage.name !== 'greeting') return give();
    // It may be a server of 2024-11-05: there messages go elsewhere.
    this.#openSse(give, () => void posting.send());
  }

  learnTools(posting: Posting): Promise<void> {
    return learnTools(posting, this, this.#options.tools);
  }

  // Its streams and its end.

  #open(): void {
    // Nothing is read before somebody takes it.
    this.#gate.shut('untaken');
    this.#connection.send({ type: 'channel.opened', ends: channelEnds(this) });
  }

  #openPush(): void {
    const isDue = this.#sessionStage === 'initialized' || this.#sessionStage === 'proven';
    if (!isDue || this.#stage.name !== 'ready' || this.#push || this.#sse) return;
    const headers = { ...this.sessionHeaders(this.#session), ...this.#versionHeaders };
    const { report } = this.#options;
    this.#push = new PushStream(
      this.wire,
      { url: this.#way.url, headers },
      {
        received: (texts) => this.#received(texts, "the server's own stream"),
        absent: ({ message }) => report({ level: 'debug', name: 'stream.absent', message }),
        expired: () => (this.#sessionStage === 'proven' ? this.#expire() : this.#tellUnproven()),
        ended: (error, kind) => {
          report({ level: 'warning', name: 'stream.ended', message: error.message });
          if (kind === 'unreachable') this.#tellLost({ kind, error });
        },
      },
      this.streams,
    );
  }

  #openSse(failed: (error: RuntimeError, kind: StreamEnd) => void, opened: () => void): void {
    const streams = this.streams;
    this.#sse = new SseEndpoint(
      this.#address.url,
      this.wire,
      {
        opened: (url) => {
          this.#way = { url, answers: 'apart' };
          opened();
        },
        received: (texts) => this.#received(texts, 'the stream of events'),
        ended: (error, kind) => {
          if (this.#way.answers === 'here') failed(error, kind);
          else this.#tellLost({ kind: 'unreachable', error });
        },
      },
      streams,
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

  /** A session that has served nothing: with another one it would be the same, without end. */
  #tellUnproven(): void {
    const message = `${placeOf(this.#way.url)} does not know the session that it has just begun`;
    this.#tellLost({ kind: 'http', status: 404, message });
  }

  /** The session is no more: nothing that waits can be part of it. */
  #expire(
    error = new RuntimeError('CLOSED', 'The server does not know the session any more'),
  ): void {
    this.#session = { id: undefined };
    this.#sessionStage = 'none';
    this.#stage = { name: 'greeting' };
    this.#push?.close();
    this.#push = undefined;
    for (const posting of this.#posts.queue.takeWaiting()) posting.giveBack(error);
    this.#connection.send({ type: 'session.expired' });
  }

  #challenged(): () => void {
    const isConnecting = this.#stage.name === 'greeting';
    if (!isConnecting) return () => {};
    this.#challenges++;
    if (this.#challenges === 1) this.#connection.send({ type: 'channel.challenged' });
    return () => {
      this.#challenges--;
      if (this.#challenges > 0 || this.#stage.name !== 'greeting') return;
      this.#connection.send({ type: 'channel.authorized' });
    };
  }

  #tellLost(loss: Loss): void {
    const { name } = this.#stage;
    if (name === 'closing' || name === 'over') return;
    this.#connection.send({ type: 'channel.lost', loss });
  }

  async #close(): Promise<void> {
    const { name } = this.#stage;
    if (name === 'closing' || name === 'over') return;
    const headers = { ...this.sessionHeaders(this.#session), ...this.#versionHeaders };
    this.#stage = { name: 'closing' };
    // Nobody is sent to a login for what is said at the end.
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
    this.#stage = { name: 'over' };
    this.#connection.send({ type: 'channel.stopped' });
  }

  async #endSession(headers: JsonObject, signal: AbortSignal): Promise<void> {
    const { url } = this.#address;
    const what = 'the end of the session';
    const own = headers as Record<string, string>;
    const sent = await this.wire.send({ what, method: 'DELETE', url, headers: own, signal });
    // A server may keep it, or have forgotten it: either is its own affair.
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
