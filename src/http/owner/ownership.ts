/**
 * Which sessions this node owns, and for how long. It has one lease for all of them: while that
 * lasts, it serves their requests without asking. What their clients change is written down before it is
 * acknowledged, so that another node can bring a session back.
 *
 * @see docs/decisions/0053
 */
import type { Clock } from '../../actors/clock.ts';
import { ownershipChart } from '../../machines/ownership.machine.ts';
import type { OwnershipEvent } from '../../machines/ownership.machine.ts';
import type { HttpReport } from '../facts.ts';
import { reportInWords } from '../facts.ts';
import { StoreUnavailable, forEachAtStore, newNodeName } from '../nodes/stores.ts';
import type {
  NodeInboxListener,
  KeptText,
  SessionRecord,
  StoreAge,
  Stores,
} from '../nodes/stores.ts';
import type { OwnedSession, SessionOwner } from './owned-session.ts';
import { reportUnavailable } from './unavailable.ts';

/** A session that was brought back from what was written down. */
export interface WokenSession {
  readonly record: SessionRecord;
  readonly log: readonly KeptText[];
}

/** Who has a session. */
export type Location =
  | { readonly kind: 'elsewhere'; readonly node: string }
  | { readonly kind: 'woken'; readonly woken: WokenSession }
  | { readonly kind: 'none' };

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly report: HttpReport;
  /** How long a session may be idle: a copy of older data may live until then, milliseconds. */
  readonly idleMs: number;
  /** Hears what other nodes say. */
  readonly inbox: NodeInboxListener;
  /** The lease is over: what other nodes do for this one, and it for them, comes to nothing. */
  lapsed(): void;
  /**
   * What was on its way to other nodes may be lost: the store has other data. This is called once more when all nodes that
   * live have come back. The inbox of one that was late may have expired, with all that was in it.
   */
  lettersLost(): void;
  /** From time to time, once its lease was renewed. */
  beat(): void;
}

/** How many sessions that were given away are remembered, and how many ends. */
const maxGiven = 10_000;
const maxRemoved = 100_000;

/** The part of a lease that counts: clocks do not run alike. */
const safePart = 0.95;

export class Ownership implements SessionOwner {
  readonly stores: Stores;
  readonly #options: OwnershipOptions;
  #state = ownershipChart.begun;
  #node = newNodeName();
  /** When this node stops, its own clock. */
  #until = -Infinity;
  /** When the lease ends, the store's clock. */
  #storeUntil = 0;
  #store: StoreAge | undefined = undefined;
  #joining: Promise<void> | undefined = undefined;
  #restoring: Promise<void> | undefined = undefined;
  #timer: unknown = undefined;
  readonly #owned = new Map<string, OwnedSession>();
  /** Sessions of which the store has not got all that was said. */
  readonly #lacking = new Set<OwnedSession>();
  /** What was known of sessions that ended here alone. If the store loses one, it gets it back until then, by this node's clock. */
  readonly #bequeathed = new Map<string, readonly [SessionRecord, untilMs: number]>();
  /** The fences of sessions that this node has ended, with when that may be forgotten. */
  readonly #removed = new Map<string, { readonly fence: number; readonly untilMs: number }>();
  /** Those of them whose place is held in a store that has lost its data, for as long as others put things back. */
  readonly #buried = new Set<string>();
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

  /** Which data the store has, as far as this node knows. */
  get storeName(): string | undefined {
    return this.#store?.name;
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
    const known = [
      ...bequeathed,
      ...this.#removed.keys(),
      ...this.#buried,
      ...owned,
      this.#lacking.size,
    ];
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
   * Ends a session for all nodes.
   * @throws {StoreUnavailable}
   */
  async remove(session: OwnedSession): Promise<void> {
    const { id, fence } = session;
    const now = this.#options.clock.now();
    this.#removed.set(id, { fence, untilMs: now + 2 * this.#options.idleMs });
    try {
      if (!this.isStoreYoung) await this.stores.directory.remove(id, fence);
    } catch (error) {
      // What is buried by now has ended.
      if (!this.#buried.has(id)) {
        this.#removed.delete(id);
        throw error;
      }
    }
    // It may have lost its data meanwhile.
    if (this.isStoreYoung) await this.#bury(id, fence);
    this.forget(session);
    for (const [old, { untilMs }] of this.#removed) {
      if (untilMs > now && this.#removed.size <= maxRemoved) break;
      this.#removed.delete(old);
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
    await this.stores.directory.put({ ...record, owner }, this.#storeUntil);
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
  async close(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    await this.#joining?.catch(() => undefined);
    await this.settled();
    this.#move({ type: 'node.left' });
    this.#until = -Infinity;
    await this.stores.directory.leave(this.#node).catch(() => undefined);
    await this.stores.close();
  }

  async #locate(id: string, principal: string | undefined): Promise<Location> {
    const { directory, log, leaseMs } = this.stores;
    // Somebody else may be first, and lose it at once.
    for (let attempt = 0; attempt < 3; attempt++) {
      await this.ready();
      if (this.#removed.has(id)) return { kind: 'none' };
      const { record, isOwned, store } = await directory.find(id);
      if (store.name !== this.#store?.name) await this.#renew();
      const node = this.#node;
      if (record && record.principal !== principal) return { kind: 'none' };
      if (record && isOwned && record.owner !== node) {
        return { kind: 'elsewhere', node: record.owner };
      }
      if (store.ageMs < leaseMs && !isOwned) {
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
    const { directory, inbox, leaseMs } = this.stores;
    const node = newNodeName();
    const sentAt = this.#options.clock.now();
    await inbox.open(node, this.#options.inbox);
    const { isHeld, untilMs, store } = await directory.lease(node, 'new');
    if (!isHeld || this.#state.status === 'done') return;
    this.#node = node;
    this.#move({ type: 'lease.granted' });
    this.#until = sentAt + leaseMs * safePart;
    this.#storeUntil = untilMs;
    await this.#look(store);
  }

  async #renew(): Promise<void> {
    const { directory, inbox, leaseMs } = this.stores;
    const node = this.#node;
    const sentAt = this.#options.clock.now();
    let reply = await directory.lease(node, 'prolong');
    const isOther = reply.store.name !== this.#store?.name;
    if (!reply.isHeld && isOther && this.holds) {
      const reviveUntilMs = reply.store.sinceMs + leaseMs;
      reply = await directory.lease(node, { reviveUntilMs });
    }
    if (!this.holds || node !== this.#node) return;
    if (!reply.isHeld) return this.#lapse('the others have taken it for dead');
    this.#until = Math.max(this.#until, sentAt + leaseMs * safePart);
    this.#storeUntil = reply.untilMs;
    await Promise.all([inbox.prolong(node), this.#look(reply.store)]);
    const lacking = [...this.#lacking].filter((session) => this.has(session));
    this.#lacking.clear();
    const failed = reportUnavailable(this.report, 'What was said is still not kept');
    await forEachAtStore(lacking, (session) => session.putLogBack().catch(failed));
  }

  /** Sees whether the store has lost something, and puts it back. */
  async #look(store: StoreAge): Promise<void> {
    const isOther = this.#store !== undefined && this.#store.name !== store.name;
    const wasYoung = this.isStoreYoung;
    this.#store = store;
    if (isOther) {
      this.#move({ type: 'store.changed' });
      this.#options.lettersLost();
    }
    if (this.#state.value === 'restoring') await (this.#restoring ??= this.#restore());
    else if (!this.isStoreYoung) {
      if (wasYoung) this.#options.lettersLost();
      await this.#removeBuried();
    }
    const now = this.#options.clock.now();
    for (const [id, [, untilMs]] of this.#bequeathed) {
      if (untilMs <= now) this.#bequeathed.delete(id);
    }
  }

  /** Whether others may still put back what it has lost. */
  get isStoreYoung(): boolean {
    return this.#store !== undefined && this.#store.ageMs < this.stores.leaseMs;
  }

  /** Holds the place of a session that has ended: a node that once gave it away cannot put it back there. */
  async #bury(id: string, fence: number): Promise<void> {
    this.#buried.add(id);
    const empty = { id, principal: undefined, fence, revision: Number.MAX_SAFE_INTEGER, facts: {} };
    await this.stores.directory.put({ ...empty, owner: this.#node }, this.#storeUntil);
  }

  async #removeBuried(): Promise<void> {
    const buried = [...this.#buried];
    await forEachAtStore(buried, async (id) => {
      const { fence } = this.#removed.get(id) ?? {};
      if (fence !== undefined) await this.stores.directory.remove(id, fence);
      this.#buried.delete(id);
    });
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
      await forEachAtStore(this.#removed, ([id, { fence }]) => this.#bury(id, fence));
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
    reportInWords(this.report, 'warning', 'nodes.restored', message);
  }

  /** Its sessions may be others' by now. */
  #lapse(why: string): void {
    if (!this.#state.hasTag('serving')) return;
    const node = this.#node;
    this.#until = -Infinity;
    this.#move({ type: 'lease.over' });
    const sessions = [...this.#owned.values()];
    this.#owned.clear();
    const untilMs = this.#options.clock.now() + 2 * this.stores.leaseMs;
    for (const { id, record, copy } of sessions) {
      this.#bequeathed.set(id, [record, untilMs]);
      copy.abandon();
    }
    this.#options.lapsed();
    this.stores.inbox.close(node).catch(() => undefined);
    const message = `The lease of this node is over: ${why}. ${sessions.length} sessions have ended here`;
    reportInWords(this.report, 'warning', 'nodes.lapsed', message);
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
