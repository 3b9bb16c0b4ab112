/**
 * One session over HTTP, of the revisions with a handshake: what its client posts goes in, and what
 * it says goes on the stream that it belongs to.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */
import type { Clock } from '../../actors/clock.ts';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import { shortenedId } from '../../actors/writer/http-view.ts';
import type { HttpSessionView } from '../../actors/writer/http-view.ts';
import { plainActor } from '../../machines/port.ts';
import { stateName } from '../../machines/state-name.ts';
import type { Behaviour, Port, Ref } from '../../machines/port.ts';
import {
  activeHttpSession,
  begunHttpSession,
  nextHttpSession,
  reasonOfEnd,
} from '../../machines/http-session.machine.ts';
import type { HttpSessionEvent } from '../../machines/http-session.machine.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../machines/peer-ports.ts';
import { describe } from '../../protocol/classify.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { withOrigin } from '../../protocol/frames.ts';
import type { InitializeReceived } from '../../machines/session-ports.ts';
import type { InboundFrame, InboundRequestId } from '../../protocol/frames.ts';
import type { Principal } from '../../protocol/request-origin.ts';
import type { ListenOptions, McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import { defaultReport } from '../../session/default-report.ts';
import type { SharingActors } from '../../transports/transport.ts';
import { malformedResponse } from '../checks.ts';
import { tell } from '../facts.ts';
import type { HttpFactName } from '../facts.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import type { Claim, Party, Placed } from '../parties.ts';
import type { Replica, SharedSession } from '../replicas/shared-session.ts';
import { answerPassed } from './shared-answers.ts';
import { HttpWriter } from './http-writer.ts';
import type { WrittenSession } from './http-writer.ts';
import { greet, isGreeting, isWatched } from './greeting.ts';
import { PostAnswer, jsonOnly } from './post-answer.ts';
import type { AnsweredFrame, AnsweringSession } from './post-answer.ts';
import type { WaitingPush } from './push-streams.ts';
import type { SessionStream } from './session-stream.ts';
import { SessionStreams, noStreams } from './session-streams.ts';
import type { StreamingSession } from './session-streams.ts';
import { unlisted } from '../roster.ts';
import type { Tended, Upkeep } from '../upkeep.ts';

/** What all sessions of an endpoint have in common. */
export interface SessionHome {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly upkeep: Upkeep;
  /** False if every answer is JSON. */
  readonly streams: boolean;
  readonly phase: 'serving' | 'closing';
  /** The session is over here, by this event. */
  ended(session: HttpSession, by: HttpSessionEvent['type']): void;
}

export class HttpSession
  implements AnsweringSession, StreamingSession, WrittenSession, Replica, Tended, Placed
{
  readonly id: string;
  /** Whose session it is; undefined without authorization. */
  readonly principal: Principal | undefined;
  readonly party: Party;
  readonly server: McpServer;
  /** What other nodes have to do with it; undefined if there are none. */
  readonly share: SharedSession | undefined;
  place = unlisted;
  /** When it was last used, the clock's milliseconds. */
  usedAt: number;
  report: Report<HttpFactName | ActorFactName> = defaultReport;
  readonly #home: SessionHome;
  readonly listening: ListenOptions;
  /** What was read of its `initialize`, while its client has been answered and is not served yet. */
  #greeted: InitializeReceived | undefined = undefined;
  #served: McpSession | undefined = undefined;
  /** How long it is kept. */
  #life = begunHttpSession;
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  /** The actor of the session that is served, while its writer runs. */
  #actor: Ref<TransportFact> | undefined = undefined;
  #dialect: Dialect | undefined = undefined;
  /** How many answers are due. */
  #due = 0;
  #made: SessionStreams | undefined = undefined;

  constructor(
    server: McpServer,
    listening: ListenOptions,
    who: Pick<HttpSession, 'id' | 'principal' | 'party' | 'share'>,
    home: SessionHome,
  ) {
    this.#home = home;
    this.listening = listening;
    this.id = who.id;
    this.principal = who.principal;
    this.party = who.party;
    this.share = who.share;
    this.server = server;
    this.usedAt = home.clock.now();
    if (who.share || isWatched(listening)) this.#served = this.#serve();
    home.upkeep.add(this);
  }

  /** The session that is served. @throws what the host's code throws that begins it */
  get mcp(): McpSession {
    return this.#served ?? this.#serve();
  }

  get limits(): HttpLimits {
    return this.#home.limits;
  }

  get upkeep(): Upkeep {
    return this.#home.upkeep;
  }

  get clock(): Clock {
    return this.#home.clock;
  }

  /** The revision that was negotiated; undefined before that. */
  get dialect(): Dialect | undefined {
    return (this.#dialect ??= this.#served?.actor.getSnapshot().context.client?.dialect);
  }

  get claim(): Claim {
    this.#quiet();
    if (!this.#life.hasTag('evictable')) return this.#due > 0 ? 'busy' : 'listening';
    return this.#life.hasTag('unasked') ? 'greeted' : 'idle';
  }

  // What the client sends.

  /**
   * Answers the message that begins it, if nobody has to see that.
   * @returns false if the message is to be posted
   */
  greet(exchange: HttpExchange, frame: InboundFrame): boolean {
    const greeting = this.#served ? undefined : greet(this.server, frame);
    if (!greeting) return false;
    this.#greeted = greeting.received;
    this.#dialect = greeting.dialect;
    const headers = { 'content-type': 'application/json', 'mcp-session-id': this.id };
    exchange.answer({ status: 200, headers, body: greeting.body });
    return true;
  }

  /** Takes one message. What needs an answer is answered; anything else is accepted. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    if (this.#life === activeHttpSession || !isGreeting(frame)) this.#use();
    else this.usedAt = this.clock.now();
    const passing = this.share?.pass(frame);
    if (passing) return answerPassed(exchange, passing, this);
    switch (frame.kind) {
      case 'request':
      case 'batch':
      case 'invalid': {
        const origin = this.#answer(exchange, frame);
        return this.receive(withOrigin(frame, origin));
      }
      case 'response':
        // Whoever waits for it hears that it cannot be read.
        this.receive(frame);
        return exchange.answer(
          'malformed' in frame.outcome
            ? malformedResponse(frame.outcome.malformed)
            : { status: 202 },
        );
      default:
        this.receive(frame);
        exchange.answer({ status: 202 });
    }
  }

  /** Opens a stream for what belongs to no request, or goes on with one that was cut. */
  get(exchange: HttpExchange): void {
    this.#use();
    this.#streams.get(exchange);
  }

  /** The client has ended it. */
  delete(): void {
    this.#live({ type: 'session.ended' });
  }

  // What other nodes tell.

  receive(frame: InboundFrame): void {
    this.#router?.send({ type: 'frames.received', frames: [frame] });
  }

  writePush(text: string): boolean {
    return this.#made?.writePush(text) ?? false;
  }

  letGo(stream: string): void {
    this.#made?.letGo(stream);
  }

  /** Whether it was used since, or has a stream or a call. @param since the clock's milliseconds */
  isUsedSince(since: number): boolean {
    return this.usedAt >= since || this.#isBusy;
  }

  /** Its place is needed. */
  evict(): void {
    this.#live({ type: 'session.evicted' });
  }

  tend(now: number): void {
    this.#made?.trim();
    if (now - this.usedAt >= quietMs) this.#quiet();
    const { sessionIdleTimeoutMs } = this.limits;
    if (!this.#life.hasTag('evictable') || now - this.usedAt < sessionIdleTimeoutMs) return;
    this.#live({ type: 'session.overdue' });
  }

  /**
   * Ends when the session is drained.
   * @param drainTimeoutMs a shorter drain time than the limit, milliseconds
   */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    if (!this.#served) return this.#live({ type: 'session.ended' });
    this.#served.shutdown(reason, drainTimeoutMs);
    await this.#served.closed;
  }

  // What its answers ask.

  get isBegun(): boolean {
    return Boolean(this.dialect);
  }

  get streams(): boolean {
    return this.#home.streams;
  }

  get unaskable(): string | undefined {
    return this.#home.streams ? undefined : jsonOnly;
  }

  get streamAfterMs(): number {
    return this.limits.streamAfterMs;
  }

  get pollAfterMs(): number | undefined {
    return this.firstEvent('0') === '' ? undefined : this.limits.retryMs;
  }

  openStream(answers: readonly InboundRequestId[]): SessionStream {
    return this.#streams.make(answers);
  }

  answerLost(answer: PostAnswer): void {
    this.#home.upkeep.delete(answer);
    const ids = answer.answers.map((id) => describe(id)).join(', ');
    const message = `The client left before the request ${ids} was answered; the call goes on, and its answer is lost`;
    tell(this.report, 'info', 'answer.lost', message);
  }

  answerEnded(answer: PostAnswer): void {
    this.#due--;
    this.usedAt = this.clock.now();
    this.#home.upkeep.delete(answer);
  }

  // What its streams ask.

  firstEvent(lastId: string): string {
    return this.dialect?.firstEvent(lastId, this.limits.retryMs) ?? '';
  }

  ownStream(is: 'opened' | 'closed'): void {
    this.#use();
    this.#actor?.send({ type: `ownStream.${is}` });
  }

  // Its life.

  #serve(): McpSession {
    const options = Object.assign({}, this.listening, { clock: this.clock });
    const served = this.server.listen(({ report }) => this.#actors(report), options);
    this.#served = served;
    const end = () => this.#end();
    served.actor.subscribe({ complete: end, error: end });
    if (this.#greeted) served.actor.send(this.#greeted);
    this.#greeted = undefined;
    return served;
  }

  #use(): void {
    this.usedAt = this.clock.now();
    if (this.#life !== activeHttpSession) this.#live({ type: 'session.used' });
  }

  #quiet(): void {
    if (!this.#isBusy) this.#live({ type: 'session.quieted' });
  }

  get #isBusy(): boolean {
    return this.#due > 0 || (this.#made?.connections ?? 0) > 0;
  }

  #live(event: HttpSessionEvent): void {
    const before = this.#life;
    this.#life = nextHttpSession(before, event);
    if (this.#life.status === 'done' && before.status !== 'done') this.#over(event);
  }

  /** The session that is served has ended. */
  #end(): void {
    // If only this endpoint ends, its client may go on at another node.
    this.#made?.close(this.#home.phase === 'closing' ? this.limits.retryMs : undefined);
    this.#live({ type: 'session.ended' });
  }

  #over({ type }: HttpSessionEvent): void {
    const { upkeep } = this.#home;
    this.#home.ended(this, type);
    upkeep.delete(this);
    // What is still in flight is answered with an error at once: nobody would come for more.
    const served = this.#served;
    if (served && served.state !== 'closed')
      served.shutdown(reasonOfEnd(type, this.limits.sessionIdleTimeoutMs), 0);
    this.#made?.closeOwnStream();
  }

  /** Made when it is first needed: most sessions are idle most of the time. */
  get #streams(): SessionStreams {
    return (this.#made ??= new SessionStreams(this));
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

  #answer(exchange: HttpExchange, frame: AnsweredFrame): PostAnswer {
    const answer = new PostAnswer(exchange, this, frame, this.usedAt);
    this.#due++;
    this.#home.upkeep.add(answer);
    return answer;
  }

  // The two actors of its transport.

  #actors(report: Report): SharingActors {
    this.report = report;
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.#router = input.router;
      return deaf;
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => {
      this.#actor = owner;
      // The client opens its first stream later, if ever.
      owner.send({ type: 'ownStream.closed' });
      return new HttpWriter(this, owner);
    });
    return { reader, writer, shares: this.party.shares };
  }

  unwritable(): void {
    this.#actor = undefined;
  }

  push(message: WaitingPush): void {
    this.#streams.push(message);
  }
}

/** What its reader does: nothing, because what comes in comes by requests. */
const deaf: Behaviour<ReaderEvent> = { receive: () => {} };

/** How long a session is without a request until it counts as quiet, milliseconds. */
const quietMs = 1000;
