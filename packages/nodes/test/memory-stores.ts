/**
 * In-memory stores for several nodes in one process: the simplest implementation of the contract.
 */
import { systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import { StoreUnavailable, storeLimits } from '../../http/src/nodes/stores.ts';
import type {
  BroadcastListener,
  SessionLookup,
  StoredEvent,
  LeaseReply,
  LeaseRequest,
  StreamEvent,
  NodeAddress,
  SessionRecord,
  StoreEpoch,
  StoreLimits,
  Stores,
  WriteResult,
} from '../../http/src/nodes/stores.ts';

export interface MemoryStoresOptions {
  readonly limits?: Partial<StoreLimits>;
  readonly clock?: Clock;
  readonly leaseMs?: number;
}

/** Data of the directory; copied to model a rollback. */
export interface DirectoryData {
  readonly leases: Map<string, { readonly untilMs: number; readonly address: NodeAddress }>;
  /** Deleted sessions and the time of deletion. */
  readonly removed: Map<string, number>;
  readonly records: Map<string, SessionRecord & { readonly expiresMs: number }>;
}

const noData = (): DirectoryData => ({
  leases: new Map(),
  removed: new Map(),
  records: new Map(),
});

/** The rules of the directory, synchronous. */
export class DirectoryRules {
  data = noData();
  store = { name: 'memory 0', sinceMs: -Infinity };
  readonly #now: () => number;
  readonly #leaseMs: number;
  readonly #idleMs: number;

  constructor(now: () => number, leaseMs: number, idleMs: number) {
    this.#now = now;
    this.#leaseMs = leaseMs;
    this.#idleMs = idleMs;
  }

  /** Replaces the data with older ones, or none. */
  lose(data = noData()): void {
    this.data = data;
    this.store = { name: `${this.store.name}+`, sinceMs: this.#now() };
  }

  copy(): DirectoryData {
    const { leases, removed, records } = this.data;
    return { leases: new Map(leases), removed: new Map(removed), records: new Map(records) };
  }

  get age(): StoreEpoch {
    return { ...this.store, ageMs: this.#now() - this.store.sinceMs };
  }

  /** Address of a node with a current lease. */
  address(node: string): NodeAddress | undefined {
    const { untilMs = -Infinity, address } = this.data.leases.get(node) ?? {};
    return untilMs > this.#now() ? address : undefined;
  }

  lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    { address, removedSinceMs }: LeaseRequest,
  ): LeaseReply {
    const isRevived = typeof how === 'object' && this.#now() < how.reviveUntilMs;
    const isHeld = how === 'new' || isRevived || this.address(node) !== undefined;
    const untilMs = this.#now() + this.#leaseMs;
    if (isHeld) this.data.leases.set(node, { untilMs, address });
    const removed = [...this.data.removed].flatMap(([id, atMs]) =>
      atMs >= removedSinceMs ? [id] : [],
    );
    return { isHeld, untilMs, store: this.age, removed };
  }

  find(id: string): SessionLookup {
    const isRemoved = this.data.removed.has(id);
    const record = isRemoved ? undefined : this.#read(id);
    const address = record && this.address(record.owner);
    return { record, isRemoved, address, store: this.age };
  }

  claim(id: string, owner: string, read: { readonly fence: number; readonly store: string }) {
    const record = this.#read(id);
    if (!record || record.fence !== read.fence || read.store !== this.store.name) return undefined;
    const fence = Math.max(record.fence + 1, Math.round(this.#now()));
    return this.#store({ ...record, owner, fence });
  }

  put(record: SessionRecord, untilMs: number): boolean {
    if (this.#now() >= untilMs) return false;
    const there = this.#read(record.id);
    if (there && there.fence > record.fence) return false;
    const isYounger = there?.fence === record.fence && there.revision > record.revision;
    if (!isYounger) this.#store(record);
    return true;
  }

  write(
    { id, fence, revision }: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: { readonly slot: string; readonly text: string | undefined },
  ): WriteResult {
    const there = this.#read(id);
    if (!there) return 'behind';
    if (there.fence !== fence) return there.fence > fence ? 'fenced' : 'behind';
    if (there.revision < (change ? revision - 1 : revision)) return 'behind';
    if (!change || there.revision >= revision) {
      this.#store(there);
      return 'written';
    }
    const facts = Object.entries(there.facts).filter(([slot]) => slot !== change.slot);
    if (change.text !== undefined) facts.push([change.slot, change.text]);
    this.#store({ ...there, facts: Object.fromEntries(facts), revision });
    return 'written';
  }

  remove(id: string, fence: number): boolean {
    const there = this.#read(id);
    if (there && there.fence > fence) return false;
    this.data.records.delete(id);
    this.rememberRemoved([id]);
    return true;
  }

  rememberRemoved(ids: readonly string[]): void {
    for (const id of ids) this.data.removed.set(id, this.#now());
  }

  #read(id: string): SessionRecord | undefined {
    const record = this.data.records.get(id);
    if (record && record.expiresMs > this.#now()) return record;
    this.data.records.delete(id);
    return undefined;
  }

  #store(record: SessionRecord): SessionRecord {
    this.data.records.set(record.id, { ...record, expiresMs: this.#now() + 1.5 * this.#idleMs });
    return record;
  }
}

type KeptLog = (StreamEvent & { readonly atMs: number })[];

/** Several nodes in one process. */
export class MemoryNodes {
  readonly #clock: Clock;
  readonly #limits: StoreLimits;
  readonly #leaseMs: number;
  readonly rules: DirectoryRules;
  readonly #logs = new Map<string, KeptLog>();
  readonly #listeners = new Map<Stores, BroadcastListener>();
  #secret: string | undefined = undefined;
  readonly #killed = new Set<Stores>();
  readonly #ends = new Map<Stores, () => void>();

  constructor({ limits, clock = systemClock, leaseMs = 10_000 }: MemoryStoresOptions = {}) {
    this.#limits = storeLimits(limits);
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.rules = new DirectoryRules(() => clock.now(), leaseMs, this.#limits.idleMs);
  }

  /** Replaces the directory's data and drops all logs. */
  lose(data?: DirectoryData): void {
    this.rules.lose(data);
    this.#logs.clear();
  }

  /** The broadcast listener of a node. */
  listenerOf(stores: Stores): BroadcastListener | undefined {
    return this.#listeners.get(stores);
  }

  /** Kills a node silently; its lease ends. */
  kill(stores: Stores): void {
    this.#killed.add(stores);
    this.#listeners.delete(stores);
    this.#ends.get(stores)?.();
  }

  /** Adds a node. */
  start(): Stores {
    const { rules } = this;
    const names = new Set<string>();
    const asked = async <T>(answer: () => T): Promise<T> => {
      if (!this.#killed.has(stores)) return answer();
      throw new StoreUnavailable('closed', 'This node is dead', { retryAfterMs: 1000 });
    };
    const stores: Stores = {
      leaseMs: this.#leaseMs,
      directory: {
        lease: (node, how, request) =>
          asked(() => {
            names.add(node);
            return rules.lease(node, how, request);
          }),
        leave: (node) => asked(() => void rules.data.leases.delete(node)),
        find: (id) => asked(() => rules.find(id)),
        node: (name) => asked(() => ({ address: rules.address(name), store: rules.age })),
        claim: (id, node, read) => asked(() => rules.claim(id, node, read)),
        put: (record, untilMs) => asked(() => rules.put(record, untilMs)),
        write: (at, change) => asked(() => rules.write(at, change)),
        remove: (id, fence) =>
          asked(() => {
            const isRemoved = rules.remove(id, fence);
            if (isRemoved) this.#logs.delete(id);
            return isRemoved;
          }),
        rememberRemoved: (ids) => asked(() => rules.rememberRemoved(ids)),
        secret: (candidate) => asked(() => (this.#secret ??= candidate)),
      },
      log: {
        append: (at, entries) =>
          asked(() => this.#append(at, this.#logs.get(at.id) ?? [], entries)),
        put: (at, entries) => asked(() => this.#append(at, [], entries)),
        read: (id) => asked(() => this.#kept(id)),
      },
      broadcasts: {
        publish: (text) =>
          asked(() => {
            // Asynchronous, as with a real store.
            void Promise.resolve().then(() => {
              for (const listener of this.#listeners.values()) listener.received(text);
            });
          }),
        subscribe: (listener) => asked(() => void this.#listeners.set(stores, listener)),
      },
      close: async () => {},
    };
    this.#ends.set(stores, () => {
      for (const name of names) rules.data.leases.delete(name);
    });
    return stores;
  }

  #append(
    { id, fence }: Pick<SessionRecord, 'id' | 'fence'>,
    log: KeptLog,
    entries: readonly StreamEvent[],
  ): WriteResult {
    const { record } = this.rules.find(id);
    if (record?.fence !== fence) return record && record.fence > fence ? 'fenced' : 'behind';
    this.#logs.set(id, log);
    for (const entry of entries) log.push({ ...entry, atMs: this.#clock.now() });
    const { maxEvents, maxBytes } = this.#limits;
    const bytes = () => log.reduce((sum, { text }) => sum + text.length, 0);
    while (log.length > maxEvents || bytes() > maxBytes) log.shift();
    return 'written';
  }

  #kept(id: string): readonly StoredEvent[] {
    const now = this.#clock.now();
    const log = this.#logs.get(id) ?? [];
    return log
      .map(({ atMs, ...entry }) => ({ ...entry, ageMs: now - atMs }))
      .filter(({ ageMs }) => ageMs < this.#limits.maxAgeMs);
  }
}
