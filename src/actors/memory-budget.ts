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
export type MemoryUse = 'inFlight' | 'retained';

type MemoryUsage = { [use in MemoryUse]: number };

export class MemoryBudget {
  /** Of all clients together, UTF-16 units: for ASCII, bytes. */
  readonly used: MemoryUsage = { inFlight: 0, retained: 0 };
  readonly #quotas = new Map<string, Quota>();

  /** The share of a client; {@link Quota.release} gives it back. @param clientKey the principal or the address */
  acquire(clientKey: string): Quota {
    let share = this.#quotas.get(clientKey);
    if (!share) {
      share = new Quota(this, clientKey);
      this.#quotas.set(clientKey, share);
    }
    share.refCount++;
    return share;
  }

  /** What is held of one client. */
  usedBy(clientKey: string): Readonly<MemoryUsage> {
    return this.#quotas.get(clientKey)?.used ?? { inFlight: 0, retained: 0 };
  }

  remove(clientKey: string): void {
    this.#quotas.delete(clientKey);
  }
}

/** What one client holds, in however many sessions. */
export class Quota {
  readonly used: MemoryUsage = { inFlight: 0, retained: 0 };
  /** How many have entered and not left. */
  refCount = 0;
  readonly clientKey: string;
  readonly #budget: MemoryBudget;

  constructor(room: MemoryBudget, clientKey: string) {
    this.#budget = room;
    this.clientKey = clientKey;
  }

  /** Whether so many bytes more would be within the bounds. @param max of one client */
  hasRoom(use: MemoryUse, bytes: number, max: number): boolean {
    const all = this.#budget.used[use];
    return this.used[use] + bytes <= max && all + bytes <= max * maxClientsAtLimit;
  }

  /** Counts bytes in, or with a negative number out. */
  charge(use: MemoryUse, bytes: number): void {
    this.used[use] += bytes;
    this.#budget.used[use] += bytes;
  }

  release(): void {
    this.refCount--;
    if (this.refCount === 0) this.#budget.remove(this.clientKey);
  }
}

/** The shares of one session's clients. */
export class Quotas {
  readonly #budget: MemoryBudget;
  readonly #sessionKey: string | undefined;

  /** @param own whose session it is, if it shares the room with others; then all counts towards that one */
  constructor(room = new MemoryBudget(), own?: string) {
    this.#budget = room;
    this.#sessionKey = own;
  }

  /** @param clientKey see `RequestOrigin.clientKey` */
  acquire(clientKey: string | undefined): Quota {
    return this.#budget.acquire(this.keyOf(clientKey));
  }

  /** Whose share it is: the principal, the address, or nobody's if there is one client. */
  keyOf(clientKey: string | undefined): string {
    return this.#sessionKey ?? clientKey ?? '';
  }

  /**
   * Counts what outlives its request.
   *
   * @param max how much of one client may be retained
   * @returns undefined, and counts nothing, if there is no room
   */
  reserve(clientKey: string | undefined, bytes: number, max: number): Reservation | undefined {
    const share = this.acquire(clientKey);
    if (share.hasRoom('retained', bytes, max)) return new Reservation(share, bytes);
    share.release();
    return undefined;
  }

  /** What is held of its clients. */
  get used(): Readonly<MemoryUsage> {
    return this.#sessionKey === undefined
      ? this.#budget.used
      : this.#budget.usedBy(this.#sessionKey);
  }
}

/** Something that is retained, as it is counted. */
export class Reservation {
  #quota: Quota | undefined;
  #bytes = 0;

  /** @param share is left at the {@link release} */
  constructor(share: Quota, bytes: number) {
    this.#quota = share;
    this.#count(bytes);
  }

  /** Counts it anew. @returns false, and counts as before, if there is no room for it */
  resize(bytes: number, max: number): boolean {
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#quota?.hasRoom('retained', more, max)) return false;
    this.#count(bytes);
    return true;
  }

  /** It is gone. Repeating it changes nothing. */
  release(): void {
    this.#count(0);
    this.#quota?.release();
    this.#quota = undefined;
  }

  #count(bytes: number): void {
    this.#quota?.charge('retained', bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
