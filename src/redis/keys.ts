/** Ids that may be part of a key: no braces, so that the hash tag is all of the id. */
const plain = /^[A-Za-z0-9._~-]{1,128}$/;

/**
 * Where things are in Redis. All keys of one session are in one slot of a cluster, and so are all
 * leases, and the keys of one inbox.
 */
export class Keys {
  readonly #prefix: string;

  /** @throws {RangeError} the prefix has braces, which would be another hash tag */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) throw new RangeError(`The prefix ${prefix} must not have braces`);
    this.#prefix = prefix;
  }

  /** Whether there can be a session with this id. */
  isSessionId(id: string): boolean {
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

  /** There as long as the node's lease lasts. */
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

  /** Stream: what others have sent to a node. Its one group knows what was read. */
  inbox(node: string): string {
    return `${this.#prefix}{node:${node}}:inbox`;
  }

  /** Stream: an inbox that was closed, without what was in it. */
  closedInbox(node: string): string {
    return `${this.#prefix}{node:${node}}:closed`;
  }
}
