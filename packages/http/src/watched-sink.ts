/**
 * The way of an answer to its client, and the watch over it: a client that takes nothing is cut off,
 * also after the answer has ended, and one that is told nothing hears a comment now and then.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import { sinkChart } from './sink.machine.ts';
import type { SinkEvent } from './sink.machine.ts';
import type { TokenValidity, TokenEnd } from './admission.ts';
import { formatReport } from './facts.ts';
import type { HttpReport } from './facts.ts';
import type { HttpLimits } from './options.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, Maintenance } from './maintenance.ts';

/** Where the text of an answer leaves us, as a kind of host has it. */
export interface SinkOutlet {
  /** Takes it in any case; nothing if the client is gone. @returns its length in bytes */
  write(data: string | Uint8Array): number;
  /** Calls back once most of what was taken has left; never if the client goes first. */
  whenTaken(callback: () => void): void;
  /** What was taken and has not left, bytes; 0 once the client is gone. */
  readonly untakenBytes: number;
  /** False while its connection is still at the answer to an earlier request. */
  readonly isItsTurn: boolean;
  /**
   * For how long its client has acknowledged nothing of what the system sends again and again,
   * milliseconds. Only where the system tells.
   */
  unansweredMs?(now: number): number;
  /** Ends the answer. What was taken still goes out. */
  end(): void;
  /** Closes the connection, and drops what has not left. */
  cut(): void;
}

/** What the answers of an endpoint have in common. */
export interface SinkHome {
  readonly clock: Clock;
  readonly limits: Pick<HttpLimits, 'keepaliveIntervalMs' | 'maxUnreadBytes' | 'unreadTimeoutMs'>;
  readonly report: HttpReport;
  readonly upkeep: Maintenance;
}

/** Who says something on a stream. */
export interface SinkOwner {
  /** What the stream ends with; undefined if it ends by itself. */
  readonly admission: TokenValidity | undefined;
  /** Its token does not let it go on. */
  expired(end: TokenEnd): void;
  /**
   * Its client leaves too much unread, or has taken nothing for too long and was cut off.
   * @param why of the client, as "has not read 9 bytes"
   */
  unread(why: string): void;
}

/** A comment of a stream: no event. */
const keepalive = ':\n\n';

export class WatchedSink implements Maintained {
  place = notListed;
  readonly #outlet: SinkOutlet;
  readonly #home: SinkHome;
  readonly #keptAlive: 'here' | 'elsewhere';
  #owner: SinkOwner | undefined = undefined;
  #state = sinkChart.begun;
  #held = '';
  /** What the outlet was given, bytes. */
  #given = 0;
  /** As it was looked at last: what was given, and since when nothing more was. */
  #spoken: { readonly bytes: number; readonly atMs: number };
  /** The most that the client had taken, and when it had taken something last. */
  #taken: { readonly bytes: number; readonly atMs: number };

  /** @param keptAlive whether silence is filled here, or by the node that makes the response */
  constructor(outlet: SinkOutlet, home: SinkHome, keptAlive: 'here' | 'elsewhere' = 'here') {
    this.#outlet = outlet;
    this.#home = home;
    this.#keptAlive = keptAlive;
    const atMs = home.clock.now();
    this.#spoken = { bytes: 0, atMs };
    this.#taken = { bytes: 0, atMs };
    home.upkeep.add(this);
  }

  /** Says who writes to it from now on. */
  ownedBy(owner: SinkOwner): void {
    this.#owner = owner;
    this.#spoken = { bytes: this.#given, atMs: this.#home.clock.now() };
  }

  /** Sends nothing until this has settled. */
  holdUntil(settled: Promise<void>): void {
    this.#move({ type: 'output.hold' });
    const release = () => this.#release();
    settled.then(release, release);
  }

  /** What was written and has not left, bytes. */
  get untakenBytes(): number {
    return this.#state.status === 'done' ? 0 : this.#held.length + this.#outlet.untakenBytes;
  }

  /** How long its client has taken nothing of what waits, milliseconds; 0 if nothing waits. */
  get unreadMs(): number {
    return this.untakenBytes === 0 ? 0 : this.#home.clock.now() - this.#taken.atMs;
  }

  /** Takes it in any case; nothing once it has ended. */
  write(data: string | Uint8Array): void {
    if (this.#state === sinkChart.begun) this.#give(data);
    else if (typeof data === 'string' && this.#state.matches({ holding: 'more' })) {
      this.#held += data;
    }
  }

  /** Calls back once its client has taken most of what was written; never if the client goes first. */
  whenTaken(callback: () => void): void {
    this.#outlet.whenTaken(callback);
  }

  /** Ends the answer. What was written still goes out, for as long as the client takes it. */
  end(): void {
    this.#owner = undefined;
    const isOpen = this.#state === sinkChart.begun;
    this.#move({ type: 'output.end' });
    if (isOpen) this.#endOutlet();
  }

  /** Closes the connection. */
  cut(): void {
    if (this.#state.status === 'done') return;
    this.#outlet.cut();
    this.#over({ type: 'connection.cut' });
  }

  tend(now: number): void {
    const end = this.#owner?.admission?.endedBy(now);
    if (end) return this.#owner?.expired(end);
    const unread = this.#outlet.untakenBytes;
    if (unread === 0 && this.#state.value === 'ending') return this.#over({ type: 'output.taken' });
    const taken = this.#given - unread;
    const isTaking = unread === 0 || taken > this.#taken.bytes || !this.#outlet.isItsTurn;
    const { keepaliveIntervalMs, unreadTimeoutMs } = this.#home.limits;
    if (isTaking) this.#taken = { bytes: taken, atMs: now };
    else if (now - this.#taken.atMs >= unreadTimeoutMs) {
      return this.#cutOff(`has taken none of ${unread} bytes for ${unreadTimeoutMs} ms`);
    }
    const unansweredMs = this.#outlet.unansweredMs?.(now) ?? 0;
    if (unansweredMs > 0 && unansweredMs >= unreadTimeoutMs) {
      return this.#cutOff(`has acknowledged nothing for ${unansweredMs} ms`);
    }
    if (this.#spoken.bytes !== this.#given) this.#spoken = { bytes: this.#given, atMs: now };
    else if (keepaliveIntervalMs > 0 && now - this.#spoken.atMs >= keepaliveIntervalMs) {
      // Comments that its client does not read would only pile up.
      if (this.#state === sinkChart.begun && unread === 0 && this.#keptAlive === 'here')
        this.#given += this.#outlet.write(keepalive);
      this.#spoken = { bytes: this.#given, atMs: now };
    }
  }

  #give(data: string | Uint8Array): void {
    const bytes = this.#outlet.write(data);
    this.#given += bytes;
    const { maxUnreadBytes } = this.#home.limits;
    const unread = this.#outlet.untakenBytes;
    // The client is not at fault if this message alone is longer.
    if (unread - bytes <= maxUnreadBytes) return;
    this.#owner?.unread(`has not read ${unread} bytes; ${maxUnreadBytes} may wait`);
  }

  #release(): void {
    if (!this.#state.matches('holding')) return;
    const held = this.#held;
    this.#held = '';
    this.#move({ type: 'output.release' });
    if (held !== '') this.#give(held);
    if (this.#state.value === 'ending') this.#endOutlet();
  }

  #endOutlet(): void {
    this.#outlet.end();
    if (this.#outlet.untakenBytes === 0) this.#over({ type: 'output.taken' });
  }

  #move(event: SinkEvent): void {
    this.#state = sinkChart.next(this.#state, event);
  }

  #cutOff(why: string): void {
    const owner = this.#owner;
    this.cut();
    if (owner) return owner.unread(why);
    const message = `The client was cut off from an answer that had ended: it ${why}`;
    formatReport(this.#home.report, 'warning', 'stream.cut', message);
  }

  #over(event: SinkEvent): void {
    this.#move(event);
    this.#home.upkeep.delete(this);
  }
}
