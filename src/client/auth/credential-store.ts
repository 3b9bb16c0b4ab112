/** Where a host keeps what it was given by authorization servers. */
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Turns } from './turns.ts';

/**
 * Keeps tokens and registrations: small JSON documents, each under a key. Whoever is given the same
 * store shares them. A store of one's own can be checked with `credentialStoreContract` of
 * `mcp-actors/testing`.
 */
export interface CredentialStore {
  /** What was written last; undefined if nothing was. */
  read(key: string): Promise<JsonObject | undefined>;
  /** Whole or not at all: nobody ever reads half of it. */
  write(key: string, value: JsonObject): Promise<void>;
  /** Does nothing if there is nothing. */
  remove(key: string): Promise<void>;
  /**
   * Runs the work while nobody else who shares the store runs work for this key: no other connection
   * and, if the store outlives the process, no other process. If its holder dies, the next one gets
   * its turn.
   *
   * @throws what the work throws, or the signal's reason if it is aborted before the work begins
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A store that is forgotten with the process. */
export function memoryCredentialStore(): CredentialStore {
  const values = new Map<string, string>();
  const turns = new Turns();
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
    exclusive: (key, work, signal) => turns.take(key, work, signal),
  };
}

function documentOf(text: string | undefined): JsonObject | undefined {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return isJsonObject(value) ? value : undefined;
}
