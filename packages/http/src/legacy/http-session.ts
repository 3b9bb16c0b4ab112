/**
 * One HTTP session of a revision with a handshake: receives what the client posts, and sends each
 * outgoing message on the stream it belongs to.
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
import type { SwitchStore } from '../../../../src/server/session/session-scope.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { answerFailure, httpError, malformedResponse } from '../checks.ts';
import { EndpointSession, visibleTools } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import type { RequestAuthorization } from '../request-authorization.ts';
import { firstFence } from '../owner/owned-session.ts';
import type { LocalSession, OwnedSession } from '../owner/owned-session.ts';
import type { RestoredSession } from '../owner/ownership.ts';
import {
  changesByMessage,
  changesByResponse,
  replayFrames,
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
import { RecordedCalls } from './recorded-calls.ts';
import type { RecallingSession } from './recorded-calls.ts';
import type { SessionStream } from './session-stream.ts';
import { HttpSessionStreams, noStreams } from './session-streams.ts';
import type { StreamingSession } from './session-streams.ts';
import { notListed } from '../maintenance.ts';
import type { Maintained, Maintenance } from '../maintenance.ts';
import { RuntimeError, errorResponse } from '../../../../src/protocol/errors.ts';
import { Method } from '../../../../src/protocol/methods.ts';

/** Settings shared by all sessions of an endpoint. */
export interface SessionsContext extends AnswerContext {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly maintenance: Maintenance;
  readonly report: HttpReport;
  /** Undefined if no authorization is required. */
  readonly authorization: RequestAuthorization | undefined;
  readonly isClosing: boolean;
  /** Rejects a request that does not reach its session. */
  refuse(exchange: HttpExchange, answer: HttpAnswer): void;
  /** Called once the session has ended at this node. */
  ended(session: HttpSession): void;
}

export class HttpSession
  extends EndpointSession
  implements
    AnswerSession,
    StreamingSession,
    RecallingSession,
    LocalSession,
    Maintained,
    SlotHolder
{
  readonly id: string;
  /** Owner of the session; undefined without authorization. */
  readonly principal: Principal | undefined;
  readonly account: ClientAccount;
  readonly server: McpServer;
  /** The session's record in the shared store; undefined for a single node. */
  readonly owned: OwnedSession | undefined;
  listIndex = notListed;
  /** Time of last use, clock ms. */
  usedAt: number;
  readonly endpoint: SessionsContext;
  readonly listening: ListenOptions;
  #state = begunHttpSession;
  /** The client, if `initialize` was answered without actors. */
  #client: InitializedClient | undefined = undefined;
  #mcp: McpSession | undefined = undefined;
  /** Number of pending answers. */
  #pending = 0;
  /** Number of answers whose clients wait for the first byte. */
  #awaitingBytes = 0;
  #openStreams: HttpSessionStreams | undefined = undefined;
  /** Made when first needed. */
  #recordedCalls: RecordedCalls | undefined = undefined;
  /** Settles once recent enabled/disabled changes are stored; undefined if none are pending. */
  #switching: Promise<unknown> | undefined = undefined;

  constructor(
    server: McpServer,
    listening: ListenOptions,
    who: Pick<HttpSession, 'id' | 'principal' | 'account'>,
    endpoint: SessionsContext,
    owned?: (localSession: LocalSession) => OwnedSession,
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

  /**
   * The session actor, started on first access.
   *
   * @throws whatever the host's session code throws
   */
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

  /** Negotiated revision; undefined before `initialize`. */
  get dialect(): Dialect | undefined {
    return this.client?.dialect;
  }

  /** The client's description; undefined before `initialize`. */
  get client(): InitializedClient | undefined {
    return this.#client ?? this.#mcp?.actor.getSnapshot().context.client;
  }

  get priority(): SlotPriority {
    this.#markIdle();
    if (!this.#state.hasTag('evictable')) return this.#pending > 0 ? 'busy' : 'listening';
    return this.#state.hasTag('unused') ? 'unused' : 'idle';
  }

  // Messages from the client.

  /**
   * Answers `initialize` without the session actor, if possible.
   *
   * @returns false if the message must be posted to the session
   */
  initialize(exchange: HttpExchange, frame: InboundRequest): boolean {
    const greeting = this.#mcp ? undefined : answerInitialize(this.server, frame);
    if (!greeting) return false;
    this.#client = greeting.client;
    const { answer: greeted } = greeting;
    if (!greeted) return false;
    this.#move({ type: 'session.initializeAnswered' });
    const headers = { 'content-type': 'application/json', 'mcp-session-id': this.id };
    const answer = { status: 200, headers, body: greeted.body };
    this.#answerOnceSaved(exchange, this.#save(changesByResponse(frame, greeted.response)), answer);
    return true;
  }

  /** Continues a session from the record and event log of another process. */
  restore({ record, log }: RestoredSession): void {
    this.#mcp ??= this.#serve();
    if (log.length > 0) this.#streams.restore(log);
    for (const frame of replayFrames(record)) this.receive(frame);
  }

  /** Receives one message. Requests are answered; anything else is accepted with 202. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#checkVersion(exchange)) return;
    const isReady = this.#state.hasTag('answered') && isInitialized(frame);
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
        // The pending request is rejected even if the response is malformed.
        this.receive(frame);
        return exchange.answer(
          'malformed' in frame.outcome
            ? malformedResponse(frame.outcome.malformed)
            : this.#isOwnRequestId(frame.id)
              ? { status: 202 }
              : httpError(
                  400,
                  `The process that sent the request ${inspectValue(frame.id)} has ended`,
                ),
        );
      default:
        if (isReady) this.#move({ type: 'session.initialized' });
        else if (!this.#recallCancelled(exchange, frame)) this.receive(frame);
        this.#answerOnceSaved(exchange, this.#save(changesByMessage(frame)), { status: 202 });
    }
  }

  /** Passes on the cancellation of a call that an earlier process began, once the call is resumed. */
  #recallCancelled(exchange: HttpExchange, frame: InboundFrame): boolean {
    if (frame.kind !== 'notification' || frame.method !== Method.cancelled) return false;
    const stream = this.#openStreams?.orphanOf(frame.params?.['requestId']);
    const recalling = stream && this.recall(exchange, stream);
    const recalled = () => this.receive(frame);
    recalling?.then(recalled, recalled);
    return recalling !== undefined;
  }

  /** True for ids of this owner: requests sent by earlier owners ended with them. */
  #isOwnRequestId(id: unknown): boolean {
    const fence = this.#fence;
    return fence === firstFence || (typeof id === 'string' && id.includes(`-${fence}.`));
  }

  get #fence(): number {
    return this.owned?.fence ?? firstFence;
  }

  /** Stores changes before they are acknowledged; undefined if there is nothing to store. */
  #save(changes: readonly FactChange[]): Promise<void> | undefined {
    if (!this.owned || changes.length === 0) return undefined;
    const isBeginning = changes.some(({ slot }) => slot === 'initialize');
    if (!isBeginning) return this.owned.saveChanges(changes);
    return this.owned.begin(changes).catch((error: unknown) => {
      this.delete();
      throw error;
    });
  }

  /** Stores the changes that a response acknowledges. */
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

  /** Opens a standalone stream, or resumes one that was cut. */
  get(exchange: HttpExchange): void {
    if (!this.#checkVersion(exchange) || !this.#ensureServed(exchange)) return;
    this.#markUsed();
    this.#streams.get(exchange);
  }

  /** Deletes the session on all nodes and answers the client. */
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

  /** Rejects a request for another revision than the negotiated one. */
  #checkVersion(exchange: HttpExchange): boolean {
    const { protocolVersion: said } = exchange.head;
    const wrong = said === undefined ? undefined : this.dialect?.validateVersion(said);
    if (wrong !== undefined) this.endpoint.refuse(exchange, httpError(400, wrong));
    return wrong === undefined;
  }

  /** Set while another node may take over at once: only the handshake happened. */
  get movable(): OwnedSession | undefined {
    return this.#state.hasTag('movable') ? this.owned : undefined;
  }

  /**
   * Starts the session actor if necessary. On failure the request is answered and the session
   * deleted.
   */
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

  /** Ends the session for its client. */
  delete(): void {
    this.#move({ type: 'session.ended' });
  }

  /** Ends the local session, because another node may serve it from now on. */
  abandon(): void {
    this.#openStreams?.close(this.limits.retryMs);
    this.#move({ type: 'session.abandoned' });
  }

  get loggedEvents(): readonly StreamEvent[] {
    return this.#openStreams?.loggedEvents ?? [];
  }

  /** Handles a message as if the client had posted it. */
  receive(frame: InboundFrame): void {
    this.router.send({ type: 'frames.received', frames: [frame] });
  }

  /** Ends the session to free its slot. */
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
    // Calls may still be running, but their client disconnected and did not return for the answers.
    this.#move({ type: 'session.idled' });
    this.#move({ type: 'session.timedOut' });
  }

  /**
   * Resolves once the session is drained.
   *
   * @param drainTimeoutMs drain timeout in milliseconds, if shorter than the configured limit
   */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    if (!this.#mcp) return this.#move({ type: 'session.ended' });
    this.#mcp.shutdown(reason, drainTimeoutMs);
    await this.#mcp.closed;
  }

  // Used by the session's answers.

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
    const message = `The client disconnected before the request ${ids} was answered; the call continues, but its answer is lost`;
    formatReport(this.report, 'info', 'answer.lost', message);
  }

  onAnswerEnded(answer: PostAnswer): void {
    this.#pending--;
    this.#markFirstByte(answer);
    this.usedAt = this.clock.now();
    this.endpoint.maintenance.delete(answer);
  }

  /** Undefined if the session or its calls end with the process. */
  get recordedCalls(): RecordedCalls | undefined {
    const { durable } = this.listening;
    if (!durable || !this.owned) return undefined;
    return (this.#recordedCalls ??= new RecordedCalls(this, durable));
  }

  // Used by the session's streams.

  recall(
    exchange: HttpExchange,
    stream: SessionStream,
    number?: number,
  ): Promise<SessionStream | undefined> | undefined {
    return this.recordedCalls?.recall(exchange, { stream, number });
  }

  resumeCall(exchange: HttpExchange, stream: SessionStream, call: InboundRequest): void {
    const answer = new PostAnswer(exchange, this, call, stream);
    this.#pending++;
    this.endpoint.maintenance.add(answer);
    this.receive(withOrigin(call, answer));
  }

  firstEvent(lastId: string): string {
    return this.dialect?.firstEvent(lastId, this.limits.retryMs) ?? '';
  }

  get drainRetryMs(): number | undefined {
    // If only this endpoint closes, the client may continue at another node.
    return this.endpoint.isClosing ? this.limits.retryMs : undefined;
  }

  onStreamDisconnected(): void {
    this.usedAt = this.clock.now();
  }

  onStandaloneStream(is: 'opened' | 'closed'): void {
    this.#markUsed();
    this.notify({ type: `standaloneStream.${is}` });
  }

  // Lifecycle.

  #serve(): McpSession {
    const fence = this.#fence;
    const { randomId = () => crypto.randomUUID() } = this.listening;
    // Request ids of a restored session name the owner that sent them.
    const own = fence === firstFence ? {} : { randomId: () => `${fence}.${randomId()}` };
    const kept = this.owned ? { switches: this.#switchStore(this.owned) } : {};
    const more = { clock: this.clock, ...own, ...kept };
    const options = Object.assign({}, this.listening, more);
    const mcp = this.server.listen(
      ({ report }) => this.actors(report, this.account.quotas, this.#client),
      options,
    );
    this.#mcp = mcp;
    this.#move({ type: 'session.started' });
    return mcp;
  }

  /** Stores enabled/disabled changes; later responses wait until they are stored. */
  #switchStore(owned: OwnedSession): SwitchStore {
    return {
      initial: switchesOf(owned.record),
      save: (name, isEnabled) => {
        const noting = owned.saveChanges([switchChange(name, isEnabled)]);
        const switching = Promise.all([this.#switching, noting]);
        this.#switching = switching;
        const done = () => {
          if (this.#switching === switching) this.#switching = undefined;
        };
        switching.then(done, done);
      },
    };
  }

  /** The handshake does not count as use. */
  #markUsedBy(frame: InboundFrame): void {
    if (this.#state.hasTag('active') || !isHandshake(frame)) this.#markUsed();
    else this.usedAt = this.clock.now();
  }

  #markUsed(): void {
    this.usedAt = this.clock.now();
    if (!this.#state.hasTag('active')) this.#move({ type: 'session.used' });
  }

  #markIdle(): void {
    if (!this.#isBusy) this.#move({ type: 'session.idled' });
  }

  get #isBusy(): boolean {
    return this.#pending > 0 || this.#isConnected;
  }

  /** True while the client keeps a connection of the session open. */
  get #isConnected(): boolean {
    return this.#awaitingBytes > 0 || (this.#openStreams?.connections ?? 0) > 0;
  }

  #move(event: HttpSessionEvent): void {
    const before = this.#state;
    this.#state = nextHttpSession(before, event);
    if (this.#state.status === 'done' && before.status !== 'done') this.#onFinal(event);
  }

  override get isReady(): boolean {
    return this.#state.hasTag('initialized');
  }

  override greeted(): void {
    this.#move({ type: 'session.initializeAnswered' });
  }

  protected override ended(): void {
    // Before the start, the requests that started the session are answered instead.
    if (!this.#mcp) return;
    this.#openStreams?.close();
    this.#move({ type: 'session.ended' });
  }

  #onFinal({ type }: HttpSessionEvent): void {
    this.endpoint.ended(this);
    this.endpoint.maintenance.delete(this);
    // Calls in flight fail at once: the client is not coming back.
    this.#mcp?.shutdown(reasonOfEnd(type, this.limits.sessionIdleTimeoutMs), 0);
    this.#openStreams?.closeStandaloneStreams();
  }

  /** Created on first use: most sessions are idle most of the time. */
  get #streams(): HttpSessionStreams {
    return (this.#openStreams ??= new HttpSessionStreams(this));
  }

  /** View for dumps. */
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

  // Messages to the client.

  protected override onWritable(owner: Recipient<TransportFact>): void {
    super.onWritable(owner);
    this.#move({ type: 'session.actorsStarted' });
    // The client opens a standalone stream later, if ever.
    this.notify({ type: 'standaloneStream.closed' });
  }

  override drop(request: AnsweredInput): void {
    answerOf(request)?.drop();
  }

  send(event: FramesToSend): void {
    const { frames, relatedTo, reportTo } = event;
    const answer = answerOf(relatedTo);
    for (const frame of frames) {
      // Another node may already serve the session.
      if (!answer && this.owned && !this.owned.isServedHere) continue;
      const noting = answer && this.owned && this.#saveFor(answer.frame, frame);
      if (noting) {
        this.#sendOnceSaved(noting, answer, frame);
        continue;
      }
      // Responses need an answer to go with: another node answered the request, or the status has
      // already reported a malformed response.
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

  /** Sends a response once its changes are stored, or an error if they cannot be. */
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

/** Rejects a message that the client has no stream for. */
function undelivered(frame: OutboundFrame, reportTo: FramesToSend['reportTo']): void {
  if (!('method' in frame)) return;
  const message = `${frame.method} was not sent: the client has no open stream`;
  const error = new RuntimeError('TRANSPORT_CLOSED', message);
  reportTo?.send({ type: 'frame.rejected', frame, error });
}

/** The pending answer to a client's request. */
function answerOf(request: AnsweredInput | undefined): PostAnswer | undefined {
  return request?.origin instanceof PostAnswer ? request.origin : undefined;
}
