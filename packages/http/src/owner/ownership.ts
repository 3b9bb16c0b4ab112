/**
 * Which sessions this node owns, and for how long. It has one lease for all of them: while that
 * lasts, it serves their requests without asking. What their clients change is written down before it is
 * acknowledged, so that another node can bring a session back.
 *
 * @see docs/maintaining/decisions/17-one-session-one-owner.md
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { ownershipChart } from './ownership.machine.ts';
import type { OwnershipEvent } from './ownership.machine.ts';
import type { HttpReport } from '../facts.ts';
import { formatReport } from '../facts.ts';
import { StoreUnavailable, forEachAtStore, newNodeName } from '../nodes/stores.ts';
import type {
  StoredEvent,
  LeaseReply,
  NodeAddress,
  SessionRecord,
  StoreEpoch,
  Stores,
} from '../nodes/stores.ts';
import type { PeerNode } from './forwarded-request.ts';
import type { OwnedSession, SessionOwner } from './owned-session.ts';
import { reportUnavailable } from './store-errors.ts';

/** A session that was brought back from what was written down. */
export interface WokenSession {
  readonly record: SessionRecord;
  readonly log: readonly StoredEvent[];
}

/** Who has a session. */
export type Location =
  | { readonly kind: 'elsewhere'; readonly peer: PeerNode }
  | { readonly kind: 'woken'; readonly woken: WokenSession }
  | { readonly kind: 'none' };

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly report: HttpReport;
  /** How long a session may be idle: a copy of older data may live until then, milliseconds. */
  readonly idleMs: number;
  /** Where other nodes reach this one. Settles once they can. */
  address(): Promise<NodeAddress>;
  /** The node has a lease under a new name. */
  joined(): void;
  /** Sessions were removed here. */
  removed(ids: readonly string[]): void;
  /** The store has other data than before. */
  storeChanged(): Promise<void>;
  /** From time to time, once its lease was renewed. */
  beat(): void;
}

/** How many sessions that were given away are remembered, and how many ends. */
const maxGiven = 10_000;
const maxRemoved = 100_000;

/** How many sessions are prolonged at once. */
const touchesAtOnce = 8;

/** The part of a lease that counts: clocks do not run alike. */
const safePart = 0.95;

export class Ownership implements SessionOwner {
  readonly stores: Stores;
  readonly #options: OwnershipOptions;
  #state = ownershipChart.begun;
  #node = newNodeName();
  /** The last name that a lease was granted under. */
  #leased: string | undefined = undefined;
  /** When this node stops, its own clock. */
  #until = -Infinity;
  /** When the lease ends, the store's clock. */
  #storeUntil = 0;
  #store: StoreEpoch | undefined = undefined;
  #joining: Promise<void> | undefined = undefined;
  #restoring: Promise<void> | undefined = undefined;
  #timer: unknown = undefined;
  /** The store's time, less the time of this node's clock. */
  #offsetMs = 0;
  /** The sessions that were removed up to this time are known, the store's milliseconds. */
  #removedSinceMs = 0;
  readonly #owned = new Map<string, OwnedSession>();
  /** Sessions of which the store has not got all that was said. */
  readonly #lacking = new Set<OwnedSession>();
  /** What was known of sessions that ended here alone. If the store loses one, it gets it back until then, by this node's clock. */
  readonly #bequeathed = new Map<string, readonly [SessionRecord, untilMs: number]>();
  /** Sessions that were removed, here or elsewhere, and when that may be forgotten: the store may lose it. */
  readonly #removed = new Map<string, number>();
  /** Sessions in use whose time in the store is to be prolonged. */
  readonly #untouched = new Set<OwnedSession>();
  #touching: Promise<void> | undefined = undefined;
  /** Sessions that are on their way to another node. */
  readonly #giving = new Map<string, Promise<void>>();
  readonly #waking = new Map<string, Promise<Location>>();
  /** What leaves for the store. */
  readonly #leaving = new Set<Promise<unknown>>();

  constructor(stores: Stores, options: OwnershipOptions) {
    this.stores = stores;
    this.#options = options;
    this.ready().catch(reportUnavailable(options.report, 'This node could not join the others'));
    this.#timer = this.#next();
  }

  /** The name of this node's lease. */
  get node(): string {
    return this.#node;
  }

  /** The store's time, as far as this node knows, milliseconds. */
  get storeNow(): number {
    return this.#options.clock.now() + this.#offsetMs;
  }

  get isLeaving(): boolean {
    return this.#state.status === 'done';
  }

  get report(): HttpReport {
    return this.#options.report;
  }

  /** What it does next depends on this, and on nothing else. */
  view(): unknown {
    const { value } = this.#state;
    const now = this.#options.clock.now();
    const owned = [...this.#owned.values()].map(({ view }) => view);
    const bequeathed = [...this.#bequeathed.values()].map(([record, until]) => [
      record,
      until - now,
    ]);
    const removed = [...this.#removed.keys()];
    const known = [...bequeathed, ...removed, ...owned, this.#lacking.size, this.#giving.size];
    return [value, this.#node, this.#until - now, this.#storeUntil - now, this.#store, known];
  }

  /** Settles once this node has a lease. @throws {StoreUnavailable} */
  async ready(): Promise<void> {
    if (this.#state.status === 'done') {
      throw new StoreUnavailable('closed', 'this node is closing', { retryAfterMs: 1000 });
    }
    if (!this.holds) await (this.#joining ??= this.#join().finally(() => this.#joined()));
  }

  /** Whether its sessions are its own. Without a lease they end. */
  get holds(): boolean {
    if (this.#options.clock.now() < this.#until) return true;
    this.#lapse('it could not be renewed in time');
    return false;
  }

  /**
   * Writes down a session that begins here.
   * @throws {StoreUnavailable}
   */
  async begin(session: OwnedSession): Promise<void> {
    await this.ready();
    this.#owned.set(session.id, session);
    try {
      await this.put(session);
    } catch (error) {
      this.forget(session);
      this.stores.directory.remove(session.id, session.fence).catch(() => undefined);
      throw error;
    }
  }

  /** Whether a session is this node's. */
  has(session: OwnedSession): boolean {
    return this.holds && this.#owned.get(session.id) === session;
  }

  /** It ends here; others may go on with it. */
  forget(session: OwnedSession): void {
    // Its id may be that of a copy that was brought back since.
    if (this.#owned.get(session.id) === session) this.#owned.delete(session.id);
  }

  /**
   * Ends a session for all nodes, for good.
   * @throws {StoreUnavailable} also if another node has it by now
   */
  async remove(session: OwnedSession): Promise<void> {
    const { id, fence } = session;
    const wasRemoved = this.#removed.has(id);
    // Before the store is asked: should it lose its data meanwhile, it is told again.
    this.#remember([id]);
    let isRemoved = false;
    try {
      isRemoved = await this.stores.directory.remove(id, fence);
    } finally {
      if (!isRemoved && !wasRemoved) this.#removed.delete(id);
    }
    if (!isRemoved) throw this.lost(session);
    this.forget(session);
    this.#options.removed([id]);
  }

  /** Other nodes have removed sessions. A copy that is served here ends. */
  removedElsewhere(ids: readonly string[]): void {
    this.#remember(ids);
    for (const id of ids) {
      this.#bequeathed.delete(id);
      const session = this.#owned.get(id);
      if (!session) continue;
      this.#owned.delete(id);
      session.copy.abandon();
    }
  }

  #remember(ids: readonly string[]): void {
    const now = this.#options.clock.now();
    const untilMs = now + 2 * this.#options.idleMs;
    for (const id of ids) {
      this.#removed.delete(id);
      this.#removed.set(id, untilMs);
    }
    for (const [old, oldUntilMs] of this.#removed) {
      if (oldUntilMs > now && this.#removed.size <= maxRemoved) break;
      this.#removed.delete(old);
    }
  }

  /** Prolongs a session's time in the store, in its turn: a store takes only so many commands at once. */
  touch(session: OwnedSession): void {
    this.#untouched.add(session);
    this.#touch();
  }

  #touch(): void {
    if (this.#touching || this.#untouched.size === 0) return;
    const failed = reportUnavailable(this.report, 'Sessions in use are prolonged later');
    this.#touching = Promise.all(Array.from({ length: touchesAtOnce }, () => this.#touchAll()))
      .then(() => undefined, failed)
      .finally(() => {
        this.#touching = undefined;
      });
  }

  async #touchAll(): Promise<void> {
    for (const session of this.#untouched) {
      this.#untouched.delete(session);
      if (!this.has(session)) continue;
      try {
        await session.prolong();
      } catch (error) {
        if (!this.has(session)) continue;
        // The next beat goes on with it.
        this.#untouched.add(session);
        throw error;
      }
    }
  }

  /**
   * Stores all of a session.
   * @returns false if it is ended meanwhile: nothing of it is put back
   * @throws {StoreUnavailable} also if another node has it by now
   */
  async put(session: OwnedSession): Promise<boolean> {
    if (this.#removed.has(session.id)) return false;
    const owner = this.#node;
    const { directory } = this.stores;
    // A lease that was taken since is not the one that the copy belongs to.
    const isStored = this.has(session) && (await directory.put(session.record, this.#storeUntil));
    if (!isStored || owner !== this.#node) throw this.lost(session);
    return true;
  }

  /**
   * Gives a session to another node, which claims it when it is asked for it. Whether it is told so or not, it has ended here.
   * @throws {StoreUnavailable}
   */
  async give(session: OwnedSession, owner: string): Promise<void> {
    const { id, record } = session;
    this.forget(session);
    // What its client has ended goes to nobody.
    if (this.#removed.has(id)) return;
    // The other node may not have claimed it when the store loses it.
    this.#bequeathed.set(id, [record, this.#options.clock.now() + this.stores.leaseMs]);
    session.copy.abandon();
    const given = this.stores.directory.put({ ...record, owner }, this.#storeUntil);
    const settled = given.then(
      () => undefined,
      () => undefined,
    );
    this.#giving.set(id, settled);
    try {
      await given;
    } finally {
      if (this.#giving.get(id) === settled) this.#giving.delete(id);
    }
    if (this.#bequeathed.size > maxGiven) this.#bequeathed.delete(id);
  }

  /** Another node has a session that this one has served. */
  lost(session: OwnedSession): StoreUnavailable {
    const isServed = this.#owned.get(session.id) === session;
    this.forget(session);
    if (isServed) session.copy.abandon();
    const message = 'the session goes on at another node';
    return new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  /** The store has not got all that a session has said: it gets it with the next sign of life. */
  lacksLog(session: OwnedSession): void {
    if (this.has(session)) this.#lacking.add(session);
  }

  track(done: Promise<unknown>): void {
    this.#leaving.add(done);
    const left = () => this.#leaving.delete(done);
    done.then(left, left);
  }

  /**
   * Says who has a session that is not here. An unowned one is claimed.
   * @throws {StoreUnavailable}
   */
  locate(id: string, principal: string | undefined): Promise<Location> {
    const waking = this.#waking.get(id);
    if (waking) return waking;
    const locating = this.#locate(id, principal).finally(() => this.#waking.delete(id));
    this.#waking.set(id, locating);
    return locating;
  }

  /** Takes a session that was brought back. */
  own(session: OwnedSession): void {
    this.#owned.set(session.id, session);
  }

  /** Settles once what is leaving for the store has left. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#leaving);
  }

  /** Leaves: others may claim at once what it owned. */
  async leave(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    // An address that never comes must not keep the node.
    if (this.#state.value !== 'joining') await this.#joining?.catch(() => undefined);
    await this.settled();
    this.#move({ type: 'node.left' });
    this.#until = -Infinity;
    await this.stores.directory.leave(this.#node).catch(() => undefined);
  }

  async #locate(id: string, principal: string | undefined): Promise<Location> {
    const { directory, log, leaseMs } = this.stores;
    // Somebody else may be first, and lose it at once.
    for (let attempt = 0; attempt < 3; attempt++) {
      await this.ready();
      // What is given away is not claimed back.
      await this.#giving.get(id);
      if (this.#removed.has(id)) return { kind: 'none' };
      const { record, isRemoved, address, store } = await directory.find(id);
      if (store.name !== this.#store?.name) await this.#renew();
      const node = this.#node;
      if (isRemoved || (record && record.principal !== principal)) return { kind: 'none' };
      if (record && address && record.owner !== node) {
        return { kind: 'elsewhere', peer: { node: record.owner, address } };
      }
      if (store.ageMs < leaseMs && !address) {
        // Who owned something before may not have put it back yet.
        const message = 'the store has lost its data, and may be given them back';
        throw new StoreUnavailable('away', message, { retryAfterMs: leaseMs - store.ageMs });
      }
      if (!record) return { kind: 'none' };
      const read = { fence: record.fence, store: store.name };
      const claimed = await directory.claim(id, node, read);
      if (!claimed) continue;
      const kept = await log.read(id);
      if (this.holds && node === this.#node) {
        return { kind: 'woken', woken: { record: claimed, log: kept } };
      }
    }
    const message = 'several nodes want the same session';
    throw new StoreUnavailable('busy', message, { retryAfterMs: 1000 });
  }

  #joined(): void {
    this.#joining = undefined;
  }

  async #join(): Promise<void> {
    const { directory, leaseMs } = this.stores;
    // Calls that began before the first lease have that name.
    const node = this.#leased === undefined ? this.#node : newNodeName();
    const address = await this.#options.address();
    const sentAt = this.#options.clock.now();
    const reply = await directory.lease(node, 'new', this.#request(address));
    if (!reply.isHeld || this.#state.status === 'done') return;
    this.#node = node;
    this.#leased = node;
    this.#move({ type: 'lease.granted' });
    this.#until = sentAt + leaseMs * safePart;
    this.#storeUntil = reply.untilMs;
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = this.#next();
    await this.#look(reply, sentAt);
    this.#options.joined();
  }

  #request(address: NodeAddress) {
    return { address, removedSinceMs: this.#removedSinceMs };
  }

  async #renew(): Promise<void> {
    const { directory, leaseMs } = this.stores;
    const node = this.#node;
    const request = this.#request(await this.#options.address());
    const sentAt = this.#options.clock.now();
    let reply = await directory.lease(node, 'prolong', request);
    const isOther = reply.store.name !== this.#store?.name;
    if (!reply.isHeld && isOther && this.holds) {
      const reviveUntilMs = reply.store.sinceMs + leaseMs;
      reply = await directory.lease(node, { reviveUntilMs }, request);
    }
    if (!this.holds || node !== this.#node) return;
    if (!reply.isHeld) return this.#lapse('the others have taken it for dead');
    this.#until = Math.max(this.#until, sentAt + leaseMs * safePart);
    this.#storeUntil = reply.untilMs;
    await this.#look(reply, sentAt);
    const lacking = [...this.#lacking].filter((session) => this.has(session));
    this.#lacking.clear();
    const failed = reportUnavailable(this.report, 'What was said is still not kept');
    await forEachAtStore(lacking, (session) => session.putLogBack().catch(failed));
    this.#touch();
  }

  /** Sees what others have removed, and whether the store has lost something, and puts it back. */
  async #look({ store, untilMs, removed }: LeaseReply, sentAt: number): Promise<void> {
    const isOther = this.#store !== undefined && this.#store.name !== store.name;
    const storeNow = untilMs - this.stores.leaseMs;
    this.#offsetMs = storeNow - sentAt;
    this.#removedSinceMs = storeNow;
    this.#store = store;
    this.removedElsewhere(removed.filter((id) => !this.#removed.has(id)));
    if (isOther) this.#move({ type: 'store.changed' });
    if (this.#state.value === 'restoring') await (this.#restoring ??= this.#restore());
    const now = this.#options.clock.now();
    for (const [id, [, keptUntilMs]] of this.#bequeathed) {
      if (keptUntilMs <= now) this.#bequeathed.delete(id);
    }
  }

  async #restore(): Promise<void> {
    const { directory } = this.stores;
    const [node, store] = [this.#node, this.#store?.name];
    const ofOwned = (act: (session: OwnedSession) => Promise<unknown>) =>
      forEachAtStore(this.#owned.values(), (session) =>
        act(session).catch((error: unknown) => {
          // Otherwise another node has it.
          if (this.#owned.has(session.id)) throw error;
        }),
      );
    try {
      await directory.rememberRemoved([...this.#removed.keys()]);
      await this.#options.storeChanged();
      await forEachAtStore(this.#bequeathed.values(), ([record]) =>
        directory.put({ ...record, owner: '' }, this.#storeUntil),
      );
      await ofOwned((session) => this.put(session));
      // Who has what has to be known within the time of a lease.
      await ofOwned((session) => session.putLogBack());
    } finally {
      this.#restoring = undefined;
    }
    if (node !== this.#node || store !== this.#store?.name) return;
    this.#move({ type: 'store.restored' });
    const message = `The store has lost data; this node has put ${this.#owned.size} sessions back`;
    formatReport(this.report, 'warning', 'nodes.restored', message);
  }

  /** Its sessions may be others' by now. */
  #lapse(why: string): void {
    if (!this.#state.hasTag('serving')) return;
    this.#until = -Infinity;
    this.#move({ type: 'lease.over' });
    const sessions = [...this.#owned.values()];
    this.#owned.clear();
    const untilMs = this.#options.clock.now() + 2 * this.stores.leaseMs;
    for (const { id, record, copy } of sessions) {
      this.#bequeathed.set(id, [record, untilMs]);
      copy.abandon();
    }
    const message = `The lease of this node is over: ${why}. ${sessions.length} sessions have ended here`;
    formatReport(this.report, 'warning', 'nodes.lapsed', message);
  }

  #next(): unknown {
    const { clock } = this.#options;
    const everyMs = this.stores.leaseMs / 4;
    const leftMs = this.#until - clock.now();
    const afterMs = leftMs > 0 ? Math.min(everyMs, leftMs) : everyMs / 4;
    return clock.setTimeout(() => {
      this.#timer = this.#next();
      // The next one may reach it.
      const failed = reportUnavailable(this.report, 'The lease of this node was not renewed');
      if (!this.holds) return void this.ready().catch(() => undefined);
      this.#renew().then(() => this.#options.beat(), failed);
    }, afterMs);
  }

  #move(event: OwnershipEvent): void {
    this.#state = ownershipChart.next(this.#state, event);
  }
}
