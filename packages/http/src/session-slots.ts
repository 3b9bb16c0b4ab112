/** Quota keys of clients, and the eviction of sessions when all slots are taken. */
import { Quotas } from '../../../src/actors/memory-budget.ts';
import type { MemoryBudget } from '../../../src/actors/memory-budget.ts';
import { addressKey } from '../../../src/protocol/address-key.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';

/** Quota key of a request: its principal or, without authorization, its network address. */
export function clientKeyOf({
  principal,
  remoteAddress,
}: {
  readonly principal?: Principal;
  readonly remoteAddress: string | undefined;
}): string {
  return principal?.id ?? addressKey(remoteAddress);
}

/** Sessions and memory of one quota key. */
export interface ClientAccount {
  readonly key: string;
  /** Memory quotas of its sessions. */
  readonly quotas: Quotas;
  /** Number of open sessions. */
  sessions: number;
}

/**
 * Priority of a session, lowest first. `unused`: no request since `initialize`. `idle`: nothing
 * pending, no open stream. `silent`: `unused` with an open stream. `listening`: an open stream,
 * nothing pending. `busy`: a call is running.
 */
export type SlotPriority = 'unused' | 'idle' | 'silent' | 'listening' | 'busy';

/** A session that occupies a slot. */
export interface SlotHolder {
  readonly account: ClientAccount;
  readonly priority: SlotPriority;
  /** Time of last use, clock ms. */
  readonly usedAt: number;
  /** Ends the session to free its slot. */
  evict(): void;
}

/** A fixed number of session slots. A client with many sessions cannot lock others out. */
export class SessionSlots<T extends SlotHolder> {
  readonly #max: number;
  readonly #memory: MemoryBudget;
  readonly #holders = new Set<T>();
  readonly #accounts = new Map<string, ClientAccount>();

  /** @param memory memory budget of the endpoint's clients */
  constructor(max: number, memory: MemoryBudget) {
    this.#max = max;
    this.#memory = memory;
  }

  /** The account of a quota key, created on first use. */
  accountOf(key: string): ClientAccount {
    return this.#accounts.get(key) ?? { key, sessions: 0, quotas: new Quotas(this.#memory, key) };
  }

  add(holder: T): void {
    const { account } = holder;
    this.#holders.add(holder);
    this.#accounts.set(account.key, account);
    account.sessions++;
  }

  delete(holder: T): void {
    const { account } = holder;
    if (this.#holders.delete(holder) && --account.sessions === 0)
      this.#accounts.delete(account.key);
  }

  /**
   * Frees a slot for one more session of a client. The client with the most sessions loses one of
   * its own without a stream; otherwise the lowest priority overall is evicted. A listening session
   * that was used goes only if its client keeps as many sessions as the new client will have.
   *
   * @returns false if nothing can be evicted
   */
  evictFor(key: string): boolean {
    if (this.#holders.size < this.#max) return true;
    const size = this.#accounts.get(key)?.sessions ?? 0;
    let most = 0;
    for (const account of this.#accounts.values()) most = Math.max(most, account.sessions);
    const isOwn = ({ account }: T) => account.key === key;
    const weakest =
      size === most
        ? (this.#weakest('unused', isOwn) ?? this.#weakest('idle', isOwn))
        : (this.#weakest('unused') ??
          this.#weakest('idle') ??
          this.#weakest('silent') ??
          this.#weakest('listening', ({ account }) => account.sessions > size + 1));
    weakest?.evict();
    return weakest !== undefined;
  }

  /** The least recently used candidate of the client with the most sessions. */
  #weakest(
    priority: SlotPriority,
    isCandidate: (holder: T) => boolean = () => true,
  ): T | undefined {
    let found: T | undefined;
    for (const holder of this.#holders) {
      if (found) {
        const more = holder.account.sessions - found.account.sessions;
        if (more < 0 || (more === 0 && holder.usedAt >= found.usedAt)) continue;
      }
      if (isCandidate(holder) && holder.priority === priority) found = holder;
    }
    return found;
  }
}
