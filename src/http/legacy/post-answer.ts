/**
 * The answer to a POST of a session. If the client goes, the call goes on: what it says is kept, and
 * the client may come back for it.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import { isJsonObject, isRequestId } from '../../protocol/classify.ts';
import type {
  InboundRequestId,
  InboundBatch,
  InboundRequest,
  InvalidFrame,
  OutboundFrame,
} from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { unreadable } from '../checks.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { RequestAnswer, noHeaders } from '../request-answer.ts';
import type { SessionStream } from './session-stream.ts';
import { unlisted } from '../roster.ts';
import type { Tended } from '../upkeep.ts';
import type { WatchedSink } from '../watched-sink.ts';

/** Why a client cannot be asked whose answers are never streams. */
export const jsonOnly =
  'this server answers with JSON alone, and no request of its own can go with it';

/** A message that is answered. */
export type AnsweredFrame = InboundRequest | InboundBatch | InvalidFrame;

/** What a session tells the answers to its requests. */
export interface AnsweringSession {
  readonly id: string;
  /** Whether its `initialize` was accepted. */
  readonly isBegun: boolean;
  /** Whether an answer may become a stream. */
  readonly streams: boolean;
  /** Why its client cannot be asked anything; undefined if it can. */
  readonly unaskable: string | undefined;
  /** How long the client waits at most until it knows what to resume, milliseconds. */
  readonly streamAfterMs: number;
  /** How long the client should wait before it comes back, milliseconds; undefined if it would not. */
  readonly pollAfterMs: number | undefined;
  openStream(answers: readonly InboundRequestId[]): SessionStream;
  /** Its client has left before anything was sent, and has nothing to ask for it with. */
  answerLost(answer: PostAnswer): void;
  answerEnded(answer: PostAnswer): void;
}

export class PostAnswer extends RequestAnswer implements Tended {
  readonly #session: AnsweringSession;
  readonly frame: AnsweredFrame;
  place = unlisted;
  #stream: SessionStream | undefined = undefined;

  constructor(
    exchange: HttpExchange,
    session: AnsweringSession,
    frame: AnsweredFrame,
    receivedAt: number,
  ) {
    super(exchange, { idScope: 'session', unaskable: session.unaskable }, receivedAt);
    this.#session = session;
    this.frame = frame;
    exchange.onGone(() => this.#leave());
  }

  /** The ids of the requests that it answers. */
  get answers(): readonly InboundRequestId[] {
    const frame = this.frame;
    if (frame.kind !== 'batch') return frame.id === undefined ? [] : [frame.id];
    return frame.messages.flatMap((message) =>
      isJsonObject(message) && 'method' in message && isRequestId(message['id'])
        ? [message['id'] as InboundRequestId]
        : [],
    );
  }

  tend(now: number): void {
    if (now - this.receivedAt >= this.#session.streamAfterMs) this.begin();
  }

  override drop(): void {
    const { frame } = this;
    // It was meant as the answer to a question of ours, and whoever has asked that knows.
    if (frame.kind === 'invalid') return this.refuse(unreadable(frame.error));
    // It has requests that were cancelled: only what has none is accepted.
    if (this.answers.length > 0) super.drop();
    else this.accept();
  }

  protected override get streams(): boolean {
    return this.#session.streams && this.frame.kind !== 'invalid';
  }

  /** Whoever begins a session learns its id. */
  protected override get headers(): { readonly [name: string]: string } {
    const { frame } = this;
    if (frame.kind !== 'request' || frame.method !== Method.initialize) return noHeaders;
    const { isBegun, id } = this.#session;
    return isBegun ? { 'mcp-session-id': id } : noHeaders;
  }

  protected override statusOf(frame: OutboundFrame): number {
    const { kind } = this.frame;
    const isRefused = kind === 'invalid' || (kind === 'batch' && !('length' in frame));
    return isRefused ? 400 : 200;
  }

  protected override begun(sink: WatchedSink): void {
    this.#stream = this.#session.openStream(this.answers);
    this.#stream.begin(sink, undefined);
  }

  protected override emit(text: string, answers: InboundRequestId | undefined): void {
    this.#stream?.send(text, answers);
  }

  protected override finish(_sink: WatchedSink, how: 'answered' | 'silenced'): void {
    this.#stream?.end(how);
  }

  protected override ended(): void {
    this.#session.answerEnded(this);
  }

  protected override closeConnection(): void {
    const { pollAfterMs } = this.#session;
    if (pollAfterMs === undefined) return;
    this.begin();
    this.#stream?.pause(pollAfterMs);
  }

  #leave(): void {
    const { state } = this;
    if (state.name === 'streaming') return this.#stream?.left(state.sink);
    if (state.name !== 'unbegun') return;
    this.state = { name: 'lost' };
    this.#session.answerLost(this);
  }
}
