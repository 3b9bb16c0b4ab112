/** Ids that may be part of a key. Without braces, so that the hash tag is the whole id. */
const plain = /^[A-Za-z0-9._~-]{1,128}$/;

/**
 * Names of all keys in Redis. In a cluster, all keys of one session share a slot, and so do all
 * leases, and all task indexes. A task is a single key.
 */
export class Keys {
  readonly #prefix: string;

  /** @throws {RangeError} if the prefix has braces, which would form another hash tag */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) throw new RangeError(`prefix must not contain braces, got ${prefix}`);
    this.#prefix = prefix;
  }

  /** True for valid session and task ids. */
  isId(id: string): boolean {
    return plain.test(id);
  }

  /** Hash: owner, fence, revision, principal, and facts by slot. */
  record(session: string): string {
    return `${this.#prefix}{${session}}:record`;
  }

  /** List: the events of the session's streams. */
  log(session: string): string {
    return `${this.#prefix}{${session}}:log`;
  }

  /** String: the node's address. Exists as long as its lease. */
  lease(node: string): string {
    return `${this.#prefix}{leases}:${node}`;
  }

  /** Hash: identity of the store's data, and its start time. */
  get store(): string {
    return `${this.#prefix}{leases}:store`;
  }

  /** Sorted set: nodes, by time of last renewal. */
  get nodes(): string {
    return `${this.#prefix}{leases}:nodes`;
  }

  /** Sorted set: ids of deleted sessions, by time of deletion. */
  get removed(): string {
    return `${this.#prefix}{leases}:removed`;
  }

  /** String: signing key of nodes without a configured one. */
  get secret(): string {
    return `${this.#prefix}{leases}:secret`;
  }

  /** String: number of broadcasts so far. */
  get broadcasts(): string {
    return `${this.#prefix}{leases}:broadcasts`;
  }

  /** Channel of the broadcasts. */
  get channel(): string {
    return `${this.#prefix}broadcasts`;
  }

  /** Hash: remaining calls of a caller and tool, and the time of the last call. */
  count(digest: string): string {
    return `${this.#prefix}count:${digest}`;
  }

  /** Hash: a task and its steps. */
  task(id: string): string {
    return `${this.#prefix}task:${id}`;
  }

  /** Sorted set: owners of tasks, by end of their leases. */
  get taskOwners(): string {
    return `${this.#prefix}{tasks}:owners`;
  }

  /**
   * Prefix, followed by an owner. Sorted set: tasks the owner may have, by expiry. Complete, but
   * possibly outdated.
   */
  get openTasks(): string {
    return `${this.#prefix}{tasks}:open:`;
  }

  /**
   * Prefix, followed by a server. Sorted set: parked tasks, by due time or earlier. Complete, but
   * possibly outdated.
   */
  get dueTasks(): string {
    return `${this.#prefix}{tasks}:due:`;
  }

  /** Sorted set: all tasks, by expiry. */
  get keptTasks(): string {
    return `${this.#prefix}{tasks}:kept`;
  }

  /** Sorted set: all tasks, by id. */
  get taskIds(): string {
    return `${this.#prefix}{tasks}:ids`;
  }

  /** Sorted set: ids of the tasks of a quota, by expiry. Complete, but possibly outdated. */
  quotaTasks(of: string): string {
    return `${this.#prefix}{tasks}:share:${of}`;
  }

  /** Sorted set: tasks of a quota that may be evicted. */
  evictableTasks(of: string): string {
    return `${this.#prefix}{tasks}:room:${of}`;
  }

  /** Sorted set: tasks being claimed, by end of the reservation. */
  get reservedTasks(): string {
    return `${this.#prefix}{tasks}:reserved`;
  }

  /** Sorted set: claimed and ended tasks, by number of the change. */
  get changedTasks(): string {
    return `${this.#prefix}{tasks}:changed`;
  }

  /** String: number of the last change. */
  get lastTaskChange(): string {
    return `${this.#prefix}{tasks}:last`;
  }
}
