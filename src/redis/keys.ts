/** Ids that may be part of a key: no braces, so that the hash tag is all of the id. */
const plain = /^[A-Za-z0-9._~-]{1,128}$/;

/** Where things are in Redis. All keys of one session, and of one node, are in one slot of a cluster. */
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

  /** Sessions by the time of their last use. */
  get index(): string {
    return `${this.#prefix}sessions`;
  }

  /** A random text that the store has as long as it has lost nothing. */
  get epoch(): string {
    return `${this.#prefix}epoch`;
  }

  /** All that is kept of a session. @throws {RangeError} an id that no session has */
  of(session: string): SessionKeys {
    if (!this.isSessionId(session)) {
      throw new RangeError(
        `${JSON.stringify(session.slice(0, 200))} is no session's id: it has 1 to 128 letters, digits or ._~-`,
      );
    }
    const at = `${this.#prefix}{${session}}:`;
    return {
      record: `${at}record`,
      nodes: `${at}nodes`,
      holder: `${at}holder`,
      pushes: `${at}pushes`,
      hands: `${at}hands`,
      events: `${at}events`,
      streams: `${at}streams`,
      followers: `${at}followers`,
    };
  }

  /** There while the node lives. */
  alive(node: string): string {
    return `${this.#prefix}{node:${node}}:alive`;
  }

  inbox(node: string): string {
    return `${this.#prefix}{node:${node}}:inbox`;
  }
}

export interface SessionKeys {
  /** Hash: principal, revision, version, and the journal's slots. */
  readonly record: string;
  /** Set: nodes with a replica. */
  readonly nodes: string;
  /** Hash: the stream that gets the pushes; bytes that wait; how many were dropped. */
  readonly holder: string;
  /** List: pushes that wait. */
  readonly pushes: string;
  /** Hash: by stream, what it has taken and not written. */
  readonly hands: string;
  /** Stream: the event log. */
  readonly events: string;
  /** Hash: by stream that has not ended, its last number and what it owes; the log's bytes. */
  readonly streams: string;
  /** Set: which node follows which stream. */
  readonly followers: string;
}
