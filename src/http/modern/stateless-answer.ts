/** The answer to a request without a session. What its client does not take is lost. */
import type { HttpStreamView } from '../../actors/writer/http-view.ts';
import type { Unserializable } from '../../protocol/codec.ts';
import type { InboundRequestId, OutboundFrame } from '../../protocol/frames.ts';
import { endInWords } from '../admission.ts';
import type { Admission, AdmissionEnd } from '../admission.ts';
import { partyOf } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import { unlisted } from '../roster.ts';
import type { Listed } from '../roster.ts';
import { RequestAnswer, noHeaders } from '../request-answer.ts';
import type { AnswerOptions } from '../request-answer.ts';

type AnswerLimits = Pick<
  HttpLimits,
  'streamAfterMs' | 'keepaliveIntervalMs' | 'maxUnreadBytes' | 'unreadTimeoutMs'
>;

/** What such answers are told by, and tell. */
export interface AnswerKeeper {
  readonly limits: AnswerLimits;
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

export abstract class StatelessAnswer extends RequestAnswer implements Listed {
  place = unlisted;
  protected override readonly headers = noHeaders;
  readonly #keeper: AnswerKeeper;
  /** Of its request; undefined if it is the answer to a batch. */
  readonly id: InboundRequestId | undefined;
  /** See {@link RequestOrigin.party}. */
  readonly party: string;
  readonly #admission: Admission | undefined;
  /** How long it has said nothing, milliseconds. */
  #quietMs = 0;
  /** How long it has been due, and how long its client has taken nothing of what waits, milliseconds. */
  #ageMs = 0;
  #unreadMs = 0;
  /** What its stream was given, and what the client had taken when that was looked at last. */
  #givenBytes = 0;
  #takenBytes = 0;

  constructor(exchange: HttpExchange, options: StatelessAnswerOptions, keeper: AnswerKeeper) {
    super(exchange, options, 0);
    this.#keeper = keeper;
    this.#admission = options.admission;
    this.id = options.id;
    this.party = partyOf(exchange);
    exchange.onGone(() => this.#leave('The client has closed the connection'));
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
      unreadMs: this.#unreadMs,
      keptEvents: 0,
      ...(principal ? { principal: principal.id } : {}),
    };
  }

  override send(frame: OutboundFrame, unserializable: Unserializable): boolean {
    this.#quietMs = 0;
    const { maxUnreadBytes } = this.#keeper.limits;
    const { unreadBytes } = this;
    // One message alone may be longer than that.
    if (unreadBytes <= maxUnreadBytes) return super.send(frame, unserializable);
    this.cut(`The client has not read ${unreadBytes} bytes, and may leave ${maxUnreadBytes}`);
    return false;
  }

  /**
   * Time has passed: says something to a client that would give up, and to what would close a
   * quiet connection on the way. Ends what its token does not allow any more.
   *
   * @param now the endpoint's clock, milliseconds
   */
  passed(elapsedMs: number, now: number): void {
    const end = this.#admission?.endedBy(now);
    if (end) return this.#expire(end);
    this.#quietMs += elapsedMs;
    this.#ageMs += elapsedMs;
    this.#unreadMs = this.#isReading() ? 0 : this.#unreadMs + elapsedMs;
    const { streamAfterMs, keepaliveIntervalMs, unreadTimeoutMs } = this.#keeper.limits;
    if (this.#unreadMs >= unreadTimeoutMs) {
      const unread = this.unreadBytes;
      return this.cut(`The client has taken none of ${unread} bytes for ${unreadTimeoutMs} ms`);
    }
    const { state } = this;
    if (state.name === 'unbegun' && this.#quietMs >= streamAfterMs) this.begin();
    if (state.name !== 'streaming' || keepaliveIntervalMs === 0) return;
    if (this.#quietMs < keepaliveIntervalMs) return;
    this.#quietMs = 0;
    // Those that it does not read would only pile up.
    if (state.sink.untakenBytes === 0) state.sink.write(keepalive);
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

  protected override emit(text: string, answers: InboundRequestId | undefined): void {
    this.#givenBytes += text.length;
    super.emit(text, answers);
  }

  protected override ended(): void {
    this.#keeper.answerEnded(this);
  }

  /** Whether its client has all, or more than when it was looked at last. */
  #isReading(): boolean {
    const { unreadBytes } = this;
    const before = this.#takenBytes;
    this.#takenBytes = this.#givenBytes - unreadBytes;
    return unreadBytes === 0 || this.#takenBytes > before;
  }

  /** Without a result: its client is to ask again. */
  #expire(end: AdmissionEnd): void {
    const { state } = this;
    if (state.name === 'streaming') state.sink.end();
    this.#keeper.authorizationEnded(this, end);
    this.#leave(`The token that it was asked for with ${endInWords[end]}`);
  }

  #leave(reason: string): void {
    if (!this.isDue) return;
    this.state = { name: 'over' };
    this.#keeper.answerLeft(this, reason);
  }
}

/** A comment of a stream: no event. */
const keepalive = ':\n\n';
