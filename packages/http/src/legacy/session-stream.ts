/**
 * One stream of a session, over all the connections that it has. What is said on it is kept for a
 * while: a client whose connection was cut, or that was told to come back, gets what it has missed.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { HttpStreamView } from '../../../../src/actors/writer/http-view.ts';
import { ErrorCode, errorResponse } from '../../../../src/protocol/errors.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { sessionStreamChart } from './session-stream.machine.ts';
import type { SessionStreamEvent } from './session-stream.machine.ts';
import { describeEnd } from '../token-validity.ts';
import type { TokenValidity, TokenEnd } from '../token-validity.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpLimits } from '../options.ts';
import type { StreamEventLog, LoggedStream } from './event-log.ts';
import type { StoredEvent, StreamEvent } from '../nodes/stores.ts';
import type { OwnedSession } from '../owner/owned-session.ts';
import { processEnded } from '../owner/store-errors.ts';
import { eventIdOf, readLastEventId } from './stream-names.ts';
import type { StreamPosition } from './stream-names.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

/** What the streams of a session have in common. */
export interface StreamContext {
  readonly log: StreamEventLog;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly report: HttpReport;
  /** Keeps what other nodes can repeat; undefined if there are none. */
  readonly share: OwnedSession | undefined;
  /** What a stream begins with whose last event has this id. */
  firstEvent(lastId: string): string;
  /** `retry` of a stream that ends while its endpoint drains, milliseconds; undefined otherwise. */
  readonly drainRetryMs: number | undefined;
  /** It has a connection from now on. */
  connected(stream: SessionStream): void;
  /** Its connection has ended. */
  disconnected(stream: SessionStream): void;
  /** Nothing of it can be asked for. */
  over(stream: SessionStream): void;
}

/** The connection that a stream has while it is open. */
interface StreamConnection {
  readonly sink: WatchedSink;
  /** For how long its token lets it go on; undefined without authorization. */
  readonly tokenValidity: TokenValidity | undefined;
}

export class SessionStream implements LoggedStream, SinkOwner {
  readonly name: string;
  /** The requests that it answers; undefined if it is for what belongs to none. */
  readonly requestIds: readonly InboundRequestId[] | undefined;
  readonly #streams: StreamContext;
  #state = sessionStreamChart.begun;
  #connection: StreamConnection | undefined = undefined;
  /** The number of its last event. */
  #lastEvent = 0;
  /** The number of the last event that a connection was given. */
  #sentEvent = 0;
  /** How many of its events are kept. */
  #loggedCount = 0;
  /** Since when it is in its state, the clock's milliseconds. */
  #changedAt: number;

  constructor(
    name: string,
    requestIds: readonly InboundRequestId[] | undefined,
    streams: StreamContext,
  ) {
    this.name = name;
    this.requestIds = requestIds;
    this.#streams = streams;
    this.#changedAt = streams.clock.now();
  }

  /** As a dump shows it. */
  get view(): HttpStreamView {
    const now = this.#streams.clock.now();
    const { serial } = readLastEventId(eventIdOf(this.name, 0)) ?? {};
    const { value } = this.#state;
    return {
      kind: this.requestIds ? 'post' : 'get',
      name: `${serial}`,
      answers: this.requestIds ?? [],
      state: value === 'open' || value === 'cut' ? value : 'ended',
      ageMs: Math.round(now - this.#changedAt),
      unreadBytes: this.unreadBytes,
      unreadMs: Math.round(this.#connection?.sink.unreadMs ?? 0),
      keptEvents: this.#loggedCount,
    };
  }

  /** What its client has not taken, bytes. */
  get unreadBytes(): number {
    return this.#connection?.sink.unsentBytes ?? 0;
  }

  /** Whether there is nothing to resume it for: all is said, and this was its last event. */
  isCompleteAt(number: number): boolean {
    return this.#isComplete && !this.#isOrphaned && number === this.#lastEvent;
  }

  /** Whether it has, or had, such an event. What its process has sent last may not have been kept. */
  has(number: number): boolean {
    return number <= this.#lastEvent || this.#isOrphaned;
  }

  get #isOrphaned(): boolean {
    return this.#state.matches({ ended: 'orphaned' });
  }

  /** Takes what another process has said on it, before all else. */
  restore({ number, text, ageMs, end }: StoredEvent): void {
    this.#lastEvent = Math.max(this.#lastEvent, number);
    // A connection that this process does not know may have had it.
    this.#sentEvent = this.#lastEvent;
    if (text !== '') this.#log(number, eventOf(this.name, number, text), ageMs);
    if (end) this.#move({ type: `stream.${end}` });
  }

  /** Nothing more was kept of what that process has said. */
  finishRestore(): void {
    this.#move({ type: 'stream.orphaned' });
  }

  /** All that another process needs to go on with it. */
  get loggedEvents(): readonly StreamEvent[] {
    const stream = this.name;
    const known = { stream, number: this.#lastEvent, text: '' };
    const events = this.#streams.log
      .after(this, 0)
      .map(({ number, text }) => ({ stream, number, text: dataOf(text) }));
    const end = ends.find((each) => this.#state.matches({ ended: each }));
    return [known, ...events, ...(end ? [{ ...known, end }] : [])];
  }

  /** What it has said after an event, and how many messages of that are missing. */
  replayAfter(after: number): string {
    const events = this.#streams.log.after(this, after);
    const missing = Math.max(0, this.#lastEvent - after - events.length);
    const told = missing > 0 ? `: ${missing} messages are not kept any more\n\n` : '';
    return told + events.map(({ text }) => text).join('');
  }

  /** What ends its connection; a request that was allowed is answered, however long that takes. */
  get tokenValidity(): TokenValidity | undefined {
    return this.requestIds ? undefined : this.#connection?.tokenValidity;
  }

  /**
   * Begins on its first connection, on which nothing is said until other nodes can know the stream.
   * @param tokenValidity of the request that the connection is
   */
  begin(sink: WatchedSink, tokenValidity: TokenValidity | undefined): void {
    const kept = this.#streams.share?.append({ stream: this.name, number: 0, text: '' });
    // Another node could not tell what has become of a stream that it does not know.
    if (kept && this.requestIds) sink.holdUntil(kept);
    const text = this.#streams.firstEvent(eventIdOf(this.name, 0));
    this.#connect({ sink, tokenValidity }, text);
  }

  /**
   * Goes on over another connection, with what comes after the event that the client has.
   * @param tokenValidity as for {@link begin}
   */
  resume(
    sink: WatchedSink,
    { number, requestIds }: StreamPosition,
    tokenValidity: TokenValidity | undefined,
  ): void {
    const { log, report } = this.#streams;
    const events = log.after(this, number);
    const from = this.#streams.firstEvent(eventIdOf(this.name, number));
    formatReport(
      report,
      'debug',
      'stream.resumed',
      `Stream ${this.name} goes on after event ${number}`,
    );
    const isAnswerLost =
      this.#state.matches({ ended: 'answered' }) &&
      number < this.#lastEvent &&
      events.at(-1)?.number !== this.#lastEvent;
    const lost = isAnswerLost && requestIds ? requestIds.map(responseLostEvent) : [];
    const gone = this.#isOrphaned && requestIds ? requestIds.map(processEndedEvent) : [];
    this.#sentEvent = this.#lastEvent;
    const text = [from, this.replayAfter(number), ...lost, ...gone].join('');
    if (this.#isComplete) {
      sink.write(text);
      sink.end();
      return;
    }
    // The client may notice first that its last connection has ended.
    this.#connection?.sink.end();
    this.#connect({ sink, tokenValidity }, text);
  }

  /**
   * Says something.
   * @param text a message, with a line feed at its end
   */
  send(text: string): void {
    if (this.#isComplete) return;
    const number = ++this.#lastEvent;
    const said = text.trimEnd();
    const event = eventOf(this.name, number, said);
    if (this.#connection) this.#sentEvent = number;
    this.#log(number, event);
    void this.#streams.share?.append({ stream: this.name, number, text: said });
    this.#connection?.sink.write(event);
  }

  /**
   * All is said.
   * @param retryMs when the client should try another node, milliseconds; undefined if never
   */
  end(how: 'answered' | 'silenced', retryMs = this.#streams.drainRetryMs): void {
    if (this.#isComplete) return;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#move({ type: `stream.${how}` });
    void this.#streams.share?.append({
      stream: this.name,
      number: this.#lastEvent,
      text: '',
      end: how,
    });
    if (connection) {
      if (retryMs !== undefined) connection.sink.write(retryEvent(retryMs));
      connection.sink.end();
      this.#streams.disconnected(this);
    }
    this.#forgetIfEmpty();
  }

  /**
   * Closes its connection, and tells the client when to come back. It goes on.
   * @param retryMs how long the client should wait, milliseconds
   */
  pause(retryMs: number): void {
    this.#connection?.sink.write(retryEvent(retryMs));
    this.release();
  }

  /** Its connection ends. Its client may come back to it, here or at another node. */
  release(): void {
    if (!this.#connection) return;
    this.#connection.sink.end();
    this.#disconnect();
  }

  /** A connection has ended. */
  onConnectionClosed(sink: WatchedSink): void {
    sink.cut();
    if (this.#connection?.sink !== sink) return;
    const message = `The connection of stream ${this.name} has ended after event ${this.#lastEvent}`;
    formatReport(this.#streams.report, 'debug', 'stream.left', message);
    this.#disconnect();
  }

  onEventDropped(event: number): boolean {
    this.#loggedCount--;
    this.#forgetIfEmpty();
    return event > this.#sentEvent;
  }

  onTokenEnded(end: TokenEnd): void {
    const message = `The token that stream ${this.name} was opened with ${describeEnd[end]}: its client has to come back with another one`;
    formatReport(this.#streams.report, 'info', `authorization.${end}`, message);
    this.pause(this.#streams.limits.retryMs);
  }

  onStalled(why: string): void {
    const message = `The client was cut off from stream ${this.name}: it ${why}`;
    formatReport(this.#streams.report, 'warning', 'stream.cut', message);
    // Much may have come at once: a client that reads well can come back for the rest.
    this.release();
  }

  #log(number: number, event: string, ageMs = 0): void {
    this.#loggedCount++;
    this.#streams.log.add(this, number, event, ageMs);
  }

  get #isComplete(): boolean {
    return this.#state.hasTag('complete');
  }

  #move(event: SessionStreamEvent): void {
    this.#state = sessionStreamChart.next(this.#state, event);
    this.#changedAt = this.#streams.clock.now();
  }

  #connect(connection: StreamConnection, text: string): void {
    const isNew = !this.#connection;
    this.#connection = connection;
    this.#move({ type: 'stream.connected' });
    if (text !== '') connection.sink.write(text);
    connection.sink.setOwner(this);
    if (isNew) this.#streams.connected(this);
  }

  #disconnect(): void {
    this.#connection = undefined;
    this.#move({ type: 'stream.cut' });
    this.#streams.disconnected(this);
    this.#forgetIfEmpty();
  }

  /** A stream for what belongs to no request need not be complete: a new one is as good. */
  #forgetIfEmpty(): void {
    if (this.#loggedCount > 0 || this.#connection || (this.requestIds && !this.#isComplete)) return;
    this.#move({ type: 'stream.forgotten' });
    this.#streams.over(this);
  }
}

const retryEvent = (retryMs: number): string => `retry: ${retryMs}\n\n`;

/** How a stream ends by itself. */
const ends = ['answered', 'silenced'] as const;

function eventOf(stream: string, number: number, text: string): string {
  return `id: ${eventIdOf(stream, number)}\ndata: ${text}\n\n`;
}

/** The data of such an event. */
function dataOf(event: string): string {
  return event.slice(event.indexOf('\ndata: ') + '\ndata: '.length, -2);
}

/** Takes the place of a response whose process has ended. */
function processEndedEvent(id: InboundRequestId): string {
  return `data: ${JSON.stringify(processEnded(id))}\n\n`;
}

/** Takes the place of a response that was dropped: its client waits for one. */
export function responseLostEvent(id: Parameters<typeof errorResponse>[0]): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The response to this request was not fetched in time, and is not kept any more',
    data: { reason: 'response-lost', retryable: false },
  };
  return `data: ${JSON.stringify(errorResponse(id, error))}\n\n`;
}
