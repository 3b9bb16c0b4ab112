/**
 * One stream of a session, over all its connections. Its events are logged for a while, so that a
 * client can resume after a cut or a server-requested reconnect.
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
import { eventIdOf, isLastEvent, readLastEventId } from './stream-names.ts';
import type { StreamPosition } from './stream-names.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

/** Settings and callbacks shared by the streams of a session. */
export interface StreamContext {
  readonly log: StreamEventLog;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly report: HttpReport;
  /** The session's record in the shared store; undefined for a single node. */
  readonly owned: OwnedSession | undefined;
  /**
   * First event of a connection that continues after this event id; empty if the revision has none.
   */
  firstEvent(lastId: string): string;
  /** SSE `retry` sent when a stream ends during a drain, milliseconds; undefined otherwise. */
  readonly drainRetryMs: number | undefined;
  /** Called when the stream gets a connection. */
  connected(stream: SessionStream): void;
  /** Called when the stream loses its connection. */
  disconnected(stream: SessionStream): void;
  /** Called when nothing of the stream can be resumed. */
  onForgotten(stream: SessionStream): void;
}

/** Connection of an open stream. */
interface StreamConnection {
  readonly sink: WatchedSink;
  /** Validity of its token; undefined without authorization. */
  readonly tokenValidity: TokenValidity | undefined;
}

export class SessionStream implements LoggedStream, SinkOwner {
  readonly name: string;
  /** Ids of the requests it answers; undefined for a standalone stream. */
  readonly requestIds: readonly InboundRequestId[] | undefined;
  readonly #streams: StreamContext;
  #state = sessionStreamChart.initial;
  #connection: StreamConnection | undefined = undefined;
  /** Number of the last event. */
  #lastEvent = 0;
  /** Number of the last event sent on a connection. */
  #sentEvent = 0;
  /** Number of its events in the log. */
  #loggedCount = 0;
  /** True if its call outlives the process. */
  #isDurable = false;
  /** True once the next process continues its call: its end here is not recorded. */
  #isHandedOver = false;
  /** Time of the last state change, clock ms. */
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

  /** View for dumps. */
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

  /** Bytes the client has not read. */
  get unreadBytes(): number {
    return this.#connection?.sink.unsentBytes ?? 0;
  }

  /** True if the stream is complete and this was its last event, so there is nothing to resume. */
  isCompleteAt(number: number): boolean {
    return this.#isComplete && !this.isOrphaned && number === this.#lastEvent;
  }

  /**
   * True if the stream ever had this event. The last events of an ended process may not have been
   * stored.
   */
  has(number: number): boolean {
    return number <= this.#lastEvent || this.isOrphaned;
  }

  /** True if its process ended before the response. */
  get isOrphaned(): boolean {
    return this.#state.matches({ ended: 'orphaned' });
  }

  /** Restores an event logged by another process, before anything new is sent. */
  restore({ number, text, ageMs, end }: StoredEvent): void {
    this.#lastEvent = Math.max(this.#lastEvent, number);
    // A connection of the other process may have sent it.
    this.#sentEvent = this.#lastEvent;
    if (text !== '') this.#log(number, eventOf(this.name, number, text, end), ageMs);
    if (end) this.#move({ type: `stream.${end}` });
  }

  /**
   * Continues the call of an orphaned stream.
   * @param number the last event that the client has: it may not have been kept
   */
  adopt(number = 0): void {
    this.#lastEvent = Math.max(this.#lastEvent, number);
    this.#isDurable = true;
    this.#move({ type: 'stream.adopted' });
  }

  /** Ends the restore: without a stored end the stream is orphaned. */
  finishRestore(): void {
    this.#move({ type: 'stream.orphaned' });
  }

  /** Everything another process needs to continue the stream. */
  get loggedEvents(): readonly StreamEvent[] {
    const stream = this.name;
    const known = { stream, number: this.#lastEvent, text: '' };
    const events = this.#streams.log.after(this, 0).map(({ number, text }) => ({
      ...{ stream, number, text: dataOf(text) },
      ...(isLastEvent(text) ? { end: 'answered' as const } : {}),
    }));
    const end = ends.find((each) => this.#state.matches({ ended: each }));
    return [known, ...events, ...(end ? [{ ...known, end }] : [])];
  }

  /** Events after the given one, preceded by a comment if some are missing. */
  replayAfter(after: number): string {
    const events = this.#streams.log.after(this, after);
    const missing = Math.max(0, this.#lastEvent - after - events.length);
    const told = missing > 0 ? `: ${missing} messages were dropped\n\n` : '';
    return told + events.map(({ text }) => text).join('');
  }

  /**
   * Token that limits the connection. An authorized request is answered however long that takes.
   */
  get tokenValidity(): TokenValidity | undefined {
    return this.requestIds ? undefined : this.#connection?.tokenValidity;
  }

  /**
   * Starts the stream on its first connection. Output is held until the stream is stored for other
   * nodes.
   *
   * @param tokenValidity token of the request that opened the connection
   * @param isDurable true if its call outlives the process: then an event comes first in every revision
   */
  begin(sink: WatchedSink, tokenValidity: TokenValidity | undefined, isDurable = false): void {
    this.#isDurable = isDurable;
    const kept = this.#streams.owned?.append({ stream: this.name, number: 0, text: '' });
    // Another node could not resume a stream it does not know.
    if (kept && this.requestIds) sink.holdUntil(kept);
    const id = eventIdOf(this.name, 0);
    const first = this.#streams.firstEvent(id);
    const text = first === '' && isDurable ? namedFirstEvent(id, this.#streams.limits) : first;
    this.#connect({ sink, tokenValidity }, text);
  }

  /**
   * Continues on another connection after the client's last event.
   *
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
      `Stream ${this.name} resumed after event ${number}`,
    );
    const isAnswerLost =
      this.#state.matches({ ended: 'answered' }) &&
      number < this.#lastEvent &&
      events.at(-1)?.number !== this.#lastEvent;
    const lost = isAnswerLost && requestIds ? requestIds.map(responseLostEvent) : [];
    const gone = this.isOrphaned && requestIds ? requestIds.map(processEndedEvent) : [];
    this.#sentEvent = this.#lastEvent;
    const text = [from, this.replayAfter(number), ...lost, ...gone].join('');
    if (this.#isComplete) {
      sink.write(text);
      sink.end();
      return;
    }
    // The client may notice the end of the old connection first.
    this.#connection?.sink.end();
    this.#connect({ sink, tokenValidity }, text);
  }

  /**
   * Sends a message.
   *
   * @param text JSON, ending with a line feed
   * @param isResponse true if nothing follows it
   */
  send(text: string, isResponse = false): void {
    if (this.#isComplete) return;
    const number = ++this.#lastEvent;
    const said = text.trimEnd();
    const end = isResponse && this.#isDurable ? ('answered' as const) : undefined;
    const event = eventOf(this.name, number, said, end);
    if (this.#connection) this.#sentEvent = number;
    this.#log(number, event);
    void this.#streams.owned?.append({
      ...{ stream: this.name, number, text: said },
      ...(end && { end }),
    });
    this.#connection?.sink.write(event);
  }

  /**
   * Ends the stream.
   *
   * @param retryMs delay before the client should try another node, milliseconds; undefined if it
   *   should not
   */
  end(how: 'answered' | 'silenced', retryMs = this.#streams.drainRetryMs): void {
    if (this.#isComplete) return;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#move({ type: `stream.${how}` });
    const isRecorded = this.#isHandedOver || (this.#isDurable && how === 'answered');
    const end = { stream: this.name, number: this.#lastEvent, text: '', end: how };
    if (!isRecorded) void this.#streams.owned?.append(end);
    if (connection) {
      if (retryMs !== undefined) connection.sink.write(retryEvent(retryMs));
      connection.sink.end();
      this.#streams.disconnected(this);
    }
    this.#forgetIfEmpty();
  }

  /**
   * Closes the connection and suggests when to reconnect. The stream continues.
   *
   * @param retryMs suggested delay, milliseconds
   */
  pause(retryMs: number): void {
    this.#connection?.sink.write(retryEvent(retryMs));
    this.release();
  }

  /** Holds back what is sent on the current connection until this has settled. */
  holdUntil(settled: Promise<void>): void {
    this.#connection?.sink.holdUntil(settled);
  }

  /** Closes its connection: the next process continues its call. */
  handOver(retryMs: number): void {
    this.#isHandedOver = true;
    this.pause(retryMs);
  }

  /** Closes the connection. The client may resume the stream here or at another node. */
  release(): void {
    if (!this.#connection) return;
    this.#connection.sink.end();
    this.#disconnect();
  }

  /** Handles the end of a connection. */
  onConnectionClosed(sink: WatchedSink): void {
    sink.cut();
    if (this.#connection?.sink !== sink) return;
    const message = `The connection of stream ${this.name} closed after event ${this.#lastEvent}`;
    formatReport(this.#streams.report, 'debug', 'stream.left', message);
    this.#disconnect();
  }

  onEventDropped(event: number): boolean {
    this.#loggedCount--;
    this.#forgetIfEmpty();
    return event > this.#sentEvent;
  }

  onTokenEnded(end: TokenEnd): void {
    const message = `The token of stream ${this.name} ${describeEnd[end]}: its client must reconnect with another one`;
    formatReport(this.#streams.report, 'info', `authorization.${end}`, message);
    this.pause(this.#streams.limits.retryMs);
  }

  onStalled(why: string): void {
    const message = `The client was cut off from stream ${this.name}: it ${why}`;
    formatReport(this.#streams.report, 'warning', 'stream.cut', message);
    // A burst may exceed the limit of a client that reads well; it can resume for the rest.
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

  /** A standalone stream need not be complete: a new one serves as well. */
  #forgetIfEmpty(): void {
    if (this.#loggedCount > 0 || this.#connection || (this.requestIds && !this.#isComplete)) return;
    this.#move({ type: 'stream.forgotten' });
    this.#streams.onForgotten(this);
  }
}

const retryEvent = (retryMs: number): string => `retry: ${retryMs}\n\n`;

/** Normal ends of a stream. */
const ends = ['answered', 'silenced'] as const;

/** @param end `answered` for the response to a call that outlives its process */
function eventOf(stream: string, number: number, text: string, end?: StreamEvent['end']): string {
  return `id: ${eventIdOf(stream, number, end === 'answered')}\ndata: ${text}\n\n`;
}

/** For revisions whose clients would read an unnamed event without data as a message. */
function namedFirstEvent(id: string, { retryMs }: Pick<HttpLimits, 'retryMs'>): string {
  return `id: ${id}\nretry: ${retryMs}\nevent: begin\ndata:\n\n`;
}

/** Data of an event formatted by {@link eventOf}. */
function dataOf(event: string): string {
  return event.slice(event.indexOf('\ndata: ') + '\ndata: '.length, -2);
}

/** Event in place of a response whose process ended. */
function processEndedEvent(id: InboundRequestId): string {
  return `data: ${JSON.stringify(processEnded(id))}\n\n`;
}

/** Event in place of a response that was dropped while the client still waits for it. */
export function responseLostEvent(id: Parameters<typeof errorResponse>[0]): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The response to this request was not fetched in time and was dropped',
    data: { reason: 'response-lost', retryable: false },
  };
  return `data: ${JSON.stringify(errorResponse(id, error))}\n\n`;
}
