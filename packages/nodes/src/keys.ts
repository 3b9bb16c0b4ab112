/** Ids that may be part of a key: no braces, so that a hash tag is all of the id. */
const plain = /^[A-Za-z0-9._~-]{1,128}$/;

/**
 * Where things are in Redis. All keys of one session are in one slot of a cluster, and so are all
 * leases, and what leads to tasks. A task is one key.
 */
export class Keys {
  readonly #prefix: string;

  /** @throws {RangeError} the prefix has braces, which would be another hash tag */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) throw new RangeError(`The prefix ${prefix} must not have braces`);
    this.#prefix = prefix;
  }

  /** Whether there can be a session or a task with this id. */
  isId(id: string): boolean {
    return plain.test(id);
  }

  /** Hash: owner, fence, revision, principal, and what the client has said, by slots. */
  record(session: string): string {
    return `${this.#prefix}{${session}}:record`;
  }

  /** List: what its streams have said. */
  log(session: string): string {
    return `${this.#prefix}{${session}}:log`;
  }

  /** Text: where the node is. There as long as its lease lasts. */
  lease(node: string): string {
    return `${this.#prefix}{leases}:${node}`;
  }

  /** Hash: which data the store has, and since when. */
  get store(): string {
    return `${this.#prefix}{leases}:store`;
  }

  /** Sorted set: the nodes, by when they were heard of last. */
  get nodes(): string {
    return `${this.#prefix}{leases}:nodes`;
  }

  /** Sorted set: the ids of sessions that were removed, by when. */
  get removed(): string {
    return `${this.#prefix}{leases}:removed`;
  }

  /** Text: the key that nodes without a key in common sign with. */
  get secret(): string {
    return `${this.#prefix}{leases}:secret`;
  }

  /** Text: how many broadcasts there have been. */
  get broadcasts(): string {
    return `${this.#prefix}{leases}:broadcasts`;
  }

  /** The channel of the broadcasts. */
  get channel(): string {
    return `${this.#prefix}broadcasts`;
  }

  /** Hash: what a caller may still call of a tool, and since when. */
  count(digest: string): string {
    return `${this.#prefix}count:${digest}`;
  }

  /** Hash: what is kept of a task, and its steps. */
  task(id: string): string {
    return `${this.#prefix}task:${id}`;
  }

  /** Sorted set: who has or had tasks, by when their leases end. */
  get taskOwners(): string {
    return `${this.#prefix}{tasks}:owners`;
  }

  /** Before an owner: sorted set of the tasks that it may have, by when their time is over. It lacks none. */
  get openTasks(): string {
    return `${this.#prefix}{tasks}:open:`;
  }

  /** Before a server: sorted set of its parked tasks, by when they are due, or earlier. It lacks none. */
  get dueTasks(): string {
    return `${this.#prefix}{tasks}:due:`;
  }

  /** Sorted set: all tasks, by when their time is over. */
  get keptTasks(): string {
    return `${this.#prefix}{tasks}:kept`;
  }

  /** Sorted set: all tasks, by their ids. */
  get taskIds(): string {
    return `${this.#prefix}{tasks}:ids`;
  }

  /** Sorted set: the ids of the tasks that a share has, by when their time is over. It lacks none. */
  shareOfTasks(of: string): string {
    return `${this.#prefix}{tasks}:share:${of}`;
  }

  /** Sorted set: those of them that make room for others. */
  roomOfTasks(of: string): string {
    return `${this.#prefix}{tasks}:room:${of}`;
  }

  /** Sorted set: tasks that somebody is claiming, by until when others leave them to it. */
  get reservedTasks(): string {
    return `${this.#prefix}{tasks}:reserved`;
  }

  /** Sorted set: tasks that were claimed or have ended, by the number of the change. */
  get changedTasks(): string {
    return `${this.#prefix}{tasks}:changed`;
  }

  /** The number of the last change. */
  get lastTaskChange(): string {
    return `${this.#prefix}{tasks}:last`;
  }
}
