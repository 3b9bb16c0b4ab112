/** Where a host keeps its tokens and registrations. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { FairSemaphore } from '../../../../src/actors/party-turns.ts';

/**
 * Keeps tokens and registrations: small JSON documents, each under a key. Connections with the same
 * store share them. If you write your own store, check it with `credentialStoreContract` of
 * `mcp-actors/testing`.
 */
export interface CredentialStore {
  /** What was written last; undefined if nothing was. */
  read(key: string): Promise<JsonObject | undefined>;
  /** Writes atomically: a reader never sees half of a document. */
  write(key: string, value: JsonObject): Promise<void>;
  /** Does nothing if the key is absent. */
  remove(key: string): Promise<void>;
  /** All keys that have a document, in any order. */
  keys(): Promise<readonly string[]>;
  /**
   * Runs the work exclusively for this key among all that share the store: other connections and,
   * if the store outlives the process, other processes. If the holder dies, the next one gets its
   * turn.
   *
   * @throws what the work throws, or the signal's reason if it is aborted before the work begins
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A store that is forgotten with the process. */
export function memoryCredentialStore(): CredentialStore {
  const values = new Map<string, string>();
  const turns = new KeyedMutex();
  return {
    read: (key) => Promise.resolve(documentOf(values.get(key))),
    write: (key, value) => {
      values.set(key, JSON.stringify(value));
      return Promise.resolve();
    },
    remove: (key) => {
      values.delete(key);
      return Promise.resolve();
    },
    keys: () => Promise.resolve([...values.keys()]),
    exclusive: (key, work, signal) => turns.take(key, work, signal),
  };
}

function documentOf(text: string | undefined): JsonObject | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
}

/** Takes turns within one process. */
export class KeyedMutex {
  readonly #turns = new Map<string, FairSemaphore>();

  /**
   * Runs the work as soon as no other work for this key runs.
   *
   * @throws what the work throws, or the abort reason if it has not begun by then
   */
  async take<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turns = this.#turns.get(key) ?? new FairSemaphore(1);
    this.#turns.set(key, turns);
    try {
      return await turns.run(work, signal);
    } finally {
      if (turns.isIdle) this.#turns.delete(key);
    }
  }
}
