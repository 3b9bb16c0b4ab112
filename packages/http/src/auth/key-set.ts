/**
 * The keys of an issuer: fetched when they are first needed, again when they are old or a token
 * names one that is not among them, and never more often than the pause allows: anybody can send
 * tokens with invented key ids.
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
  /** When the last attempt ended, and why it failed if it did. */
  #attempt: { readonly endedAt: number; readonly failure?: unknown } | undefined;
  #fetching: Promise<void> | undefined;

  /**
   * @param uriOf where the keys are; asked before each fetch
   * @param now monotonic, milliseconds
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
   * Runs a check with the keys, and once more with newer ones if the first did not have the key and
   * newer ones may be had.
   *
   * @param isMissing whether this error says that the key is not among them
   * @throws {AuthorizationUnavailable} the keys cannot be had
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
      // The issuer may have the key: it could not be asked.
      if (this.#attempt?.failure !== undefined) throw this.#unavailable();
      throw error;
    }
  }

  async #current(): Promise<Keys> {
    const { keysMaxAgeMs, keysStaleMs } = this.#limits;
    if (this.#ageMs >= keysMaxAgeMs && !this.#isPausing) await this.#fetch();
    // Old keys are good keys while the issuer is away, though not for ever.
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

  /** One fetch at a time, for all that wait for it. It does not fail: the attempt tells. */
  #fetch(): Promise<void> {
    return (this.#fetching ??= this.#fetchNow().then(
      () => this.#ended(),
      (error: unknown) => this.#ended(error),
    ));
  }

  #ended(failure?: unknown): void {
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
    const message = 'The keys that tokens are checked with cannot be had from their issuer';
    return new AuthorizationUnavailable(message, { retryAfterMs, cause: failure });
  }
}
