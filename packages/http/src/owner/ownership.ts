/**
 * Sessions owned by this node. One lease covers all of them: while it lasts, the node serves their
 * requests without asking the store. Changes by clients are stored before they are acknowledged, so
 * that another node can restore a session.
 *
 * @see docs/decisions/17-one-session-one-owner.md
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { ownershipChart } from './ownership.machine.ts';
import type { OwnershipEvent } from './ownership.machine.ts';
import type { HttpReport } from '../facts.ts';
import { formatReport } from '../facts.ts';
import { StoreUnavailable, forEachConcurrently, newNodeName } from '../nodes/stores.ts';
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

/** A session claimed from the store, with its event log. */
export interface RestoredSession {
  readonly record: SessionRecord;
  readonly log: readonly StoredEvent[];
}

/** Location of a session. */
export type Location =
  | { readonly kind: 'elsewhere'; readonly peer: PeerNode }
  | { readonly kind: 'woken'; readonly woken: RestoredSession }
  | { readonly kind: 'none' };

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly report: HttpReport;
  /** Idle timeout of sessions, milliseconds; older copies may live that long. */
  readonly idleMs: number;
  /** Resolves with this node's address once it is reachable. */
  address(): Promise<NodeAddress>;
  /** Called when a lease was granted under a new name. */
  onJoined(): void;
  /** Called when sessions were deleted here. */
  onRemoved(ids: readonly string[]): void;
  /** Called when the store's data changed. */
  onStoreChanged(): Promise<void>;
  /** Called after each renewal of the lease. */
  onRenewed(): void;
}

/** Maximum remembered records of released sessions. */
const maxReleased = 10_000;
const maxTombstones = 100_000;

/** Maximum concurrent renewals of sessions. */
const touchConcurrency = 8;

/** Part of a lease that the node relies on, because clocks drift. */
const leaseSafetyFactor = 0.95;

export class Ownership implements SessionOwner {
  readonly stores: Stores;
  readonly #options: OwnershipOptions;
  #state = ownershipChart.initial;
  #node = newNodeName();
  /** Name of the last granted lease. */
  #leased: string | undefined = undefined;
  /** End of the lease by this node's clock, with a safety margin. */
  #leaseUntil = -Infinity;
  /** End of the lease by the store's clock. */
  #leaseUntilAtStore = 0;
  #store: StoreEpoch | undefined = undefined;
  #joining: Promise<void> | undefined = undefined;
  #restoring: Promise<void> | undefined = undefined;
  #timer: unknown = undefined;
  /** Store time minus this node's time, ms. */
  #offsetMs = 0;
  /** Deletions are known up to this store time, ms. */
  #removedSinceMs = 0;
  readonly #owned = new Map<string, OwnedSession>();
  /** Sessions whose stored log is incomplete. */
  readonly #unsynced = new Set<OwnedSession>();
  /**
   * Records of sessions that were released here, restored if the store loses them before the given
   * time (this node's clock).
   */
  readonly #releasedRecords = new Map<string, readonly [SessionRecord, untilMs: number]>();
  /** Ids of deleted sessions and when they may be forgotten, because the store may lose them. */
  readonly #tombstones = new Map<string, number>();
  /** Sessions to renew in the store. */
  readonly #touchQueue = new Set<OwnedSession>();
  #touching: Promise<void> | undefined = undefined;
  /** Handovers in progress, by session id. */
  readonly #handingOver = new Map<string, Promise<void>>();
  readonly #locating = new Map<string, Promise<Location>>();
  /** Writes in progress. */
  readonly #pendingWrites = new Set<Promise<unknown>>();

  constructor(stores: Stores, options: OwnershipOptions) {
    this.stores = stores;
    this.#options = options;
    this.ready().catch(reportUnavailable(options.report, 'This node could not join the cluster'));
    this.#timer = this.#scheduleRenewal();
  }

  /** Name of this node's lease. */
  get node(): string {
    return this.#node;
  }

  /** Estimated store time, ms. */
  get storeNow(): number {
    return this.#options.clock.now() + this.#offsetMs;
  }

  get hasLeft(): boolean {
    return this.#state.status === 'done';
  }

  get report(): HttpReport {
    return this.#options.report;
  }

  /** Complete state, for the model test. */
  view(): unknown {
    const { value } = this.#state;
    const now = this.#options.clock.now();
    const owned = [...this.#owned.values()].map(({ view }) => view);
    const bequeathed = [...this.#releasedRecords.values()].map(([record, until]) => [
      record,
      until - now,
    ]);
    const removed = [...this.#tombstones.keys()];
    const known = [
      ...bequeathed,
      ...removed,
      ...owned,
      this.#unsynced.size,
      this.#handingOver.size,
    ];
    return [
      value,
      this.#node,
      this.#leaseUntil - now,
      this.#leaseUntilAtStore - now,
      this.#store,
      known,
    ];
  }

  /**
   * Resolves once this node has a lease.
   *
   * @throws {StoreUnavailable}
   */
  async ready(): Promise<void> {
    if (this.#state.status === 'done') {
      throw new StoreUnavailable('closed', 'this node is closing', { retryAfterMs: 1000 });
    }
    if (!this.hasLease) await (this.#joining ??= this.#join().finally(() => this.#joined()));
  }

  /** True while the lease lasts. Ends all sessions once it has expired. */
  get hasLease(): boolean {
    if (this.#options.clock.now() < this.#leaseUntil) return true;
    this.#lapse('it could not be renewed in time');
    return false;
  }

  /**
   * Stores a session that starts here.
   *
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

  /** True if this node owns the session. */
  has(session: OwnedSession): boolean {
    return this.hasLease && this.#owned.get(session.id) === session;
  }

  /** Drops a session here; other nodes may continue it. */
  forget(session: OwnedSession): void {
    // A restored copy may have the same id.
    if (this.#owned.get(session.id) === session) this.#owned.delete(session.id);
  }

  /**
   * Deletes a session for all nodes.
   *
   * @throws {StoreUnavailable} also if another node owns it by now
   */
  async remove(session: OwnedSession): Promise<void> {
    const { id, fence } = session;
    const wasRemoved = this.#tombstones.has(id);
    // Recorded before the request, to be restored if the store loses its data meanwhile.
    this.#addTombstones([id]);
    let isRemoved = false;
    try {
      isRemoved = await this.stores.directory.remove(id, fence);
    } finally {
      if (!isRemoved && !wasRemoved) this.#tombstones.delete(id);
    }
    if (!isRemoved) throw this.markLost(session);
    this.forget(session);
    this.#options.onRemoved([id]);
  }

  /** Ends local copies of sessions that other nodes deleted. */
  removedElsewhere(ids: readonly string[]): void {
    this.#addTombstones(ids);
    for (const id of ids) {
      this.#releasedRecords.delete(id);
      const session = this.#owned.get(id);
      if (!session) continue;
      this.#owned.delete(id);
      session.localSession.abandon();
    }
  }

  #addTombstones(ids: readonly string[]): void {
    const now = this.#options.clock.now();
    const untilMs = now + 2 * this.#options.idleMs;
    for (const id of ids) {
      this.#tombstones.delete(id);
      this.#tombstones.set(id, untilMs);
    }
    for (const [old, oldUntilMs] of this.#tombstones) {
      if (oldUntilMs > now && this.#tombstones.size <= maxTombstones) break;
      this.#tombstones.delete(old);
    }
  }

  /** Queues the renewal of a session, because a store accepts only so many commands at once. */
  touch(session: OwnedSession): void {
    this.#touchQueue.add(session);
    this.#drainTouchQueue();
  }

  #drainTouchQueue(): void {
    if (this.#touching || this.#touchQueue.size === 0) return;
    const failed = reportUnavailable(
      this.report,
      'Sessions in use could not be renewed; this is retried',
    );
    this.#touching = Promise.all(
      Array.from({ length: touchConcurrency }, () => this.#touchQueued()),
    )
      .then(() => undefined, failed)
      .finally(() => {
        this.#touching = undefined;
      });
  }

  async #touchQueued(): Promise<void> {
    for (const session of this.#touchQueue) {
      this.#touchQueue.delete(session);
      if (!this.has(session)) continue;
      try {
        await session.renew();
      } catch (error) {
        if (!this.has(session)) continue;
        // The next lease renewal retries it.
        this.#touchQueue.add(session);
        throw error;
      }
    }
  }

  /**
   * Stores a complete session.
   *
   * @returns false if the session was deleted meanwhile and was not stored
   * @throws {StoreUnavailable} also if another node owns it by now
   */
  async put(session: OwnedSession): Promise<boolean> {
    if (this.#tombstones.has(session.id)) return false;
    const owner = this.#node;
    const { directory } = this.stores;
    // The record belongs to the old lease, not to one taken meanwhile.
    const isStored =
      this.has(session) && (await directory.put(session.record, this.#leaseUntilAtStore));
    if (!isStored || owner !== this.#node) throw this.markLost(session);
    return true;
  }

  /**
   * Hands a session over to another node, which claims it on the next request. The session ends
   * here even if the write fails.
   *
   * @throws {StoreUnavailable}
   */
  async handOver(session: OwnedSession, owner: string): Promise<void> {
    const { id, record } = session;
    this.forget(session);
    // A deleted session is not handed over.
    if (this.#tombstones.has(id)) return;
    // The store may lose the record before the other node claims it.
    this.#releasedRecords.set(id, [record, this.#options.clock.now() + this.stores.leaseMs]);
    session.localSession.abandon();
    const given = this.stores.directory.put({ ...record, owner }, this.#leaseUntilAtStore);
    const flush = given.then(
      () => undefined,
      () => undefined,
    );
    this.#handingOver.set(id, flush);
    try {
      await given;
    } finally {
      if (this.#handingOver.get(id) === flush) this.#handingOver.delete(id);
    }
    if (this.#releasedRecords.size > maxReleased) this.#releasedRecords.delete(id);
  }

  /** Ends the local copy of a session that another node owns. */
  markLost(session: OwnedSession): StoreUnavailable {
    const isServed = this.#owned.get(session.id) === session;
    this.forget(session);
    if (isServed) session.localSession.abandon();
    const message = 'the session continues at another node';
    return new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  /** Marks a session whose stored log is incomplete; the next renewal resyncs it. */
  markUnsynced(session: OwnedSession): void {
    if (this.has(session)) this.#unsynced.add(session);
  }

  track(done: Promise<unknown>): void {
    this.#pendingWrites.add(done);
    const left = () => this.#pendingWrites.delete(done);
    done.then(left, left);
  }

  /**
   * Locates a session that is not served here, and claims it if it has no owner.
   *
   * @throws {StoreUnavailable}
   */
  locate(id: string, principal: string | undefined): Promise<Location> {
    const waking = this.#locating.get(id);
    if (waking) return waking;
    const locating = this.#locate(id, principal).finally(() => this.#locating.delete(id));
    this.#locating.set(id, locating);
    return locating;
  }

  /** Adds a restored session. */
  adopt(session: OwnedSession): void {
    this.#owned.set(session.id, session);
  }

  /** Resolves once pending writes have settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pendingWrites);
  }

  /** Leaves the cluster, so that others may claim the sessions at once. */
  async leave(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    // A pending address must not block the shutdown.
    if (this.#state.value !== 'joining') await this.#joining?.catch(() => undefined);
    await this.settled();
    this.#move({ type: 'node.left' });
    this.#leaseUntil = -Infinity;
    await this.stores.directory.leave(this.#node).catch(() => undefined);
  }

  async #locate(id: string, principal: string | undefined): Promise<Location> {
    const { directory, log, leaseMs } = this.stores;
    let deadOwner: string | undefined;
    // Another node may claim the session first and lose it at once.
    for (let attempt = 0; attempt < 3; attempt++) {
      await this.ready();
      // A handover in progress must finish first.
      await this.#handingOver.get(id);
      if (this.#tombstones.has(id)) return { kind: 'none' };
      const { record, isRemoved, address, store } = await directory.find(id);
      if (store.name !== this.#store?.name) await this.#renew();
      const node = this.#node;
      if (isRemoved || (record && record.principal !== principal)) return { kind: 'none' };
      if (record && address && record.owner !== node) {
        if (address.url === (await this.#options.address()).url) {
          // This process listens where that one did, which has ended.
          await directory.leave(record.owner);
          deadOwner = record.owner;
          continue;
        }
        return { kind: 'elsewhere', peer: { node: record.owner, address } };
      }
      const isOrphan = record !== undefined && record.owner === deadOwner;
      if (store.ageMs < leaseMs && !address && !isOrphan) {
        // Previous owners may not have restored their sessions yet.
        const message = 'the store lost its data, and other nodes may still restore it';
        throw new StoreUnavailable('away', message, { retryAfterMs: leaseMs - store.ageMs });
      }
      if (!record) return { kind: 'none' };
      const read = { fence: record.fence, store: store.name };
      const claimed = await directory.claim(id, node, read);
      if (!claimed) continue;
      const kept = await log.read(id);
      if (this.hasLease && node === this.#node) {
        return { kind: 'woken', woken: { record: claimed, log: kept } };
      }
    }
    const message = 'several nodes are claiming the same session';
    throw new StoreUnavailable('busy', message, { retryAfterMs: 1000 });
  }

  #joined(): void {
    this.#joining = undefined;
  }

  async #join(): Promise<void> {
    const { directory, leaseMs } = this.stores;
    // The first lease keeps the initial name, which earlier calls carry.
    const node = this.#leased === undefined ? this.#node : newNodeName();
    const address = await this.#options.address();
    const sentAt = this.#options.clock.now();
    const reply = await directory.lease(node, 'new', this.#request(address));
    if (!reply.isHeld || this.#state.status === 'done') return;
    this.#node = node;
    this.#leased = node;
    this.#move({ type: 'lease.granted' });
    this.#leaseUntil = sentAt + leaseMs * leaseSafetyFactor;
    this.#leaseUntilAtStore = reply.untilMs;
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = this.#scheduleRenewal();
    await this.#applyReply(reply, sentAt);
    this.#options.onJoined();
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
    if (!reply.isHeld && isOther && this.hasLease) {
      const reviveUntilMs = reply.store.sinceMs + leaseMs;
      reply = await directory.lease(node, { reviveUntilMs }, request);
    }
    if (!this.hasLease || node !== this.#node) return;
    if (!reply.isHeld) return this.#lapse('other nodes considered it dead');
    this.#leaseUntil = Math.max(this.#leaseUntil, sentAt + leaseMs * leaseSafetyFactor);
    this.#leaseUntilAtStore = reply.untilMs;
    await this.#applyReply(reply, sentAt);
    const lacking = [...this.#unsynced].filter((session) => this.has(session));
    this.#unsynced.clear();
    const failed = reportUnavailable(this.report, 'Events could still not be stored');
    await forEachConcurrently(lacking, (session) => session.restoreLog().catch(failed));
    this.#drainTouchQueue();
  }

  /** Applies deletions by other nodes, and restores this node's data if the store lost its own. */
  async #applyReply({ store, untilMs, removed }: LeaseReply, sentAt: number): Promise<void> {
    const isOther = this.#store !== undefined && this.#store.name !== store.name;
    const storeNow = untilMs - this.stores.leaseMs;
    this.#offsetMs = storeNow - sentAt;
    this.#removedSinceMs = storeNow;
    this.#store = store;
    this.removedElsewhere(removed.filter((id) => !this.#tombstones.has(id)));
    if (isOther) this.#move({ type: 'store.changed' });
    if (this.#state.value === 'restoring') await (this.#restoring ??= this.#restore());
    const now = this.#options.clock.now();
    for (const [id, [, keptUntilMs]] of this.#releasedRecords) {
      if (keptUntilMs <= now) this.#releasedRecords.delete(id);
    }
  }

  async #restore(): Promise<void> {
    const { directory } = this.stores;
    const [node, store] = [this.#node, this.#store?.name];
    const ofOwned = (act: (session: OwnedSession) => Promise<unknown>) =>
      forEachConcurrently(this.#owned.values(), (session) =>
        act(session).catch((error: unknown) => {
          // Otherwise another node owns it.
          if (this.#owned.has(session.id)) throw error;
        }),
      );
    try {
      await directory.rememberRemoved([...this.#tombstones.keys()]);
      await this.#options.onStoreChanged();
      await forEachConcurrently(this.#releasedRecords.values(), ([record]) =>
        directory.put({ ...record, owner: '' }, this.#leaseUntilAtStore),
      );
      await ofOwned((session) => this.put(session));
      // Records before logs, because owners must be known within one lease time.
      await ofOwned((session) => session.restoreLog());
    } finally {
      this.#restoring = undefined;
    }
    if (node !== this.#node || store !== this.#store?.name) return;
    this.#move({ type: 'store.restored' });
    const message = `The store lost data; this node restored ${this.#owned.size} sessions`;
    formatReport(this.report, 'warning', 'nodes.restored', message);
  }

  /** Ends all sessions, because other nodes may own them by now. */
  #lapse(why: string): void {
    if (!this.#state.hasTag('serving')) return;
    this.#leaseUntil = -Infinity;
    this.#move({ type: 'lease.expired' });
    const sessions = [...this.#owned.values()];
    this.#owned.clear();
    const untilMs = this.#options.clock.now() + 2 * this.stores.leaseMs;
    for (const { id, record, localSession } of sessions) {
      this.#releasedRecords.set(id, [record, untilMs]);
      localSession.abandon();
    }
    const message = `This node lost its lease: ${why}. ${sessions.length} sessions ended here`;
    formatReport(this.report, 'warning', 'nodes.lapsed', message);
  }

  #scheduleRenewal(): unknown {
    const { clock } = this.#options;
    const everyMs = this.stores.leaseMs / 4;
    const leftMs = this.#leaseUntil - clock.now();
    const afterMs = leftMs > 0 ? Math.min(everyMs, leftMs) : everyMs / 4;
    return clock.setTimeout(() => {
      this.#timer = this.#scheduleRenewal();
      // The next attempt may succeed.
      const failed = reportUnavailable(this.report, "This node's lease could not be renewed");
      if (!this.hasLease) return void this.ready().catch(() => undefined);
      this.#renew().then(() => this.#options.onRenewed(), failed);
    }, afterMs);
  }

  #move(event: OwnershipEvent): void {
    this.#state = ownershipChart.next(this.#state, event);
  }
}
