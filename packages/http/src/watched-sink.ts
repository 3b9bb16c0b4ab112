/**
 * The outgoing side of a response. A client that stops reading is cut off, even after the last
 * message; a silent stream gets keepalive comments.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import { sinkChart } from './sink.machine.ts';
import type { SinkEvent } from './sink.machine.ts';
import type { TokenValidity, TokenEnd } from './token-validity.ts';
import { formatReport } from './facts.ts';
import type { HttpReport } from './facts.ts';
import type { HttpLimits } from './options.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, Maintenance } from './maintenance.ts';

/** Platform-specific output of a response. */
export interface SinkOutlet {
  /**
   * Buffers the data without limit; drops it if the client has disconnected.
   *
   * @returns bytes written
   */
  write(data: string | Uint8Array): number;
  /** Calls back once most of the buffer was sent; never if the client disconnects first. */
  onDrained(callback: () => void): void;
  /** Buffered bytes that were not sent; 0 once the client has disconnected. */
  readonly unsentBytes: number;
  /** False while an earlier pipelined response still occupies the connection. */
  readonly hasConnection: boolean;
  /**
   * How long TCP has been retransmitting without an acknowledgement, milliseconds. Only on
   * platforms that report it.
   */
  unacknowledgedMs?(now: number): number;
  /** Ends the response after the buffered bytes. */
  end(): void;
  /** Closes the connection and drops unsent bytes. */
  cut(): void;
}

/** Settings shared by all responses of an endpoint. */
export interface SinkContext {
  readonly clock: Clock;
  readonly limits: Pick<HttpLimits, 'keepaliveIntervalMs' | 'maxUnreadBytes' | 'unreadTimeoutMs'>;
  readonly report: HttpReport;
  readonly maintenance: Maintenance;
}

/** The owner of a stream, notified when the stream must end. */
export interface SinkOwner {
  /** Token that the stream depends on; undefined if it ends on its own. */
  readonly tokenValidity: TokenValidity | undefined;
  /** The token has ended. */
  onTokenEnded(end: TokenEnd): void;
  /**
   * The client left too much unread, or read nothing for too long and was cut off.
   *
   * @param why predicate about the client, such as "has not read 9 bytes"
   */
  onStalled(why: string): void;
}

/** An SSE comment, which is not an event. */
const keepalive = ':\n\n';

export class WatchedSink implements Maintained {
  listIndex = notListed;
  readonly #outlet: SinkOutlet;
  readonly #endpoint: SinkContext;
  readonly #keepaliveBy: 'here' | 'elsewhere';
  #owner: SinkOwner | undefined = undefined;
  #state = sinkChart.initial;
  #held = '';
  /** Number of promises that the output waits for. */
  #holds = 0;
  #writtenBytes = 0;
  /** Bytes written at the last change, and its time. */
  #lastWrite: { readonly bytes: number; readonly atMs: number };
  /** Bytes read by the client at the last progress, and its time. */
  #lastRead: { readonly bytes: number; readonly atMs: number };

  /**
   * @param keepaliveBy which node sends keepalive comments: this one, or the one that produces the
   *   response
   */
  constructor(
    outlet: SinkOutlet,
    endpoint: SinkContext,
    keepaliveBy: 'here' | 'elsewhere' = 'here',
  ) {
    this.#outlet = outlet;
    this.#endpoint = endpoint;
    this.#keepaliveBy = keepaliveBy;
    const atMs = endpoint.clock.now();
    this.#lastWrite = { bytes: 0, atMs };
    this.#lastRead = { bytes: 0, atMs };
    endpoint.maintenance.add(this);
  }

  /** Sets the owner, and restarts the keepalive interval. */
  setOwner(owner: SinkOwner): void {
    this.#owner = owner;
    this.#lastWrite = { bytes: this.#writtenBytes, atMs: this.#endpoint.clock.now() };
  }

  /** Holds all output back until the promise settles. */
  holdUntil(settled: Promise<void>): void {
    this.#holds++;
    this.#move({ type: 'output.hold' });
    const release = () => {
      if (--this.#holds === 0) this.#release();
    };
    settled.then(release, release);
  }

  /** Bytes written but not sent. */
  get unsentBytes(): number {
    return this.#state.status === 'done' ? 0 : this.#held.length + this.#outlet.unsentBytes;
  }

  /** Time since the client last read anything, milliseconds; 0 if everything was read. */
  get unreadMs(): number {
    return this.unsentBytes === 0 ? 0 : this.#endpoint.clock.now() - this.#lastRead.atMs;
  }

  /** Buffers the data without limit. Does nothing after the end. */
  write(data: string | Uint8Array): void {
    if (this.#state === sinkChart.initial) this.#writeNow(data);
    else if (typeof data === 'string' && this.#state.matches({ holding: 'writing' })) {
      this.#held += data;
    }
  }

  /** Calls back once most was sent; never if the client disconnects first. */
  onDrained(callback: () => void): void {
    this.#outlet.onDrained(callback);
  }

  /** Ends the response. Buffered bytes are still sent while the client keeps reading. */
  end(): void {
    this.#owner = undefined;
    const isOpen = this.#state === sinkChart.initial;
    this.#move({ type: 'output.finish' });
    if (isOpen) this.#endOutlet();
  }

  cut(): void {
    if (this.#state.status === 'done') return;
    this.#outlet.cut();
    this.#finish({ type: 'connection.cut' });
  }

  tick(now: number): void {
    const end = this.#owner?.tokenValidity?.endReason(now);
    if (end) return this.#owner?.onTokenEnded(end);
    const unread = this.#outlet.unsentBytes;
    if (unread === 0 && this.#state.value === 'ending')
      return this.#finish({ type: 'output.drained' });
    const taken = this.#writtenBytes - unread;
    const isTaking = unread === 0 || taken > this.#lastRead.bytes || !this.#outlet.hasConnection;
    const { keepaliveIntervalMs, unreadTimeoutMs } = this.#endpoint.limits;
    if (isTaking) this.#lastRead = { bytes: taken, atMs: now };
    else if (now - this.#lastRead.atMs >= unreadTimeoutMs) {
      return this.#cutStalled(`has read none of ${unread} bytes for ${unreadTimeoutMs} ms`);
    }
    const unansweredMs = this.#outlet.unacknowledgedMs?.(now) ?? 0;
    if (unansweredMs > 0 && unansweredMs >= unreadTimeoutMs) {
      return this.#cutStalled(`has acknowledged nothing for ${unansweredMs} ms`);
    }
    if (this.#lastWrite.bytes !== this.#writtenBytes)
      this.#lastWrite = { bytes: this.#writtenBytes, atMs: now };
    else if (keepaliveIntervalMs > 0 && now - this.#lastWrite.atMs >= keepaliveIntervalMs) {
      // Comments to a client that does not read would only pile up.
      if (this.#state === sinkChart.initial && unread === 0 && this.#keepaliveBy === 'here')
        this.#writtenBytes += this.#outlet.write(keepalive);
      this.#lastWrite = { bytes: this.#writtenBytes, atMs: now };
    }
  }

  #writeNow(data: string | Uint8Array): void {
    const bytes = this.#outlet.write(data);
    this.#writtenBytes += bytes;
    const { maxUnreadBytes } = this.#endpoint.limits;
    const unread = this.#outlet.unsentBytes;
    // A single oversized message is not the client's fault.
    if (unread - bytes <= maxUnreadBytes) return;
    this.#owner?.onStalled(
      `has not read ${unread} bytes, more than the limit of ${maxUnreadBytes}`,
    );
  }

  #release(): void {
    if (!this.#state.matches('holding')) return;
    const held = this.#held;
    this.#held = '';
    this.#move({ type: 'output.release' });
    if (held !== '') this.#writeNow(held);
    if (this.#state.value === 'ending') this.#endOutlet();
  }

  #endOutlet(): void {
    this.#outlet.end();
    if (this.#outlet.unsentBytes === 0) this.#finish({ type: 'output.drained' });
  }

  #move(event: SinkEvent): void {
    this.#state = sinkChart.next(this.#state, event);
  }

  #cutStalled(why: string): void {
    const owner = this.#owner;
    this.cut();
    if (owner) return owner.onStalled(why);
    const message = `The client was cut off from a complete answer: it ${why}`;
    formatReport(this.#endpoint.report, 'warning', 'stream.cut', message);
  }

  #finish(event: SinkEvent): void {
    this.#move(event);
    this.#endpoint.maintenance.delete(this);
  }
}
