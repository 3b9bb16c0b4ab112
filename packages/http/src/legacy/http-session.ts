/**
 * One session over HTTP, of the revisions with a handshake: what its client posts goes in, and what
 * it says goes on the stream that it belongs to.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { shortenedId } from '../../../../src/actors/writer/http-view.ts';
import type { HttpSessionView } from '../../../../src/actors/writer/http-view.ts';
import { stateName } from '../../../../src/machines/names.ts';
import type { Recipient } from '../../../../src/machines/port.ts';
import { begunHttpSession, nextHttpSession, reasonOfEnd } from './http-session.machine.ts';
import type { HttpSessionEvent } from './http-session.machine.ts';
import type { FramesToSend, TransportFact } from '../../../../src/machines/peer-ports.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import type { Dialect } from '../../../../src/protocol/dialects/dialect.ts';
import { withOrigin } from '../../../../src/protocol/frames.ts';
import type {
  InboundFrame,
  InboundRequest,
  AnsweredInput,
  OutboundFrame,
  WireError,
} from '../../../../src/protocol/frames.ts';
import type { InitializedClient } from '../../../../src/protocol/initialize.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { isWatched } from '../../../../src/server/create-server.ts';
import type { ListenOptions, McpServer } from '../../../../src/server/create-server.ts';
import type { SwitchKeeper } from '../../../../src/server/session/session-scope.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { answerFailure, httpError, malformedResponse } from '../checks.ts';
import { EndpointSession, visibleTools } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import type { RequestAuthorization } from '../request-authorization.ts';
import { firstFence } from '../owner/owned-session.ts';
import type { OwnedCopy, OwnedSession } from '../owner/owned-session.ts';
import type { WokenSession } from '../owner/ownership.ts';
import {
  changesByMessage,
  changesByResponse,
  framesOf,
  switchChange,
  switchesOf,
} from '../nodes/session-facts.ts';
import { unavailable } from '../owner/store-errors.ts';
import type { FactChange, StreamEvent } from '../nodes/stores.ts';
import type { HttpLimits } from '../options.ts';
import type { SlotPriority, ClientAccount, SlotHolder } from '../session-slots.ts';
import { answerInitialize, isHandshake, isInitialized } from './handshake.ts';
import { PostAnswer } from '../answers.ts';
import type { AnswerContext, AnswerSession } from '../answers.ts';
import type { SessionStream } from './session-stream.ts';
import { HttpSessionStreams, noStreams } from './session-streams.ts';
import type { StreamingSession } from './session-streams.ts';
import { notListed } from '../maintenance.ts';
import type { Maintained, Maintenance } from '../maintenance.ts';
import { RuntimeError, errorResponse } from '../../../../src/protocol/errors.ts';

/** What all sessions of an endpoint have in common. */
export interface SessionsContext extends AnswerContext {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly maintenance: Maintenance;
  readonly report: HttpReport;
  /** Undefined if everybody may use the endpoint. */
  readonly authorization: RequestAuthorization | undefined;
  readonly isClosing: boolean;
  /** Answers a request that does not reach its session. */
  refuse(exchange: HttpExchange, answer: HttpAnswer): void;
  /** The session is over here. */
  ended(session: HttpSession): void;
}

export class HttpSession
  extends EndpointSession
  implements AnswerSession, StreamingSession, OwnedCopy, Maintained, SlotHolder
{
  readonly id: string;
  /** Whose session it is; undefined without authorization. */
  readonly principal: Principal | undefined;
  readonly account: ClientAccount;
  readonly server: McpServer;
  /** What is written down of it for other nodes; undefined if there are none. */
  readonly owned: OwnedSession | undefined;
  listIndex = notListed;
  /** When it was last used, the clock's milliseconds. */
  usedAt: number;
  readonly endpoint: SessionsContext;
  readonly listening: ListenOptions;
  /** Where it is. */
  #state = begunHttpSession;
  /** Its client, if it was answered before there were actors. */
  #client: InitializedClient | undefined = undefined;
  #mcp: McpSession | undefined = undefined;
  /** How many answers are due. */
  #pending = 0;
  /** Answers whose client waits for the first byte. */
  #awaitingBytes = 0;
  #openStreams: HttpSessionStreams | undefined = undefined;
  /** Settles once what was enabled or disabled lately is written down. */
  #switching: Promise<unknown> | undefined = undefined;

  constructor(
    server: McpServer,
    listening: ListenOptions,
    who: Pick<HttpSession, 'id' | 'principal' | 'account'>,
    endpoint: SessionsContext,
    owned?: (copy: OwnedCopy) => OwnedSession,
  ) {
    super();
    this.endpoint = endpoint;
    this.listening = listening;
    this.id = who.id;
    this.principal = who.principal;
    this.account = who.account;
    this.owned = owned?.(this);
    this.server = server;
    this.usedAt = endpoint.clock.now();
    if (isWatched(listening)) this.#serve();
    endpoint.maintenance.add(this);
  }

  /** The session that is served. @throws what the host's code throws that begins it */
  get mcp(): McpSession {
    return this.#mcp ?? this.#serve();
  }

  get limits(): HttpLimits {
    return this.endpoint.limits;
  }

  get maintenance(): Maintenance {
    return this.endpoint.maintenance;
  }

  get clock(): Clock {
    return this.endpoint.clock;
  }

  /** The revision that was negotiated; undefined before that. */
  get dialect(): Dialect | undefined {
    return this.client?.dialect;
  }

  /** Its client, once that has said who it is. */
  get client(): InitializedClient | undefined {
    return this.#client ?? this.#mcp?.actor.getSnapshot().context.client;
  }

  get priority(): SlotPriority {
    this.#markIdle();
    if (!this.#state.hasTag('evictable')) return this.#pending > 0 ? 'busy' : 'listening';
    return this.#state.hasTag('unasked') ? 'greeted' : 'idle';
  }

  // What the client sends.

  /**
   * Answers the message that begins it, if the session does not have to see it.
   * @returns false if the message is to be posted
   */
  initialize(exchange: HttpExchange, frame: InboundRequest): boolean {
    const greeting = this.#mcp ? undefined : answerInitialize(this.server, frame);
    if (!greeting) return false;
    this.#client = greeting.client;
    const { answer: greeted } = greeting;
    if (!greeted) return false;
    this.#move({ type: 'session.greeted' });
    const headers = { 'content-type': 'application/json', 'mcp-session-id': this.id };
    const answer = { status: 200, headers, body: greeted.body };
    this.#answerOnceSaved(exchange, this.#save(changesByResponse(frame, greeted.response)), answer);
    return true;
  }

  /** Goes on with what another process has written down of it. */
  restore({ record, log }: WokenSession): void {
    this.#mcp ??= this.#serve();
    if (log.length > 0) this.#streams.restore(log);
    for (const frame of framesOf(record)) this.receive(frame);
  }

  /** Takes one message. What needs an answer is answered; anything else is accepted. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#checkVersion(exchange)) return;
    const isReady = this.#state.hasTag('greeted') && isInitialized(frame);
    if (!isReady && !this.#ensureServed(exchange)) return;
    const { authorization } = this.endpoint;
    const overreach = authorization?.checkScopes(exchange, frame, visibleTools(this, exchange));
    if (overreach) return exchange.answer(overreach);
    this.#markUsedBy(frame);
    switch (frame.kind) {
      case 'request':
      case 'batch':
      case 'invalid': {
        const answer = new PostAnswer(exchange, this, frame);
        this.#pending++;
        this.#awaitingBytes++;
        this.endpoint.maintenance.add(answer);
        return this.receive(withOrigin(frame, answer));
      }
      case 'response':
        // What waits for it is told if it cannot be read.
        this.receive(frame);
        return exchange.answer(
          'malformed' in frame.outcome
            ? malformedResponse(frame.outcome.malformed)
            : this.#isOwnRequestId(frame.id)
              ? { status: 202 }
              : httpError(
                  400,
                  `The process that has sent the request ${inspectValue(frame.id)} has ended`,
                ),
        );
      default:
        if (isReady) this.#move({ type: 'session.readied' });
        else this.receive(frame);
        this.#answerOnceSaved(exchange, this.#save(changesByMessage(frame)), { status: 202 });
    }
  }

  /** An earlier owner's requests have ended with it. */
  #isOwnRequestId(id: unknown): boolean {
    const fence = this.#fence;
    return fence === firstFence || (typeof id === 'string' && id.includes(`-${fence}.`));
  }

  get #fence(): number {
    return this.owned?.fence ?? firstFence;
  }

  /** Writes down what has changed, before it is acknowledged; undefined if there is nothing to wait for. */
  #save(changes: readonly FactChange[]): Promise<void> | undefined {
    if (!this.owned || changes.length === 0) return undefined;
    const isBeginning = changes.some(({ slot }) => slot === 'initialize');
    if (!isBeginning) return this.owned.note(changes);
    return this.owned.begin(changes).catch((error: unknown) => {
      this.delete();
      throw error;
    });
  }

  /** The same for what a frame acknowledges. */
  #saveFor(request: InboundFrame, frame: OutboundFrame): Promise<void> | undefined {
    const changes = changesByResponse(request, frame);
    const switching = 'method' in frame ? undefined : this.#switching;
    return switching?.then(() => this.#save(changes)) ?? this.#save(changes);
  }

  #answerOnceSaved(
    exchange: HttpExchange,
    noting: Promise<void> | undefined,
    answer: HttpAnswer,
  ): void {
    if (!noting) return exchange.answer(answer);
    noting.then(
      () => exchange.answer(answer),
      (error: unknown) => exchange.answer(unavailable(error, this.report)),
    );
  }

  /** Opens a stream for what belongs to no request, or goes on with one that was cut. */
  get(exchange: HttpExchange): void {
    if (!this.#checkVersion(exchange) || !this.#ensureServed(exchange)) return;
    this.#markUsed();
    this.#streams.get(exchange);
  }

  /** Ends it, here and at all other nodes, and answers the client that asked for it. */
  deletedBy(exchange: HttpExchange): void {
    if (!this.#checkVersion(exchange)) return;
    if (!this.owned) {
      this.delete();
      return exchange.answer({ status: 204 });
    }
    this.owned.remove().then(
      () => {
        this.delete();
        exchange.answer({ status: 204 });
      },
      (error: unknown) => this.endpoint.refuse(exchange, unavailable(error, this.report)),
    );
  }

  /** Refuses a request that names another revision than the session has. */
  #checkVersion(exchange: HttpExchange): boolean {
    const { protocolVersion: said } = exchange.head;
    const wrong = said === undefined ? undefined : this.dialect?.validateVersion(said);
    if (wrong !== undefined) this.endpoint.refuse(exchange, httpError(400, wrong));
    return wrong === undefined;
  }

  /** What another node may go on with at once: it has a greeting, and no actors. */
  get movable(): OwnedSession | undefined {
    return this.#state.hasTag('movable') ? this.owned : undefined;
  }

  /** Begins to serve the session, if it was only greeted. If that fails, the request is answered. */
  #ensureServed(exchange: HttpExchange): boolean {
    if (this.#mcp) return true;
    try {
      this.#serve();
      return true;
    } catch (error) {
      answerFailure(exchange, { error, needed: 'session', report: this.endpoint.report });
      this.delete();
      return false;
    }
  }

  /** Its client has ended it. */
  delete(): void {
    this.#move({ type: 'session.ended' });
  }

  /** Another node may serve it from now on. */
  abandon(): void {
    this.#openStreams?.close(this.limits.retryMs);
    this.#move({ type: 'session.abandoned' });
  }

  get said(): readonly StreamEvent[] {
    return this.#openStreams?.loggedEvents ?? [];
  }

  /** Takes a message as if its client had posted it. */
  receive(frame: InboundFrame): void {
    this.router.send({ type: 'frames.received', frames: [frame] });
  }

  /** Its place is needed. */
  evict(): void {
    this.#move({ type: 'session.evicted' });
  }

  tick(now: number): void {
    this.#openStreams?.trim();
    this.#markIdle();
    const { sessionIdleTimeoutMs } = this.limits;
    const { owned } = this;
    const isUsed = owned && (this.usedAt > owned.touchedAt || this.#isBusy);
    if (isUsed && now - owned.touchedAt >= sessionIdleTimeoutMs / 4) owned.touch(now);
    if (this.#isConnected || now - this.usedAt < sessionIdleTimeoutMs) return;
    // Calls may still run: their client has left them, and has not come back for the answers.
    this.#move({ type: 'session.quieted' });
    this.#move({ type: 'session.overdue' });
  }

  /**
   * Ends when the session is drained.
   * @param drainTimeoutMs a shorter drain time than the limit, milliseconds
   */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    if (!this.#mcp) return this.#move({ type: 'session.ended' });
    this.#mcp.shutdown(reason, drainTimeoutMs);
    await this.#mcp.closed;
  }

  // What its answers ask.

  get isInitialized(): boolean {
    return Boolean(this.dialect);
  }

  get pollAfterMs(): number | undefined {
    return this.firstEvent('0') === '' ? undefined : this.limits.retryMs;
  }

  openStream(answer: PostAnswer): SessionStream {
    this.#markFirstByte(answer);
    return this.#streams.make(answer.requestIds);
  }

  #markFirstByte(answer: PostAnswer): void {
    if (answer.isAwaited) this.#awaitingBytes--;
    answer.isAwaited = false;
  }

  onAnswerLost(answer: PostAnswer): void {
    this.#markFirstByte(answer);
    this.usedAt = this.clock.now();
    const ids = answer.requestIds.map((id) => inspectValue(id)).join(', ');
    const message = `The client left before the request ${ids} was answered; the call goes on, and its answer is lost`;
    formatReport(this.report, 'info', 'answer.lost', message);
  }

  onAnswerEnded(answer: PostAnswer): void {
    this.#pending--;
    this.#markFirstByte(answer);
    this.usedAt = this.clock.now();
    this.endpoint.maintenance.delete(answer);
  }

  // What its streams ask.

  firstEvent(lastId: string): string {
    return this.dialect?.firstEvent(lastId, this.limits.retryMs) ?? '';
  }

  get drainRetryMs(): number | undefined {
    // If only this endpoint ends, its client may go on at another node.
    return this.endpoint.isClosing ? this.limits.retryMs : undefined;
  }

  onStreamDisconnected(): void {
    this.usedAt = this.clock.now();
  }

  onStandaloneStream(is: 'opened' | 'closed'): void {
    this.#markUsed();
    this.notify({ type: `ownStream.${is}` });
  }

  // Its life.

  #serve(): McpSession {
    const fence = this.#fence;
    const { randomId = () => crypto.randomUUID() } = this.listening;
    // The requests of a session that was brought back tell which owner has sent them.
    const own = fence === firstFence ? {} : { randomId: () => `${fence}.${randomId()}` };
    const kept = this.owned ? { switches: this.#switchKeeper(this.owned) } : {};
    const more = { clock: this.clock, ...own, ...kept };
    const options = Object.assign({}, this.listening, more);
    const mcp = this.server.listen(
      ({ report }) => this.actors(report, this.account.quotas, this.#client),
      options,
    );
    this.#mcp = mcp;
    this.#move({ type: 'session.listened' });
    return mcp;
  }

  /** Writes down what is enabled and disabled in it: what it answers from then on waits for that. */
  #switchKeeper(owned: OwnedSession): SwitchKeeper {
    return {
      made: switchesOf(owned.record),
      note: (name, isEnabled) => {
        const noting = owned.note([switchChange(name, isEnabled)]);
        const switching = Promise.all([this.#switching, noting]);
        this.#switching = switching;
        const done = () => {
          if (this.#switching === switching) this.#switching = undefined;
        };
        switching.then(done, done);
      },
    };
  }

  /** A greeting does not count as use: its client has asked for nothing yet. */
  #markUsedBy(frame: InboundFrame): void {
    if (this.#state.hasTag('active') || !isHandshake(frame)) this.#markUsed();
    else this.usedAt = this.clock.now();
  }

  #markUsed(): void {
    this.usedAt = this.clock.now();
    if (!this.#state.hasTag('active')) this.#move({ type: 'session.used' });
  }

  #markIdle(): void {
    if (!this.#isBusy) this.#move({ type: 'session.quieted' });
  }

  get #isBusy(): boolean {
    return this.#pending > 0 || this.#isConnected;
  }

  /** True while the client holds a connection of the session open. */
  get #isConnected(): boolean {
    return this.#awaitingBytes > 0 || (this.#openStreams?.connections ?? 0) > 0;
  }

  #move(event: HttpSessionEvent): void {
    const before = this.#state;
    this.#state = nextHttpSession(before, event);
    if (this.#state.status === 'done' && before.status !== 'done') this.#onFinal(event);
  }

  override get isReady(): boolean {
    return this.#state.hasTag('ready');
  }

  override greeted(): void {
    this.#move({ type: 'session.greeted' });
  }

  protected override ended(): void {
    // If it has not begun, those who wanted it are told.
    if (!this.#mcp) return;
    this.#openStreams?.close();
    this.#move({ type: 'session.ended' });
  }

  #onFinal({ type }: HttpSessionEvent): void {
    this.endpoint.ended(this);
    this.endpoint.maintenance.delete(this);
    // What is still in flight is answered with an error at once: the client does not come back.
    this.#mcp?.shutdown(reasonOfEnd(type, this.limits.sessionIdleTimeoutMs), 0);
    this.#openStreams?.closeStandaloneStreams();
  }

  /** Made when it is first needed: most sessions are idle most of the time. */
  get #streams(): HttpSessionStreams {
    return (this.#openStreams ??= new HttpSessionStreams(this));
  }

  /** As a dump shows it. */
  get view(): HttpSessionView {
    const { principal, limits } = this;
    return {
      kind: 'session',
      id: shortenedId(this.id),
      state: stateName(this.#state),
      quietMs: Math.round(this.clock.now() - this.usedAt),
      ...(principal ? { principal: principal.id } : {}),
      due: this.#pending,
      ...(this.#openStreams?.view ?? noStreams(limits)),
    };
  }

  // What it says.

  protected override onWritable(owner: Recipient<TransportFact>): void {
    super.onWritable(owner);
    this.#move({ type: 'session.served' });
    // The client opens its first stream later, if ever.
    this.notify({ type: 'ownStream.closed' });
  }

  override drop(request: AnsweredInput): void {
    answerOf(request)?.drop();
  }

  send(event: FramesToSend): void {
    const { frames, relatedTo, reportTo } = event;
    const answer = answerOf(relatedTo);
    for (const frame of frames) {
      // Another node may have said more by now.
      if (!answer && this.owned && !this.owned.isHere) continue;
      const noting = answer && this.owned && this.#saveFor(answer.frame, frame);
      if (noting) {
        this.#sendOnceSaved(noting, answer, frame);
        continue;
      }
      // Another node has answered the request, or the frame says that an answer cannot be read: the
      // status has said so, and no response goes on a stream that belongs to no request.
      if (!answer && (relatedTo?.origin || !('method' in frame))) continue;
      const text = encodeFrame(frame, (message, error) =>
        this.reportUnserializable(message, error, event),
      );
      if (text === '') continue;
      if (!answer) {
        const onDropped = 'id' in frame ? () => undelivered(frame, reportTo) : undefined;
        this.#streams.push({ text, onDropped });
      } else if (!answer.send(frame, text)) undelivered(frame, reportTo);
    }
  }

  /** Sends a response once other nodes know what its request has changed; if they cannot be told, an error. */
  #sendOnceSaved(noting: Promise<void>, answer: PostAnswer, frame: OutboundFrame): void {
    const send = (response: OutboundFrame) => {
      const text = encodeFrame(response, (message, error) =>
        this.reportUnserializable(message, error),
      );
      answer.send(response, text);
    };
    noting.then(
      () => send(frame),
      (error: unknown) => {
        const refusal = unavailable(error, this.report);
        if (answer.headersUnsent) return answer.refuse(refusal);
        const { error: told } = JSON.parse(refusal.body ?? '') as { readonly error: WireError };
        for (const id of answer.requestIds) send(errorResponse(id, told));
      },
    );
  }
}

/** Rejects a request or notification because the client has no stream for it. */
function undelivered(frame: OutboundFrame, reportTo: FramesToSend['reportTo']): void {
  if (!('method' in frame)) return;
  const message = `${frame.method} was not sent: the client has no stream that it could go on`;
  const error = new RuntimeError('TRANSPORT_CLOSED', message);
  reportTo?.send({ type: 'frame.rejected', frame, error });
}

/** The answer that a client's request waits for. */
function answerOf(request: AnsweredInput | undefined): PostAnswer | undefined {
  return request?.origin instanceof PostAnswer ? request.origin : undefined;
}
