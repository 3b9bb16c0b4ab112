/** The answer to a request without a session. What its client does not take is lost. */
import type { HttpStreamView } from '../../actors/writer/http-view.ts';
import type { InboundRequestId } from '../../protocol/frames.ts';
import { endInWords } from '../admission.ts';
import type { Admission, AdmissionEnd } from '../admission.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import { partyOf } from '../parties.ts';
import { unlisted } from '../roster.ts';
import type { Listed } from '../roster.ts';
import { RequestAnswer, noHeaders } from '../request-answer.ts';
import type { AnswerOptions } from '../request-answer.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

/** What such answers are told by, and tell. */
export interface AnswerKeeper {
  readonly limits: Pick<HttpLimits, 'streamAfterMs'>;
  /** Whether an answer may become a stream. */
  readonly streams: boolean;
  /** Nobody takes anything of it any more, and its response was not sent. */
  answerLeft(answer: StatelessAnswer, reason: string): void;
  /** Its response was sent. */
  answerEnded(answer: StatelessAnswer): void;
  /** Its client has to come back with another token. */
  authorizationEnded(answer: StatelessAnswer, end: AdmissionEnd): void;
}

export type StatelessAnswerOptions = AnswerOptions & {
  readonly id?: InboundRequestId;
  /** What ends it; undefined if it ends by itself. */
  readonly admission?: Admission | undefined;
};

export abstract class StatelessAnswer extends RequestAnswer implements Listed, SinkOwner {
  place = unlisted;
  protected override readonly headers = noHeaders;
  readonly #keeper: AnswerKeeper;
  /** Of its request; undefined if it is the answer to a batch. */
  readonly id: InboundRequestId | undefined;
  /** See {@link RequestOrigin.party}. */
  readonly party: string;
  readonly admission: Admission | undefined;
  /** How long it has been due, milliseconds. */
  #ageMs = 0;

  constructor(exchange: HttpExchange, options: StatelessAnswerOptions, keeper: AnswerKeeper) {
    super(exchange, options, 0);
    this.#keeper = keeper;
    this.admission = options.admission;
    this.id = options.id;
    this.party = partyOf(exchange);
    exchange.onGone(() => this.cut('The client has closed the connection'));
  }

  /** Whether its request is cancelled if the client leaves. */
  abstract readonly isCancelledByLeaving: boolean;

  /** Whether anybody still waits for it. */
  get isDue(): boolean {
    return this.state.name !== 'over';
  }

  /** It as a stream; undefined if it is none. Its times are as exact as {@link passed} is frequent. */
  get view(): HttpStreamView | undefined {
    if (this.state.name !== 'streaming') return undefined;
    const { id, principal, unreadBytes } = this;
    return {
      kind: 'post',
      answers: id === undefined ? [] : [id],
      state: 'open',
      ageMs: this.#ageMs,
      unreadBytes,
      unreadMs: Math.round(this.state.sink.unreadMs),
      keptEvents: 0,
      ...(principal ? { principal: principal.id } : {}),
    };
  }

  /** Time has passed: a client that would give up gets a stream. */
  passed(elapsedMs: number): void {
    this.#ageMs += elapsedMs;
    if (this.#ageMs >= this.#keeper.limits.streamAfterMs) this.begin();
  }

  /** Its token does not let it go on. There will be no result: its client is to ask again. */
  expired(end: AdmissionEnd): void {
    const { state } = this;
    if (state.name === 'streaming') state.sink.end();
    this.#keeper.authorizationEnded(this, end);
    this.#leave(`The token that it was asked for with ${endInWords[end]}`);
  }

  unread(why: string): void {
    this.cut(`The client ${why}`);
  }

  /** Closes the connection: there will be no response. */
  cut(reason: string): void {
    const { state } = this;
    if (state.name === 'streaming') state.sink.cut();
    this.#leave(reason);
  }

  protected override get streams(): boolean {
    return this.#keeper.streams;
  }

  protected override begun(sink: WatchedSink): void {
    sink.ownedBy(this);
  }

  protected override ended(): void {
    this.#keeper.answerEnded(this);
  }

  #leave(reason: string): void {
    if (!this.isDue) return;
    this.state = { name: 'over' };
    this.#keeper.answerLeft(this, reason);
  }
}
