/** Storage of tokens and client registrations. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';

/**
 * Key-value store of tokens and client registrations, as small JSON documents. Connections with the
 * same store share them. Check your own store with `credentialStoreContract` of
 * `mcp-actors/testing`.
 */
export interface CredentialStore {
  /** The stored value, or undefined. */
  read(key: string): Promise<JsonObject | undefined>;
  /** Writes atomically: readers never see a partial document. */
  write(key: string, value: JsonObject): Promise<void>;
  /** No-op if the key is absent. */
  remove(key: string): Promise<void>;
  /** All keys with a document, in any order. */
  keys(): Promise<readonly string[]>;
  /**
   * Runs the work under a lock on this key, held against every user of the store: other connections
   * and, if the store outlives the process, other processes. A dead holder loses the lock.
   *
   * @throws the error of the work, or the signal's reason if it is aborted before the work begins
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** In-memory store, lost when the process exits. */
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

/** Per-key mutex within one process. */
export class KeyedMutex {
  readonly #turns = new Map<string, FairSemaphore>();

  /**
   * Runs the work once no other work for this key is running.
   *
   * @throws the error of the work, or the abort reason if it has not begun by then
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
