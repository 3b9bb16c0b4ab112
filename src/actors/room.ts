/**
 * How much of what clients have sent is held in memory, in bytes: of each client, and of all of them
 * together. One session has a room of its own; the sessions of an HTTP endpoint share one, because a
 * client that begins many must not get as many times the room.
 */
import { maxClientsAtLimit } from './limits.ts';

/**
 * `inFlight`: requests that wait or run. `retained`: what outlives its request, such as a task or a
 * call that waits for its client's retry.
 */
export type RoomUse = 'inFlight' | 'retained';

type Held = { [use in RoomUse]: number };

export class MemoryBudget {
  /** Of all clients together, UTF-16 units: for ASCII, bytes. */
  readonly held: Held = { inFlight: 0, retained: 0 };
  readonly #shares = new Map<string, Quota>();

  /** The share of a client; {@link Quota.leave} gives it back. @param party the principal or the address */
  enter(party: string): Quota {
    let share = this.#shares.get(party);
    if (!share) {
      share = new Quota(this, party);
      this.#shares.set(party, share);
    }
    share.users++;
    return share;
  }

  /** What is held of one client. */
  heldOf(party: string): Readonly<Held> {
    return this.#shares.get(party)?.held ?? { inFlight: 0, retained: 0 };
  }

  forget(party: string): void {
    this.#shares.delete(party);
  }
}

/** What one client holds, in however many sessions. */
export class Quota {
  readonly held: Held = { inFlight: 0, retained: 0 };
  /** How many have entered and not left. */
  users = 0;
  readonly party: string;
  readonly #room: MemoryBudget;

  constructor(room: MemoryBudget, party: string) {
    this.#room = room;
    this.party = party;
  }

  /** Whether so many bytes more would be within the bounds. @param max of one client */
  mayHold(use: RoomUse, bytes: number, max: number): boolean {
    const all = this.#room.held[use];
    return this.held[use] + bytes <= max && all + bytes <= max * maxClientsAtLimit;
  }

  /** Counts bytes in, or with a negative number out. */
  hold(use: RoomUse, bytes: number): void {
    this.held[use] += bytes;
    this.#room.held[use] += bytes;
  }

  leave(): void {
    this.users--;
    if (this.users === 0) this.#room.forget(this.party);
  }
}

/** The shares of one session's clients. */
export class Quotas {
  readonly #room: MemoryBudget;
  readonly #own: string | undefined;

  /** @param own whose session it is, if it shares the room with others; then all counts towards that one */
  constructor(room = new MemoryBudget(), own?: string) {
    this.#room = room;
    this.#own = own;
  }

  /** @param party see `RequestOrigin.party` */
  enter(party: string | undefined): Quota {
    return this.#room.enter(this.nameOf(party));
  }

  /** Whose share it is: the principal, the address, or nobody's if there is one client. */
  nameOf(party: string | undefined): string {
    return this.#own ?? party ?? '';
  }

  /**
   * Counts what outlives its request.
   *
   * @param max how much of one client may be retained
   * @returns undefined, and counts nothing, if there is no room
   */
  retain(party: string | undefined, bytes: number, max: number): Reservation | undefined {
    const share = this.enter(party);
    if (share.mayHold('retained', bytes, max)) return new Reservation(share, bytes);
    share.leave();
    return undefined;
  }

  /** What is held of its clients. */
  get held(): Readonly<Held> {
    return this.#own === undefined ? this.#room.held : this.#room.heldOf(this.#own);
  }
}

/** Something that is retained, as it is counted. */
export class Reservation {
  #share: Quota | undefined;
  #bytes = 0;

  /** @param share is left at the {@link release} */
  constructor(share: Quota, bytes: number) {
    this.#share = share;
    this.#count(bytes);
  }

  /** Counts it anew. @returns false, and counts as before, if there is no room for it */
  resize(bytes: number, max: number): boolean {
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#share?.mayHold('retained', more, max)) return false;
    this.#count(bytes);
    return true;
  }

  /** It is gone. Repeating it changes nothing. */
  release(): void {
    this.#count(0);
    this.#share?.leave();
    this.#share = undefined;
  }

  #count(bytes: number): void {
    this.#share?.hold('retained', bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
