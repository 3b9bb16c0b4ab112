/**
 * The streams of a session: those that answer its client's requests, and those that the client has
 * opened for everything else.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { defaultLimits } from '../../../../src/actors/limits.ts';
import type { Reservation } from '../../../../src/actors/room.ts';
import type { HttpSessionView } from '../../../../src/actors/writer/http-view.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { ListenOptions } from '../../../../src/server/create-server.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { httpError } from '../checks.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import type { ClientKey } from '../session-slots.ts';
import { streamHeaders } from '../answers.ts';
import { StreamEventLog } from './event-log.ts';
import { PushStreams } from './push-streams.ts';
import type { WaitingPush } from './push-streams.ts';
import type { StoredEvent, StreamEvent } from '../nodes/stores.ts';
import { firstFence } from '../owner/owned-session.ts';
import type { OwnedSession } from '../owner/owned-session.ts';
import { SessionStream, lostAnswer } from './session-stream.ts';
import type { StreamHome } from './session-stream.ts';
import { eventIdOf, nameOfStream, readLastEventId } from './stream-names.ts';
import type { StreamPlace } from './stream-names.ts';

/** What streams ask and tell their session. */
export interface StreamingSession {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly report: HttpReport;
  readonly party: ClientKey;
  readonly listening: Pick<ListenOptions, 'limits'>;
  /** What is written down of it for other nodes; undefined if there are none. */
  readonly share: OwnedSession | undefined;
  /** What a stream begins with whose last event has this id. */
  firstEvent(lastId: string): string;
  /** See {@link StreamHome.drainRetryMs}. */
  readonly drainRetryMs: number | undefined;
  /** The client has closed the connection of a stream. */
  streamLeft(): void;
  /** Its client has opened a stream for what belongs to no request, or closed the last one. */
  ownStream(is: 'opened' | 'closed'): void;
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

export class HttpSessionStreams implements StreamHome {
  readonly log: StreamEventLog;
  readonly #session: StreamingSession;
  readonly #pushes: PushStreams;
  /** The events and the pushes that are kept, as they are counted. */
  readonly #retained: readonly (Reservation | undefined)[];
  readonly #streams = new Map<string, SessionStream>();
  #count = 0;
  #connected = 0;

  constructor(session: StreamingSession) {
    const { limits, clock, party, listening } = session;
    const { maxRetainedBytes = defaultLimits.maxRetainedBytes } = listening.limits ?? {};
    this.#session = session;
    const counted = () => party.shares.retain(undefined, 0, Infinity);
    const [events, pushes] = [counted(), counted()];
    this.#retained = [events, pushes];
    const countEvents = (bytes: number) => events?.resize(bytes, maxRetainedBytes) ?? false;
    const countPushes = (bytes: number) => pushes?.resize(bytes, maxRetainedBytes) ?? false;
    const told = (name: 'events.lost' | 'pushes.lost') => ({
      lost: (count: number, reason: string) => this.#lost(name, count, reason),
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
    const { events, bytes } = this.log.kept;
    return {
      streams: [...this.#streams.values()].map(({ view }) => view),
      waitingPushes: { ...waitingPushes, count: this.#pushes.waiting },
      keptEvents: { ...keptEvents, count: events },
      keptBytes: { ...keptBytes, count: bytes },
    };
  }

  get share(): OwnedSession | undefined {
    return this.#session.share;
  }

  /** Sends what belongs to no request. */
  push(message: WaitingPush): void {
    this.#pushes.push(message);
  }

  /** Takes what another process has said on the streams of the session. */
  restore(log: readonly StoredEvent[]): void {
    for (const entry of log) {
      const place = readLastEventId(eventIdOf(entry.stream, 0));
      if (!place) continue;
      const known = this.#streams.get(entry.stream);
      const stream = known ?? new SessionStream(entry.stream, place.answers, this);
      this.#streams.set(entry.stream, stream);
      stream.restore(entry);
    }
    for (const stream of [...this.#streams.values()]) stream.restored();
  }

  /** What another process needs to go on with them. */
  get said(): readonly StreamEvent[] {
    return [...this.#streams.values()].flatMap(({ said }) => said);
  }

  /** Makes a stream. @param answers the requests that it answers */
  make(answers: readonly InboundRequestId[] | undefined): SessionStream {
    const name = nameOfStream(this.#fence, ++this.#count, answers);
    const stream = new SessionStream(name, answers, this);
    this.#streams.set(name, stream);
    return stream;
  }

  /** The client asks for a stream: a new one, or the rest of one. */
  get(exchange: HttpExchange): void {
    const lastEventId = exchange.header('last-event-id');
    if (lastEventId === undefined || lastEventId === '') return this.#open(exchange);
    const place = readLastEventId(lastEventId);
    const stream = place && this.#streams.get(place.stream);
    const isKnown = stream ? stream.has(place.number) : place && this.#hadStream(place);
    if (!place || !isKnown) {
      const message = `No event of this session has the id ${inspectValue(lastEventId)}`;
      return exchange.answer(httpError(400, message));
    }
    if (stream && !place.answers && place.fence !== this.#fence) {
      return this.#open(exchange, stream.repeated(place.number));
    }
    if (stream) return this.#resume(exchange, stream, place);
    // All that was kept of it is dropped. One for what belongs to no request is as good as new.
    if (place.answers) this.#tellLost(exchange, place.answers);
    else this.#open(exchange);
  }

  /** Lets go of what is too old. */
  trim(): void {
    if (!this.log.isEmpty) this.log.trim();
  }

  /** Ends the streams that belong to no request: the session is over. */
  closeOwnStream(): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) {
      if (!stream.answers) stream.end('silenced');
    }
  }

  /** Ends all that is left. @param retryMs as for {@link SessionStream.end} */
  close(retryMs?: number): void {
    this.#pushes.end();
    for (const stream of this.#streams.values()) stream.end('silenced', retryMs);
    this.#streams.clear();
    for (const retained of this.#retained) retained?.release();
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
    if (stream.answers) return;
    this.#pushes.opened(stream);
    this.#session.ownStream('opened');
  }

  disconnected(stream: SessionStream): void {
    this.#connected--;
    this.#session.streamLeft();
    if (stream.answers) return;
    this.#pushes.closed(stream);
    // What was asked on it may be lost: it is asked again on another one, if there is any.
    this.#session.ownStream('closed');
    if (this.#pushes.isOpen) this.#session.ownStream('opened');
  }

  over(stream: SessionStream): void {
    this.#streams.delete(stream.name);
  }

  get #fence(): number {
    return this.#session.share?.fence ?? firstFence;
  }

  #hadStream({ fence, serial }: StreamPlace): boolean {
    return fence === this.#fence ? serial <= this.#count : fence < this.#fence;
  }

  #open(exchange: HttpExchange, repeated = ''): void {
    if (exchange.isGone) return;
    const stream = this.make(undefined);
    const sink = exchange.stream(streamHeaders);
    if (repeated !== '') sink.write(repeated);
    exchange.onGone(() => stream.left(sink));
    stream.begin(sink, exchange.admission);
  }

  #resume(exchange: HttpExchange, stream: SessionStream, place: StreamPlace): void {
    if (exchange.isGone) return;
    if (stream.isCompleteAt(place.number)) return exchange.answer(nothingToResume);
    const sink = exchange.stream(streamHeaders);
    exchange.onGone(() => stream.left(sink));
    stream.resume(sink, place, exchange.admission);
  }

  #tellLost(exchange: HttpExchange, answers: readonly InboundRequestId[]): void {
    const sink = exchange.stream(streamHeaders);
    sink.write(answers.map(lostAnswer).join(''));
    sink.end();
  }

  #lost(name: 'events.lost' | 'pushes.lost', count: number, reason: string): void {
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
