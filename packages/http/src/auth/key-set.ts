/**
 * Signing keys of an issuer: fetched on first use, and again when they are old or a token names an
 * unknown key. A minimum pause between fetches applies, because anyone can send tokens with
 * invented key ids.
 *
 * @see RFC 7517
 */
import type { JSONWebKeySet, LocalJWKSet } from 'jose';
import { fetchJson } from './fetch-json.ts';
import type { FetchBounds } from './fetch-json.ts';
import type { TokenLimits } from './options.ts';
import { AuthorizationUnavailable } from './token-check.ts';

interface Keys {
  readonly find: LocalJWKSet;
  readonly fetchedAt: number;
}

export class KeySet {
  readonly #uriOf: (bounds: FetchBounds) => Promise<string>;
  readonly #limits: TokenLimits;
  readonly #now: () => number;
  #keys: Keys | undefined;
  /** End of the last fetch, and its error if it failed. */
  #attempt: { readonly endedAt: number; readonly failure?: unknown } | undefined;
  #fetching: Promise<void> | undefined;

  /**
   * @param uriOf returns the URL of the keys; called before each fetch
   * @param now monotonic clock, ms
   */
  constructor(
    uriOf: (bounds: FetchBounds) => Promise<string>,
    limits: TokenLimits,
    now: () => number,
  ) {
    this.#uriOf = uriOf;
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Runs a check with the keys. If the key is missing, runs it once more with newer keys.
   *
   * @param isMissing true for errors that say the key is unknown
   * @throws {AuthorizationUnavailable} if the keys cannot be fetched
   */
  async use<T>(
    check: (find: LocalJWKSet) => Promise<T>,
    isMissing: (error: unknown) => boolean,
  ): Promise<T> {
    const keys = await this.#current();
    try {
      return await check(keys.find);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (this.#keys === keys && !this.#isPausing) await this.#fetch();
      if (this.#keys && this.#keys !== keys) return await check(this.#keys.find);
      // The issuer may have the key but could not be reached.
      if (this.#attempt?.failure !== undefined) throw this.#unavailable();
      throw error;
    }
  }

  async #current(): Promise<Keys> {
    const { keysMaxAgeMs, keysStaleMs } = this.#limits;
    if (this.#ageMs >= keysMaxAgeMs && !this.#isPausing) await this.#fetch();
    // Stale keys remain valid for a limited time while the issuer is unreachable.
    if (this.#keys && this.#ageMs < keysMaxAgeMs + keysStaleMs) return this.#keys;
    throw this.#unavailable();
  }

  get #ageMs(): number {
    return this.#keys ? this.#now() - this.#keys.fetchedAt : Infinity;
  }

  get #isPausing(): boolean {
    if (this.#fetching || !this.#attempt) return false;
    return this.#now() - this.#attempt.endedAt < this.#limits.refetchPauseMs;
  }

  /** Shares one fetch among all callers. Never rejects: `#attempt` records the outcome. */
  #fetch(): Promise<void> {
    return (this.#fetching ??= this.#fetchNow().then(
      () => this.#onFetchEnded(),
      (error: unknown) => this.#onFetchEnded(error),
    ));
  }

  #onFetchEnded(failure?: unknown): void {
    this.#fetching = undefined;
    this.#attempt = { endedAt: this.#now(), failure };
  }

  async #fetchNow(): Promise<void> {
    const { fetchTimeoutMs, maxDocumentBytes } = this.#limits;
    const bounds = { signal: AbortSignal.timeout(fetchTimeoutMs), maxDocumentBytes };
    const set = await fetchJson(await this.#uriOf(bounds), bounds);
    const { createLocalJWKSet } = await import('jose');
    const find = createLocalJWKSet(set as unknown as JSONWebKeySet);
    this.#keys = { find, fetchedAt: this.#now() };
  }

  #unavailable(): AuthorizationUnavailable {
    const { endedAt, failure } = this.#attempt ?? { endedAt: this.#now(), failure: undefined };
    const retryAfterMs = endedAt + this.#limits.refetchPauseMs - this.#now();
    const message = "The issuer's keys for checking tokens cannot be fetched";
    return new AuthorizationUnavailable(message, { retryAfterMs, cause: failure });
  }
}
