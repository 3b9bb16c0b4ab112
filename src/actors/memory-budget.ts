/**
 * Bytes of client data held in memory: per client and for all clients together. A stdio session has
 * a budget of its own. The sessions of an HTTP endpoint share one, so that a client cannot multiply
 * its quota by opening sessions.
 */
import { maxClientsAtLimit } from './limits.ts';

/**
 * `inFlight`: requests that are queued or running. `retained`: data that outlives its request, such
 * as a task or a call that awaits its client's retry.
 */
export type MemoryUse = 'inFlight' | 'retained';

type MemoryUsage = { [use in MemoryUse]: number };

/** The memory of all clients of an endpoint or a session, by client. */
export class MemoryBudget {
  /** Usage of all clients together, UTF-16 units (bytes, for ASCII). */
  readonly used: MemoryUsage = { inFlight: 0, retained: 0 };
  readonly #quotas = new Map<string, Quota>();

  /** The quota of a client. Call {@link Quota.release} when done with it. */
  acquire(clientKey: string): Quota {
    let quota = this.#quotas.get(clientKey);
    if (!quota) {
      quota = new Quota(this, clientKey);
      this.#quotas.set(clientKey, quota);
    }
    quota.refCount++;
    return quota;
  }

  /** Usage of one client. */
  usedBy(clientKey: string): Readonly<MemoryUsage> {
    return this.#quotas.get(clientKey)?.used ?? { inFlight: 0, retained: 0 };
  }

  remove(clientKey: string): void {
    this.#quotas.delete(clientKey);
  }
}

/** The memory of one client, across its sessions. Reference-counted. */
export class Quota {
  readonly used: MemoryUsage = { inFlight: 0, retained: 0 };
  refCount = 0;
  readonly clientKey: string;
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget, clientKey: string) {
    this.#budget = budget;
    this.clientKey = clientKey;
  }

  /** True if `bytes` more fit. @param max the limit of one client */
  hasRoom(use: MemoryUse, bytes: number, max: number): boolean {
    const all = this.#budget.used[use];
    return this.used[use] + bytes <= max && all + bytes <= max * maxClientsAtLimit;
  }

  /** Adds bytes to the usage; a negative number subtracts. */
  charge(use: MemoryUse, bytes: number): void {
    this.used[use] += bytes;
    this.#budget.used[use] += bytes;
  }

  release(): void {
    this.refCount--;
    if (this.refCount === 0) this.#budget.remove(this.clientKey);
  }
}

/** The quotas of the clients of one session. */
export class Quotas {
  readonly #budget: MemoryBudget;
  readonly #sessionKey: string | undefined;

  /**
   * @param sessionKey the client that owns the session; everything is charged to it. Set if the
   *   session shares its budget with other sessions.
   */
  constructor(budget = new MemoryBudget(), sessionKey?: string) {
    this.#budget = budget;
    this.#sessionKey = sessionKey;
  }

  /** @param clientKey see `RequestOrigin.clientKey` */
  acquire(clientKey: string | undefined): Quota {
    return this.#budget.acquire(this.keyOf(clientKey));
  }

  /** Quota key: principal id, else address, else '' for a session with a single client. */
  keyOf(clientKey: string | undefined): string {
    return this.#sessionKey ?? clientKey ?? '';
  }

  /**
   * Reserves memory for data that outlives its request.
   *
   * @param max the limit of retained bytes per client
   * @returns undefined if the bytes do not fit
   */
  reserve(clientKey: string | undefined, bytes: number, max: number): Reservation | undefined {
    const quota = this.acquire(clientKey);
    if (quota.hasRoom('retained', bytes, max)) return new Reservation(quota, bytes);
    quota.release();
    return undefined;
  }

  /** Usage of this session's clients. */
  get used(): Readonly<MemoryUsage> {
    return this.#sessionKey === undefined
      ? this.#budget.used
      : this.#budget.usedBy(this.#sessionKey);
  }
}

/** Retained bytes charged to a client's quota. */
export class Reservation {
  #quota: Quota | undefined;
  #bytes = 0;

  /** @param quota taken over: {@link release} releases it */
  constructor(quota: Quota, bytes: number) {
    this.#quota = quota;
    this.#charge(bytes);
  }

  /** Changes the size. @returns false, without any change, if the bytes do not fit */
  resize(bytes: number, max: number): boolean {
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#quota?.hasRoom('retained', more, max)) return false;
    this.#charge(bytes);
    return true;
  }

  /** Frees the bytes. Idempotent. */
  release(): void {
    this.#charge(0);
    this.#quota?.release();
    this.#quota = undefined;
  }

  #charge(bytes: number): void {
    this.#quota?.charge('retained', bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
