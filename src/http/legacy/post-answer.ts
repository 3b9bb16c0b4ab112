/**
 * The answer to a POST of a session. If the client goes, the call goes on: what it says is kept, and
 * the client may ask for it.
 */
import type { OutboundFrame } from '../../protocol/frames.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { RequestAnswer } from '../request-answer.ts';
import type { AnswerOptions } from '../request-answer.ts';
import type { EventLog } from './event-log.ts';

/** What a session tells the answers to its requests. */
export interface AnsweringSession {
  readonly id: string;
  readonly log: EventLog;
  /** Whether an answer may become a stream. */
  readonly streams: boolean;
  nextStream(): string;
  /** What a stream begins with. */
  opening(stream: string): string;
  answerEnded(answer: PostAnswer): void;
}

export class PostAnswer extends RequestAnswer {
  readonly #session: AnsweringSession;
  readonly #status: number;
  #stream: string | undefined = undefined;

  /** @param status of an answer that is no stream */
  constructor(
    exchange: HttpExchange,
    options: AnswerOptions,
    session: AnsweringSession,
    { receivedAt, status = 200 }: { readonly receivedAt: number; readonly status?: number },
  ) {
    super(exchange, options, receivedAt);
    this.#session = session;
    this.#status = status;
    exchange.onGone(() => this.#leave());
  }

  protected override get streams(): boolean {
    return this.#session.streams;
  }

  protected override get headers(): { readonly [name: string]: string } {
    return { 'mcp-session-id': this.#session.id };
  }

  protected override statusOf(_frame: OutboundFrame): number {
    return this.#status;
  }

  protected override opening(): string {
    const stream = this.#session.nextStream();
    this.#stream = stream;
    this.#session.log.open(stream);
    return this.#session.opening(stream);
  }

  protected override eventOf(text: string): string {
    return this.#session.log.append(this.#stream ?? '', text);
  }

  protected override ended(): void {
    this.#session.answerEnded(this);
  }

  #leave(): void {
    // An answer that had not begun has nothing that the client could name to have it repeated.
    if (this.isUnbegun) this.state = { name: 'over' };
    else if (this.state.name === 'streaming') this.state = { name: 'cut' };
  }
}
