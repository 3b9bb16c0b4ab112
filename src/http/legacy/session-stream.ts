/**
 * One stream of a session, over all the connections that it has. What is said on it is kept for a
 * while: a client whose connection was cut, or that was told to come back, gets what it has missed.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../actors/clock.ts';
import type { HttpStreamView } from '../../actors/writer/http-view.ts';
import { ErrorCode, errorResponse } from '../../protocol/errors.ts';
import type { InboundRequestId } from '../../protocol/frames.ts';
import { endInWords } from '../admission.ts';
import type { Admission, AdmissionEnd } from '../admission.ts';
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpLimits } from '../options.ts';
import type { EventLog, LoggedStream } from './event-log.ts';
import type { SharedEvents } from '../replicas/shared-events.ts';
import { eventId, readEventId } from './stream-names.ts';
import type { EventPlace } from './stream-names.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

/** What the streams of a session have in common. */
export interface StreamHome {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly report: HttpReport;
  /** What other nodes can repeat; undefined if there are none. */
  readonly events: SharedEvents | undefined;
  /** What a stream begins with whose last event has this id. */
  firstEvent(lastId: string): string;
  /** It has a connection from now on. */
  connected(stream: SessionStream): void;
  /** It has no connection any more. */
  disconnected(stream: SessionStream): void;
  /** Nobody can get anything of it any more. */
  over(stream: SessionStream): void;
}

/**
 * `apart`: it has no connection, and goes on. `answered`: all is said, the response last.
 * `silenced`: all is said, and there is no response: the call was cancelled.
 */
type StreamState = { readonly name: 'apart' | 'answered' | 'silenced' } | ConnectedState;

interface ConnectedState {
  readonly name: 'connected';
  readonly sink: WatchedSink;
  /** For how long its token lets it go on; undefined without authorization. */
  readonly admission: Admission | undefined;
}

const apart: StreamState = { name: 'apart' };

export class SessionStream implements LoggedStream, SinkOwner {
  readonly name: string;
  /** The requests that it answers; undefined if it is for what belongs to none. */
  readonly answers: readonly InboundRequestId[] | undefined;
  readonly #home: StreamHome;
  #state: StreamState = apart;
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
    const isShared = this.#home.events !== undefined;
    const { serial } = readEventId(eventId(this.name, 0), isShared) ?? {};
    const { name: state } = this.#state;
    return {
      kind: this.answers ? 'post' : 'get',
      name: `${serial}`,
      answers: this.answers ?? [],
      state: state === 'connected' ? 'open' : state === 'apart' ? 'cut' : 'ended',
      ageMs: Math.round(now - this.#since),
      unreadBytes: this.unreadBytes,
      unreadMs: this.#state.name === 'connected' ? Math.round(this.#state.sink.unreadMs) : 0,
      keptEvents: this.#kept,
    };
  }

  /** What its client has not taken, bytes. */
  get unreadBytes(): number {
    return this.#state.name === 'connected' ? this.#state.sink.untakenBytes : 0;
  }

  get isConnected(): boolean {
    return this.#state.name === 'connected';
  }

  /** Whether there is nothing to resume it for: all is said, and this was its last event. */
  isCompleteAt(number: number): boolean {
    return this.#isComplete() && number === this.#last;
  }

  /** Whether it has, or had, such an event. */
  has(number: number): boolean {
    return number <= this.#last;
  }

  /** What ends its connection; a request that was allowed is answered, however long that takes. */
  get admission(): Admission | undefined {
    if (this.answers || this.#state.name !== 'connected') return undefined;
    return this.#state.admission;
  }

  /**
   * Begins on its first connection, on which nothing is said until other nodes know the stream.
   * @param admission of the request that the connection is
   */
  begin(sink: WatchedSink, admission: Admission | undefined): void {
    const { events } = this.#home;
    if (events) sink.holdUntil(events.open(this.name, this.answers ?? []));
    const text = this.#home.firstEvent(eventId(this.name, 0));
    this.#connect({ name: 'connected', sink, admission }, text);
  }

  /**
   * Goes on over another connection, with what comes after the event that the client has.
   * @param admission as for {@link begin}
   */
  resume(
    sink: WatchedSink,
    { number, answers }: EventPlace,
    admission: Admission | undefined,
  ): void {
    const { log, report } = this.#home;
    const events = log.after(this, number);
    const missing = this.#last - number - events.length;
    const told = missing > 0 ? `: ${missing} messages are not kept any more\n\n` : '';
    const from = this.#home.firstEvent(eventId(this.name, number));
    tell(report, 'debug', 'stream.resumed', `Stream ${this.name} goes on after event ${number}`);
    const isAnswerLost =
      this.#state.name === 'answered' &&
      number < this.#last &&
      !events.at(-1)?.startsWith(`id: ${eventId(this.name, this.#last)}\n`);
    const lost = isAnswerLost && answers ? answers.map(lostAnswer) : [];
    this.#given = this.#last;
    const text = [from, told, ...events, ...lost].join('');
    if (this.#isComplete()) {
      sink.write(text);
      sink.end();
      return;
    }
    // The client has noticed before us that its last connection is no more.
    if (this.#state.name === 'connected') this.#state.sink.end();
    this.#connect({ name: 'connected', sink, admission }, text);
  }

  /**
   * Says something.
   * @param text a message, with a line feed at its end
   * @param answers the request that this answers
   */
  send(text: string, answers?: InboundRequestId): void {
    if (this.#isComplete()) return;
    const number = ++this.#last;
    const event = `id: ${eventId(this.name, number)}\ndata: ${text}\n`;
    this.#kept++;
    if (this.#state.name === 'connected') this.#given = number;
    this.#home.log.add(this, number, event);
    this.#home.events?.append({ stream: this.name, number }, text, answers);
    if (this.#state.name === 'connected') this.#state.sink.write(event);
  }

  /** All is said. */
  end(how: 'answered' | 'silenced'): void {
    if (this.#isComplete()) return;
    const before = this.#state;
    this.#state = { name: how };
    this.#since = this.#home.clock.now();
    this.#home.events?.end({ stream: this.name, number: this.#last });
    if (before.name === 'connected') {
      before.sink.end();
      this.#home.disconnected(this);
    }
    this.#overIfForgotten();
  }

  /**
   * Closes its connection, and tells the client when to come back. It goes on.
   * @param retryMs how long the client should wait, milliseconds
   */
  pause(retryMs: number): void {
    if (this.#state.name !== 'connected') return;
    const { sink } = this.#state;
    sink.write(`retry: ${retryMs}\n\n`);
    sink.end();
    this.#disconnect();
  }

  /**
   * The session ends here, and all is said that will be.
   * @param retryMs when its client should try another node, milliseconds; undefined if never
   */
  close(retryMs: number | undefined): void {
    const { name } = this.#state;
    if (name === 'connected' && retryMs !== undefined)
      this.#state.sink.write(`retry: ${retryMs}\n\n`);
    this.end('silenced');
  }

  /** Its connection ends. Its client may come back to it, here or at another node. */
  letGo(): void {
    if (this.#state.name !== 'connected') return;
    this.#state.sink.end();
    this.#disconnect();
  }

  /** A connection has ended. */
  left(sink: WatchedSink): void {
    sink.cut();
    if (this.#state.name !== 'connected' || this.#state.sink !== sink) return;
    const message = `The connection of stream ${this.name} has ended after event ${this.#last}`;
    tell(this.#home.report, 'debug', 'stream.left', message);
    this.#disconnect();
  }

  forgot(event: number): boolean {
    this.#kept--;
    this.#overIfForgotten();
    return event > this.#given;
  }

  expired(end: AdmissionEnd): void {
    const message = `The token that stream ${this.name} was opened with ${endInWords[end]}: its client has to come back with another one`;
    tell(this.#home.report, 'info', `authorization.${end}`, message);
    this.pause(this.#home.limits.retryMs);
  }

  unread(why: string): void {
    const message = `The client was cut off from stream ${this.name}: it ${why}`;
    tell(this.#home.report, 'warning', 'stream.cut', message);
    // It may read well, and this is much at once: it gets what it needs to come back for the rest.
    this.letGo();
  }

  #isComplete(): boolean {
    return this.#state.name === 'answered' || this.#state.name === 'silenced';
  }

  #connect(state: ConnectedState, text: string): void {
    const isNew = this.#state.name !== 'connected';
    this.#state = state;
    this.#since = this.#home.clock.now();
    if (text !== '') state.sink.write(text);
    state.sink.ownedBy(this);
    if (isNew) this.#home.connected(this);
  }

  #disconnect(): void {
    this.#state = apart;
    this.#since = this.#home.clock.now();
    this.#home.disconnected(this);
    this.#overIfForgotten();
  }

  /** A stream for what belongs to no request is as good as a new one if nothing of it is kept. */
  #overIfForgotten(): void {
    if (this.#kept > 0 || this.#state.name === 'connected') return;
    if (this.#isComplete() || !this.answers) this.#home.over(this);
  }
}

/** Stands in the place of a response that is not kept any more: its client waits for one. */
export function lostAnswer(id: Parameters<typeof errorResponse>[0]): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The response to this request was not fetched in time, and is not kept any more',
    data: { reason: 'response-lost', retryable: false },
  };
  return `data: ${JSON.stringify(errorResponse(id, error))}\n\n`;
}
