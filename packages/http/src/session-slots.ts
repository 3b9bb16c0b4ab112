/**
 * Whose share of an endpoint's bounds a request counts towards, and who gives up a place if there is
 * none left.
 */
import { Quotas } from '../../../src/actors/room.ts';
import type { MemoryBudget } from '../../../src/actors/room.ts';
import { addressParty } from '../../../src/protocol/address-party.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';

/** The name of a request's party: its principal or, without authorization, its address. */
export function clientKeyOf({
  principal,
  remoteAddress,
}: {
  readonly principal?: Principal;
  readonly remoteAddress: string | undefined;
}): string {
  return principal?.id ?? addressParty(remoteAddress);
}

/** Those who share places: a principal's sessions, or those of an address. */
export interface ClientKey {
  readonly name: string;
  /** What all that is theirs holds in memory counts towards these. */
  readonly shares: Quotas;
  /** How many places they have. */
  size: number;
}

/**
 * How good the claim to a place is, the weakest first. `greeted`: its client has said nothing since
 * it was greeted. `idle`: nothing is due, and nobody listens. `silent`: as `greeted`, but a stream is
 * open. `listening`: a stream is open, and nothing is due. `busy`: a call runs.
 */
export type Claim = 'greeted' | 'idle' | 'silent' | 'listening' | 'busy';

/** What has a place. */
export interface SlotHolder {
  readonly party: ClientKey;
  readonly claim: Claim;
  /** When it was used last, the clock's milliseconds. */
  readonly usedAt: number;
  /** Gives its place up. */
  evict(): void;
}

/** A number of places, of which nobody keeps the others out by taking many. */
export class SessionSlots<T extends SlotHolder> {
  readonly #max: number;
  readonly #room: MemoryBudget;
  readonly #taken = new Set<T>();
  readonly #parties = new Map<string, ClientKey>();

  /** @param room what the endpoint holds of its clients */
  constructor(max: number, room: MemoryBudget) {
    this.#max = max;
    this.#room = room;
  }

  /** The party of this name, to which places are counted. */
  party(name: string): ClientKey {
    return this.#parties.get(name) ?? { name, size: 0, shares: new Quotas(this.#room, name) };
  }

  add(placed: T): void {
    const { party } = placed;
    this.#taken.add(placed);
    this.#parties.set(party.name, party);
    party.size++;
  }

  delete(placed: T): void {
    const { party } = placed;
    if (this.#taken.delete(placed) && --party.size === 0) this.#parties.delete(party.name);
  }

  /**
   * Makes room for one more place of a party. A party that has the most gives up one of its own
   * that has no stream. Otherwise the weakest claim of all goes. One that listens and has spoken
   * goes only if its party keeps as many places as the new one will have.
   *
   * @returns false if there is no room
   */
  makeRoom(name: string): boolean {
    if (this.#taken.size < this.#max) return true;
    const size = this.#parties.get(name)?.size ?? 0;
    let most = 0;
    for (const party of this.#parties.values()) most = Math.max(most, party.size);
    const isOwn = ({ party }: T) => party.name === name;
    const weakest =
      size === most
        ? (this.#weakest('greeted', isOwn) ?? this.#weakest('idle', isOwn))
        : (this.#weakest('greeted') ??
          this.#weakest('idle') ??
          this.#weakest('silent') ??
          this.#weakest('listening', ({ party }) => party.size > size + 1));
    weakest?.evict();
    return weakest !== undefined;
  }

  /** Of the party that has the most of them, the one that was not used for longest. */
  #weakest(claim: Claim, isMeant: (placed: T) => boolean = () => true): T | undefined {
    let found: T | undefined;
    for (const placed of this.#taken) {
      if (found) {
        const more = placed.party.size - found.party.size;
        if (more < 0 || (more === 0 && placed.usedAt >= found.usedAt)) continue;
      }
      if (isMeant(placed) && placed.claim === claim) found = placed;
    }
    return found;
  }
}
