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
import { describeEnd } from '../admission.ts';
import type { TokenValidity, TokenEnd } from '../admission.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpLimits } from '../options.ts';
import type { StreamEventLog, LoggedStream } from './event-log.ts';
import type { StoredEvent, StreamEvent } from '../nodes/stores.ts';
import type { OwnedSession } from '../owner/owned-session.ts';
import { processEnded } from '../owner/unavailable.ts';
import { eventIdOf, readLastEventId } from './stream-names.ts';
import type { StreamPlace } from './stream-names.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

/** What the streams of a session have in common. */
export interface StreamHome {
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
  readonly admission: TokenValidity | undefined;
}

export class SessionStream implements LoggedStream, SinkOwner {
  readonly name: string;
  /** The requests that it answers; undefined if it is for what belongs to none. */
  readonly answers: readonly InboundRequestId[] | undefined;
  readonly #home: StreamHome;
  #state = sessionStreamChart.begun;
  #connection: StreamConnection | undefined = undefined;
  /** The number of its last event. */
  #last = 0;
  /** The number of the last event that a connection was given. */
  #given = 0;
  /** How many of its events are kept. */
  #kept = 0;
  /** Since when it is in its state, the clock's milliseconds. */
  #since: number;

  constructor(name: string, answers: readonly InboundRequestId[] | undefined, home: StreamHome) {
    this.name = name;
    this.answers = answers;
    this.#home = home;
    this.#since = home.clock.now();
  }

  /** As a dump shows it. */
  get view(): HttpStreamView {
    const now = this.#home.clock.now();
    const { serial } = readLastEventId(eventIdOf(this.name, 0)) ?? {};
    const { value } = this.#state;
    return {
      kind: this.answers ? 'post' : 'get',
      name: `${serial}`,
      answers: this.answers ?? [],
      state: value === 'open' || value === 'cut' ? value : 'ended',
      ageMs: Math.round(now - this.#since),
      unreadBytes: this.unreadBytes,
      unreadMs: Math.round(this.#connection?.sink.unreadMs ?? 0),
      keptEvents: this.#kept,
    };
  }

  /** What its client has not taken, bytes. */
  get unreadBytes(): number {
    return this.#connection?.sink.untakenBytes ?? 0;
  }

  /** Whether there is nothing to resume it for: all is said, and this was its last event. */
  isCompleteAt(number: number): boolean {
    return this.#isComplete && !this.#isOrphaned && number === this.#last;
  }

  /** Whether it has, or had, such an event. What its process has sent last may not have been kept. */
  has(number: number): boolean {
    return number <= this.#last || this.#isOrphaned;
  }

  get #isOrphaned(): boolean {
    return this.#state.matches({ ended: 'orphaned' });
  }

  /** Takes what another process has said on it, before all else. */
  restore({ number, text, ageMs, end }: StoredEvent): void {
    this.#last = Math.max(this.#last, number);
    // A connection that this process does not know may have had it.
    this.#given = this.#last;
    if (text !== '') this.#keep(number, eventOf(this.name, number, text), ageMs);
    if (end) this.#move({ type: `stream.${end}` });
  }

  /** Nothing more was kept of what that process has said. */
  restored(): void {
    this.#move({ type: 'stream.orphaned' });
  }

  /** All that another process needs to go on with it. */
  get said(): readonly StreamEvent[] {
    const stream = this.name;
    const known = { stream, number: this.#last, text: '' };
    const events = this.#home.log
      .after(this, 0)
      .map(({ number, text }) => ({ stream, number, text: saidIn(text) }));
    const end = ends.find((each) => this.#state.matches({ ended: each }));
    return [known, ...events, ...(end ? [{ ...known, end }] : [])];
  }

  /** What it has said after an event, and how many messages of that are missing. */
  repeated(after: number): string {
    const events = this.#home.log.after(this, after);
    const missing = Math.max(0, this.#last - after - events.length);
    const told = missing > 0 ? `: ${missing} messages are not kept any more\n\n` : '';
    return told + events.map(({ text }) => text).join('');
  }

  /** What ends its connection; a request that was allowed is answered, however long that takes. */
  get admission(): TokenValidity | undefined {
    return this.answers ? undefined : this.#connection?.admission;
  }

  /**
   * Begins on its first connection, on which nothing is said until other nodes can know the stream.
   * @param admission of the request that the connection is
   */
  begin(sink: WatchedSink, admission: TokenValidity | undefined): void {
    const kept = this.#home.share?.append({ stream: this.name, number: 0, text: '' });
    // Another node could not tell what has become of a stream that it does not know.
    if (kept && this.answers) sink.holdUntil(kept);
    const text = this.#home.firstEvent(eventIdOf(this.name, 0));
    this.#connect({ sink, admission }, text);
  }

  /**
   * Goes on over another connection, with what comes after the event that the client has.
   * @param admission as for {@link begin}
   */
  resume(
    sink: WatchedSink,
    { number, answers }: StreamPlace,
    admission: TokenValidity | undefined,
  ): void {
    const { log, report } = this.#home;
    const events = log.after(this, number);
    const from = this.#home.firstEvent(eventIdOf(this.name, number));
    formatReport(
      report,
      'debug',
      'stream.resumed',
      `Stream ${this.name} goes on after event ${number}`,
    );
    const isAnswerLost =
      this.#state.matches({ ended: 'answered' }) &&
      number < this.#last &&
      events.at(-1)?.number !== this.#last;
    const lost = isAnswerLost && answers ? answers.map(lostAnswer) : [];
    const gone = this.#isOrphaned && answers ? answers.map(goneAnswer) : [];
    this.#given = this.#last;
    const text = [from, this.repeated(number), ...lost, ...gone].join('');
    if (this.#isComplete) {
      sink.write(text);
      sink.end();
      return;
    }
    // The client may notice first that its last connection has ended.
    this.#connection?.sink.end();
    this.#connect({ sink, admission }, text);
  }

  /**
   * Says something.
   * @param text a message, with a line feed at its end
   */
  send(text: string): void {
    if (this.#isComplete) return;
    const number = ++this.#last;
    const said = text.trimEnd();
    const event = eventOf(this.name, number, said);
    if (this.#connection) this.#given = number;
    this.#keep(number, event);
    void this.#home.share?.append({ stream: this.name, number, text: said });
    this.#connection?.sink.write(event);
  }

  /**
   * All is said.
   * @param retryMs when the client should try another node, milliseconds; undefined if never
   */
  end(how: 'answered' | 'silenced', retryMs = this.#home.drainRetryMs): void {
    if (this.#isComplete) return;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#move({ type: `stream.${how}` });
    void this.#home.share?.append({ stream: this.name, number: this.#last, text: '', end: how });
    if (connection) {
      if (retryMs !== undefined) connection.sink.write(retryEvent(retryMs));
      connection.sink.end();
      this.#home.disconnected(this);
    }
    this.#forgetIfEmpty();
  }

  /**
   * Closes its connection, and tells the client when to come back. It goes on.
   * @param retryMs how long the client should wait, milliseconds
   */
  pause(retryMs: number): void {
    this.#connection?.sink.write(retryEvent(retryMs));
    this.letGo();
  }

  /** Its connection ends. Its client may come back to it, here or at another node. */
  letGo(): void {
    if (!this.#connection) return;
    this.#connection.sink.end();
    this.#disconnect();
  }

  /** A connection has ended. */
  left(sink: WatchedSink): void {
    sink.cut();
    if (this.#connection?.sink !== sink) return;
    const message = `The connection of stream ${this.name} has ended after event ${this.#last}`;
    formatReport(this.#home.report, 'debug', 'stream.left', message);
    this.#disconnect();
  }

  forgot(event: number): boolean {
    this.#kept--;
    this.#forgetIfEmpty();
    return event > this.#given;
  }

  expired(end: TokenEnd): void {
    const message = `The token that stream ${this.name} was opened with ${describeEnd[end]}: its client has to come back with another one`;
    formatReport(this.#home.report, 'info', `authorization.${end}`, message);
    this.pause(this.#home.limits.retryMs);
  }

  unread(why: string): void {
    const message = `The client was cut off from stream ${this.name}: it ${why}`;
    formatReport(this.#home.report, 'warning', 'stream.cut', message);
    // Much may have come at once: a client that reads well can come back for the rest.
    this.letGo();
  }

  #keep(number: number, event: string, ageMs = 0): void {
    this.#kept++;
    this.#home.log.add(this, number, event, ageMs);
  }

  get #isComplete(): boolean {
    return this.#state.hasTag('complete');
  }

  #move(event: SessionStreamEvent): void {
    this.#state = sessionStreamChart.next(this.#state, event);
    this.#since = this.#home.clock.now();
  }

  #connect(connection: StreamConnection, text: string): void {
    const isNew = !this.#connection;
    this.#connection = connection;
    this.#move({ type: 'stream.connected' });
    if (text !== '') connection.sink.write(text);
    connection.sink.ownedBy(this);
    if (isNew) this.#home.connected(this);
  }

  #disconnect(): void {
    this.#connection = undefined;
    this.#move({ type: 'stream.cut' });
    this.#home.disconnected(this);
    this.#forgetIfEmpty();
  }

  /** A stream for what belongs to no request need not be complete: a new one is as good. */
  #forgetIfEmpty(): void {
    if (this.#kept > 0 || this.#connection || (this.answers && !this.#isComplete)) return;
    this.#move({ type: 'stream.forgotten' });
    this.#home.over(this);
  }
}

const retryEvent = (retryMs: number): string => `retry: ${retryMs}\n\n`;

/** How a stream ends by itself. */
const ends = ['answered', 'silenced'] as const;

function eventOf(stream: string, number: number, text: string): string {
  return `id: ${eventIdOf(stream, number)}\ndata: ${text}\n\n`;
}

/** The data of such an event. */
function saidIn(event: string): string {
  return event.slice(event.indexOf('\ndata: ') + '\ndata: '.length, -2);
}

/** Takes the place of a response whose process has ended. */
function goneAnswer(id: InboundRequestId): string {
  return `data: ${JSON.stringify(processEnded(id))}\n\n`;
}

/** Takes the place of a response that was dropped: its client waits for one. */
export function lostAnswer(id: Parameters<typeof errorResponse>[0]): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The response to this request was not fetched in time, and is not kept any more',
    data: { reason: 'response-lost', retryable: false },
  };
  return `data: ${JSON.stringify(errorResponse(id, error))}\n\n`;
}
