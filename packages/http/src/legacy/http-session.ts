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
import { EndpointSession, toolsSeenIn } from '../endpoint-session.actor.ts';
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
import { unavailable } from '../owner/unavailable.ts';
import type { FactChange, StreamEvent } from '../nodes/stores.ts';
import type { HttpLimits } from '../options.ts';
import type { Claim, ClientKey, SlotHolder } from '../session-slots.ts';
import { greet, isGreeting, isReadiness } from './greeting.ts';
import { PostAnswer } from '../answers.ts';
import type { AnsweringHome, AnsweringSession } from '../answers.ts';
import type { SessionStream } from './session-stream.ts';
import { HttpSessionStreams, noStreams } from './session-streams.ts';
import type { StreamingSession } from './session-streams.ts';
import { notListed } from '../maintenance.ts';
import type { Maintained, Maintenance } from '../maintenance.ts';
import { RuntimeError, errorResponse } from '../../../../src/protocol/errors.ts';

/** What all sessions of an endpoint have in common. */
export interface SessionHome extends AnsweringHome {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly upkeep: Maintenance;
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
  implements AnsweringSession, StreamingSession, OwnedCopy, Maintained, SlotHolder
{
  readonly id: string;
  /** Whose session it is; undefined without authorization. */
  readonly principal: Principal | undefined;
  readonly party: ClientKey;
  readonly server: McpServer;
  /** What is written down of it for other nodes; undefined if there are none. */
  readonly share: OwnedSession | undefined;
  place = notListed;
  /** When it was last used, the clock's milliseconds. */
  usedAt: number;
  readonly home: SessionHome;
  readonly listening: ListenOptions;
  /** Where it is. */
  #life = begunHttpSession;
  /** Its client, if it was answered before there were actors. */
  #client: InitializedClient | undefined = undefined;
  #mcp: McpSession | undefined = undefined;
  /** How many answers are due. */
  #due = 0;
  /** Answers whose client waits for the first byte. */
  #awaited = 0;
  #made: HttpSessionStreams | undefined = undefined;
  /** Settles once what was enabled or disabled lately is written down. */
  #switching: Promise<unknown> | undefined = undefined;

  constructor(
    server: McpServer,
    listening: ListenOptions,
    who: Pick<HttpSession, 'id' | 'principal' | 'party'>,
    home: SessionHome,
    share?: (copy: OwnedCopy) => OwnedSession,
  ) {
    super();
    this.home = home;
    this.listening = listening;
    this.id = who.id;
    this.principal = who.principal;
    this.party = who.party;
    this.share = share?.(this);
    this.server = server;
    this.usedAt = home.clock.now();
    if (isWatched(listening)) this.#serve();
    home.upkeep.add(this);
  }

  /** The session that is served. @throws what the host's code throws that begins it */
  get mcp(): McpSession {
    return this.#mcp ?? this.#serve();
  }

  get limits(): HttpLimits {
    return this.home.limits;
  }

  get upkeep(): Maintenance {
    return this.home.upkeep;
  }

  get clock(): Clock {
    return this.home.clock;
  }

  /** The revision that was negotiated; undefined before that. */
  get dialect(): Dialect | undefined {
    return this.client?.dialect;
  }

  /** Its client, once that has said who it is. */
  get client(): InitializedClient | undefined {
    return this.#client ?? this.#mcp?.actor.getSnapshot().context.client;
  }

  get claim(): Claim {
    this.#quiet();
    if (!this.#life.hasTag('evictable')) return this.#due > 0 ? 'busy' : 'listening';
    return this.#life.hasTag('unasked') ? 'greeted' : 'idle';
  }

  // What the client sends.

  /**
   * Answers the message that begins it, if the session does not have to see it.
   * @returns false if the message is to be posted
   */
  greet(exchange: HttpExchange, frame: InboundRequest): boolean {
    const greeting = this.#mcp ? undefined : greet(this.server, frame);
    if (!greeting) return false;
    this.#client = greeting.client;
    const { answer: greeted } = greeting;
    if (!greeted) return false;
    this.#live({ type: 'session.greeted' });
    const headers = { 'content-type': 'application/json', 'mcp-session-id': this.id };
    const answer = { status: 200, headers, body: greeted.body };
    this.#answerOnceNoted(
      exchange,
      this.#noting(changesByResponse(frame, greeted.response)),
      answer,
    );
    return true;
  }

  /** Goes on with what another process has written down of it. */
  wake({ record, log }: WokenSession): void {
    this.#mcp ??= this.#serve();
    if (log.length > 0) this.#streams.restore(log);
    for (const frame of framesOf(record)) this.receive(frame);
  }

  /** Takes one message. What needs an answer is answered; anything else is accepted. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (!this.#isMeantBy(exchange)) return;
    const isReady = this.#life.hasTag('greeted') && isReadiness(frame);
    if (!isReady && !this.#isServedTo(exchange)) return;
    const { authorization } = this.home;
    const overreach = authorization?.overreach(exchange, frame, toolsSeenIn(this, exchange));
    if (overreach) return exchange.answer(overreach);
    this.#useFor(frame);
    switch (frame.kind) {
      case 'request':
      case 'batch':
      case 'invalid': {
        const answer = new PostAnswer(exchange, this, frame);
        this.#due++;
        this.#awaited++;
        this.home.upkeep.add(answer);
        return this.receive(withOrigin(frame, answer));
      }
      case 'response':
        // What waits for it is told if it cannot be read.
        this.receive(frame);
        return exchange.answer(
          'malformed' in frame.outcome
            ? malformedResponse(frame.outcome.malformed)
            : this.#isAskedHere(frame.id)
              ? { status: 202 }
              : httpError(
                  400,
                  `The process that has sent the request ${inspectValue(frame.id)} has ended`,
                ),
        );
      default:
        if (isReady) this.#live({ type: 'session.readied' });
        else this.receive(frame);
        this.#answerOnceNoted(exchange, this.#noting(changesByMessage(frame)), { status: 202 });
    }
  }

  /** An earlier owner's requests have ended with it. */
  #isAskedHere(id: unknown): boolean {
    const fence = this.#fence;
    return fence === firstFence || (typeof id === 'string' && id.includes(`-${fence}.`));
  }

  get #fence(): number {
    return this.share?.fence ?? firstFence;
  }

  /** Writes down what has changed, before it is acknowledged; undefined if there is nothing to wait for. */
  #noting(changes: readonly FactChange[]): Promise<void> | undefined {
    if (!this.share || changes.length === 0) return undefined;
    const isBeginning = changes.some(({ slot }) => slot === 'initialize');
    if (!isBeginning) return this.share.note(changes);
    return this.share.begin(changes).catch((error: unknown) => {
      this.delete();
      throw error;
    });
  }

  /** The same for what a frame acknowledges. */
  #notingBy(request: InboundFrame, frame: OutboundFrame): Promise<void> | undefined {
    const changes = changesByResponse(request, frame);
    const switching = 'method' in frame ? undefined : this.#switching;
    return switching?.then(() => this.#noting(changes)) ?? this.#noting(changes);
  }

  #answerOnceNoted(
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
    if (!this.#isMeantBy(exchange) || !this.#isServedTo(exchange)) return;
    this.#use();
    this.#streams.get(exchange);
  }

  /** Ends it, here and at all other nodes, and answers the client that asked for it. */
  deletedBy(exchange: HttpExchange): void {
    if (!this.#isMeantBy(exchange)) return;
    if (!this.share) {
      this.delete();
      return exchange.answer({ status: 204 });
    }
    this.share.remove().then(
      () => {
        this.delete();
        exchange.answer({ status: 204 });
      },
      (error: unknown) => this.home.refuse(exchange, unavailable(error, this.report)),
    );
  }

  /** Refuses a request that names another revision than the session has. */
  #isMeantBy(exchange: HttpExchange): boolean {
    const { protocolVersion: said } = exchange.head;
    const wrong = said === undefined ? undefined : this.dialect?.versionFault(said);
    if (wrong !== undefined) this.home.refuse(exchange, httpError(400, wrong));
    return wrong === undefined;
  }

  /** What another node may go on with at once: it has a greeting, and no actors. */
  get movable(): OwnedSession | undefined {
    return this.#life.hasTag('movable') ? this.share : undefined;
  }

  /** Begins to serve the session, if it was only greeted. If that fails, the request is answered. */
  #isServedTo(exchange: HttpExchange): boolean {
    if (this.#mcp) return true;
    try {
      this.#serve();
      return true;
    } catch (error) {
      answerFailure(exchange, { error, needed: 'session', report: this.home.report });
      this.delete();
      return false;
    }
  }

  /** Its client has ended it. */
  delete(): void {
    this.#live({ type: 'session.ended' });
  }

  /** Another node may serve it from now on. */
  abandon(): void {
    this.#made?.close(this.limits.retryMs);
    this.#live({ type: 'session.abandoned' });
  }

  get said(): readonly StreamEvent[] {
    return this.#made?.said ?? [];
  }

  /** Takes a message as if its client had posted it. */
  receive(frame: InboundFrame): void {
    this.router.send({ type: 'frames.received', frames: [frame] });
  }

  /** Its place is needed. */
  evict(): void {
    this.#live({ type: 'session.evicted' });
  }

  tend(now: number): void {
    this.#made?.trim();
    this.#quiet();
    const { sessionIdleTimeoutMs } = this.limits;
    const { share } = this;
    const isUsed = share && (this.usedAt > share.touchedAt || this.#isBusy);
    if (isUsed && now - share.touchedAt >= sessionIdleTimeoutMs / 4) share.touch(now);
    if (this.#isConnected || now - this.usedAt < sessionIdleTimeoutMs) return;
    // Calls may still run: their client has left them, and has not come back for the answers.
    this.#live({ type: 'session.quieted' });
    this.#live({ type: 'session.overdue' });
  }

  /**
   * Ends when the session is drained.
   * @param drainTimeoutMs a shorter drain time than the limit, milliseconds
   */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    if (!this.#mcp) return this.#live({ type: 'session.ended' });
    this.#mcp.shutdown(reason, drainTimeoutMs);
    await this.#mcp.closed;
  }

  // What its answers ask.

  get isBegun(): boolean {
    return Boolean(this.dialect);
  }

  get pollAfterMs(): number | undefined {
    return this.firstEvent('0') === '' ? undefined : this.limits.retryMs;
  }

  openStream(answer: PostAnswer): SessionStream {
    this.#unawait(answer);
    return this.#streams.make(answer.answers);
  }

  #unawait(answer: PostAnswer): void {
    if (answer.isAwaited) this.#awaited--;
    answer.isAwaited = false;
  }

  answerLost(answer: PostAnswer): void {
    this.#unawait(answer);
    this.usedAt = this.clock.now();
    const ids = answer.answers.map((id) => inspectValue(id)).join(', ');
    const message = `The client left before the request ${ids} was answered; the call goes on, and its answer is lost`;
    formatReport(this.report, 'info', 'answer.lost', message);
  }

  answerEnded(answer: PostAnswer): void {
    this.#due--;
    this.#unawait(answer);
    this.usedAt = this.clock.now();
    this.home.upkeep.delete(answer);
  }

  // What its streams ask.

  firstEvent(lastId: string): string {
    return this.dialect?.firstEvent(lastId, this.limits.retryMs) ?? '';
  }

  get drainRetryMs(): number | undefined {
    // If only this endpoint ends, its client may go on at another node.
    return this.home.isClosing ? this.limits.retryMs : undefined;
  }

  streamLeft(): void {
    this.usedAt = this.clock.now();
  }

  ownStream(is: 'opened' | 'closed'): void {
    this.#use();
    this.tell({ type: `ownStream.${is}` });
  }

  // Its life.

  #serve(): McpSession {
    const fence = this.#fence;
    const { randomId = () => crypto.randomUUID() } = this.listening;
    // The requests of a session that was brought back tell which owner has sent them.
    const own = fence === firstFence ? {} : { randomId: () => `${fence}.${randomId()}` };
    const kept = this.share ? { switches: this.#keeperOf(this.share) } : {};
    const more = { clock: this.clock, ...own, ...kept };
    const options = Object.assign({}, this.listening, more);
    const mcp = this.server.listen(
      ({ report }) => this.actors(report, this.party.shares, this.#client),
      options,
    );
    this.#mcp = mcp;
    this.#live({ type: 'session.listened' });
    return mcp;
  }

  /** Writes down what is enabled and disabled in it: what it answers from then on waits for that. */
  #keeperOf(share: OwnedSession): SwitchKeeper {
    return {
      made: switchesOf(share.record),
      note: (name, isEnabled) => {
        const noting = share.note([switchChange(name, isEnabled)]);
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
  #useFor(frame: InboundFrame): void {
    if (this.#life.hasTag('active') || !isGreeting(frame)) this.#use();
    else this.usedAt = this.clock.now();
  }

  #use(): void {
    this.usedAt = this.clock.now();
    if (!this.#life.hasTag('active')) this.#live({ type: 'session.used' });
  }

  #quiet(): void {
    if (!this.#isBusy) this.#live({ type: 'session.quieted' });
  }

  get #isBusy(): boolean {
    return this.#due > 0 || this.#isConnected;
  }

  /** True while the client holds a connection of the session open. */
  get #isConnected(): boolean {
    return this.#awaited > 0 || (this.#made?.connections ?? 0) > 0;
  }

  #live(event: HttpSessionEvent): void {
    const before = this.#life;
    this.#life = nextHttpSession(before, event);
    if (this.#life.status === 'done' && before.status !== 'done') this.#over(event);
  }

  override get isReady(): boolean {
    return this.#life.hasTag('ready');
  }

  override greeted(): void {
    this.#live({ type: 'session.greeted' });
  }

  protected override ended(): void {
    // If it has not begun, those who wanted it are told.
    if (!this.#mcp) return;
    this.#made?.close();
    this.#live({ type: 'session.ended' });
  }

  #over({ type }: HttpSessionEvent): void {
    const { upkeep } = this.home;
    this.home.ended(this);
    upkeep.delete(this);
    // What is still in flight is answered with an error at once: the client does not come back.
    this.#mcp?.shutdown(reasonOfEnd(type, this.limits.sessionIdleTimeoutMs), 0);
    this.#made?.closeOwnStream();
  }

  /** Made when it is first needed: most sessions are idle most of the time. */
  get #streams(): HttpSessionStreams {
    return (this.#made ??= new HttpSessionStreams(this));
  }

  /** As a dump shows it. */
  get view(): HttpSessionView {
    const { principal, limits } = this;
    return {
      kind: 'session',
      id: shortenedId(this.id),
      state: stateName(this.#life),
      quietMs: Math.round(this.clock.now() - this.usedAt),
      ...(principal ? { principal: principal.id } : {}),
      due: this.#due,
      ...(this.#made?.view ?? noStreams(limits)),
    };
  }

  // What it says.

  protected override writable(owner: Recipient<TransportFact>): void {
    super.writable(owner);
    this.#live({ type: 'session.served' });
    // The client opens its first stream later, if ever.
    this.tell({ type: 'ownStream.closed' });
  }

  override drop(request: AnsweredInput): void {
    answerOf(request)?.drop();
  }

  send(event: FramesToSend): void {
    const { frames, relatedTo, reportTo } = event;
    const answer = answerOf(relatedTo);
    for (const frame of frames) {
      // Another node may have said more by now.
      if (!answer && this.share && !this.share.isHere) continue;
      const noting = answer && this.share && this.#notingBy(answer.frame, frame);
      if (noting) {
        this.#sendOnceNoted(noting, answer, frame);
        continue;
      }
      // Another node has answered the request, or the frame says that an answer cannot be read: the
      // status has said so, and no response goes on a stream that belongs to no request.
      if (!answer && (relatedTo?.origin || !('method' in frame))) continue;
      const text = encodeFrame(frame, (message, error) =>
        this.unserializable(message, error, event),
      );
      if (text === '') continue;
      if (!answer) {
        const dropped = 'id' in frame ? () => undelivered(frame, reportTo) : undefined;
        this.#streams.push({ text, dropped });
      } else if (!answer.send(frame, text)) undelivered(frame, reportTo);
    }
  }

  /** Sends a response once other nodes know what its request has changed; if they cannot be told, an error. */
  #sendOnceNoted(noting: Promise<void>, answer: PostAnswer, frame: OutboundFrame): void {
    const send = (response: OutboundFrame) => {
      const text = encodeFrame(response, (message, error) => this.unserializable(message, error));
      answer.send(response, text);
    };
    noting.then(
      () => send(frame),
      (error: unknown) => {
        const refusal = unavailable(error, this.report);
        if (answer.isUnbegun) return answer.refuse(refusal);
        const { error: told } = JSON.parse(refusal.body ?? '') as { readonly error: WireError };
        for (const id of answer.answers) send(errorResponse(id, told));
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
