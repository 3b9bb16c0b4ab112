/**
 * The streams of a session: those that answer its client's requests, and those that the client has
 * opened for everything else.
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
import { SessionStream, responseLostEvent } from './session-stream.ts';
import type { StreamContext } from './session-stream.ts';
import { eventIdOf, nameOfStream, readLastEventId } from './stream-names.ts';
import type { StreamPosition } from './stream-names.ts';

/** What streams ask and tell their session. */
export interface StreamingSession {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly account: ClientAccount;
  readonly listening: Pick<ListenOptions, 'limits'>;
  /** What is written down of it for other nodes; undefined if there are none. */
  readonly owned: OwnedSession | undefined;
  /** What a stream begins with whose last event has this id. */
  firstEvent(lastId: string): string;
  /** See {@link StreamContext.drainRetryMs}. */
  readonly drainRetryMs: number | undefined;
  /** The client has closed the connection of a stream. */
  onStreamDisconnected(): void;
  /** Its client has opened a stream for what belongs to no request, or closed the last one. */
  onStandaloneStream(is: 'opened' | 'closed'): void;
}

type StreamsView = Pick<HttpSessionView, 'streams' | 'waitingPushes' | 'keptEvents' | 'keptBytes'>;

/** As a dump shows a session that has had no stream yet. */
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
  /** The events and the pushes that are kept, as they are counted. */
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

  /** How many have a connection. */
  get connections(): number {
    return this.#connected;
  }

  /** As a dump shows them. */
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

  get share(): OwnedSession | undefined {
    return this.#session.owned;
  }

  /** Sends what belongs to no request. */
  push(message: QueuedPush): void {
    this.#pushes.push(message);
  }

  /** Takes what another process has said on the streams of the session. */
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

  /** What another process needs to go on with them. */
  get loggedEvents(): readonly StreamEvent[] {
    return [...this.#streams.values()].flatMap(({ loggedEvents }) => loggedEvents);
  }

  /** Makes a stream. @param requestIds the requests that it answers */
  make(requestIds: readonly InboundRequestId[] | undefined): SessionStream {
    const name = nameOfStream(this.#fence, ++this.#count, requestIds);
    const stream = new SessionStream(name, requestIds, this);
    this.#streams.set(name, stream);
    return stream;
  }

  /** The client asks for a stream: a new one, or the rest of one. */
  get(exchange: HttpExchange): void {
    const lastEventId = exchange.header('last-event-id');
    if (lastEventId === undefined || lastEventId === '') return this.#open(exchange);
    const position = readLastEventId(lastEventId);
    const stream = position && this.#streams.get(position.stream);
    const isKnown = stream ? stream.has(position.number) : position && this.#hadStream(position);
    if (!position || !isKnown) {
      const message = `No event of this session has the id ${inspectValue(lastEventId)}`;
      return exchange.answer(httpError(400, message));
    }
    if (stream && !position.requestIds && position.fence !== this.#fence) {
      return this.#open(exchange, stream.replayAfter(position.number));
    }
    if (stream) return this.#resume(exchange, stream, position);
    // All that was kept of it is dropped. One for what belongs to no request is as good as new.
    if (position.requestIds) this.#answerLost(exchange, position.requestIds);
    else this.#open(exchange);
  }

  /** Lets go of what is too old. */
  trim(): void {
    if (!this.log.isEmpty) this.log.trim();
  }

  /** Ends the streams that belong to no request: the session is over. */
  closeStandaloneStreams(): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) {
      if (!stream.requestIds) stream.end('silenced');
    }
  }

  /** Ends all that is left. @param retryMs as for {@link SessionStream.end} */
  close(retryMs?: number): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) stream.end('silenced', retryMs);
    this.#streams.clear();
    for (const retained of this.#reservations) retained?.release();
  }

  // What a stream asks and tells.

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
    // What was asked on it may be lost: it is asked again on another one, if there is any.
    this.#session.onStandaloneStream('closed');
    if (this.#pushes.isOpen) this.#session.onStandaloneStream('opened');
  }

  over(stream: SessionStream): void {
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
    const what = `${count} ${count === 1 ? 'message' : 'messages'} that the client has not had`;
    formatReport(this.report, 'warning', name, `Dropped ${what}: ${reason}`);
  }
}

/**
 * All is said on that stream, and the client has it all. A client that asks again would ask for ever
 * if it got an empty stream.
 */
const nothingToResume = httpError(405, 'This stream has ended: there is nothing more on it', {
  allow: 'GET, POST, DELETE',
});
