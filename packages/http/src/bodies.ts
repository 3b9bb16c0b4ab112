/**
 * Bodies that are being read. What has come of them is bounded, for each client and for all together,
 * and each has to come to its end in time.
 */
import { maxClientsAtLimit } from '../../../src/actors/limits.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { HttpLimits } from './options.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, Maintenance } from './maintenance.ts';

/** Why a body was not read: what its request is answered with. */
export interface BodyRefusal {
  readonly ok: false;
  readonly status: number;
  readonly message: string;
  readonly headers?: { readonly [name: string]: string };
}

/** What the bodies of an endpoint have in common. */
export interface BodiesHome {
  readonly clock: Clock;
  readonly limits: Pick<HttpLimits, 'maxBodyBytes' | 'maxUnfinishedBytes' | 'bodyTimeoutMs'>;
  readonly upkeep: Maintenance;
}

/** The unfinished bodies of one client. */
interface Sender {
  bytes: number;
  bodies: number;
}

export class Bodies {
  readonly #home: BodiesHome;
  readonly #unfinished = new Map<ReceivedBody, Sender>();
  readonly #senders = new Map<string, Sender>();
  #bytes = 0;

  constructor(home: BodiesHome) {
    this.#home = home;
  }

  /**
   * Begins to read one.
   * @param party whose share of the bounds it counts towards
   * @param refused told once if it is not read to its end
   */
  begin(party: string, refused: (refusal: BodyRefusal) => void): ReceivedBody {
    return new ReceivedBody(party, refused, this, this.#home);
  }

  /** More has come of one that is not at its end. */
  grew(body: ReceivedBody, bytes: number): void {
    const { party } = body;
    const sender = this.#senders.get(party) ?? { bytes: 0, bodies: 0 };
    this.#senders.set(party, sender);
    if (!this.#unfinished.has(body)) sender.bodies++;
    this.#unfinished.set(body, sender);
    sender.bytes += bytes;
    this.#bytes += bytes;
    const { maxUnfinishedBytes, maxBodyBytes } = this.#home.limits;
    if (sender.bytes > maxUnfinishedBytes && sender.bodies > 1) {
      const message = `This client has sent ${sender.bytes} bytes of bodies that are not at their end, and may send ${maxUnfinishedBytes}; try again later`;
      return body.refuse(busy(message));
    }
    if (this.#bytes <= Math.max(maxClientsAtLimit * maxUnfinishedBytes, maxBodyBytes)) return;
    const message = 'Too many bodies are not at their end; try again later';
    this.#largest()?.refuse(busy(message));
  }

  /** It is at its end, or is no longer read. */
  over(body: ReceivedBody, bytes: number): void {
    const sender = this.#unfinished.get(body);
    if (!sender) return;
    this.#unfinished.delete(body);
    this.#bytes -= bytes;
    sender.bytes -= bytes;
    if (--sender.bodies === 0) this.#senders.delete(body.party);
  }

  /** The longest body of the client that has sent the most: nobody else's gives way to it. */
  #largest(): ReceivedBody | undefined {
    let largest: ReceivedBody | undefined;
    let most = 0;
    for (const [body, { bytes }] of this.#unfinished) {
      if (bytes < most || (bytes === most && body.length <= (largest?.length ?? 0))) continue;
      [largest, most] = [body, bytes];
    }
    return largest;
  }
}

export class ReceivedBody implements Maintained {
  place = notListed;
  readonly party: string;
  readonly #refused: (refusal: BodyRefusal) => void;
  readonly #bodies: Bodies;
  readonly #home: BodiesHome;
  readonly #since: number;
  /** Twice as long as what has come, at most: a body may come byte by byte. */
  #bytes: Uint8Array = nothing;
  #length = 0;

  constructor(
    party: string,
    refused: (refusal: BodyRefusal) => void,
    bodies: Bodies,
    home: BodiesHome,
  ) {
    this.party = party;
    this.#refused = refused;
    this.#bodies = bodies;
    this.#home = home;
    this.#since = home.clock.now();
    home.upkeep.add(this);
  }

  /** What has come of it, bytes. */
  get length(): number {
    return this.#length;
  }

  /**
   * Takes what has come. It may refuse the body, or that of another one.
   * @param isAll true if nothing more can come
   */
  take(chunk: Uint8Array, isAll: boolean): void {
    if (this.#isOver) return;
    const { maxBodyBytes } = this.#home.limits;
    const length = this.#length + chunk.length;
    if (length > maxBodyBytes) return this.refuse(bodyTooLong(maxBodyBytes));
    if (this.#length === 0) this.#bytes = chunk;
    else this.#append(chunk, length);
    this.#length = length;
    if (!isAll) this.#bodies.grew(this, chunk.length);
  }

  /** It is tended for as long as it is read. */
  get #isOver(): boolean {
    return this.place === notListed;
  }

  /** All of it. */
  finish(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.leave();
    return bytes;
  }

  /** It is no longer read. */
  leave(): void {
    this.#bodies.over(this, this.#length);
    this.#home.upkeep.delete(this);
    this.#bytes = nothing;
  }

  refuse(refusal: BodyRefusal): void {
    this.leave();
    this.#refused(refusal);
  }

  tend(now: number): void {
    const { bodyTimeoutMs } = this.#home.limits;
    if (now - this.#since < bodyTimeoutMs) return;
    const message = `The body was not at its end after ${bodyTimeoutMs} ms`;
    this.refuse({ ok: false, status: 408, message, headers: { connection: 'close' } });
  }

  #append(chunk: Uint8Array, length: number): void {
    if (length > this.#bytes.length) {
      const longer = new Uint8Array(Math.max(length, 2 * this.#length));
      longer.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = longer;
    }
    this.#bytes.set(chunk, this.#length);
  }
}

const nothing = new Uint8Array(0);

/** A body may be no longer than this, bytes. */
export function bodyTooLong(maxBytes: number): BodyRefusal {
  return { ok: false, status: 413, message: `The body is longer than ${maxBytes} bytes` };
}

function busy(message: string): BodyRefusal {
  return { ok: false, status: 503, message, headers: { 'retry-after': '1' } };
}
