/**
 * Streams of a session: one for each streamed answer, and the standalone streams opened by the
 * client.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { defaultLimits } from '../../../../src/actors/limits.ts';
import type { Reservation } from '../../../../src/actors/memory-budget.ts';
import type { HttpSessionView } from '../../../../src/actors/writer/http-view.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { ListenOptions } from '../../../../src/server/create-server.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { httpError } from '../checks.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import type { ClientAccount } from '../session-slots.ts';
import { streamHeaders } from '../answers.ts';
import { StreamEventLog } from './event-log.ts';
import { PushStreams } from './push-streams.ts';
import type { QueuedPush } from './push-streams.ts';
import type { StoredEvent, StreamEvent } from '../nodes/stores.ts';
import { firstFence } from '../owner/owned-session.ts';
import type { OwnedSession } from '../owner/owned-session.ts';
import { unavailable } from '../owner/store-errors.ts';
import { SessionStream, responseLostEvent } from './session-stream.ts';
import type { StreamContext } from './session-stream.ts';
import { eventIdOf, nameOfStream, readLastEventId } from './stream-names.ts';
import type { StreamPosition } from './stream-names.ts';

/** The session, as its streams use it. */
export interface StreamingSession {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly account: ClientAccount;
  readonly listening: Pick<ListenOptions, 'limits'>;
  /** The session's record in the shared store; undefined for a single node. */
  readonly owned: OwnedSession | undefined;
  /**
   * First event of a connection that continues after this event id; empty if the revision has none.
   */
  firstEvent(lastId: string): string;
  /** See {@link StreamContext.drainRetryMs}. */
  readonly drainRetryMs: number | undefined;
  /** Called when a stream loses its connection. */
  onStreamDisconnected(): void;
  /**
   * Continues the call of an orphaned stream.
   * @param number the last event that the client has
   * @returns the stream, or undefined if no such call is recorded; not a promise if no calls are
   */
  recall(
    exchange: HttpExchange,
    stream: SessionStream,
    number?: number,
  ): Promise<SessionStream | undefined> | undefined;
  /** Called when the client opens a standalone stream, or closes the last one. */
  onStandaloneStream(is: 'opened' | 'closed'): void;
}

type StreamsView = Pick<HttpSessionView, 'streams' | 'waitingPushes' | 'keptEvents' | 'keptBytes'>;

/** View of a session without streams. */
export function noStreams({ maxWaitingPushes, maxEvents, maxEventBytes }: HttpLimits): StreamsView {
  return {
    streams: [],
    waitingPushes: { count: 0, max: maxWaitingPushes },
    keptEvents: { count: 0, max: maxEvents },
    keptBytes: { count: 0, max: maxEventBytes },
  };
}

export class HttpSessionStreams implements StreamContext {
  readonly log: StreamEventLog;
  readonly #session: StreamingSession;
  readonly #pushes: PushStreams;
  /** Memory reservations for logged events and queued messages. */
  readonly #reservations: readonly (Reservation | undefined)[];
  readonly #streams = new Map<string, SessionStream>();
  #count = 0;
  #connected = 0;

  constructor(session: StreamingSession) {
    const { limits, clock, account, listening } = session;
    const { maxRetainedBytes = defaultLimits.maxRetainedBytes } = listening.limits ?? {};
    this.#session = session;
    const counted = () => account.quotas.reserve(undefined, 0, Infinity);
    const [events, pushes] = [counted(), counted()];
    this.#reservations = [events, pushes];
    const countEvents = (bytes: number) => events?.resize(bytes, maxRetainedBytes) ?? false;
    const countPushes = (bytes: number) => pushes?.resize(bytes, maxRetainedBytes) ?? false;
    const told = (name: 'events.lost' | 'pushes.lost') => ({
      onLost: (count: number, reason: string) => this.#reportLost(name, count, reason),
    });
    this.log = new StreamEventLog(limits, clock, { ...told('events.lost'), retain: countEvents });
    this.#pushes = new PushStreams(limits, { ...told('pushes.lost'), retain: countPushes });
  }

  get clock(): Clock {
    return this.#session.clock;
  }

  get limits(): HttpLimits {
    return this.#session.limits;
  }

  get report(): HttpReport {
    return this.#session.report;
  }

  /** Number of connected streams. */
  get connections(): number {
    return this.#connected;
  }

  /** View for dumps. */
  get view(): StreamsView {
    const { waitingPushes, keptEvents, keptBytes } = noStreams(this.limits);
    const { events, bytes } = this.log.size;
    return {
      streams: [...this.#streams.values()].map(({ view }) => view),
      waitingPushes: { ...waitingPushes, count: this.#pushes.queued },
      keptEvents: { ...keptEvents, count: events },
      keptBytes: { ...keptBytes, count: bytes },
    };
  }

  get owned(): OwnedSession | undefined {
    return this.#session.owned;
  }

  /** Sends a message on a standalone stream, or queues it. */
  push(message: QueuedPush): void {
    this.#pushes.push(message);
  }

  /** Restores the streams logged by another process. */
  restore(log: readonly StoredEvent[]): void {
    for (const entry of log) {
      const position = readLastEventId(eventIdOf(entry.stream, 0));
      if (!position) continue;
      const known = this.#streams.get(entry.stream);
      const stream = known ?? new SessionStream(entry.stream, position.requestIds, this);
      this.#streams.set(entry.stream, stream);
      stream.restore(entry);
    }
    for (const stream of [...this.#streams.values()]) stream.finishRestore();
  }

  /** Everything another process needs to continue the streams. */
  get loggedEvents(): readonly StreamEvent[] {
    return [...this.#streams.values()].flatMap(({ loggedEvents }) => loggedEvents);
  }

  /**
   * Creates a stream.
   *
   * @param requestIds ids of the requests it answers; undefined for a standalone stream
   */
  make(requestIds: readonly InboundRequestId[] | undefined): SessionStream {
    const name = nameOfStream(this.#fence, ++this.#count, requestIds);
    const stream = new SessionStream(name, requestIds, this);
    this.#streams.set(name, stream);
    return stream;
  }

  /** Handles a GET: opens a new stream, or resumes one. */
  get(exchange: HttpExchange): void {
    const lastEventId = exchange.header('last-event-id');
    if (lastEventId === undefined || lastEventId === '') return this.#open(exchange);
    const position = readLastEventId(lastEventId);
    if (position?.isLast) return exchange.answer(nothingToResume);
    const stream = position && this.#streams.get(position.stream);
    const isKnown = stream ? stream.has(position.number) : position && this.#hadStream(position);
    if (!position || !isKnown) {
      const message = `No event of this session has the id ${inspectValue(lastEventId)}`;
      return exchange.answer(httpError(400, message));
    }
    if (stream && !position.requestIds && position.fence !== this.#fence) {
      return this.#open(exchange, stream.replayAfter(position.number));
    }
    if (!this.#recall(exchange, stream, position)) this.#answer(exchange, stream, position);
  }

  #answer(
    exchange: HttpExchange,
    stream: SessionStream | undefined,
    position: StreamPosition,
  ): void {
    if (stream) return this.#resume(exchange, stream, position);
    // Its events were dropped. A new standalone stream serves as well.
    if (position.requestIds) this.#answerLost(exchange, position.requestIds);
    else this.#open(exchange);
  }

  /** Looks for the call of a stream that an earlier process began. @returns false if no calls are recorded */
  #recall(
    exchange: HttpExchange,
    known: SessionStream | undefined,
    position: StreamPosition,
  ): boolean {
    const { requestIds, number } = position;
    if (requestIds?.length !== 1 || (known && !known.isOrphaned)) return false;
    const stream = known ?? new SessionStream(position.stream, requestIds, this);
    if (!known) stream.finishRestore();
    const recalling = this.#session.recall(exchange, stream, number);
    recalling?.then(
      (recalled) => {
        if (recalled) this.#streams.set(recalled.name, recalled);
        this.#answer(exchange, recalled ?? known, position);
      },
      (error: unknown) => exchange.answer(unavailable(error, this.report)),
    );
    return recalling !== undefined;
  }

  /** The stream that answers a request, if its process ended before the response. */
  orphanOf(id: unknown): SessionStream | undefined {
    return [...this.#streams.values()].find(
      ({ requestIds, isOrphaned }) =>
        isOrphaned && requestIds?.length === 1 && requestIds[0] === id,
    );
  }

  /** Drops expired events. */
  trim(): void {
    if (!this.log.isEmpty) this.log.trim();
  }

  /** Ends the standalone streams at the end of the session. */
  closeStandaloneStreams(): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) {
      if (!stream.requestIds) stream.end('silenced');
    }
  }

  /**
   * Ends all streams.
   *
   * @param retryMs as for {@link SessionStream.end}
   */
  close(retryMs?: number): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) stream.end('silenced', retryMs);
    this.#streams.clear();
    for (const retained of this.#reservations) retained?.release();
  }

  // Used by the streams.

  firstEvent(lastId: string): string {
    return this.#session.firstEvent(lastId);
  }

  get drainRetryMs(): number | undefined {
    return this.#session.drainRetryMs;
  }

  connected(stream: SessionStream): void {
    this.#connected++;
    if (stream.requestIds) return;
    this.#pushes.opened(stream);
    this.#session.onStandaloneStream('opened');
  }

  disconnected(stream: SessionStream): void {
    this.#connected--;
    this.#session.onStreamDisconnected();
    if (stream.requestIds) return;
    this.#pushes.closed(stream);
    // Requests sent on it may be lost; they are sent again on another stream, if one is open.
    this.#session.onStandaloneStream('closed');
    if (this.#pushes.isOpen) this.#session.onStandaloneStream('opened');
  }

  onForgotten(stream: SessionStream): void {
    this.#streams.delete(stream.name);
  }

  get #fence(): number {
    return this.#session.owned?.fence ?? firstFence;
  }

  #hadStream({ fence, serial }: StreamPosition): boolean {
    return fence === this.#fence ? serial <= this.#count : fence < this.#fence;
  }

  #open(exchange: HttpExchange, repeated = ''): void {
    if (exchange.isDisconnected) return;
    const stream = this.make(undefined);
    const sink = exchange.stream(streamHeaders);
    if (repeated !== '') sink.write(repeated);
    exchange.onDisconnected(() => stream.onConnectionClosed(sink));
    stream.begin(sink, exchange.tokenValidity);
  }

  #resume(exchange: HttpExchange, stream: SessionStream, position: StreamPosition): void {
    if (exchange.isDisconnected) return;
    if (stream.isCompleteAt(position.number)) return exchange.answer(nothingToResume);
    const sink = exchange.stream(streamHeaders);
    exchange.onDisconnected(() => stream.onConnectionClosed(sink));
    stream.resume(sink, position, exchange.tokenValidity);
  }

  #answerLost(exchange: HttpExchange, requestIds: readonly InboundRequestId[]): void {
    const sink = exchange.stream(streamHeaders);
    sink.write(requestIds.map(responseLostEvent).join(''));
    sink.end();
  }

  #reportLost(name: 'events.lost' | 'pushes.lost', count: number, reason: string): void {
    const what = `${count} ${count === 1 ? 'message' : 'messages'} that the client has not received`;
    formatReport(this.report, 'warning', name, `Dropped ${what}: ${reason}`);
  }
}

/**
 * The client already has the complete stream. A client that got an empty stream would resume
 * forever.
 */
const nothingToResume = httpError(405, 'This stream has ended and cannot be resumed', {
  allow: 'GET, POST, DELETE',
});
